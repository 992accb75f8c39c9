//! Contents of the packets of a simulated network.

use whimbrel_units::Instant;

use crate::metrics::PacketInfo;
pub use crate::transport::SimPayload;

/// The content of a packet and the time at which it was sent.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Time at which it was handed to the network.
    pub sent: Instant,
    /// The content.
    pub content: SimPayload,
}

impl Envelope {
    /// The properties that a meter records of a packet of `size` bytes with this content.
    pub fn packet_info(&self, size: u32) -> PacketInfo {
        let (sequence, tag) = self.content.numbers();
        PacketInfo { sequence, tag, sent: self.sent, size }
    }
}
