//! Simulated packets as real bytes, for capture files that Wireshark and tshark read.
//!
//! Nodes get the addresses 10.0.0.1, 10.0.0.2, ... in the order of the scenario. DCCP packets and UDP
//! datagrams are complete, checksums included; of TCP segments the file holds the headers and the
//! true length (the simulation has no application data).

use std::net::Ipv4Addr;

use whimbrel_netsim::Packet;
use whimbrel_netsim::capture::CaptureFormat;
use whimbrel_wire::checksum::{PseudoHeader, internet_checksum};
use whimbrel_wire::udp_encapsulation::{self, UdpPorts};

use crate::payload::{Envelope, SimPayload};
use crate::scenario::{FlowPlan, Plan, TransportPlan};
use crate::tcp::{Addresses, write_tcp_header};

/// Bytes of an IPv4 header without options.
const IP_HEADER: usize = 20;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
/// The port on which all flows receive: that of the discard service.
const SINK_PORT: u16 = 9;

/// Writes the packets of a simulation as IPv4 packets.
#[derive(Clone, Debug, Default)]
pub struct IpCapture {
    /// The flows whose DCCP packets travel in UDP datagrams, by number.
    encapsulated: Vec<bool>,
}

impl IpCapture {
    /// `encapsulated[flow]` is `true` if the flow's DCCP packets travel in UDP datagrams (RFC 6773).
    pub fn new(encapsulated: Vec<bool>) -> Self {
        Self { encapsulated }
    }

    /// For the flows of `plan`.
    pub fn of(plan: &Plan) -> Self {
        let encapsulated = |flow: &FlowPlan| match &flow.transport {
            TransportPlan::Dccp(dccp) => dccp.encapsulated,
            TransportPlan::Tcp(_) | TransportPlan::Udp => false,
        };
        Self::new(plan.flows.iter().map(encapsulated).collect())
    }
}

/// The address of a node.
fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from_be_bytes([10, 0, 0, 1]) + node as u32)
}

impl CaptureFormat<Envelope> for IpCapture {
    fn capture_bytes(&mut self, packet: &Packet<Envelope>, out: &mut Vec<u8>) {
        let source = address(packet.source.index());
        let destination = address(packet.destination.index());
        let pseudo_header = PseudoHeader::v4(source, destination);
        let start = out.len();
        out.resize(start + IP_HEADER, 0);
        let protocol = match &packet.payload.content {
            SimPayload::Dccp(dccp) => {
                let encapsulated = self.encapsulated.get(packet.flow.0 as usize).copied().unwrap_or(false);
                // A packet that cannot be encoded would be a defect of the protocol code. It is captured as a
                // bare IP header, which analysers report as malformed.
                if encapsulated {
                    let ports =
                        UdpPorts { source: udp_encapsulation::PORT, destination: udp_encapsulation::PORT };
                    let _ = udp_encapsulation::encapsulate(dccp, ports, &pseudo_header, out);
                    UDP
                } else {
                    let _ = dccp.encode_with_checksum(&pseudo_header, out);
                    DCCP
                }
            }
            SimPayload::Tcp { segment, from_sender } => {
                // Data travels from the flow's own port to the sink's, acknowledgements back.
                let (source_port, destination_port) = if *from_sender {
                    (flow_port(packet), SINK_PORT)
                } else {
                    (SINK_PORT, flow_port(packet))
                };
                let addresses = Addresses {
                    source: source.octets(),
                    destination: destination.octets(),
                    source_port,
                    destination_port,
                };
                write_tcp_header(segment, &addresses, out);
                TCP
            }
            SimPayload::Udp { length, tag } => {
                let start = out.len();
                out.extend(flow_port(packet).to_be_bytes());
                out.extend(SINK_PORT.to_be_bytes());
                out.extend((8 + *length as u16).to_be_bytes());
                out.extend([0; 2]);
                out.resize(start + 8 + *length as usize, 0);
                let shown = (*length as usize).min(8);
                out[start + 8..start + 8 + shown].copy_from_slice(&tag.to_be_bytes()[..shown]);
                // A checksum of zero: the sender made none (RFC 768).
                UDP
            }
        };
        let length = (packet.size as usize).max(out.len() - start).min(usize::from(u16::MAX)) as u16;
        let header = &mut out[start..start + IP_HEADER];
        header[0] = 0x45;
        header[1] = packet.ecn.bits();
        header[2..4].copy_from_slice(&length.to_be_bytes());
        header[4..6].copy_from_slice(&(packet.id as u16).to_be_bytes());
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
