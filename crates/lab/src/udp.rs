//! Bare datagrams: no connection, no feedback, no congestion control.

use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet};
use whimbrel_units::Instant;

use crate::metrics::Meter;
use crate::payload::{Envelope, SimPayload};
use crate::traffic::TrafficSource;

/// The end that sends: every datagram leaves at its time.
#[derive(Debug)]
pub struct UdpSource {
    peer: NodeId,
    flow: FlowId,
    headers: u32,
    source: TrafficSource,
    pub(crate) meter: Meter,
}

impl UdpSource {
    /// Sends what `source` emits to the flow's other end at `peer`; each packet is `headers` bytes
    /// longer on the link than its datagram.
    pub fn new(peer: NodeId, flow: FlowId, headers: u32, source: TrafficSource, meter: Meter) -> Self {
        Self { peer, flow, headers, source, meter }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        let emission = self.source.poll_emission(now)?;
        let size = emission.size + self.headers;
        self.meter.on_sent(size);
        let content = SimPayload::Udp { tag: emission.tag, length: emission.size };
        Some(Packet {
            id: 0,
            flow: self.flow,
            source: NodeId::default(),
            destination: self.peer,
            size,
            ecn: Ecn::NotEct,
            payload: Envelope { sent: now, content },
        })
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.source.poll_timeout()
    }
}

/// The end that receives: it counts.
#[derive(Debug)]
pub struct UdpSink {
    pub(crate) meter: Meter,
}

impl UdpSink {
    /// A sink with this meter.
    pub fn new(meter: Meter) -> Self {
        Self { meter }
    }
    pub(crate) fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &Envelope) {
        let length = u64::from(envelope.content.data_length());
        self.meter.on_received(now, envelope.packet_info(size), length, ecn);
    }
    pub(crate) fn handle_loss(&mut self, now: Instant, packet: &Packet<Envelope>, cause: LossCause) {
        self.meter.on_lost(now, packet.payload.packet_info(packet.size), cause);
    }
}
