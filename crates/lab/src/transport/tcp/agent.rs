//! The two ends of a simulated TCP connection in the simulated network.

use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, PacketId};
use whimbrel_units::Instant;

use crate::metrics::{Meter, PacketInfo, seconds};
use crate::payload::{Envelope, SimPayload};
use crate::tcp::{
    Addresses, Flags, HeaderModel, LossDetection, Segment, SenderSnapshot, TcpConfig, TcpReceiver, TcpSender,
    write_tcp_header,
};
use crate::traffic::TrafficSource;
use crate::transport::{Content, FlowEnd, IpHeaders, SenderEstimate};

/// The content of a TCP packet.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpContent {
    /// The segment.
    pub segment: Segment,
    /// `true` if the end that sends the data sent it.
    pub from_sender: bool,
}

impl Content for TcpContent {
    fn data_length(&self) -> u32 {
        self.segment.length
    }

    fn numbers(&self) -> (u64, u64) {
        (self.segment.seq, self.segment.seq)
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        // Data travels from the flow's own port to the sink's, acknowledgements back.
        let (source_port, destination_port) = if self.from_sender {
            (headers.flow_port, headers.sink_port)
        } else {
            (headers.sink_port, headers.flow_port)
        };
        let addresses = Addresses {
            source: headers.source.octets(),
            destination: headers.destination.octets(),
            source_port,
            destination_port,
        };
        write_tcp_header(&self.segment, &addresses, out);
        TCP
    }
}

/// The IP protocol number of TCP.
const TCP: u8 = 6;

/// Lead of a greedy application that has a stop time over its TCP, in segments.
const AHEAD: u64 = 64;

/// The end that sends data.
#[derive(Debug)]
pub struct TcpSenderAgent {
    peer: NodeId,
    flow: FlowId,
    headers: HeaderModel,
    /// Bytes of a header between the IP header and the TCP header.
    shim_size: u32,
    segment_size: u32,
    /// `true` if the sender closes when the application ends.
    closes: bool,
    pub(in crate::transport) sender: TcpSender,
    source: TrafficSource,
    /// Bytes that the application has handed over.
    written: u64,
    /// The end of the data ever sent.
    highest: u64,
    meter: Meter,
}

impl TcpSenderAgent {
    /// Sends what `source` emits to the flow's other end at `peer`.
    pub fn new(peer: NodeId, flow: FlowId, config: &TcpConfig, source: TrafficSource, meter: Meter) -> Self {
        Self {
            peer,
            flow,
            headers: config.headers,
            shim_size: 0,
            segment_size: config.segment_size,
            closes: config.recovery.detection == LossDetection::AtTheEnd,
            sender: TcpSender::new(config),
            source,
            written: 0,
            highest: 0,
            meter,
        }
    }

    /// The same with a header of `size` bytes between the IP header and the TCP header of each packet.
    pub(in crate::transport) fn with_shim(mut self, size: u32) -> Self {
        self.shim_size = size;
        self
    }

    /// Counts a sent packet of `size` bytes without data that is not TCP's.
    pub(in crate::transport) fn note_probe(&mut self, size: u32) {
        self.meter.on_feedback_sent(size);
    }

    /// The next segment to send and the size of its packet.
    // Inlined into both of its callers: calls cost 1 % of the instructions per packet.
    #[inline(always)]
    pub(in crate::transport) fn poll_segment(&mut self, now: Instant) -> Option<(Segment, u32)> {
        self.feed(now);
        let segment = self.sender.poll_transmit(now)?;
        let size = self.headers.size(&segment) + self.shim_size;
        if segment.length == 0 {
            self.meter.on_feedback_sent(size);
        } else {
            let again = segment.seq < self.highest;
            self.meter.on_sent(size);
            self.meter.log_sent(|| PacketInfo { sequence: segment.seq, tag: segment.seq, sent: now, size });
            self.meter.on_retransmission(again);
            self.highest = self.highest.max(segment.seq + u64::from(segment.length));
        }
        Some((segment, size))
    }

    /// A snapshot of the sender.
    pub fn snapshot(&self) -> SenderSnapshot {
        self.sender.snapshot()
    }

    /// Hands over the application's data due by now.
    pub(in crate::transport) fn feed(&mut self, now: Instant) {
        if self.closes && self.source.has_ended(now) {
            self.sender.close();
        }
        if self.source.is_greedy() {
            let wanted = self.highest + AHEAD * u64::from(self.segment_size);
            if self.written < wanted && self.source.poll_emission(now).is_some() {
                self.sender.send(wanted - self.written);
                self.written = wanted;
            }
            return;
        }
        while let Some(emission) = self.source.poll_emission(now) {
            self.sender.send(u64::from(emission.size));
        }
    }
}

impl FlowEnd for TcpSenderAgent {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, now: Instant, _: u32, _: Ecn, envelope: &mut Envelope) {
        if let SimPayload::Tcp(TcpContent { segment, .. }) = &envelope.content {
            self.sender.handle_segment(now, segment);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sender.handle_timeout(now);
        self.meter.set_timeouts(self.sender.snapshot().timeouts);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        let (segment, size) = self.poll_segment(now)?;
        Some(packet(self.peer, self.flow, now, segment, size, true))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.sender.poll_timeout();
        if self.source.is_greedy() && self.written > 0 {
            return timer;
        }
        match (timer, self.source.poll_timeout()) {
            (Some(timer), Some(arising)) => Some(timer.min(arising)),
            (one, other) => one.or(other),
        }
    }

    fn handle_loss(&mut self, _: Instant, _: Packet<Envelope>, _: LossCause) {
        self.meter.on_feedback_lost();
    }

    fn estimate(&self) -> SenderEstimate {
        let snapshot = self.sender.snapshot();
        let rtt = snapshot.smoothed_rtt.map_or(f64::NAN, seconds);
        let allowed_rate = snapshot.model.map_or(f64::NAN, |model| model.pacing_rate.as_bits_per_second());
        SenderEstimate { cwnd: snapshot.cwnd, allowed_rate, rtt, ..SenderEstimate::NONE }
    }
}

/// The end that receives data.
#[derive(Debug)]
pub struct TcpReceiverAgent {
    peer: NodeId,
    flow: FlowId,
    headers: HeaderModel,
    /// Bytes of a header between the IP header and the TCP header.
    shim_size: u32,
    receiver: TcpReceiver,
    meter: Meter,
}

impl TcpReceiverAgent {
    /// Receives from the flow's other end at `peer`.
    pub fn new(peer: NodeId, flow: FlowId, config: &TcpConfig, meter: Meter) -> Self {
        let receiver = TcpReceiver::new(config);
        Self { peer, flow, headers: config.headers, shim_size: 0, receiver, meter }
    }

    /// The same with a header of `size` bytes between the IP header and the TCP header of each packet.
    pub(in crate::transport) fn with_shim(mut self, size: u32) -> Self {
        self.shim_size = size;
        self
    }

    /// Counts a sent packet of `size` bytes without data that is not TCP's.
    pub(in crate::transport) fn note_probe(&mut self, size: u32) {
        self.meter.on_feedback_sent(size);
    }

    /// Processes a segment.
    // Inlined into both of its callers: calls cost 1 % of the instructions per packet.
    #[inline(always)]
    pub(in crate::transport) fn handle_segment(
        &mut self,
        now: Instant,
        segment: &Segment,
        info: PacketInfo,
        ecn: Ecn,
    ) {
        let before = self.receiver.delivered();
        if ecn == Ecn::Ce {
            let marked = Segment { flags: segment.flags | Flags::CE, ..*segment };
            self.receiver.handle_segment(now, &marked);
        } else {
            self.receiver.handle_segment(now, segment);
        }
        if segment.length > 0 {
            let delivered = self.receiver.delivered() - before;
            self.meter.on_received(now, info, delivered, ecn);
        }
    }

    /// The next acknowledgement and the size of its packet.
    // Inlined into both of its callers: calls cost 1 % of the instructions per packet.
    #[inline(always)]
    pub(in crate::transport) fn poll_segment(&mut self, now: Instant) -> Option<(Segment, u32)> {
        let segment = self.receiver.poll_transmit(now)?;
        let size = self.headers.size(&segment) + self.shim_size;
        self.meter.on_feedback_sent(size);
        Some((segment, size))
    }
}

impl FlowEnd for TcpReceiverAgent {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let SimPayload::Tcp(TcpContent { segment, .. }) = &envelope.content else { return };
        self.handle_segment(now, segment, envelope.packet_info(size), ecn);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.receiver.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        let (segment, size) = self.poll_segment(now)?;
        Some(packet(self.peer, self.flow, now, segment, size, false))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.receiver.poll_timeout()
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        match packet.payload.content.data_length() {
            0 => self.meter.on_feedback_lost(),
            _ => self.meter.on_lost(now, packet.payload.packet_info(packet.size), cause),
        }
    }
}

fn packet(
    destination: NodeId,
    flow: FlowId,
    now: Instant,
    segment: Segment,
    size: u32,
    from_sender: bool,
) -> Packet<Envelope> {
    let ecn = if segment.flags.contains(Flags::ECT) {
        Ecn::Ect0
    } else if segment.flags.contains(Flags::ECT1) {
        Ecn::Ect1
    } else {
        Ecn::NotEct
    };
    let payload = Envelope { sent: now, content: TcpContent { segment, from_sender }.into() };
    Packet { id: PacketId(0), flow, source: NodeId::default(), destination, size, ecn, payload }
}
