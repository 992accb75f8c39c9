//! Decoding of IP headers.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use whimbrel_wire::{Ecn, checksum::internet_checksum};

pub mod reassembly;

#[cfg(test)]
mod tests;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// The longest headers that are expected: IPv6 with some extensions.
pub(crate) const MAX_HEADER: usize = 256;

/// An IP packet: the header fields used here, and the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpPacket<'a> {
    /// Source address.
    pub source: IpAddr,
    /// Destination address: with an IPv6 routing header that has not been processed completely, the next hop.
    pub destination: IpAddr,
    /// The ECN bits.
    pub ecn: Ecn,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Identification of the IPv4 header; zero for IPv6.
    pub identification: u16,
    /// The protocol of the payload, after all extension headers.
    pub protocol: u8,
    /// The captured part of the payload.
    pub payload: &'a [u8],
    /// Original length of the payload: more than `payload`'s if the packet is truncated.
    pub length: usize,
    /// Offset of the payload from the start of the IP header.
    pub offset: usize,
    /// `true` if the header's own checksum is correct, or zero because it was left to the network card.
    pub header_is_good: bool,
    /// `true` if the addresses are those used in checksums; `false` in transit with an IPv6 routing header.
    pub addresses_are_final: bool,
    /// Position in the datagram, if the packet is a fragment.
    pub fragment: Option<Fragment>,
}

/// A fragment of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Identification of the datagram.
    pub identification: u32,
    /// Offset in the datagram, in bytes.
    pub offset: u16,
    /// `true` if more fragments follow.
    pub more: bool,
}

/// Error in an IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpError {
    /// Offset of the error from the start of the IP header.
    pub offset: usize,
    /// The expected content.
    pub reason: &'static str,
}

/// Decodes an IP packet of either version.
///
/// # Errors
/// Returns an error if the bytes are not an IP packet, or end within its headers.
pub fn decode(bytes: &[u8]) -> Result<IpPacket<'_>, IpError> {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => decode_v4(bytes),
        Some(6) => decode_v6(bytes),
        _ => error(0, "expected IP version 4 or 6"),
    }
}

fn error<T>(offset: usize, reason: &'static str) -> Result<T, IpError> {
    Err(IpError { offset, reason })
}

fn decode_v4(bytes: &[u8]) -> Result<IpPacket<'_>, IpError> {
    let Some(fixed) = bytes.first_chunk::<20>() else {
        return error(bytes.len(), "expected an IPv4 header of 20 bytes");
    };
    let header_len = usize::from(fixed[0] & 0xf) * 4;
    if header_len < 20 {
        return error(0, "expected an IPv4 header length of 20 bytes or more");
    }
    let Some((header, rest)) = bytes.split_at_checked(header_len) else {
        return error(bytes.len(), "expected the rest of the IPv4 header");
    };
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    // Segments that a network card has yet to split may have no length.
    let length = if total == 0 { Some(rest.len()) } else { total.checked_sub(header_len) };
    let Some(length) = length else {
        return error(2, "expected a total length of at least the IPv4 header's");
    };
    let flags = u16::from_be_bytes([fixed[6], fixed[7]]);
    let (offset, more) = ((flags & 0x1fff) * 8, flags & 0x2000 != 0);
    let identification = u16::from_be_bytes([fixed[4], fixed[5]]);
    let address =
        |at: usize| IpAddr::V4(Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]));
    Ok(IpPacket {
        source: address(12),
        destination: address(16),
        ecn: Ecn::from_bits(fixed[1]),
        ttl: fixed[8],
        identification,
        protocol: fixed[9],
        payload: &rest[..rest.len().min(length)],
        length,
        offset: header_len,
        header_is_good: fixed[10..12] == [0, 0] || internet_checksum(header) == 0,
        addresses_are_final: true,
        fragment: (offset != 0 || more).then_some(Fragment {
            identification: identification.into(),
            offset,
            more,
        }),
    })
}

fn decode_v6(bytes: &[u8]) -> Result<IpPacket<'_>, IpError> {
    let Some((fixed, rest)) = bytes.split_first_chunk::<40>() else {
        return error(bytes.len(), "expected an IPv6 header of 40 bytes");
    };
    let address =
        |at: usize| IpAddr::V6(Ipv6Addr::from(fixed[at..].first_chunk::<16>().copied().unwrap_or_default()));
    let announced = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    // Zero: a jumbogram, or left to the network card.
    let length = if announced == 0 { rest.len() } else { announced };
    let mut packet = IpPacket {
        source: address(8),
        destination: address(24),
        ecn: Ecn::from_bits(fixed[1] >> 4),
        ttl: fixed[7],
        identification: 0,
        protocol: fixed[6],
        payload: &rest[..rest.len().min(length)],
        length,
        offset: 40,
        header_is_good: true,
        addresses_are_final: true,
        fragment: None,
    };
    // Each takes at least eight bytes, so the chain ends.
    while let Some(header_len) = extension_len(&packet) {
        if packet.payload.len() < header_len {
            return error(
                packet.offset + packet.payload.len(),
                "expected the rest of an IPv6 extension header",
            );
        }
        pass_extension(&mut packet, header_len);
        // The rest is the datagram's, of which later fragments do not begin with a header.
        if packet.fragment.is_some() {
            break;
        }
    }
    Ok(packet)
}

/// Length of the next extension header, if there is one.
fn extension_len(packet: &IpPacket<'_>) -> Option<usize> {
    let units = || usize::from(packet.payload.get(1).copied().unwrap_or(0));
    match packet.protocol {
        HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HOST_IDENTITY | SHIM6 => {
            Some((units() + 1) * 8)
        }
        FRAGMENT => Some(8),
        AUTHENTICATION => Some((units() + 2) * 4),
        _ => None,
    }
}

/// Removes a complete extension header.
fn pass_extension(packet: &mut IpPacket<'_>, header_len: usize) {
    let (header, rest) = packet.payload.split_at(header_len);
    match packet.protocol {
        ROUTING => packet.addresses_are_final &= header[3] == 0,
        FRAGMENT => {
            let field = u16::from_be_bytes([header[2], header[3]]);
            let identification = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
            let (offset, more) = (field & 0xfff8, field & 1 != 0);
            if offset != 0 || more {
                packet.fragment = Some(Fragment { identification, offset, more });
            }
        }
        _ => {}
    }
    packet.protocol = header[0];
    packet.payload = rest;
    packet.offset += header_len;
    packet.length = packet.length.saturating_sub(header_len);
}
