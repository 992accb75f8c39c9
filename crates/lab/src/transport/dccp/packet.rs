//! DCCP packets as contents of a simulated network.

use whimbrel_wire::checksum::PseudoHeader;
use whimbrel_wire::udp_encapsulation::{self, UdpPorts};
use whimbrel_wire::{Packet, Payload};

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
