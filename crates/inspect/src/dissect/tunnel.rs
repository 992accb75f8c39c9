//! IP packets inside other ones: in IP (RFC 2003, RFC 2473, RFC 4213), GRE (RFC 2784, RFC 2890), VXLAN (RFC
//! 7348) and GTP-U (3GPP TS 29.281).

use crate::ip::{self, IpPacket};
use crate::link::{self, Frame};

pub(super) const IPV4: u8 = 4;
pub(super) const IPV6: u8 = 41;
pub(super) const GRE: u8 = 47;
/// The number of tunnels in each other that are opened.
pub(super) const MAX_DEPTH: u8 = 8;

/// UDP ports of VXLAN: IANA's, and the one that Linux used before.
const VXLAN: [u16; 2] = [4789, 8472];
const GTP_U: u16 = 2152;
/// GRE's protocol number of Ethernet.
const ETHERNET_IN_GRE: u16 = 0x6558;
/// GRE's fields that are present, and its version.
const GRE_CHECKSUM: u16 = 0x8000;
const GRE_ROUTING: u16 = 0x4000;
const GRE_KEY: u16 = 0x2000;
const GRE_SEQUENCE: u16 = 0x1000;
const GRE_VERSION: u16 = 0x0007;
/// The GTP-U message that has a user's packet.
const G_PDU: u8 = 255;

/// The packet in one of IP or GRE, if it can be read.
pub(super) fn in_ip<'a>(packet: &IpPacket<'a>) -> Option<&'a [u8]> {
    match packet.protocol {
        IPV4 | IPV6 => (!packet.payload.is_empty()).then_some(packet.payload),
        GRE => in_gre(packet.payload),
        _ => None,
    }
}

fn in_gre(bytes: &[u8]) -> Option<&[u8]> {
    let (fixed, rest) = bytes.split_first_chunk::<4>()?;
    let flags = u16::from_be_bytes([fixed[0], fixed[1]]);
    let kind = u16::from_be_bytes([fixed[2], fixed[3]]);
    if flags & (GRE_ROUTING | GRE_VERSION) != 0 {
        return None;
    }
    let fields = [GRE_CHECKSUM, GRE_KEY, GRE_SEQUENCE].iter().filter(|field| flags & **field != 0).count();
    let rest = rest.get(4 * fields..)?;
    match kind {
        ETHERNET_IN_GRE => in_ethernet(rest),
        kind => link::ip_of(kind, rest).ok(),
    }
}

/// The packet in a UDP datagram to one of the tunnels' ports. Other datagrams to these ports begin otherwise.
pub(super) fn in_udp(port: u16, payload: &[u8]) -> Option<&[u8]> {
    let inner = match port {
        port if VXLAN.contains(&port) => {
            let (header, rest) = payload.split_first_chunk::<8>()?;
            // The flag says that there is a network's number; all others are reserved.
            if header[..4] != [8, 0, 0, 0] || header[7] != 0 {
                return None;
            }
            in_ethernet(rest)?
        }
        GTP_U => in_gtp(payload)?,
        _ => return None,
    };
    ip::decode(inner).is_ok().then_some(inner)
}

fn in_gtp(payload: &[u8]) -> Option<&[u8]> {
    let (header, mut rest) = payload.split_first_chunk::<8>()?;
    // Version 1 of GTP, not of GTP'.
    if header[0] >> 4 != 3 || header[1] != G_PDU {
        return None;
    }
    if header[0] & 7 != 0 {
        let (fields, behind) = rest.split_first_chunk::<4>()?;
        rest = behind;
        let mut next = if header[0] & 4 != 0 { fields[3] } else { 0 };
        while next != 0 {
            // In units of four bytes, with the length and the type of the next one.
            let length = 4 * usize::from(*rest.first()?);
            let extension = rest.get(..length).filter(|extension| !extension.is_empty())?;
            next = *extension.last()?;
            rest = &rest[length..];
        }
    }
    Some(rest)
}

fn in_ethernet(frame: &[u8]) -> Option<&[u8]> {
    Frame::parse(link::ETHERNET, frame).ok()?.next()
}
