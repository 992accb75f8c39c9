//! Decoding of link-layer headers.

use core::hash::{Hash, Hasher};
use std::hash::DefaultHasher;

use whimbrel_wifi::frame::radiotap::Radiotap;

mod wireless;

#[cfg(test)]
mod tests;

use wireless::Aggregate;

const NULL: u16 = 0;
pub(crate) const ETHERNET: u16 = 1;
const PPP: u16 = 9;
/// Raw IP, as numbered by some systems in their files.
const RAW_BSD: u16 = 12;
const RAW_OPENBSD: u16 = 14;
/// PPP in HDLC-like frames (RFC 1662), or Cisco's HDLC.
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
/// 802.11 frames behind the header of Prism cards, or of AVS.
const IEEE802_11_PRISM: u16 = 119;
/// 802.11 frames behind a radiotap header, in monitor mode.
const IEEE802_11_RADIOTAP: u16 = 127;
/// 802.11 frames behind the header of AVS.
const IEEE802_11_AVS: u16 = 163;
/// PPP with a direction byte instead of the HDLC address: Linux's pppd.
const PPP_PPPD: u16 = 166;
/// Frames of another link type behind a Per-Packet Information header.
const PPI: u16 = 192;
/// PPP after a direction byte.
const PPP_WITH_DIRECTION: u16 = 204;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_COOKED_2: u16 = 276;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// PPPoE's session stage (RFC 2516, Section 4).
const ETHERTYPE_PPPOE: u16 = 0x8864;
/// Smaller values are the length of an 802.3 frame, whose LLC header follows.
const LEAST_ETHERTYPE: u16 = 0x0600;
/// MPLS, unicast and multicast (RFC 3032, Section 5).
const ETHERTYPE_MPLS: [u16; 2] = [0x8847, 0x8848];
/// PPP's numbers of IPv4 (RFC 1332, Section 2) and IPv6 (RFC 5072, Section 3).
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;

/// A frame without an IP packet that can be read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NoPacket {
    /// The link type is unknown.
    UnknownLink(u16),
    /// Another protocol, or a frame that carries no data.
    NotIp,
    /// The frame ends before the IP packet begins.
    Cut,
    /// The body of the 802.11 frame is encrypted.
    Encrypted,
    /// The frame check sequence of the 802.11 frame is wrong.
    Damaged,
    /// The frame is a part of an 802.11 MSDU, which is not put together.
    Fragment,
}

/// The IP packets of a frame, and where the frame was captured.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    packets: Packets<'a>,
    /// Identifies the place on one interface: link-layer addresses, the interface of a cooked frame and its
    /// direction. A packet that is forwarded has another place before and after.
    pub place: u64,
    /// `true` if the frame is a repetition by the link layer.
    pub is_retry: bool,
}

#[derive(Clone, Debug)]
enum Packets<'a> {
    One(&'a [u8]),
    /// The rest of an A-MSDU.
    Aggregate(Aggregate<'a>),
    None,
}

impl<'a> Iterator for Frame<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        match &mut self.packets {
            Packets::Aggregate(aggregate) => aggregate.next(),
            Packets::One(packet) => {
                let packet = *packet;
                self.packets = Packets::None;
                Some(packet)
            }
            Packets::None => None,
        }
    }
}

impl<'a> Frame<'a> {
    fn new(packet: &'a [u8], place: u64) -> Self {
        Self { packets: Packets::One(packet), place, is_retry: false }
    }

    /// The IP packets of a frame: one, or several in an A-MSDU.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn parse(link_type: u16, frame: &'a [u8]) -> Result<Self, NoPacket> {
        let simple = |packet: Result<&'a [u8], NoPacket>| packet.map(|packet| Self::new(packet, 0));
        match link_type {
            ETHERNET => {
                let (addresses, rest) = frame.split_first_chunk::<12>().ok_or(NoPacket::Cut)?;
                Ok(Self::new(ip_of(ether_type(rest, 0)?, after(rest, 2)?)?, place_of(addresses)))
            }
            LINUX_COOKED => {
                let packet = ip_of(ether_type(frame, 14)?, after(frame, 16)?)?;
                // The packet type is the direction.
                Ok(Self::new(packet, place_of(&&frame[..2])))
            }
            LINUX_COOKED_2 => {
                let packet = ip_of(ether_type(frame, 0)?, after(frame, 20)?)?;
                // Interface index, and the packet type: the direction.
                Ok(Self::new(packet, place_of(&(&frame[4..8], frame[10]))))
            }
            RAW | RAW_BSD | RAW_OPENBSD | IPV4 | IPV6 => simple(not_empty(frame)),
            NULL | LOOP => simple(after_family(frame)),
            PPP => simple(ppp(after_hdlc_address(frame))),
            PPP_SERIAL | CISCO_HDLC => simple(match frame {
                // Cisco's unicast and broadcast addresses.
                [0x0f | 0x8f, _, rest @ ..] => ip_of(ether_type(rest, 0)?, after(rest, 2)?),
                _ => ppp(after_hdlc_address(frame)),
            }),
            PPP_ETHER => simple(pppoe(frame)),
            PPP_PPPD => simple(match frame {
                // The control byte follows the direction, unless both ends have agreed to omit it.
                [_, 0x03, rest @ ..] | [_, rest @ ..] => ppp(rest),
                [] => Err(NoPacket::Cut),
            }),
            PPP_WITH_DIRECTION => simple(ppp(after_hdlc_address(after(frame, 1)?))),
            IEEE802_11 | IEEE802_11_RADIOTAP | IEEE802_11_PRISM | IEEE802_11_AVS => {
                let (radiotap, frame) = wireless_frame(link_type, frame)?;
                let flags = radiotap.flags.unwrap_or_default();
                if flags & Radiotap::BAD_FCS != 0 {
                    return Err(NoPacket::Damaged);
                }
                // The frame check sequence remains behind the IP packet, whose header has the length.
                wireless::parse(frame, flags & Radiotap::DATA_PAD != 0)
            }
            PPI => {
                let (link_type, rest) = wireless::after_ppi(frame)?;
                if link_type == PPI { Err(NoPacket::NotIp) } else { Self::parse(link_type, rest) }
            }
            unknown => Err(NoPacket::UnknownLink(unknown)),
        }
    }
}

/// An 802.11 frame and its radiotap header, which is empty behind other headers.
///
/// # Errors
/// The reason why there is none; another link type is unknown.
pub(crate) fn wireless_frame(link_type: u16, frame: &[u8]) -> Result<(Radiotap, &[u8]), NoPacket> {
    let without = |frame| Ok((Radiotap::default(), frame));
    match link_type {
        IEEE802_11 => without(frame),
        IEEE802_11_RADIOTAP => Radiotap::parse(frame).map_err(|_| NoPacket::Cut),
        IEEE802_11_PRISM | IEEE802_11_AVS => without(wireless::after_prism(frame)?),
        PPI => match wireless::after_ppi(frame)? {
            (PPI, _) => Err(NoPacket::NotIp),
            (link_type, frame) => wireless_frame(link_type, frame),
        },
        unknown => Err(NoPacket::UnknownLink(unknown)),
    }
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
        IEEE802_11_PRISM => "802.11 with Prism",
        IEEE802_11_AVS => "802.11 with AVS",
        PPI => "PPI",
        LINUX_COOKED => "Linux cooked v1",
        PPP | PPP_SERIAL | PPP_PPPD | PPP_WITH_DIRECTION => "PPP",
        PPP_ETHER => "PPPoE",
        CISCO_HDLC => "Cisco HDLC",
        LINUX_COOKED_2 => "Linux cooked v2",
        _ => "unknown",
    }
}

/// A place as a number.
pub(crate) fn place_of(parts: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

fn after(frame: &[u8], length: usize) -> Result<&[u8], NoPacket> {
    frame.get(length..).ok_or(NoPacket::Cut)
}

fn not_empty(packet: &[u8]) -> Result<&[u8], NoPacket> {
    if packet.is_empty() { Err(NoPacket::Cut) } else { Ok(packet) }
}

fn ether_type(frame: &[u8], at: usize) -> Result<u16, NoPacket> {
    let bytes = after(frame, at)?.first_chunk().ok_or(NoPacket::Cut)?;
    Ok(u16::from_be_bytes(*bytes))
}

/// The IP packet after an EtherType, with any number of VLAN tags (802.1Q, 802.1ad and its predecessors),
/// behind the LLC and SNAP headers of an 802.3 frame, in MPLS or in PPPoE.
pub(crate) fn ip_of(mut kind: u16, mut rest: &[u8]) -> Result<&[u8], NoPacket> {
    while matches!(kind, 0x8100 | 0x88a8 | 0x9100 | 0x9200) {
        kind = ether_type(rest, 2)?;
        rest = after(rest, 4)?;
    }
    match kind {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => not_empty(rest),
        ETHERTYPE_PPPOE => pppoe(rest),
        kind if ETHERTYPE_MPLS.contains(&kind) => mpls(rest),
        kind if kind < LEAST_ETHERTYPE => wireless::after_snap(rest),
        _ => Err(NoPacket::NotIp),
    }
}

/// The IP packet behind a stack of MPLS labels. The labels do not name the protocol; IP packets begin with
/// their version.
fn mpls(mut rest: &[u8]) -> Result<&[u8], NoPacket> {
    loop {
        let (label, behind) = rest.split_first_chunk::<4>().ok_or(NoPacket::Cut)?;
        rest = behind;
        if label[2] & 1 != 0 {
            break;
        }
    }
    match not_empty(rest)?[0] >> 4 {
        4 | 6 => Ok(rest),
        _ => Err(NoPacket::NotIp),
    }
}

/// The IP packet after the header of PPPoE's session stage: version and type, code, session, length (RFC
/// 2516, Section 4).
fn pppoe(frame: &[u8]) -> Result<&[u8], NoPacket> {
    let (header, rest) = frame.split_first_chunk::<6>().ok_or(NoPacket::Cut)?;
    if header[..2] == [0x11, 0] { ppp(rest) } else { Err(NoPacket::NotIp) }
}

/// PPP without the address and control bytes of HDLC, which both ends may have agreed to omit (RFC 1662,
/// Section 3.2).
fn after_hdlc_address(frame: &[u8]) -> &[u8] {
    frame.strip_prefix(&[0xff, 0x03]).unwrap_or(frame)
}

/// The IP packet after PPP's protocol number, of two bytes or, compressed, of one, which is odd (RFC 1661,
/// Section 6.5).
fn ppp(frame: &[u8]) -> Result<&[u8], NoPacket> {
    let (protocol, rest) = match *frame {
        [low, ref rest @ ..] if low & 1 == 1 => (u16::from(low), rest),
        [high, low, ref rest @ ..] => (u16::from_be_bytes([high, low]), rest),
        _ => return Err(NoPacket::Cut),
    };
    if matches!(protocol, PPP_IPV4 | PPP_IPV6) { not_empty(rest) } else { Err(NoPacket::NotIp) }
}

/// The IP packet after an address family. Its byte order is the capturing machine's, and the number of
/// IPv6 its system's.
fn after_family(frame: &[u8]) -> Result<&[u8], NoPacket> {
    let (family, rest) = frame.split_first_chunk::<4>().ok_or(NoPacket::Cut)?;
    let family = u32::from_be_bytes(*family);
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    // 10 is IPv6 on Linux, 23 on Windows; 24, 28 and 30 on the BSDs and macOS.
    if matches!(family, 2 | 10 | 23 | 24 | 28 | 30) { not_empty(rest) } else { Err(NoPacket::NotIp) }
}
