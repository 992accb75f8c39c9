//! IP headers, for a process that is a host of its own (RFC 791, RFC 8200).
//!
//! Fragments are refused: DCCP never fragments (RFC 4340, Section 14), and reassembly would let any host
//! fill memory.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use whimbrel_wire::Ecn;
use whimbrel_wire::checksum::{self, PseudoHeader, internet_checksum};

#[cfg(test)]
mod tests;

pub(super) const IPV4_HEADER: usize = 20;
pub(super) const IPV6_HEADER: usize = 40;
const HOP_LIMIT: u8 = 64;
/// Don't Fragment (RFC 791, Section 3.1).
const DF: u16 = 0x4000;
/// More Fragments and the offset: zero in a whole packet.
const FRAGMENTED: u16 = 0x3fff;
/// Extension headers that may precede the payload of an IPv6 packet.
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const DESTINATION_OPTIONS: u8 = 60;

/// A parsed IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct IpHeader {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) protocol: u8,
    pub(super) ecn: Ecn,
    /// Start and end of the payload in the packet.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Reason for refusing a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// Not an IP packet, or a truncated one.
    Malformed,
    /// The IPv4 header's checksum is wrong.
    Checksum,
    /// One piece of a packet.
    Fragment,
}

/// Reads the header of a whole packet.
pub(super) fn parse(packet: &[u8]) -> Result<IpHeader, Refusal> {
    let header = parse_quoted(packet)?;
    let version = packet[0] >> 4;
    if version == 4 && internet_checksum(&packet[..header.start]) != 0 {
        return Err(Refusal::Checksum);
    }
    // The buffer may be longer than the packet's length field, never shorter.
    if header.end > packet.len() { Err(Refusal::Malformed) } else { Ok(header) }
}

/// Reads the header of a packet whose end may be missing, as ICMP quotes it: `end` may lie beyond. Its
/// checksum is not verified, as routers change the header without updating the quoted one.
pub(super) fn parse_quoted(packet: &[u8]) -> Result<IpHeader, Refusal> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => parse_v4(packet),
        Some(6) => parse_v6(packet),
        _ => Err(Refusal::Malformed),
    }
}

fn parse_v4(packet: &[u8]) -> Result<IpHeader, Refusal> {
    let (fixed, _) = packet.split_first_chunk::<IPV4_HEADER>().ok_or(Refusal::Malformed)?;
    let start = usize::from(fixed[0] & 0xf) * 4;
    let end = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if start < IPV4_HEADER || start > packet.len() || end < start {
        return Err(Refusal::Malformed);
    }
    if u16::from_be_bytes([fixed[6], fixed[7]]) & FRAGMENTED != 0 {
        return Err(Refusal::Fragment);
    }
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
    Ok(IpHeader {
        source: address(12).into(),
        destination: address(16).into(),
        protocol: fixed[9],
        ecn: Ecn::from_bits(fixed[1]),
        start,
        end,
    })
}

fn parse_v6(packet: &[u8]) -> Result<IpHeader, Refusal> {
    let (fixed, _) = packet.split_first_chunk::<IPV6_HEADER>().ok_or(Refusal::Malformed)?;
    let end = IPV6_HEADER + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let address = |at: usize| Ipv6Addr::from(std::array::from_fn::<u8, 16, _>(|i| fixed[at + i]));
    let (mut protocol, mut start) = (fixed[6], IPV6_HEADER);
    // The fragment header (44) is not among them: it ends the walk and is refused.
    while matches!(protocol, HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS) {
        let extension = packet.get(start..start + 8).ok_or(Refusal::Malformed)?;
        // RFC 8200, Section 4.4: with segments left, the packet is for another host.
        if protocol == ROUTING && extension[3] != 0 {
            return Err(Refusal::Malformed);
        }
        protocol = extension[0];
        start += 8 + usize::from(extension[1]) * 8;
    }
    if protocol == 44 {
        return Err(Refusal::Fragment);
    }
    if start > packet.len() || end < start {
        return Err(Refusal::Malformed);
    }
    Ok(IpHeader {
        source: address(8).into(),
        destination: address(24).into(),
        protocol,
        ecn: Ecn::from_bits(fixed[0] << 4 | fixed[1] >> 4),
        start,
        end,
    })
}

/// `true` if a DCCP packet between these addresses has the right checksum (RFC 4340, Section 9.1).
pub(super) fn is_intact(source: IpAddr, destination: IpAddr, packet: &[u8]) -> bool {
    PseudoHeader::between(source, destination)
        .is_some_and(|pseudo_header| checksum::verify(packet, &pseudo_header))
}

/// Appends the header of a packet that carries `length` bytes. `traffic_class` is IPv4's TOS byte. Returns
/// `false` if no such packet exists: it would be too long, or its addresses are of two families.
pub(super) fn write(
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    traffic_class: u8,
    length: usize,
    out: &mut Vec<u8>,
) -> bool {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let Ok(total) = u16::try_from(IPV4_HEADER + length) else { return false };
            let mut header = [0; IPV4_HEADER];
            header[0] = 0x45;
            header[1] = traffic_class;
            header[2..4].copy_from_slice(&total.to_be_bytes());
            // Packets that are never fragmented need no Identification (RFC 6864, Section 4.1).
            header[6..8].copy_from_slice(&DF.to_be_bytes());
            header[8] = HOP_LIMIT;
            header[9] = protocol;
            header[12..16].copy_from_slice(&source.octets());
            header[16..20].copy_from_slice(&destination.octets());
            let checksum = internet_checksum(&header);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            out.extend_from_slice(&header);
            true
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let Ok(length) = u16::try_from(length) else { return false };
            let mut header = [0; IPV6_HEADER];
            header[0] = 0x60 | traffic_class >> 4;
            header[1] = traffic_class << 4;
            header[4..6].copy_from_slice(&length.to_be_bytes());
            header[6] = protocol;
            header[7] = HOP_LIMIT;
            header[8..24].copy_from_slice(&source.octets());
            header[24..40].copy_from_slice(&destination.octets());
            out.extend_from_slice(&header);
            true
        }
        _ => false,
    }
}
