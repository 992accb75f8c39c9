//! DCCP packets as contents of a simulated network.

use whimbrel_wire::checksum::PseudoHeader;
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::udp_encapsulation::{self, UdpPorts};
use whimbrel_wire::{Packet, Payload};

use crate::payload::SimPayload;
use crate::transport::layers::frames::Hidden;
use crate::transport::{Content, IpHeaders};

/// The IP protocol numbers of UDP and DCCP.
const UDP: u8 = 17;
const DCCP: u8 = 33;

impl Content for Packet {
    fn data_length(&self) -> u32 {
        if self.packet_type().carries_data() { self.payload.len() as u32 } else { 0 }
    }

    fn numbers(&self) -> (u64, u64) {
        let tag = match self.payload {
            Payload::Opaque { tag, .. } => tag,
            Payload::Bytes(_) => 0,
        };
        (self.sequence.value(), tag)
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        let pseudo_header = PseudoHeader::v4(headers.source, headers.destination);
        // A packet that cannot be encoded would be a defect of the protocol code. It is captured as a
        // bare IP header, which analysers report as malformed.
        if headers.is_encapsulated {
            let ports = UdpPorts { source: udp_encapsulation::PORT, destination: udp_encapsulation::PORT };
            let _ = udp_encapsulation::encapsulate(self, ports, &pseudo_header, out);
            UDP
        } else {
            let _ = self.encode_with_checksum(&pseudo_header, out);
            DCCP
        }
    }
}

/// A packet with what it does not show. In a box, so that packets of other transports are not larger for it.
#[derive(Clone, Debug)]
pub struct AnnotatedPacket(Box<Annotated>);

#[derive(Clone, Debug)]
struct Annotated {
    packet: Packet,
    /// The number of its path, if there are several.
    path: Option<usize>,
    /// The datagram in it, if a layer hides it.
    hidden: Option<Hidden>,
}

impl AnnotatedPacket {
    /// A packet on that path, and the datagram that a layer hides in it.
    pub(in crate::transport) fn new(packet: Packet, path: Option<usize>, hidden: Option<Hidden>) -> Self {
        Self(Box::new(Annotated { packet, path, hidden }))
    }

    /// The packet.
    pub fn packet(&self) -> &Packet {
        &self.0.packet
    }

    /// The packet's number in the multipath connection.
    fn sequence(&self) -> Option<u64> {
        self.0.path?;
        self.0.packet.options.iter().find_map(|option| match MultipathOption::parse(option) {
            Some(MultipathOption::Sequence(sequence)) => Some(sequence.value()),
            _ => None,
        })
    }
}

impl Content for AnnotatedPacket {
    fn data_length(&self) -> u32 {
        self.0.hidden.map_or_else(|| self.0.packet.data_length(), |hidden| hidden.length)
    }

    fn path(&self) -> Option<usize> {
        self.0.path
    }

    fn numbers(&self) -> (u64, u64) {
        let (sequence, tag) = self.0.packet.numbers();
        (self.sequence().unwrap_or(sequence), self.0.hidden.map_or(tag, |hidden| hidden.tag))
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        self.0.packet.capture_bytes(headers, out)
    }
}

/// The datagram that a layer hides in the packet of a content.
pub(super) fn hidden_in(content: &SimPayload) -> Hidden {
    match content {
        SimPayload::Annotated(annotated) => annotated.0.hidden.unwrap_or_default(),
        _ => Hidden::default(),
    }
}

/// The DCCP packet of a content.
pub(super) fn packet_in(content: &mut SimPayload) -> Option<&mut Packet> {
    match content {
        SimPayload::Dccp(packet) => Some(packet),
        SimPayload::Annotated(annotated) => Some(&mut annotated.0.packet),
        _ => None,
    }
}
