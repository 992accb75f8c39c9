//! The Internet checksum over a DCCP packet and its pseudo-header (RFC 4340, Section 9.1).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{ChecksumCoverage, decode::MIN_HEADER_LEN};

#[cfg(test)]
mod tests;

/// DCCP's IP protocol number.
pub const PROTOCOL: u8 = 33;

/// Position of the Checksum field in the header.
const FIELD: core::ops::Range<usize> = 6..8;

/// The part of the checksum that depends on the IP header: the addresses. Protocol and length are added for
/// each packet, so one value serves a connection for its lifetime.
///
/// The pseudo-headers of IPv4 and IPv6 have different layouts, but contain the same kinds of words, and the
/// sum does not depend on their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PseudoHeader {
    addresses: u64,
}

impl PseudoHeader {
    /// For packets from `source` to `destination` over IPv4.
    pub fn v4(source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Self { addresses: sum(&source.octets()) + sum(&destination.octets()) }
    }

    /// For packets from `source` to `destination` over IPv6.
    pub fn v6(source: Ipv6Addr, destination: Ipv6Addr) -> Self {
        Self { addresses: sum(&source.octets()) + sum(&destination.octets()) }
    }

    /// For packets between two addresses, or `None` if one is IPv4 and the other IPv6. An IPv4-mapped address
    /// (`::ffff:192.0.2.1`) counts as IPv4.
    pub fn between(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source.to_canonical(), destination.to_canonical()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::v4(source, destination)),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::v6(source, destination)),
            _ => None,
        }
    }

    /// The folded sum over the pseudo-header and the first `covered` bytes of `packet`.
    pub(crate) fn sum(&self, protocol: u8, packet: &[u8], covered: usize) -> u16 {
        let length = (packet.len() as u64).to_be_bytes();
        let protocol = u64::from(u16::to_be(protocol.into()));
        fold(self.addresses + protocol + sum(&length) + sum(&packet[..covered]))
    }
}

/// Number of bytes of `packet` covered by its checksum: the header and the part of the application data given
/// by CsCov. `None` if one of the lengths is invalid, and the packet must be ignored.
pub fn covered_len(packet: &[u8]) -> Option<usize> {
    if packet.len() < MIN_HEADER_LEN {
        return None;
    }
    let header = usize::from(packet[4]) * 4;
    if header < MIN_HEADER_LEN {
        return None;
    }
    let payload = packet.len().checked_sub(header)?;
    Some(header + ChecksumCoverage::from_field(packet[5]).covered(payload)?)
}

/// `true` if the checksum of `packet`, which starts at the DCCP header, is correct (RFC 4340, Section 9).
/// With an invalid Data Offset or CsCov it never is.
pub fn verify(packet: &[u8], pseudo_header: &PseudoHeader) -> bool {
    covered_len(packet).is_some_and(|covered| pseudo_header.sum(PROTOCOL, packet, covered) == 0xffff)
}

/// Computes the checksum of `packet`, which starts at the DCCP header, and writes it to its field. Returns
/// the checksum, or `None` without writing if Data Offset or CsCov are invalid.
pub fn fill(packet: &mut [u8], pseudo_header: &PseudoHeader) -> Option<u16> {
    let covered = covered_len(packet)?;
    packet[FIELD].fill(0);
    let checksum = !pseudo_header.sum(PROTOCOL, packet, covered);
    packet[FIELD].copy_from_slice(&checksum.to_ne_bytes());
    Some(u16::from_be(checksum))
}

/// The Internet checksum of bytes in which the checksum field is zero, as in an IPv4 header; over bytes with
/// a checksum, zero means that it is correct.
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    u16::from_be(!fold(sum(bytes)))
}

/// The one's complement sum of the 16-bit words of `bytes`, in the machine's byte order, not folded. The byte
/// order has no effect if the result is written in the order in which the words were read (RFC 1071, Section
/// 2 (B)); nor has the width of the words, as 2^16 is one modulo 2^16 - 1.
fn sum(bytes: &[u8]) -> u64 {
    // Halves of words are added up in 64 bits, where 2^32 of them cannot overflow.
    let (words, rest) = bytes.as_chunks::<4>();
    let mut total: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    total += u64::from(u32::from_ne_bytes(last));
    total
}

/// Adds the carries until 16 bits are left.
fn fold(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}
