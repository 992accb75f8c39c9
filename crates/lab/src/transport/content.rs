//! The contents of packets.

use std::fmt;
use std::net::Ipv4Addr;

use whimbrel_netsim::Shim;

use crate::emulation::EmulatedPacket;
use crate::repair_models::Message as RepairMessage;
use crate::routing::Message;

/// The content of a packet of a transport.
pub trait Content: CloneContent + fmt::Debug + Send {
    /// Application data in bytes.
    fn data_length(&self) -> u32;

    /// The message of a routing protocol that this is, if it is one. It is no variant of
    /// [`SimPayload`](crate::payload::SimPayload), of which every packet would be slower to move.
    fn routing_message(&self) -> Option<&Message> {
        None
    }

    /// The number of the path that the sender has chosen for the packet, if it has several.
    fn path(&self) -> Option<usize> {
        None
    }

    /// The message of a model of repair that this is, if it is one.
    fn repair_message(&mut self) -> Option<&mut RepairMessage> {
        None
    }

    /// The packet of an emulated network that this is, if it is one.
    fn into_emulated(self: Box<Self>) -> Option<Box<EmulatedPacket>> {
        None
    }

    /// The whole packet with its IP header, where it exists as bytes.
    fn ip_packet(&self) -> Option<&[u8]> {
        None
    }

    /// The header that routers may write, if the packet has one.
    fn shim(&mut self) -> Option<&mut Shim> {
        None
    }

    /// The number of the packet at its sender, and the number of the datagram in it.
    fn numbers(&self) -> (u64, u64);

    /// Appends the packet as it follows the IP header, and returns the IP protocol number. Bytes left out
    /// at the end are recorded as cut off.
    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8;
}

/// The surroundings of a packet in a capture file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpHeaders {
    /// The address of the node that sent the packet.
    pub source: Ipv4Addr,
    /// The address of the node that it is for.
    pub destination: Ipv4Addr,
    /// The port of the flow's sending end.
    pub flow_port: u16,
    /// The port of the flow's receiving end: the discard service's.
    pub sink_port: u16,
    /// `true` if the flow's packets travel in UDP datagrams.
    pub is_encapsulated: bool,
}

/// Cloning of a boxed [`Content`]; implemented for all that are `Clone`.
pub trait CloneContent {
    /// A copy in a box.
    fn clone_content(&self) -> Box<dyn Content>;
}

impl<T: Content + Clone + 'static> CloneContent for T {
    fn clone_content(&self) -> Box<dyn Content> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Content> {
    fn clone(&self) -> Self {
        (**self).clone_content()
    }
}
