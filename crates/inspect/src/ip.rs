//! From an IP packet to what it carries.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use whimbrel_wire::{Ecn, checksum::internet_checksum};

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

/// An IP packet's header, as far as it matters here, and what it carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpPacket<'a> {
    /// Source address.
    pub source: IpAddr,
    /// Destination address: with an IPv6 routing header that has not been worked off, the next stop.
    pub destination: IpAddr,
    /// The ECN bits.
    pub ecn: Ecn,
    /// The protocol carried, behind all extension headers.
    pub protocol: u8,
    /// What was captured of it.
    pub payload: &'a [u8],
    /// How long it is in truth: more than `payload` where the capture has cut it.
    pub length: usize,
    /// Where it begins, from the start of the IP header.
    pub offset: usize,
    /// Whether the header's own checksum is right. One of zero has been left to the network card.
    pub header_is_good: bool,
    /// Whether the addresses are those that the sender used in checksums: not so under way through an
    /// IPv6 routing header.
    pub addresses_are_final: bool,
    /// Which part of a datagram it is, where it is not all of it.
    pub fragment: Option<Fragment>,
}

/// A part of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Which datagram.
    pub identification: u32,
    /// Where in it, in bytes.
    pub offset: u16,
    /// Whether others follow.
    pub more: bool,
}

/// Why bytes are no IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpError {
    /// Where, from the start of the IP header.
    pub offset: usize,
    /// What was expected.
    pub reason: &'static str,
}

/// Reads an IP packet of either version.
///
/// # Errors
/// It is none, or cut off inside its headers.
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
    // Segments that a network card has yet to cut up may have no length.
    let length = if total == 0 { Some(rest.len()) } else { total.checked_sub(header_len) };
    let Some(length) = length else {
        return error(2, "expected a total length of at least the IPv4 header's");
    };
    let flags = u16::from_be_bytes([fixed[6], fixed[7]]);
    let (offset, more) = ((flags & 0x1fff) * 8, flags & 0x2000 != 0);
    let identification = u16::from_be_bytes([fixed[4], fixed[5]]).into();
    let address =
        |at: usize| IpAddr::V4(Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]));
    Ok(IpPacket {
        source: address(12),
        destination: address(16),
        ecn: Ecn::from_bits(fixed[1]),
        protocol: fixed[9],
        payload: &rest[..rest.len().min(length)],
        length,
        offset: header_len,
        header_is_good: fixed[10..12] == [0, 0] || internet_checksum(header) == 0,
        addresses_are_final: true,
        fragment: (offset != 0 || more).then_some(Fragment { identification, offset, more }),
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
        protocol: fixed[6],
        payload: &rest[..rest.len().min(length)],
        length,
        offset: 40,
        header_is_good: true,
        addresses_are_final: true,
        fragment: None,
    };
    // Each takes eight bytes at least, so the chain ends.
    while let Some(header_len) = extension_len(&packet) {
        if packet.payload.len() < header_len {
            return error(
                packet.offset + packet.payload.len(),
                "expected the rest of an IPv6 extension header",
            );
        }
        pass_extension(&mut packet, header_len);
        // A later part of a datagram does not begin with a header.
        if packet.fragment.is_some_and(|fragment| fragment.offset != 0) {
            break;
        }
    }
    Ok(packet)
}

/// How long the extension header is that comes next, if one does.
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

/// Takes an extension header off, which is there in full.
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
