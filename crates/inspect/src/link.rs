//! Decoding of link-layer headers.

use whimbrel_wifi::frame::bytes::{self, Flags, Header};
use whimbrel_wifi::frame::radiotap::Radiotap;

#[cfg(test)]
mod tests;

const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const PPP: u16 = 9;
/// Raw IP, as numbered by some systems in their files.
const RAW_BSD: u16 = 12;
const RAW_OPENBSD: u16 = 14;
/// PPP in frames like those of HDLC (RFC 1662), or Cisco's HDLC.
const PPP_SERIAL: u16 = 50;
/// PPPoE without the Ethernet header.
const PPP_ETHER: u16 = 51;
/// Cisco's HDLC.
const CISCO_HDLC: u16 = 104;
const RAW: u16 = 101;
/// 802.11 frames without the frame check sequence, in monitor mode.
const IEEE802_11: u16 = 105;
const LOOP: u16 = 108;
const LINUX_COOKED: u16 = 113;
/// 802.11 frames behind a radiotap header, in monitor mode.
const IEEE802_11_RADIOTAP: u16 = 127;
/// PPP with a direction byte instead of the HDLC address: Linux's pppd.
const PPP_PPPD: u16 = 166;
/// PPP after a direction byte.
const PPP_WITH_DIRECTION: u16 = 204;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_COOKED_2: u16 = 276;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// PPPoE's session stage (RFC 2516, Section 4).
const ETHERTYPE_PPPOE: u16 = 0x8864;
/// PPP's numbers of IPv4 (RFC 1332, Section 2) and IPv6 (RFC 5072, Section 3).
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// The IP packet in a frame; `None` if there is none or if the frame is truncated before it begins. Returns
/// an unknown link type as `Err`.
pub fn ip_packet(link_type: u16, frame: &[u8]) -> Result<Option<&[u8]>, u16> {
    Ok(match link_type {
        ETHERNET => ether_type(frame, 12).and_then(|kind| ip_of(kind, frame.get(14..)?)),
        LINUX_COOKED => ether_type(frame, 14).and_then(|kind| ip_of(kind, frame.get(16..)?)),
        LINUX_COOKED_2 => ether_type(frame, 0).and_then(|kind| ip_of(kind, frame.get(20..)?)),
        RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => Some(frame).filter(|frame| !frame.is_empty()),
        NULL | LOOP => after_family(frame),
        PPP => ppp(after_hdlc_address(frame)),
        PPP_SERIAL | CISCO_HDLC => match frame {
            // Cisco's unicast and broadcast addresses.
            [0x0f | 0x8f, _, rest @ ..] => ether_type(rest, 0).and_then(|kind| ip_of(kind, rest.get(2..)?)),
            _ => ppp(after_hdlc_address(frame)),
        },
        IEEE802_11 => wireless(frame),
        IEEE802_11_RADIOTAP => after_radiotap(frame),
        PPP_ETHER => pppoe(frame),
        PPP_PPPD => match frame {
            // The control byte follows the direction, unless both ends have agreed to omit it.
            [_, 0x03, rest @ ..] | [_, rest @ ..] => ppp(rest),
            [] => None,
        },
        PPP_WITH_DIRECTION => frame.split_first().and_then(|(_, frame)| ppp(after_hdlc_address(frame))),
        unknown => return Err(unknown),
    })
}

/// The name of a link type, as in Wireshark and tcpdump.
pub fn link_name(link_type: u16) -> &'static str {
    match link_type {
        NULL => "null",
        ETHERNET => "Ethernet",
        RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => "raw IP",
        LOOP => "loop",
        IEEE802_11 => "802.11",
        IEEE802_11_RADIOTAP => "802.11 with radiotap",
        LINUX_COOKED => "Linux cooked v1",
        PPP | PPP_SERIAL | PPP_PPPD | PPP_WITH_DIRECTION => "PPP",
        PPP_ETHER => "PPPoE",
        CISCO_HDLC => "Cisco HDLC",
        LINUX_COOKED_2 => "Linux cooked v2",
        _ => "unknown",
    }
}

fn ether_type(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?))
}

/// The IP packet after an EtherType, with any number of VLAN tags (802.1Q, 802.1ad and its predecessors), or
/// in PPPoE.
fn ip_of(mut kind: u16, mut rest: &[u8]) -> Option<&[u8]> {
    while matches!(kind, 0x8100 | 0x88a8 | 0x9100 | 0x9200) {
        kind = ether_type(rest, 2)?;
        rest = rest.get(4..)?;
    }
    match kind {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Some(rest).filter(|rest| !rest.is_empty()),
        ETHERTYPE_PPPOE => pppoe(rest),
        _ => None,
    }
}

/// The IP packet after the header of PPPoE's session stage: version and type, code, session, length (RFC
/// 2516, Section 4).
fn pppoe(frame: &[u8]) -> Option<&[u8]> {
    let (header, rest) = frame.split_first_chunk::<6>()?;
    let is_session = header[..2] == [0x11, 0];
    is_session.then_some(rest).and_then(ppp)
}

/// The IP packet in a data frame that is not encrypted and not known to be damaged. The frame check sequence, where there is
/// one, remains behind it: the IP header has the packet's length.
fn after_radiotap(frame: &[u8]) -> Option<&[u8]> {
    let (radiotap, frame) = Radiotap::parse(frame).ok()?;
    let is_damaged = radiotap.flags.unwrap_or_default() & Radiotap::BAD_FCS != 0;
    wireless(frame).filter(|_| !is_damaged)
}

/// The IP packet behind the LLC and SNAP headers (RFC 1042) of an 802.11 data frame.
fn wireless(frame: &[u8]) -> Option<&[u8]> {
    let (Header::Data(header), body) = Header::parse(frame).ok()? else { return None };
    if header.flags.contains(Flags::PROTECTED) || header.fragment > 0 {
        return None;
    }
    let body = body.strip_prefix(&bytes::SNAP)?;
    ip_of(ether_type(body, 0)?, body.get(2..)?)
}

/// PPP without the address and control bytes of HDLC, which both ends may have agreed to omit (RFC 1662,
/// Section 3.2).
fn after_hdlc_address(frame: &[u8]) -> &[u8] {
    frame.strip_prefix(&[0xff, 0x03]).unwrap_or(frame)
}

/// The IP packet after PPP's protocol number, of two bytes or, compressed, of one, which is odd (RFC 1661,
/// Section 6.5).
fn ppp(frame: &[u8]) -> Option<&[u8]> {
    let (protocol, rest) = match *frame {
        [low, ref rest @ ..] if low & 1 == 1 => (u16::from(low), rest),
        [high, low, ref rest @ ..] => (u16::from_be_bytes([high, low]), rest),
        _ => return None,
    };
    matches!(protocol, PPP_IPV4 | PPP_IPV6).then_some(rest).filter(|rest| !rest.is_empty())
}

/// The IP packet after an address family. Its byte order is that of the capturing machine, and the number of
/// IPv6 that of its system.
fn after_family(frame: &[u8]) -> Option<&[u8]> {
    let (family, rest) = frame.split_first_chunk::<4>()?;
    let family = u32::from_be_bytes(*family);
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    // 10 is IPv6 on Linux, 23 on Windows; 24, 28 and 30 on the BSDs and macOS.
    matches!(family, 2 | 10 | 23 | 24 | 28 | 30).then_some(rest).filter(|rest| !rest.is_empty())
}
