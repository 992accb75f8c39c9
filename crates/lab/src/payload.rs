//! Contents of the packets of a simulated network.

use whimbrel_units::Instant;
use whimbrel_wire::{Packet, Payload};

use crate::metrics::PacketInfo;
use crate::tcp::Segment;

/// The content of a packet and the time at which it was sent.
#[derive(Clone, PartialEq, Debug)]
pub struct Envelope {
    /// Time at which it was handed to the network.
    pub sent: Instant,
    /// The content.
    pub content: SimPayload,
}

/// The content of a packet, by transport. Packets remain typed values on the whole path: they are encoded
/// for capture files only.
#[derive(Clone, PartialEq, Debug)]
pub enum SimPayload {
    /// A DCCP packet.
    Dccp(Packet),
    /// A TCP segment.
    Tcp {
        /// The segment.
        segment: Segment,
        /// `true` if the end that sends the data sent it.
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
    /// The properties that a meter records of a packet of `size` bytes with this content.
    pub(crate) fn packet_info(&self, size: u32) -> PacketInfo {
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
        PacketInfo { sequence, tag, sent: self.sent, size }
    }
}
