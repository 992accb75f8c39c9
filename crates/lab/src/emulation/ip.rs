//! The fields of IPv4 and IPv6 packets on which an emulated network depends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use whimbrel_units::Ecn;

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// IPv6 extension headers that may precede a transport header (RFC 8200, Section 4.1).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
/// Extension headers that are skipped; in a packet with more, the last of them counts as the transport.
const MOST_EXTENSIONS: usize = 8;

/// An IP packet as an emulated network sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpPacket {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// The ECN field.
    pub ecn: Ecn,
    /// A hash of addresses, protocol and ports: equal for the packets of one flow. Fragments have no
    /// ports. It is at least 2^30 and below 2^31: smaller numbers belong to simulated flows.
    pub flow: u32,
    /// Bytes behind the transport header; behind the IP headers where the transport is unknown.
    pub data: u32,
}

impl IpPacket {
    /// Reads the headers of a packet; `None` if the bytes are no IP packet of this length.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? >> 4 {
            4 => Self::parse_v4(bytes),
            6 => Self::parse_v6(bytes),
            _ => None,
        }
    }

    fn parse_v4(bytes: &[u8]) -> Option<Self> {
        let header = usize::from(bytes[0] & 0x0f) * 4;
        if header < 20 || bytes.len() < header || usize::from(u16_at(bytes, 2)?) != bytes.len() {
            return None;
        }
        let (source, destination) = (u32_at(bytes, 12)?, u32_at(bytes, 16)?);
        // More fragments, or an offset: RFC 791, Section 3.1.
        let is_fragment = u16_at(bytes, 6)? & 0x3fff != 0;
        let transport = Transport::of(bytes[9], &bytes[header..], is_fragment);
        Some(Self {
            source: Ipv4Addr::from_bits(source).into(),
            destination: Ipv4Addr::from_bits(destination).into(),
            ecn: Ecn::from_bits(bytes[1]),
            flow: transport.hash(u64::from(source), u64::from(destination)),
            data: transport.data,
        })
    }

    fn parse_v6(bytes: &[u8]) -> Option<Self> {
        let addresses = bytes.get(8..40)?;
        if usize::from(u16_at(bytes, 4)?) + 40 != bytes.len() {
            return None;
        }
        let address = |at: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&addresses[at..at + 16]);
            u128::from_be_bytes(octets)
        };
        let (source, destination) = (address(0), address(16));
        let (mut next, mut at, mut is_fragment) = (bytes[6], 40, false);
        for _ in 0..MOST_EXTENSIONS {
            let length = match next {
                HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => usize::from(*bytes.get(at + 1)?) * 8 + 8,
                FRAGMENT => {
                    is_fragment = true;
                    8
                }
                _ => break,
            };
            next = *bytes.get(at)?;
            at += length;
        }
        let transport = Transport::of(next, bytes.get(at..)?, is_fragment);
        let fold = |address: u128| (address >> 64) as u64 ^ address as u64;
        Some(Self {
            source: Ipv6Addr::from_bits(source).into(),
            destination: Ipv6Addr::from_bits(destination).into(),
            ecn: Ecn::from_bits(bytes[1] >> 4),
            flow: transport.hash(fold(source), fold(destination)),
            data: transport.data,
        })
    }
}

/// The transport header.
struct Transport {
    protocol: u8,
    ports: u32,
    data: u32,
}

impl Transport {
    fn of(protocol: u8, bytes: &[u8], is_fragment: bool) -> Self {
        let header = match protocol {
            _ if is_fragment => 0,
            TCP => bytes.get(12).map_or(0, |offset| usize::from(offset >> 4) * 4),
            UDP | UDP_LITE => 8,
            SCTP => 12,
            DCCP => bytes.get(4).map_or(0, |offset| usize::from(*offset) * 4),
            _ => 0,
        };
        let has_ports = !is_fragment && matches!(protocol, TCP | UDP | DCCP | SCTP | UDP_LITE);
        let ports = if has_ports { u32_at(bytes, 0).unwrap_or(0) } else { 0 };
        Self { protocol, ports, data: bytes.len().saturating_sub(header) as u32 }
    }

    /// A multiplicative hash; disciplines hash it again with a key of their own.
    fn hash(&self, source: u64, destination: u64) -> u32 {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
        let words = [source, destination, u64::from(self.protocol) << 32 | u64::from(self.ports)];
        (words.into_iter().fold(0, mix) >> 34) as u32 | 1 << 30
    }
}

/// Writes the ECN field of an IP packet, and keeps the header's checksum correct (RFC 1624). Other bytes stay
/// as they are.
pub fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    match bytes {
        [version, tos, ..] if *version >> 4 == 4 => {
            let before = u16::from_be_bytes([*version, *tos]);
            *tos = *tos & !0b11 | ecn.bits();
            let after = u16::from_be_bytes([*version, *tos]);
            if let Some(checksum) = bytes.get_mut(10..12).filter(|_| before != after) {
                let old = u16::from_be_bytes([checksum[0], checksum[1]]);
                // RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
                let sum = u32::from(!old) + u32::from(!before) + u32::from(after);
                let sum = (sum & 0xffff) + (sum >> 16);
                let folded = (sum & 0xffff) + (sum >> 16);
                checksum.copy_from_slice(&(!(folded as u16)).to_be_bytes());
            }
        }
        // The traffic class spans the first two bytes: RFC 8200, Section 3.
        [version, class, ..] if *version >> 4 == 6 => *class = *class & !0x30 | ecn.bits() << 4,
        _ => {}
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
}
