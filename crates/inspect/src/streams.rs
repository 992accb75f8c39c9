//! Lists of the packets of each stream: directions of DCCP connections, RTP streams, UDP flows, directions of
//! TCP connections.
//!
//! Unlike everything else in this crate, the lists grow with the number of packets.

use std::collections::BTreeMap;
use std::io::Read;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::timing::TimestampClock;
use whimbrel_wire::{DccpOption, SeqNo};

use crate::capture::{CaptureError, CaptureReader, Record};
use crate::flows::rtp::RtpPlace;
use crate::follow::side::Side;
use crate::follow::{Endpoint, FollowConfig, Followed};
use crate::inspector::{Inspector, Seen};
use crate::segment::{Datagram, Flow, Segment, TcpHeader};

mod numbers;

#[cfg(test)]
mod tests;

/// Maximum number of streams.
const MAX_STREAMS: usize = 1 << 13;

/// A captured packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// The record's number, from 1.
    pub number: u64,
    /// Capture time, not before the preceding entry's.
    pub at: Instant,
    /// Sequence number, unwrapped; of TCP, the first byte's. Packets of UDP without RTP have none.
    pub sequence: u64,
    /// Size of the application data in bytes; DCCP packets without data are numbered, too.
    pub bytes: u32,
    /// Send time by the sender's clock, of which only differences are meaningful: from DCCP's Timestamp
    /// option, in units of 10 microseconds, or from RTP's timestamp.
    pub sent: Option<Instant>,
    /// TCP data that was sent before. A sequence number of RTP that was captured before, before the list is
    /// complete.
    pub is_repeated: bool,
}

/// Kind of stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StreamKind {
    /// The data of one end of a DCCP connection, by the connection's number.
    Dccp(usize, Side),
    /// An RTP stream, by its SSRC.
    Rtp(u32),
    /// UDP datagrams that are not RTP.
    Udp,
    /// One direction of TCP.
    Tcp,
}

impl StreamKind {
    /// `true` if a missing number is a packet that was lost.
    pub fn has_numbers(self) -> bool {
        self != Self::Udp
    }
}

/// The packets of a stream.
#[derive(Clone, PartialEq, Debug)]
pub struct Stream {
    /// Kind.
    pub kind: StreamKind,
    /// Source and destination.
    pub flow: Flow,
    /// The same, with both pairs of ports of DCCP inside UDP.
    pub source: Endpoint,
    /// See `source`.
    pub destination: Endpoint,
    /// The packets, in the order of the capture.
    pub packets: Vec<Passed>,
    clock: TimestampClock,
}

impl Stream {
    /// Number of packets with application data.
    pub fn with_data(&self) -> usize {
        self.packets.iter().filter(|packet| packet.bytes > 0).count()
    }

    /// Number of packets with application data and a send time.
    pub fn with_send_time(&self) -> usize {
        self.packets.iter().filter(|packet| packet.bytes > 0 && packet.sent.is_some()).count()
    }

    /// Sum of the application data in bytes.
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| u64::from(packet.bytes)).sum()
    }

    /// The numbers of the packets that were not lost, and their times: consecutive where none is missing.
    /// `None` without numbers.
    pub fn numbered(&self) -> Option<Vec<(u64, Instant)>> {
        match self.kind {
            StreamKind::Udp => None,
            StreamKind::Tcp => Some(numbers::of_segments(&self.packets)),
            _ => Some(self.packets.iter().map(|packet| (packet.sequence, packet.at)).collect()),
        }
    }

    fn push(&mut self, mut passed: Passed) {
        passed.at = self.packets.last().map_or(passed.at, |last| last.at.max(passed.at));
        self.packets.push(passed);
    }
}

impl core::fmt::Display for Stream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Flow { source, destination, .. } = self.flow;
        match self.kind {
            StreamKind::Dccp(..) => {
                let end = |end: &Endpoint| std::net::SocketAddr::new(end.address, end.port);
                write!(f, "DCCP {} > {}", end(&self.source), end(&self.destination))
            }
            StreamKind::Rtp(ssrc) => write!(f, "RTP {source} > {destination} ssrc {ssrc:08x}"),
            StreamKind::Udp => write!(f, "UDP {source} > {destination}"),
            StreamKind::Tcp => write!(f, "TCP {source} > {destination}"),
        }
    }
}

/// Collects packets by stream.
#[derive(Clone, Debug, Default)]
pub struct StreamList {
    streams: BTreeMap<(StreamKind, Flow), Stream>,
    /// Timestamps of RTP, in the order of the packets.
    timestamps: BTreeMap<(StreamKind, Flow), Vec<i64>>,
    packets: u64,
    ignored: u64,
}

impl StreamList {
    /// Number of packets in the list.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Number of packets of streams beyond the maximum number.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Processes a packet. Those that do not count are skipped: repeated sequence numbers, wrong checksums,
    /// DCCP packets outside the window.
    pub fn on_seen(&mut self, seen: &Seen) {
        match seen {
            Seen::Dccp(segment, followed) => self.on_dccp(segment, followed),
            Seen::Udp(segment, followed) => self.on_udp(segment, followed.rtp),
            Seen::Tcp(segment, followed) => {
                let Some(place) = followed.data else { return };
                let passed = Passed {
                    sequence: place.sequence,
                    is_repeated: place.is_retransmission,
                    ..passed(segment, segment.packet.size)
                };
                let (flow, ends) = (Flow::of_tcp(segment), tcp_ends(segment));
                if let Some(stream) = self.stream(StreamKind::Tcp, flow, ends) {
                    stream.push(passed);
                }
            }
            Seen::Malformed(_) => {}
        }
    }

    fn on_dccp(&mut self, segment: &Segment, followed: &Followed) {
        let &Followed { connection: Some(connection), by, sequence, is_new: true, .. } = followed else {
            return;
        };
        let packet = &segment.packet;
        let sent = packet.options.iter().find_map(|option| match option {
            DccpOption::Timestamp(value) => Some(*value),
            _ => None,
        });
        let bytes = if packet.packet_type().carries_data() { packet.payload.len() } else { 0 };
        let passed = passed(segment, u32::try_from(bytes).unwrap_or(u32::MAX));
        let ends = (Endpoint::source(segment), Endpoint::destination(segment));
        // A client that moves continues its stream.
        let kind = StreamKind::Dccp(connection, by);
        let known = self.streams.range((kind, LEAST)..).next().filter(|((other, _), _)| *other == kind);
        let flow = known.map_or_else(|| Flow::of(segment), |((_, flow), _)| *flow);
        let Some(stream) = self.stream(kind, flow, ends) else { return };
        let last = stream.packets.last().map_or(0, |last| last.sequence);
        let sequence = SeqNo::unwrap_or_first(sequence, last);
        let sent = sent.map(|value| Instant::from_nanos(stream.clock.read(value)));
        stream.push(Passed { sequence, sent, ..passed });
    }

    fn on_udp(&mut self, segment: &Segment<Datagram>, rtp: Option<RtpPlace>) {
        if segment.packet.size == 0 {
            return;
        }
        let kind = rtp.map_or(StreamKind::Udp, |place| StreamKind::Rtp(place.ssrc));
        let ports = segment.udp.unwrap_or_default();
        let end = |address, port| Endpoint { address, port, udp_port: None };
        let ends = (end(segment.source, ports.source), end(segment.destination, ports.destination));
        let flow = Flow::of_udp(segment);
        let Some(stream) = self.stream(kind, flow, ends) else { return };
        stream.push(Passed {
            sequence: rtp.map_or(0, |place| place.sequence),
            is_repeated: rtp.is_some_and(|place| !place.is_new),
            ..passed(segment, segment.packet.size)
        });
        if let Some(place) = rtp {
            self.timestamps.entry((kind, flow)).or_default().push(place.timestamp);
        }
    }

    fn stream(&mut self, kind: StreamKind, flow: Flow, ends: (Endpoint, Endpoint)) -> Option<&mut Stream> {
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&(kind, flow)) {
            self.ignored += 1;
            return None;
        }
        self.packets += 1;
        Some(self.streams.entry((kind, flow)).or_insert_with(|| Stream {
            kind,
            flow,
            source: ends.0,
            destination: ends.1,
            packets: Vec::new(),
            clock: TimestampClock::default(),
        }))
    }

    /// The streams with application data, in order: DCCP by connection, RTP, UDP, TCP. `inspector` has
    /// tracked them: what it has not found to be RTP is UDP.
    pub fn into_streams(mut self, inspector: &Inspector) -> Vec<Stream> {
        let mut streams: BTreeMap<(StreamKind, Flow), Stream> = BTreeMap::new();
        for ((kind, flow), mut stream) in self.streams {
            let StreamKind::Rtp(ssrc) = kind else {
                merge(&mut streams, stream);
                continue;
            };
            let timestamps = self.timestamps.remove(&(kind, flow)).unwrap_or_default();
            match inspector.rtp_clock(flow, ssrc) {
                Some(rate) => {
                    if let Some(rate) = rate {
                        set_send_times(&mut stream.packets, &timestamps, rate);
                    }
                    stream.packets.retain(|packet| !packet.is_repeated);
                }
                None => {
                    stream.kind = StreamKind::Udp;
                    stream.packets.iter_mut().for_each(|packet| packet.is_repeated = false);
                }
            }
            merge(&mut streams, stream);
        }
        streams.into_values().filter(|stream| stream.with_data() > 0).collect()
    }
}

/// Reads a capture to its end, without frames that are not `wanted`. Returns its streams, and the error that
/// ended it.
pub fn read<R: Read>(
    reader: &mut CaptureReader<R>,
    config: FollowConfig,
    udp_ports: &[u16],
    wanted: impl Fn(&Record<'_>) -> bool,
) -> Streams {
    let mut inspector = Inspector::new(config, udp_ports);
    let mut list = StreamList::default();
    let error = loop {
        match reader.next_record() {
            Ok(Some(record)) if wanted(&record) => inspector.on_record(&record),
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
        while let Some(packet) = inspector.poll(false) {
            list.on_seen(&packet);
        }
        if let Err(error) = reader.check_listed(list.packets()) {
            break Some(error);
        }
    };
    while let Some(packet) = inspector.poll(true) {
        list.on_seen(&packet);
    }
    Streams {
        zero: inspector.zero(),
        ignored: list.ignored(),
        cut_options: inspector.cut_options(),
        streams: list.into_streams(&inspector),
        error,
    }
}

/// The streams of a capture.
#[derive(Debug)]
pub struct Streams {
    /// The streams, as [`StreamList::into_streams`] orders them.
    pub streams: Vec<Stream>,
    /// Capture time of the first frame.
    pub zero: Instant,
    /// Packets of streams beyond the maximum number.
    pub ignored: u64,
    /// DCCP packets whose options were not captured completely.
    pub cut_options: u64,
    /// The error that ended the reading.
    pub error: Option<CaptureError>,
}

/// The first of all flows in their order.
const LEAST: Flow = {
    let least = std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0);
    Flow { protocol: crate::segment::Protocol::Dccp, source: least, destination: least }
};

fn passed<P>(segment: &Segment<P>, bytes: u32) -> Passed {
    Passed { number: segment.number, at: segment.at, sequence: 0, bytes, sent: None, is_repeated: false }
}

fn tcp_ends(segment: &Segment<TcpHeader>) -> (Endpoint, Endpoint) {
    let end = |address, port| Endpoint { address, port, udp_port: None };
    let header = &segment.packet;
    (end(segment.source, header.source_port), end(segment.destination, header.destination_port))
}

/// Adds a stream, or its packets to one that is there.
fn merge(streams: &mut BTreeMap<(StreamKind, Flow), Stream>, stream: Stream) {
    match streams.get_mut(&(stream.kind, stream.flow)) {
        Some(known) => {
            known.packets.extend(stream.packets);
            known.packets.sort_by_key(|packet| (packet.at, packet.number));
        }
        None => drop(streams.insert((stream.kind, stream.flow), stream)),
    }
}

/// Times of the sender's clock, which has `rate` ticks per second.
fn set_send_times(packets: &mut [Passed], timestamps: &[i64], rate: f64) {
    let least = timestamps.iter().copied().min().unwrap_or(0);
    for (packet, timestamp) in packets.iter_mut().zip(timestamps) {
        let seconds = timestamp.saturating_sub(least) as f64 / rate;
        packet.sent = Some(Instant::ZERO + Duration::from_secs_f64(seconds));
    }
}
