//! Bare datagrams: no connection, no feedback, no congestion control; and models of repairing programs.

mod repaired;

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_control::capacity::{AdHocProbe, ProbeArrival};
use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, PacketId};
use whimbrel_scenario::ScenarioError;
use whimbrel_units::{DataRate, Instant};

use repaired::RepairedUdp;

use super::repair::{Repair, RepairKind};
use super::{Content, FlowAgent, FlowEnd, FlowSetup, FlowTransport, IpHeaders, Transport};
use crate::metrics::{Meter, PacketInfo};
use crate::payload::Envelope;
use crate::traffic::TrafficSource;

/// Bare datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Udp;

/// The keys of a flow that UDP has.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// DCCP, UDP and media only: repair of lost datagrams within a latency budget, and the count of the
    /// frames in time.
    #[serde(default)]
    repair: Option<Repair>,
    /// UDP only: if true, the datagrams are broadcasts to all neighbours of `from`; those at `to` count. No
    /// station acknowledges them, and losses have no causes.
    #[serde(default)]
    broadcast: bool,
    /// UDP only: the name of a flow of broadcasts of the same `from`, which `to` receives as well. This flow
    /// sends nothing.
    #[serde(default)]
    joins: Option<String>,
}

impl Transport for Udp {
    const NAME: &'static str = "udp";
    const DESCRIPTION: &'static str = "Bare datagrams without congestion control.";
    const KEYS: &'static [&'static str] = &["repair", "broadcast", "joins"];
    type Keys = Keys;

    fn configure(&self, key: &str, keys: Keys) -> Result<Box<dyn FlowTransport>, ScenarioError> {
        if let Some(repair) = &keys.repair {
            repair.expect(key, &repaired::KINDS)?;
        }
        if keys.broadcast && keys.repair.is_some() {
            let expected = "false with `repair`, whose reports come from one receiver";
            return Err(ScenarioError::invalid(format!("{key}.broadcast"), "true", expected));
        }
        if keys.joins.is_some() && (keys.broadcast || keys.repair.is_some()) {
            let expected = "no `broadcast` and no `repair`: the other flow sends";
            return Err(ScenarioError::invalid(format!("{key}.joins"), "...", expected));
        }
        Ok(Box::new(UdpFlow { repair: keys.repair, is_broadcast: keys.broadcast, joins: keys.joins }))
    }
}

/// The datagrams of a flow.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UdpFlow {
    /// The model that repairs them.
    repair: Option<Repair>,
    /// Broadcasts to all neighbours.
    is_broadcast: bool,
    /// The flow of broadcasts whose datagrams these are.
    joins: Option<String>,
}

/// Bytes of a datagram's headers over IPv4.
const HEADERS: u32 = 28;
/// The IP protocol number of UDP.
const UDP: u8 = 17;

impl FlowTransport for UdpFlow {
    fn scheme(&self) -> String {
        match &self.repair {
            Some(repair) if repair.kind != RepairKind::None => repair.kind.name().to_owned(),
            _ => "udp".to_owned(),
        }
    }

    fn headers(&self) -> u32 {
        HEADERS + self.repair.as_ref().map_or(0, repaired::overhead)
    }

    fn fit(&mut self, key: &str, _: u32, greedy: bool) -> Result<(), ScenarioError> {
        match self.repair {
            Some(_) if greedy => Err(ScenarioError::invalid(
                format!("{key}.repair"),
                "{...}",
                "frames: traffic with times of its own",
            )),
            _ => Ok(()),
        }
    }

    fn has_feedback(&self) -> bool {
        self.repair.is_some_and(|repair| !matches!(repair.kind, RepairKind::None | RepairKind::WfbNg))
    }

    fn records_frames(&self) -> bool {
        self.repair.is_some()
    }

    fn is_broadcast(&self) -> bool {
        self.is_broadcast
    }

    fn joins(&self) -> Option<&str> {
        self.joins.as_deref()
    }

    fn ends(&self, flow: &FlowSetup<'_>) -> [FlowAgent; 2] {
        if let Some(repair) = &self.repair {
            let ends = RepairedUdp::pair(flow, repair, HEADERS);
            return ends.map(|end| FlowAgent::Other(Box::new(end)));
        }
        let peer = if self.is_broadcast { NodeId::BROADCAST } else { flow.to };
        [
            UdpSource::new(peer, flow.id, flow.headers, flow.source(), flow.meter()).into(),
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
