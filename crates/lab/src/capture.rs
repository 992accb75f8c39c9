//! Simulated packets as real bytes, for capture files that Wireshark and tshark read.
//!
//! Nodes get the addresses 10.0.0.1, 10.0.0.2, ... in the order of the scenario. DCCP packets and UDP
//! datagrams are complete, checksums included; of TCP segments the file holds the headers and the
//! true length (the simulation has no application data).

use std::net::Ipv4Addr;

use whimbrel_netsim::capture::CaptureFormat;
use whimbrel_netsim::{NodeId, Packet};
use whimbrel_wire::checksum::internet_checksum;

use crate::emulation::ip;
use crate::payload::Envelope;
use crate::scenario::{FlowPlan, Plan};
use crate::transport::IpHeaders;

/// Bytes of an IPv4 header without options.
const IP_HEADER: usize = 20;
/// The port on which all flows receive: the discard service's.
const SINK_PORT: u16 = 9;

/// Writes the packets of a simulation as IPv4 packets.
#[derive(Clone, Debug, Default)]
pub struct IpCapture {
    /// The flows whose DCCP packets travel in UDP datagrams, by number.
    encapsulated: Vec<bool>,
    /// The differentiated services code points of the flows' packets, by number.
    dscps: Vec<u8>,
}

impl IpCapture {
    /// `encapsulated[flow]` is `true` if the flow's DCCP packets travel in UDP datagrams (RFC 6773).
    pub fn new(encapsulated: Vec<bool>) -> Self {
        Self { encapsulated, dscps: Vec::new() }
    }

    /// For the flows of `plan`.
    pub fn of(plan: &Plan) -> Self {
        let encapsulated = |flow: &FlowPlan| flow.transport.is_encapsulated();
        let dscps = plan.flows.iter().map(|flow| flow.dscp).collect();
        Self { dscps, ..Self::new(plan.flows.iter().map(encapsulated).collect()) }
    }
}

/// The address of a node, or of all neighbours.
fn address(node: NodeId) -> Ipv4Addr {
    if node == NodeId::BROADCAST {
        return Ipv4Addr::BROADCAST;
    }
    Ipv4Addr::from_bits(u32::from_be_bytes([10, 0, 0, 1]) + node.index() as u32)
}

impl CaptureFormat<Envelope> for IpCapture {
    fn capture_bytes(&mut self, packet: &Packet<Envelope>, out: &mut Vec<u8>) {
        if let Some(bytes) = packet.payload.content.as_content().ip_packet() {
            let start = out.len();
            out.extend_from_slice(bytes);
            return ip::set_ecn(&mut out[start..], packet.ecn);
        }
        let source = address(packet.source);
        let destination = address(packet.destination);
        let start = out.len();
        out.resize(start + IP_HEADER, 0);
        let headers = IpHeaders {
            source,
            destination,
            flow_port: flow_port(packet),
            sink_port: SINK_PORT,
            is_encapsulated: self.encapsulated.get(packet.flow.0 as usize).copied().unwrap_or(false),
        };
        let protocol = packet.payload.content.as_content().capture_bytes(&headers, out);
        let length = (packet.size as usize).max(out.len() - start).min(usize::from(u16::MAX)) as u16;
        let header = &mut out[start..start + IP_HEADER];
        header[0] = 0x45;
        let dscp = self.dscps.get(packet.flow.0 as usize).copied().unwrap_or_default();
        header[1] = dscp << 2 | packet.ecn.bits();
        header[2..4].copy_from_slice(&length.to_be_bytes());
        header[4..6].copy_from_slice(&(packet.id.0 as u16).to_be_bytes());
        header[8] = 64;
        header[9] = protocol;
        header[12..16].copy_from_slice(&source.octets());
        header[16..20].copy_from_slice(&destination.octets());
        let checksum = internet_checksum(header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// The port of a flow's sending end.
fn flow_port(packet: &Packet<Envelope>) -> u16 {
    49_152 + (packet.flow.0 % 16_384) as u16
}
