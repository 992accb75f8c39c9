//! Bare datagrams: no connection, no feedback, no congestion control.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_control::capacity::{AdHocProbe, ProbeArrival};
use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, PacketId};
use whimbrel_scenario::ScenarioError;
use whimbrel_units::{DataRate, Instant};

use super::{Content, FlowAgent, FlowEnd, FlowSetup, FlowTransport, IpHeaders, Transport};
use crate::metrics::{Meter, PacketInfo};
use crate::payload::Envelope;
use crate::traffic::TrafficSource;

/// Bare datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Udp;

/// UDP has no keys of its own.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {}

impl Transport for Udp {
    const NAME: &'static str = "udp";
    const DESCRIPTION: &'static str = "Bare datagrams without congestion control.";
    const KEYS: &'static [&'static str] = &[];
    type Keys = Keys;

    fn configure(&self, _: &str, _: Keys) -> Result<Box<dyn FlowTransport>, ScenarioError> {
        Ok(Box::new(UdpFlow))
    }
}

/// The datagrams of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpFlow;

/// Bytes of a datagram's headers over IPv4.
const HEADERS: u32 = 28;
/// The IP protocol number of UDP.
const UDP: u8 = 17;

impl FlowTransport for UdpFlow {
    fn scheme(&self) -> String {
        "udp".to_owned()
    }

    fn headers(&self) -> u32 {
        HEADERS
    }

    fn has_feedback(&self) -> bool {
        false
    }

    fn ends(&self, flow: &FlowSetup<'_>) -> [FlowAgent; 2] {
        [
            UdpSource::new(flow.to, flow.id, flow.headers, flow.source(), flow.meter()).into(),
            UdpSink { meter: flow.meter(), probe: flow.pair_probe() }.into(),
        ]
    }
}

/// The content of a bare datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpContent {
    /// The datagram's number at its source.
    pub tag: u64,
    /// Application data in bytes.
    pub length: u32,
}

impl Content for UdpContent {
    fn data_length(&self) -> u32 {
        self.length
    }

    fn numbers(&self) -> (u64, u64) {
        (self.tag, self.tag)
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        let length = self.length as usize;
        let start = out.len();
        out.extend(headers.flow_port.to_be_bytes());
        out.extend(headers.sink_port.to_be_bytes());
        out.extend((8 + self.length as u16).to_be_bytes());
        out.extend([0; 2]);
        out.resize(start + 8 + length, 0);
        let shown = length.min(8);
        out[start + 8..start + 8 + shown].copy_from_slice(&self.tag.to_be_bytes()[..shown]);
        // A checksum of zero: the sender made none (RFC 768).
        UDP
    }
}

/// The end that sends: every datagram leaves at its time.
#[derive(Debug)]
pub struct UdpSource {
    peer: NodeId,
    flow: FlowId,
    headers: u32,
    source: TrafficSource,
    meter: Meter,
}

impl UdpSource {
    /// Sends what `source` emits to the flow's other end at `peer`; each packet is `headers` bytes
    /// longer on the link than its datagram.
    pub fn new(peer: NodeId, flow: FlowId, headers: u32, source: TrafficSource, meter: Meter) -> Self {
        Self { peer, flow, headers, source, meter }
    }
}

impl FlowEnd for UdpSource {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, _: Instant, _: u32, _: Ecn, _: &mut Envelope) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        let emission = self.source.poll_emission(now)?;
        let size = emission.size + self.headers;
        self.meter.on_sent(size);
        let tag = emission.tag;
        self.meter.log_sent(|| PacketInfo { sequence: tag, tag, sent: now, size });
        let content = UdpContent { tag, length: emission.size }.into();
        Some(Packet {
            id: PacketId(0),
            flow: self.flow,
            source: NodeId::default(),
            destination: self.peer,
            size,
            ecn: Ecn::NotEct,
            payload: Envelope { sent: now, content },
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.source.poll_timeout()
    }
}

/// The end that receives: it counts.
#[derive(Debug)]
pub struct UdpSink {
    meter: Meter,
    /// The evaluation of pairs of packets.
    probe: Option<AdHocProbe>,
}

impl UdpSink {
    /// A sink with this meter.
    pub fn new(meter: Meter) -> Self {
        Self { meter, probe: None }
    }
}

impl FlowEnd for UdpSink {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let length = u64::from(envelope.content.data_length());
        let info = envelope.packet_info(size);
        if let Some(probe) = &mut self.probe {
            let (pair, is_second) = (info.tag / 2, info.tag % 2 == 1);
            probe.on_arrival(&ProbeArrival { pair, is_second, sent: info.sent, received: now });
        }
        self.meter.on_received(now, info, length, ecn);
    }

    fn path_capacity(&self) -> Option<DataRate> {
        self.probe.as_ref()?.capacity()
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        self.meter.on_lost(now, packet.payload.packet_info(packet.size), cause);
    }
}
