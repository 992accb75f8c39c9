//! ICMP messages about packets that were sent (RFC 792, RFC 1191, RFC 4443).

use std::net::IpAddr;

use whimbrel_wire::checksum::{PROTOCOL, internet_checksum};
use whimbrel_wire::{PacketType, SeqNo};

use super::ip::{self, IPV4_HEADER, IPV6_HEADER};
use super::{DCCP_OVERHEAD, PathError, Quoted};

#[cfg(test)]
mod tests;

pub(super) const ICMPV4: u8 = 1;
pub(super) const ICMPV6: u8 = 58;
/// The header of an ICMP message.
const HEADER: usize = 8;
/// The smallest MTU accepted: every host accepts IPv4 packets of 576 bytes (RFC 791), and paths for IPv6
/// carry 1280 (RFC 8200, Section 5).
const LEAST_MTU: [usize; 2] = [576, 1280];

/// A message about a packet of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message {
    /// The destination of that packet.
    pub(super) destination: IpAddr,
    pub(super) quoted: Quoted,
    pub(super) path_error: PathError,
}

/// Reads an ICMP message to `host` that begins at its own header; `None` if it does not concern a
/// DCCP packet that `host` sent. The checksum of ICMPv6, which covers addresses, is the caller's.
pub(super) fn parse(protocol: u8, message: &[u8], host: IpAddr) -> Option<Message> {
    let (&[kind, code, _, _, high, low, mtu_high, mtu_low], packet) =
        message.split_first_chunk::<HEADER>()?;
    let is_v4 = protocol == ICMPV4;
    if is_v4 && internet_checksum(message) != 0 {
        return None;
    }
    let next_mtu = u16::from_be_bytes([mtu_high, mtu_low]).into();
    let long_mtu = usize::from(u16::from_be_bytes([high, low])) << 16 | next_mtu;
    let path_error = match (is_v4, kind, code) {
        // RFC 1191, Section 4.
        (true, 3, 4) => PathError::TooLarge(fits(true, next_mtu)),
        (true, 3, _) | (false, 1, _) => PathError::Unreachable,
        (false, 2, _) => PathError::TooLarge(fits(false, long_mtu)),
        // RFC 4443, Section 3.4: an unknown next header, which is IPv4's unreachable protocol.
        (false, 4, 1) => PathError::Unreachable,
        _ => return None,
    };
    let header = ip::parse_quoted(packet).ok()?;
    if header.source != host || header.protocol != PROTOCOL {
        return None;
    }
    let quoted = quoted(packet.get(header.start..)?)?;
    Some(Message { destination: header.destination, quoted, path_error })
}

/// The application data that fit a datagram in IP packets of `mtu` bytes; `None` if the MTU is not
/// plausible: old routers give none (RFC 1191, Section 5).
pub(super) fn fits(is_v4: bool, mtu: usize) -> Option<usize> {
    let (header, least) = if is_v4 { (IPV4_HEADER, LEAST_MTU[0]) } else { (IPV6_HEADER, LEAST_MTU[1]) };
    (mtu >= least).then(|| mtu - header - DCCP_OVERHEAD)
}

/// Reads the beginning of a DCCP packet that a message quotes.
pub(super) fn quoted(packet: &[u8]) -> Option<Quoted> {
    let (&[s0, s1, d0, d1, ..], _) = packet.split_first_chunk::<8>()?;
    let ports = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
    // RFC 4340, Section 5.1. Short numbers are too few bits to recognize a forgery.
    let sequence = match packet.split_first_chunk::<16>() {
        Some((&[.., kind, _, a, b, c, d, e, f], _))
            if kind & 1 == 1 && PacketType::from_number(kind >> 1 & 0xf).is_some() =>
        {
            Some(SeqNo::new(u64::from_be_bytes([0, 0, a, b, c, d, e, f])))
        }
        _ => None,
    };
    Some(Quoted { source_port: ports.0, destination_port: ports.1, sequence })
}
