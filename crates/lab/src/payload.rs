//! What the flows of a simulated network say to each other.

use whimbrel_units::Instant;
use whimbrel_wire::{Packet, Payload};

use crate::metrics::Sighting;
use crate::tcp::Segment;

/// A packet's content and when it was sent.
#[derive(Clone, PartialEq, Debug)]
pub struct Envelope {
    /// When it was handed to the network.
    pub sent: Instant,
    /// What it says.
    pub content: SimPayload,
}

/// What a packet says, by its transport. Packets stay typed values on their whole way: bytes are made
/// for capture files only.
#[derive(Clone, PartialEq, Debug)]
pub enum SimPayload {
    /// A DCCP packet.
    Dccp(Packet),
    /// A TCP segment.
    Tcp {
        /// The segment.
        segment: Segment,
        /// Whether the end that sends the data sent it.
        from_sender: bool,
    },
    /// A bare datagram.
    Udp {
        /// The datagram's number at its source.
        tag: u64,
        /// Application data in bytes.
        length: u32,
    },
}

impl SimPayload {
    /// Application data in bytes.
    pub fn data_length(&self) -> u32 {
        match self {
            Self::Dccp(packet) if packet.packet_type().carries_data() => packet.payload.len() as u32,
            Self::Dccp(_) => 0,
            Self::Tcp { segment, .. } => segment.length,
            Self::Udp { length, .. } => *length,
        }
    }
}

impl Envelope {
    /// What a meter wants to know of a packet of `size` bytes with this content.
    pub(crate) fn sighting(&self, size: u32) -> Sighting {
        let (sequence, tag) = match &self.content {
            SimPayload::Dccp(packet) => {
                let tag = match packet.payload {
                    Payload::Opaque { tag, .. } => tag,
                    Payload::Bytes(_) => 0,
                };
                (packet.sequence.value(), tag)
            }
            SimPayload::Tcp { segment, .. } => (segment.seq, segment.seq),
            SimPayload::Udp { tag, .. } => (*tag, *tag),
        };
        Sighting { sequence, tag, sent: self.sent, size }
    }
}
