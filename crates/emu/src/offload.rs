//! Segmentation and coalescing, which a device leaves to this process (the header of virtio, Section 5.1.6,
//! in front of each packet).
//!
//! The kernel hands over up to 64 KiB of a TCP connection, or of datagrams of one size, as one packet, with
//! one system call; they are split into the packets that a wire would carry, which the network sees. Packets
//! that leave the network at the same time, as a burst, are joined again. Packets between which time passes
//! are not, so that they keep the network's times.

use std::ops::Range;

use whimbrel_lab::emulation::{BoxedPacket, EmulatedPacket, HEADROOM};

/// Bytes of the header in front of a packet.
pub const HEADER: usize = 10;
/// The most packets that are joined.
pub const MOST_JOINED: usize = 64;
/// The most packets of an aggregate: more than a kernel makes of 64 KiB with its smallest segments of TCP (48
/// bytes with options), or of the 128 datagrams of UDP segmentation. A program with a raw socket can claim
/// segments of one byte, each of which would take the memory of a packet.
pub const MOST_SEGMENTS: usize = 2_048;

const NEEDS_CHECKSUM: u8 = 1;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
/// A flag in the same byte as the kind: the first segment alone has CWR.
const ECN: u8 = 0x80;

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// The header of a device, in the byte order of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Offload {
    flags: u8,
    kind: u8,
    header_length: u16,
    segment_size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

impl Offload {
    /// Reads the header.
    pub fn read(bytes: &[u8; HEADER]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            flags: bytes[0],
            kind: bytes[1],
            header_length: word(2),
            segment_size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    fn write(self, bytes: &mut [u8]) {
        (bytes[0], bytes[1]) = (self.flags, self.kind);
        for (place, word) in bytes[2..HEADER].chunks_exact_mut(2).zip([
            self.header_length,
            self.segment_size,
            self.checksum_start,
            self.checksum_offset,
        ]) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
    }

    /// The data of each segment but the last, in bytes.
    pub fn segment_size(self) -> u16 {
        self.segment_size
    }

    /// `true` if the packet is to be split.
    pub fn is_aggregate(self) -> bool {
        self.kind & !ECN != 0
    }

    /// Writes the checksum that the kernel has left out.
    pub fn complete(self, packet: &mut [u8]) {
        let start = usize::from(self.checksum_start);
        let at = start + usize::from(self.checksum_offset);
        if self.flags & NEEDS_CHECKSUM == 0 || packet.len() < at + 2 {
            return;
        }
        // The field holds the sum of the pseudo-header.
        let checksum = !fold(sum(&packet[start..]));
        packet[at..at + 2].copy_from_slice(&never_zero(checksum).to_be_bytes());
    }
}

/// A TCP segment or UDP datagram without IP options of its own kind.
#[derive(Clone, Debug)]
struct Layout {
    is_v6: bool,
    is_tcp: bool,
    transport: usize,
    data: Range<usize>,
}

impl Layout {
    /// Of a packet with a plain IP header; `None` for all others.
    fn of(packet: &[u8]) -> Option<Self> {
        let (is_v6, protocol, transport, length) = match packet.first()? >> 4 {
            // No options, no fragment.
            4 if packet[0] == 0x45 && packet.len() >= 20 && be16(packet, 6) & 0x3fff == 0 => {
                (false, packet[9], 20, usize::from(be16(packet, 2)))
            }
            6 if packet.len() >= 40 => (true, packet[6], 40, 40 + usize::from(be16(packet, 4))),
            _ => return None,
        };
        let header = match protocol {
            6 => usize::from(*packet.get(transport + 12)? >> 4) * 4,
            17 => 8,
            _ => return None,
        };
        // TCP's shortest header (RFC 9293, Section 3.1). A program with a raw socket may claim a shorter one.
        let least = if protocol == 6 { 20 } else { 8 };
        let is_whole = length == packet.len() && header >= least && transport + header <= length;
        is_whole.then(|| Self { is_v6, is_tcp: protocol == 6, transport, data: transport + header..length })
    }

    /// The place of the transport's checksum.
    fn checksum_offset(&self) -> usize {
        if self.is_tcp { 16 } else { 6 }
    }

    /// Writes the lengths and the IP checksum for a packet of this length, and returns the sum of the
    /// pseudo-header.
    fn set_length(&self, packet: &mut [u8], length: usize) -> u64 {
        let transport = (length - self.transport) as u16;
        if !self.is_tcp {
            packet[self.transport + 4..self.transport + 6].copy_from_slice(&transport.to_be_bytes());
        }
        let addresses = if self.is_v6 {
            packet[4..6].copy_from_slice(&transport.to_be_bytes());
            sum(&packet[8..40])
        } else {
            packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            packet[10..12].fill(0);
            let checksum = !fold(sum(&packet[..20]));
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            sum(&packet[12..20])
        };
        addresses + u64::from(transport) + if self.is_tcp { 6 } else { 17 }
    }
}

/// Splits an aggregate into packets, which `packet` supplies and `done` takes. Returns `false` if it cannot
/// be split: it is not a plain TCP segment or UDP datagram, has no segment size, or more than
/// [`MOST_SEGMENTS`] segments.
pub fn split(
    aggregate: &[u8],
    offload: Offload,
    mut packet: impl FnMut() -> BoxedPacket,
    mut done: impl FnMut(BoxedPacket),
) -> bool {
    let size = usize::from(offload.segment_size);
    let Some(layout) = Layout::of(aggregate).filter(|_| size > 0) else { return false };
    let (header, data) = aggregate.split_at(layout.data.start);
    let segments = data.len().div_ceil(size);
    if segments > MOST_SEGMENTS {
        return false;
    }
    for (number, part) in data.chunks(size).enumerate() {
        let mut packet = packet();
        packet.bytes.clear();
        packet.bytes.resize(HEADROOM, 0);
        packet.bytes.extend_from_slice(header);
        packet.bytes.extend_from_slice(part);
        let bytes = packet.ip_mut();
        if !layout.is_v6 {
            let identification = be16(header, 4).wrapping_add(number as u16);
            bytes[4..6].copy_from_slice(&identification.to_be_bytes());
        }
        let transport = layout.transport;
        if layout.is_tcp {
            let sequence = be32(header, transport + 4).wrapping_add((number * size) as u32);
            bytes[transport + 4..transport + 8].copy_from_slice(&sequence.to_be_bytes());
            let flags = &mut bytes[transport + 13];
            if number + 1 < segments {
                *flags &= !(FIN | PSH);
            }
            if number > 0 {
                *flags &= !CWR;
            }
        }
        let pseudo = layout.set_length(bytes, header.len() + part.len());
        let at = transport + layout.checksum_offset();
        bytes[at..at + 2].fill(0);
        let checksum = !fold(pseudo + sum(&bytes[transport..]));
        bytes[at..at + 2].copy_from_slice(&never_zero(checksum).to_be_bytes());
        done(packet);
    }
    true
}

/// A run of packets that can be handed to the kernel as one.
#[derive(Debug, Default)]
pub struct Joiner {
    layout: Option<Layout>,
    /// Data of each packet but the last.
    size: usize,
    /// Length of the joined packet.
    length: usize,
    next_sequence: u32,
    /// The last packet ends the run: it is shorter, or has PSH or FIN.
    is_complete: bool,
}

impl Joiner {
    /// Starts a run with this packet.
    pub fn start(&mut self, packet: &[u8]) {
        *self = Self::default();
        let Some(layout) = Layout::of(packet) else { return };
        self.size = layout.data.len();
        self.length = packet.len();
        if layout.is_tcp {
            let flags = packet[layout.transport + 13];
            // SYN, RST, URG and CWR concern one packet; a packet without data is an acknowledgement to be
            // counted.
            if self.size == 0 || flags & !(PSH | ACK | ECE) != 0 {
                return;
            }
            self.next_sequence = be32(packet, layout.transport + 4).wrapping_add(self.size as u32);
            self.is_complete = flags & PSH != 0;
        }
        self.layout = Some(layout);
    }

    /// Adds the next packet to the run that `first` started; returns `false` if it does not belong to it.
    pub fn add(&mut self, first: &[u8], packet: &[u8]) -> bool {
        let Some(layout) = &self.layout else { return false };
        let (transport, data) = (layout.transport, layout.data.start);
        let length = packet.len().saturating_sub(data);
        if self.is_complete
            || length == 0
            || length > self.size
            || self.length + length > usize::from(u16::MAX)
            || !is_like(layout, first, packet)
        {
            return false;
        }
        if layout.is_tcp {
            let flags = packet[transport + 13];
            if be32(packet, transport + 4) != self.next_sequence || flags & !(PSH | ACK | ECE) != 0 {
                return false;
            }
            self.next_sequence = self.next_sequence.wrapping_add(length as u32);
            self.is_complete = flags & PSH != 0;
        }
        self.is_complete |= length < self.size;
        self.length += length;
        true
    }

    /// Offset of the data in the packets of the run.
    pub fn data_start(&self) -> usize {
        self.layout.as_ref().map_or(0, |layout| layout.data.start)
    }

    /// Makes `first`, with [`HEADROOM`], the beginning of a joined packet of `count`; `last_flags` are the
    /// TCP flags of the last.
    pub fn finish(&self, first: &mut EmulatedPacket, count: usize, last_flags: u8) {
        let offload = match &self.layout {
            Some(layout) if count > 1 => {
                let bytes = first.ip_mut();
                if layout.is_tcp {
                    bytes[layout.transport + 13] |= last_flags & PSH;
                }
                let pseudo = layout.set_length(bytes, self.length);
                let at = layout.transport + layout.checksum_offset();
                bytes[at..at + 2].copy_from_slice(&fold(pseudo).to_be_bytes());
                let kind = match (layout.is_tcp, layout.is_v6) {
                    (true, false) => TCP_V4,
                    (true, true) => TCP_V6,
                    (false, _) => UDP,
                };
                Offload {
                    flags: NEEDS_CHECKSUM,
                    kind,
                    header_length: layout.data.start as u16,
                    segment_size: self.size as u16,
                    checksum_start: layout.transport as u16,
                    checksum_offset: layout.checksum_offset() as u16,
                }
            }
            _ => Offload::default(),
        };
        offload.write(&mut first.bytes[HEADROOM - HEADER..HEADROOM]);
    }

    /// The TCP flags of a packet of the run.
    pub fn flags(&self, packet: &[u8]) -> u8 {
        match &self.layout {
            Some(layout) if layout.is_tcp => packet[layout.transport + 13],
            _ => 0,
        }
    }
}

const ACK: u8 = 0x10;
const ECE: u8 = 0x40;

/// `true` if two packets differ in lengths, checksums, identification, sequence number, PSH and data only.
fn is_like(layout: &Layout, first: &[u8], packet: &[u8]) -> bool {
    let Some(other) = Layout::of(packet) else { return false };
    if (other.is_v6, other.is_tcp, other.data.start) != (layout.is_v6, layout.is_tcp, layout.data.start) {
        return false;
    }
    let same = |range: Range<usize>| first[range.clone()] == packet[range];
    let ip = if layout.is_v6 { same(0..4) && same(6..40) } else { same(0..2) && same(6..10) && same(12..20) };
    let transport = layout.transport;
    let ports = same(transport..transport + 4);
    let rest = !layout.is_tcp
        || same(transport + 8..transport + 13)
            && same(transport + 14..transport + 16)
            && same(transport + 18..layout.data.start)
            && (first[transport + 13] ^ packet[transport + 13]) & !PSH == 0;
    ip && ports && rest
}

/// The one's complement sum of big-endian words, not folded.
fn sum(bytes: &[u8]) -> u64 {
    let mut chunks = bytes.chunks_exact(4);
    let words: u64 =
        chunks.by_ref().map(|four| u64::from(u32::from_be_bytes([four[0], four[1], four[2], four[3]]))).sum();
    let mut rest = [0; 4];
    rest[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    words + u64::from(u32::from_be_bytes(rest))
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// A UDP checksum of zero stands for none (RFC 768); both values mean the same sum.
fn never_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;
