//! A packet of a real program as the content of a simulated one.

use crate::transport::{Content, IpHeaders};

/// Bytes in front of the IP header that belong to the driver, such as a device's own header.
pub const HEADROOM: usize = 16;

/// An IP packet of a real program. Drivers keep the packets that have left the network for the next ones, so
/// that a packet costs no allocation.
#[derive(Clone, Debug, Default)]
pub struct EmulatedPacket {
    /// [`HEADROOM`] bytes, then the packet from its IP header on.
    pub bytes: Vec<u8>,
    /// The position of its flow in the plan.
    pub(super) flow: u32,
    /// The number of the packet in its flow.
    pub(super) number: u64,
    /// Bytes behind the transport header.
    pub(super) data: u32,
}

/// A packet as it moves: its box is used again with its memory, and is one word inside of the network.
pub type BoxedPacket = Box<EmulatedPacket>;

impl EmulatedPacket {
    /// An empty packet with room for `size` bytes.
    pub fn with_capacity(size: usize) -> Self {
        Self { bytes: Vec::with_capacity(HEADROOM + size), ..Self::default() }
    }

    /// Replaces the packet by these bytes.
    pub fn fill(&mut self, packet: &[u8]) {
        self.bytes.clear();
        self.bytes.resize(HEADROOM, 0);
        self.bytes.extend_from_slice(packet);
    }

    /// The packet from its IP header on.
    pub fn ip(&self) -> &[u8] {
        self.bytes.get(HEADROOM..).unwrap_or_default()
    }

    /// The same, to be changed.
    pub fn ip_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(HEADROOM..).unwrap_or_default()
    }
}

impl Content for EmulatedPacket {
    fn data_length(&self) -> u32 {
        self.data
    }

    fn into_emulated(self: Box<Self>) -> Option<Box<EmulatedPacket>> {
        Some(self)
    }

    fn ip_packet(&self) -> Option<&[u8]> {
        Some(self.ip())
    }

    fn numbers(&self) -> (u64, u64) {
        (self.number, self.number)
    }

    /// The runner writes the whole packet ([`Content::ip_packet`]).
    fn capture_bytes(&self, _: &IpHeaders, _: &mut Vec<u8>) -> u8 {
        /// No next header (RFC 8200, Section 4.7).
        const NONE: u8 = 59;
        NONE
    }
}
