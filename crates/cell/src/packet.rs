//! Packets, and the parts of them that blocks carry.

use whimbrel_units::{ByteCount, Ecn};

/// A packet, by the driver's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct PacketId(pub u64);

/// A packet of a bearer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The driver's number.
    pub id: PacketId,
    /// Its size with its IP header.
    pub size: ByteCount,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// The place of a packet in its bearer's order. 64 bits, so that it never wraps; the standards send 12 or 18.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Number(pub u64);

impl Number {
    /// The number after this.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Bytes `from` (inclusive) to `to` (exclusive) of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The packet's place in the order.
    pub number: Number,
    /// The packet.
    pub packet: Packet,
    /// The first byte.
    pub from: u64,
    /// The byte behind the last.
    pub to: u64,
}

/// Bytes of a packet that have not arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The packet's place in the order.
    pub number: Number,
    /// The first byte that is missing.
    pub from: u64,
    /// The byte behind the last; [`u64::MAX`] for the packet's end.
    pub to: u64,
}
