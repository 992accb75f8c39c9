//! Segments exchanged between the two ends.

use core::fmt;
use core::ops::{BitOr, BitOrAssign, Deref};

use super::ranges::ByteRange;

/// Flags of the TCP header, of the IP header and of the options of a SYN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

impl Flags {
    /// None.
    pub const NONE: Self = Self(0);
    /// The sender has no more data (RFC 9293, Section 3.1).
    pub const FIN: Self = Self(0x001);
    /// Opens the connection.
    pub const SYN: Self = Self(0x002);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x010);
    /// ECN-Echo (RFC 3168, Section 6.1).
    pub const ECE: Self = Self(0x040);
    /// Congestion Window Reduced (RFC 3168, Section 6.1).
    pub const CWR: Self = Self(0x080);
    /// In the IP header: ECN-capable, ECT(0). Set by the sender for the network.
    pub const ECT: Self = Self(0x100);
    /// In the IP header: congestion experienced. Set by the network for the receiver.
    pub const CE: Self = Self(0x200);
    /// In the options of a SYN: SACK permitted (RFC 2018, Section 2).
    pub const SACK_PERMITTED: Self = Self(0x400);

    /// In the IP header: ECN-capable for L4S, ECT(1) (RFC 9331). Set by the sender for the network.
    pub const ECT1: Self = Self(0x800);
    /// Accurate ECN (RFC 9768, Section 3.1.1): with CWR and ECE, the highest bit of the ACE counter.
    pub const AE: Self = Self(0x1000);

    /// The three bits of the ACE counter: the number of marked packets modulo 8 (RFC 9768, Section 3.2.2).
    pub const fn ace(self) -> u8 {
        (self.0 >> 10) as u8 & 4 | (self.0 >> 6) as u8 & 3
    }

    /// Flags with this ACE counter, which is taken modulo 8.
    pub const fn with_ace(self, count: u64) -> Self {
        let bits = (count as u16 & 4) << 10 | (count as u16 & 3) << 6;
        Self(self.without(Self(0x10c0)).0 | bits)
    }

    /// `true` if all of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags without `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The low eight bits as they stand in byte 13 of the TCP header.
    pub const fn header_bits(self) -> u8 {
        (self.0 & 0xff) as u8
    }
}
impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::FIN, "FIN"),
            (Self::SYN, "SYN"),
            (Self::ACK, "ACK"),
            (Self::ECE, "ECE"),
            (Self::CWR, "CWR"),
            (Self::ECT, "ect"),
            (Self::CE, "ce"),
            (Self::SACK_PERMITTED, "sack-permitted"),
            (Self::ECT1, "ect1"),
            (Self::AE, "AE"),
        ];
        f.debug_list()
            .entries(names.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| name))
            .finish()
    }
}

/// Up to four SACK blocks, most recent first (RFC 2018, Section 4). Dereferences to a slice.
#[derive(Clone, Copy, Default)]
pub struct SackBlocks {
    blocks: [ByteRange; Self::MAX],
    count: u8,
}

impl SackBlocks {
    /// Maximum number of blocks in the options of a header (RFC 2018, Section 3).
    pub const MAX: usize = 4;

    /// No block.
    pub const fn new() -> Self {
        Self { blocks: [ByteRange { start: 0, end: 0 }; Self::MAX], count: 0 }
    }

    /// Appends a block; one too many is left out.
    pub fn push(&mut self, block: ByteRange) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = block;
            self.count += 1;
        }
    }
}
impl Deref for SackBlocks {
    type Target = [ByteRange];
    fn deref(&self) -> &[ByteRange] {
        &self.blocks[..usize::from(self.count)]
    }
}
impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
impl Eq for SackBlocks {}
impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
impl FromIterator<ByteRange> for SackBlocks {
    fn from_iter<I: IntoIterator<Item = ByteRange>>(iter: I) -> Self {
        let mut blocks = Self::new();
        iter.into_iter().for_each(|block| blocks.push(block));
        blocks
    }
}

/// The timestamps option (RFC 7323, Section 3), in microseconds modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Timestamps {
    /// TSval: the clock of the end that sends the segment.
    pub value: u32,
    /// TSecr: a value of the other end, returned.
    pub echo: u32,
}

/// The AccECN option, with two of its counters (RFC 9768, Section 3.2.3): bytes of payload modulo 2^24.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct EcnCounters {
    /// EE1B: bytes received with ECT(1).
    pub ect1: u32,
    /// ECEB: bytes received with CE.
    pub ce: u32,
}

impl EcnCounters {
    /// The counters have 24 bits.
    pub const MODULUS: u32 = 1 << 24;
    /// Bytes of the option.
    pub const LENGTH: u32 = 8;
}

/// A TCP segment without the bytes of its payload, which a simulation does not need.
///
/// Sequence numbers count payload from 0 and never wrap. A SYN takes no number here; a FIN takes the one
/// after the last byte. In a capture ([`write_tcp_header`](super::write_tcp_header)) both have the usual
/// place.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Segment {
    /// The first byte of the payload; for an empty segment, its position.
    pub seq: u64,
    /// The next byte expected from the other end.
    pub ack: u64,
    /// Bytes of payload.
    pub length: u32,
    /// Bytes beyond `ack` that the sender of this segment accepts, unscaled.
    pub window: u32,
    /// Flags.
    pub flags: Flags,
    /// The maximum segment size option of a SYN, else 0.
    pub mss: u16,
    /// The timestamps option.
    pub timestamps: Option<Timestamps>,
    /// Data received beyond `ack`.
    pub sack: SackBlocks,
    /// The AccECN option.
    pub ecn: Option<EcnCounters>,
}

impl Segment {
    /// The sequence number after this segment, counting a FIN.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.length) + u64::from(self.flags.contains(Flags::FIN))
    }

    /// `true` if the segment carries something to acknowledge.
    pub fn occupies_sequence_space(&self) -> bool {
        self.length > 0 || self.flags.contains(Flags::FIN) || self.flags.contains(Flags::SYN)
    }

    /// The data that was received twice, if the first SACK block is a D-SACK: it begins below the
    /// acknowledgement number, or the second block contains it (RFC 2883, Section 4).
    pub fn duplicate(&self) -> Option<ByteRange> {
        let first = *self.sack.first()?;
        let is_within = |block: &ByteRange| block.start <= first.start && first.end <= block.end;
        (first.start < self.ack || self.sack.get(1).is_some_and(is_within)).then_some(first)
    }

    /// Bytes of the TCP header with its options, 20 to 60, as [`write_tcp_header`](super::write_tcp_header)
    /// writes it.
    pub fn header_length(&self) -> u32 {
        let timestamps = if self.timestamps.is_some() { 12 } else { 0 };
        if self.flags.contains(Flags::SYN) {
            // MSS 4; SACK permitted 2 and timestamps 10 share their padding; window scale 3 + 1.
            let permitted = if self.flags.contains(Flags::SACK_PERMITTED) && timestamps == 0 { 4 } else { 0 };
            return 20 + 4 + permitted + timestamps + 4;
        }
        // Two bytes of padding before the option's kind and length keep it aligned.
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.len() as u32 };
        let ecn = if self.ecn.is_some() { EcnCounters::LENGTH } else { 0 };
        20 + timestamps + sack + ecn
    }
}

/// The size of a segment on a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum HeaderModel {
    /// An IPv4 header of 20 bytes and the TCP header with its options.
    #[default]
    Standard,
    /// As in ns-2.35: 40 bytes for both headers, 8 for a SACK block, 10 for timestamps, and nothing more for
    /// a SYN.
    Ns2,
}

impl HeaderModel {
    /// Bytes on the link, including the IP header.
    pub fn size(self, segment: &Segment) -> u32 {
        let headers = match self {
            Self::Standard => 20 + segment.header_length(),
            Self::Ns2 => {
                40 + 8 * segment.sack.len() as u32 + if segment.timestamps.is_some() { 10 } else { 0 }
            }
        };
        headers + segment.length
    }
}

#[cfg(test)]
mod tests;
