//! The two ends of a simulated TCP connection in the simulated network.

use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet};
use whimbrel_units::Instant;

use crate::flow_agent::SenderEstimate;
use crate::metrics::{Meter, seconds};
use crate::payload::{Envelope, SimPayload};
use crate::tcp::{Flags, HeaderModel, Segment, SenderSnapshot, TcpConfig, TcpReceiver, TcpSender};
use crate::traffic::TrafficSource;

/// Lead of a greedy application that has a stop time over its TCP, in segments.
const AHEAD: u64 = 64;

/// The end that sends data.
#[derive(Debug)]
pub struct TcpSenderAgent {
    peer: NodeId,
    flow: FlowId,
    headers: HeaderModel,
    segment_size: u32,
    sender: TcpSender,
    source: TrafficSource,
    /// Bytes that the application has handed over.
    written: u64,
    /// The end of the data ever sent.
    highest: u64,
    pub(crate) meter: Meter,
}

impl TcpSenderAgent {
    /// Sends what `source` emits to the flow's other end at `peer`.
    pub fn new(peer: NodeId, flow: FlowId, config: &TcpConfig, source: TrafficSource, meter: Meter) -> Self {
        Self {
            peer,
            flow,
            headers: config.headers,
            segment_size: config.segment_size,
            sender: TcpSender::new(config),
            source,
            written: 0,
            highest: 0,
            meter,
        }
    }

    /// A snapshot of the sender.
    pub fn snapshot(&self) -> SenderSnapshot {
        self.sender.snapshot()
    }

    pub(crate) fn estimate(&self) -> SenderEstimate {
        let snapshot = self.sender.snapshot();
        let rtt = snapshot.smoothed_rtt.map_or(f64::NAN, seconds);
        SenderEstimate { cwnd: snapshot.cwnd, rtt, ..SenderEstimate::NONE }
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, envelope: &Envelope) {
        if let SimPayload::Tcp { segment, .. } = &envelope.content {
            self.sender.handle_segment(now, segment);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.sender.handle_timeout(now);
        self.meter.set_timeouts(self.sender.snapshot().timeouts);
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        self.feed(now);
        let segment = self.sender.poll_transmit(now)?;
        let size = self.headers.size(&segment);
        if segment.length == 0 {
            self.meter.on_feedback_sent(size);
        } else {
            let again = segment.seq < self.highest;
            self.meter.on_sent(size);
            self.meter.on_retransmission(again);
            self.highest = self.highest.max(segment.seq + u64::from(segment.length));
        }
        Some(packet(self.peer, self.flow, now, segment, size, true))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.sender.poll_timeout();
        if self.source.is_greedy() && self.written > 0 {
            return timer;
        }
        match (timer, self.source.poll_timeout()) {
            (Some(timer), Some(arising)) => Some(timer.min(arising)),
            (one, other) => one.or(other),
        }
    }

    pub(crate) fn handle_loss(&mut self) {
        self.meter.on_feedback_lost();
    }

    /// Hands over the application's data due by now.
    fn feed(&mut self, now: Instant) {
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

/// The end that receives data.
#[derive(Debug)]
pub struct TcpReceiverAgent {
    peer: NodeId,
    flow: FlowId,
    headers: HeaderModel,
    receiver: TcpReceiver,
    pub(crate) meter: Meter,
}

impl TcpReceiverAgent {
    /// Receives from the flow's other end at `peer`.
    pub fn new(peer: NodeId, flow: FlowId, config: &TcpConfig, meter: Meter) -> Self {
        Self { peer, flow, headers: config.headers, receiver: TcpReceiver::new(config), meter }
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &Envelope) {
        let SimPayload::Tcp { segment, .. } = &envelope.content else { return };
        let before = self.receiver.delivered();
        if ecn == Ecn::Ce {
            let marked = Segment { flags: segment.flags | Flags::CE, ..*segment };
            self.receiver.handle_segment(now, &marked);
        } else {
            self.receiver.handle_segment(now, segment);
        }
        if segment.length > 0 {
            let delivered = self.receiver.delivered() - before;
            self.meter.on_received(now, envelope.packet_info(size), delivered, ecn);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.receiver.handle_timeout(now);
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        let segment = self.receiver.poll_transmit(now)?;
        let size = self.headers.size(&segment);
        self.meter.on_feedback_sent(size);
        Some(packet(self.peer, self.flow, now, segment, size, false))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.receiver.poll_timeout()
    }

    pub(crate) fn handle_loss(&mut self, now: Instant, packet: &Packet<Envelope>, cause: LossCause) {
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
    let ecn = if segment.flags.contains(Flags::ECT) { Ecn::Ect0 } else { Ecn::NotEct };
    let payload = Envelope { sent: now, content: SimPayload::Tcp { segment, from_sender } };
    Packet { id: 0, flow, source: NodeId::default(), destination, size, ecn, payload }
}
