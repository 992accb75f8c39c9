//! From captured frames to a report.

use std::collections::VecDeque;

use whimbrel_units::Instant;
use whimbrel_wire::Packet;

use crate::capture::{CaptureError, CaptureReader, Record};
use crate::copies::Copies;
use crate::dissect::{Dissector, Malformed, NotRead};
use crate::fecframe::{Protected, sdp};
use crate::flows::{FlowContent, Flows, TcpFollowed, UdpFollowed};
use crate::follow::{FollowConfig, Followed, Follower};
use crate::link::{NoPacket, link_name};
use crate::names::seconds;
use crate::report::{self, CaptureSummary, InterfaceReport, MalformedReport, Report};
use crate::segment::{AnySegment, Datagram, Flow, Segment, TcpHeader};
use crate::traffic::Traffic;

/// Maximum number of malformed frames listed; further ones are counted.
const MAX_NAMED: usize = 20;
/// Maximum number of unknown link types counted separately.
const MAX_LINK_TYPES: usize = 64;
/// Maximum number of interfaces counted separately.
const MAX_INTERFACES: usize = 1024;
/// See [`Report::version`].
const VERSION: u32 = 3;

/// Dissects the frames of a capture and tracks the connections and flows in them.
#[derive(Clone, Debug)]
pub struct Inspector {
    dissector: Dissector,
    copies: Copies,
    follower: Follower,
    flows: Flows,
    protected: Vec<Protected>,
    traffic: Traffic,
    summary: CaptureSummary,
    malformed: VecDeque<Malformed>,
    zero: Option<Instant>,
}

/// A packet that counts, and the result of tracking it.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A DCCP packet.
    Dccp(Box<Segment<Packet>>, Followed),
    /// A UDP datagram.
    Udp(Segment<Datagram>, UdpFollowed),
    /// A TCP segment.
    Tcp(Segment<TcpHeader>, TcpFollowed),
    /// A malformed DCCP packet.
    Malformed(Malformed),
}

impl Inspector {
    /// An inspector; `udp_ports` carry DCCP in addition to 6511.
    pub fn new(config: FollowConfig, udp_ports: &[u16]) -> Self {
        Self {
            dissector: Dissector::new(udp_ports),
            copies: Copies::new(config.viewpoint),
            follower: Follower::new(config),
            flows: Flows::new(config),
            protected: Vec::new(),
            traffic: Traffic::default(),
            summary: CaptureSummary::default(),
            malformed: VecDeque::new(),
            zero: None,
        }
    }

    /// Also follows sources and their repair flows, which an SDP file describes.
    pub fn follow_repair(&mut self, sessions: Vec<sdp::Session>) {
        self.protected.extend(sessions.into_iter().map(Protected::new));
    }

    /// Processes a captured frame. The packets in it count later, once their copies are known:
    /// [`Inspector::poll`] has them.
    pub fn on_record(&mut self, record: &Record<'_>) {
        self.zero = Some(self.zero.map_or(record.at, |zero| zero.min(record.at)));
        self.summary.frames += 1;
        self.follower.on_time(record.at);
        self.count_interface(record);
        self.traffic.on_record(record);
        if record.data.len() < record.original_length as usize {
            self.summary.cut_frames += 1;
        }
        let dissected = self.dissector.dissect(record);
        for (segment, sighting) in dissected.segments {
            self.copies.push(segment, &sighting);
        }
        for malformed in dissected.malformed {
            self.on_malformed(malformed);
        }
        if let Some(reason) = dissected.not_read {
            self.count_not_read(reason);
        }
    }

    /// The next packet that counts, if it is known to; with `is_end`, after the last frame, all packets are.
    pub fn poll(&mut self, is_end: bool) -> Option<Seen> {
        if let Some(malformed) = self.malformed.pop_front() {
            return Some(Seen::Malformed(malformed));
        }
        let segment = self.copies.pop(is_end)?;
        Some(match segment {
            AnySegment::Dccp(segment) => {
                self.summary.dccp_packets += 1;
                self.summary.cut_options += u64::from(!segment.has_all_options);
                let followed = self.follower.on_segment(&segment);
                Seen::Dccp(Box::new(segment), followed)
            }
            AnySegment::Udp(segment) => {
                self.summary.udp_packets += 1;
                let followed = self.flows.on_udp(&segment);
                self.protected.iter_mut().for_each(|protected| protected.on_datagram(&segment));
                Seen::Udp(segment, followed)
            }
            AnySegment::Tcp(segment) => {
                self.summary.tcp_packets += 1;
                let followed = self.flows.on_tcp(&segment);
                Seen::Tcp(segment, followed)
            }
        })
    }

    fn on_malformed(&mut self, malformed: Malformed) {
        self.summary.malformed += 1;
        if self.summary.malformed_first.len() < MAX_NAMED {
            self.summary.malformed_first.push(MalformedReport {
                packet: malformed.number,
                record_offset: malformed.record_offset,
                layer: malformed.layer,
                offset: malformed.offset,
                reason: malformed.reason.clone(),
            });
        }
        self.malformed.push_back(malformed);
    }

    fn count_not_read(&mut self, reason: NotRead) {
        let not_read = &mut self.summary.not_read;
        match reason {
            NotRead::Link(NoPacket::UnknownLink(link_type)) => {
                let known = &mut self.summary.unknown_links;
                if known.len() < MAX_LINK_TYPES || known.contains_key(&link_type) {
                    *known.entry(link_type).or_default() += 1;
                }
            }
            NotRead::Link(NoPacket::NotIp) => not_read.not_ip += 1,
            NotRead::Link(NoPacket::Cut) | NotRead::Cut => not_read.cut += 1,
            NotRead::Link(NoPacket::Encrypted) => not_read.encrypted += 1,
            NotRead::Link(NoPacket::Damaged) => not_read.damaged += 1,
            NotRead::Link(NoPacket::Fragment) => not_read.wireless_fragments += 1,
            NotRead::Protocol(protocol) => *not_read.protocols.entry(protocol).or_default() += 1,
            NotRead::Invalid => not_read.invalid += 1,
            // Counted when the datagram stays incomplete.
            NotRead::Fragment => {}
        }
    }

    fn count_interface(&mut self, record: &Record<'_>) {
        let known = &mut self.summary.interfaces;
        if known.len() >= MAX_INTERFACES && !known.contains_key(&record.interface) {
            return;
        }
        let interface = known.entry(record.interface).or_insert_with(|| InterfaceReport {
            name: record.interface_name.map(str::to_owned),
            link: link_name(record.link_type),
            frames: 0,
        });
        interface.frames += 1;
    }

    /// Records an error that ends the reading of the file.
    pub fn on_error(&mut self, error: &CaptureError) {
        self.summary.error = Some(error.to_string());
    }

    /// Capture time of the first frame.
    pub fn zero(&self) -> Instant {
        self.zero.unwrap_or_default()
    }

    /// Number of DCCP packets whose options were not captured completely.
    pub fn cut_options(&self) -> u64 {
        self.summary.cut_options
    }

    /// The clock rate of an RTP stream in Hz, if it is known; `None` if the source has turned out not to be
    /// RTP.
    pub fn rtp_clock(&self, flow: Flow, ssrc: u32) -> Option<Option<f64>> {
        let state = self.flows.flow(flow)?;
        let FlowContent::Udp(streams) = &state.content else { return None };
        let stream = streams.confirmed().find(|stream| stream.ssrc == ssrc)?;
        Some(stream.jitter.clock_rate())
    }

    /// The report on the packets that [`Inspector::poll`] has returned.
    pub fn report(&self) -> Report {
        let (zero, end) = self.follower.span().unwrap_or_default();
        let (fragments, fragments_first) = self.dissector.reassembly().incomplete();
        let mut report = Report {
            version: VERSION,
            capture: CaptureSummary {
                start_s: seconds(zero.saturating_since(Instant::ZERO)),
                duration_s: seconds(end.saturating_since(zero)),
                beyond_limit: self.follower.refused() + self.flows.refused(),
                copies: self.copies.copies(),
                reassembled: self.dissector.reassembly().completed(),
                fragments,
                fragments_first,
                ..self.summary.clone()
            },
            connections: report::connections(&self.follower),
            flows: report::flow::flows(&self.flows, zero),
            fecframe: self.protected.iter().map(Protected::report).collect(),
            wireless: self.traffic.report(),
        };
        for connection in &mut report.connections {
            let ends = [connection.client, connection.server];
            for (half, (source, destination)) in
                connection.halves.iter_mut().zip([(ends[0], ends[1]), (ends[1], ends[0])])
            {
                (half.packets_elsewhere, _) = self.copies.of_flow(source.flow_to(destination));
            }
        }
        for flow in &mut report.flows {
            (flow.packets_elsewhere, flow.points) = self.copies.of_flow(flow.flow());
        }
        report
    }
}

/// Reads a capture from a buffered stream and reports on it. If the file cannot be read to its end, the
/// report covers the preceding part and contains the error.
///
/// # Errors
/// Returns an error if the stream is not a capture.
pub fn inspect(
    stream: impl std::io::Read,
    config: FollowConfig,
    udp_ports: &[u16],
) -> Result<Report, CaptureError> {
    let mut reader = CaptureReader::new(stream)?;
    let mut inspector = Inspector::new(config, udp_ports);
    if let Err(error) = inspector.read(&mut reader, |_| true, |_, _| {}) {
        inspector.on_error(&error);
    }
    Ok(inspector.report())
}

impl Inspector {
    /// Reads a capture to its end. Frames that are not `wanted` are left out; `seen` is called for each
    /// packet that counts, in the order of the capture. Packets are counted up to an error.
    ///
    /// # Errors
    /// Returns an error if the file is truncated or invalid.
    pub fn read<R: std::io::Read>(
        &mut self,
        reader: &mut CaptureReader<R>,
        wanted: impl Fn(&Record<'_>) -> bool,
        mut seen: impl FnMut(&Self, &Seen),
    ) -> Result<(), CaptureError> {
        let end = loop {
            match reader.next_record() {
                Ok(Some(record)) if wanted(&record) => self.on_record(&record),
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
            while let Some(packet) = self.poll(false) {
                seen(self, &packet);
            }
        };
        while let Some(packet) = self.poll(true) {
            seen(self, &packet);
        }
        end
    }
}
