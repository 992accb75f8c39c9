//! Dissection of captured frames: DCCP over IP (RFC 4340) or inside UDP (RFC 6773).

use core::net::IpAddr;
use std::collections::BTreeSet;

use bytes::Bytes;
use serde::Serialize;
use whimbrel_units::Instant;
use whimbrel_wire::checksum::{self, PseudoHeader};
use whimbrel_wire::udp_encapsulation::{self, PORT, UdpPorts};
use whimbrel_wire::{Ecn, Packet, PacketType};

use crate::capture::Record;
use crate::ip::{self, Fragment, IpPacket};
use crate::link;

mod checksums;
mod coalesced;

use checksums::classify;

#[cfg(test)]
mod tests;

/// Maximum number of pairs of UDP ports kept as carrying DCCP.
const MAX_UDP_FLOWS: usize = 4096;
/// Offset of the Checksum field in a DCCP header.
const CHECKSUM_FIELD: usize = 6;
/// Offset of the checksum in an IPv4 header.
const IP_CHECKSUM_FIELD: usize = 10;
const WRONG_CHECKSUM: &str = "wrong header checksum: receivers drop the packet";

/// A captured DCCP packet.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The record's number, from 1.
    pub number: u64,
    /// Capture time.
    pub at: Instant,
    /// The capture's interface.
    pub interface: u32,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// The UDP ports, if it is inside UDP.
    pub udp: Option<UdpPorts>,
    /// The ECN bits of the IP header.
    pub ecn: Ecn,
    /// Result of checking its checksum: DCCP's own over IP, that of UDP inside UDP.
    pub checksum: Checksum,
    /// `true` if the packet was captured completely.
    pub is_whole: bool,
    /// The packet. Bytes that were not captured are zeros.
    pub packet: Packet,
}

/// Result of checking a checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checksum {
    /// The checksum is correct.
    Good,
    /// The checksum is wrong: receivers ignore the packet.
    Bad,
    /// The UDP checksum is zero: receivers drop the packet (RFC 6773, Section 3.3).
    Absent,
    /// The checksum covers only the addresses: the remainder was left to the network card of the capturing
    /// machine.
    Unfinished,
    /// The checksum cannot be verified, as the packet is truncated.
    Unknown,
}

/// Contents of a frame.
#[derive(Clone, Debug)]
pub enum Dissected {
    /// DCCP packets: one, or several that were coalesced on the sending machine.
    Dccp(Vec<Segment>),
    /// A malformed DCCP packet.
    Malformed(Malformed),
    /// A fragment of an IP datagram that carries DCCP or UDP, which is not reassembled.
    Fragment(Fragment),
    /// A frame of an unknown link type.
    UnknownLink(u16),
    /// A frame without DCCP.
    Other,
}

/// A malformed DCCP packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// The record's number, from 1.
    pub number: u64,
    /// Capture time.
    pub at: Instant,
    /// Source and destination address, if they could be decoded.
    pub addresses: Option<(IpAddr, IpAddr)>,
    /// Offset of its record in the file.
    pub record_offset: u64,
    /// The header with the error.
    pub layer: &'static str,
    /// Offset of the error from the start of that header, in bytes.
    pub offset: usize,
    /// The error, or the expected content.
    pub reason: String,
}

/// Finds DCCP packets in frames, and keeps the UDP ports that carry them.
#[derive(Clone, Debug, Default)]
pub struct Dissector {
    udp_ports: Vec<u16>,
    flows: BTreeSet<(IpAddr, u16, IpAddr, u16)>,
}

impl Dissector {
    /// A dissector; `udp_ports` carry DCCP in addition to 6511.
    pub fn new(udp_ports: &[u16]) -> Self {
        Self { udp_ports: udp_ports.to_vec(), flows: BTreeSet::new() }
    }

    /// Dissects a frame.
    pub fn dissect(&mut self, record: &Record<'_>) -> Dissected {
        let bytes = match link::ip_packet(record.link_type, record.data) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Dissected::Other,
            Err(unknown) => return Dissected::UnknownLink(unknown),
        };
        let ip = match ip::decode(bytes) {
            Ok(ip) => ip,
            Err(error) => return malformed(record, None, "IP", error.offset, error.reason.into()),
        };
        match (ip.protocol, ip.fragment) {
            (checksum::PROTOCOL | udp_encapsulation::PROTOCOL, Some(fragment)) => {
                Dissected::Fragment(fragment)
            }
            (checksum::PROTOCOL, None) => self.native(record, &ip),
            (udp_encapsulation::PROTOCOL, None) => self.in_udp(record, &ip),
            _ => Dissected::Other,
        }
    }

    fn native(&self, record: &Record<'_>, ip: &IpPacket<'_>) -> Dissected {
        if !ip.header_is_good {
            return malformed(record, Some(ip), "IP", IP_CHECKSUM_FIELD, WRONG_CHECKSUM.into());
        }
        let bytes = whole(ip.payload, ip.length);
        let is_whole = ip.payload.len() == ip.length;
        let verdict = || {
            let pseudo_header = PseudoHeader::between(ip.source, ip.destination);
            let good = pseudo_header.is_some_and(|addresses| checksum::verify(&bytes, &addresses));
            let field = bytes.get(CHECKSUM_FIELD..CHECKSUM_FIELD + 2);
            classify(ip, checksum::PROTOCOL, ip.length, field, good)
        };
        match Packet::decode(&bytes) {
            Ok(packet) => Dissected::Dccp(vec![Segment {
                checksum: if is_whole { verdict() } else { Checksum::Unknown },
                ..segment(record, ip, None, is_whole, packet)
            }]),
            Err(error) => {
                let reason = cut_reason(ip, error.kind.to_string());
                malformed(record, Some(ip), "DCCP", error.offset, reason)
            }
        }
    }

    fn in_udp(&mut self, record: &Record<'_>, ip: &IpPacket<'_>) -> Dissected {
        let Some((header, captured)) = ip.payload.split_first_chunk::<{ udp_encapsulation::HEADER_LEN }>()
        else {
            return Dissected::Other;
        };
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let ports = UdpPorts { source: word(0), destination: word(2) };
        let announced = usize::from(word(4));
        let known = self.is_known(ip, ports);
        if !known && !looks_like_dccp(captured) {
            return Dissected::Other;
        }
        if !ip.header_is_good {
            return malformed(record, Some(ip), "IP", IP_CHECKSUM_FIELD, WRONG_CHECKSUM.into());
        }
        let most = ip.length - header.len();
        let length = match announced.checked_sub(header.len()) {
            // Datagrams that a network card has yet to segment may have no length.
            None if announced == 0 => most,
            Some(length) if length <= most => length,
            _ => {
                let reason = format!("UDP length {announced}: expected 8 to {}", ip.length);
                return malformed(record, Some(ip), "UDP", 4, reason);
            }
        };
        let captured = &captured[..captured.len().min(length)];
        let is_whole = captured.len() == length;
        let verdict = if is_whole { checksums::of_udp(ip, header.len() + length) } else { Checksum::Unknown };
        let bytes = whole(captured, length);
        let packet = match Packet::decode(&bytes) {
            Ok(packet) => packet,
            Err(error) => {
                let reason = cut_reason(ip, error.kind.to_string());
                return malformed(record, Some(ip), "DCCP", error.offset, reason);
            }
        };
        self.remember(ip, ports);
        let packets = if is_whole { coalesced::split(&bytes, packet) } else { vec![packet] };
        let several = packets.len() > 1;
        let segments = packets.into_iter().map(|packet| Segment {
            // The checksum of coalesced packets is computed when they are segmented.
            checksum: if several { Checksum::Unfinished } else { verdict },
            ..segment(record, ip, Some(ports), is_whole, packet)
        });
        Dissected::Dccp(segments.collect())
    }

    fn is_known(&self, ip: &IpPacket<'_>, ports: UdpPorts) -> bool {
        let is_listed = |port: u16| port == PORT || self.udp_ports.contains(&port);
        is_listed(ports.source) || is_listed(ports.destination) || self.flows.contains(&flow(ip, ports))
    }

    fn remember(&mut self, ip: &IpPacket<'_>, ports: UdpPorts) {
        if self.flows.len() < MAX_UDP_FLOWS && !self.is_known(ip, ports) {
            self.flows.insert(flow(ip, ports));
        }
    }
}

/// A pair of UDP endpoints, independent of the direction.
fn flow(ip: &IpPacket<'_>, ports: UdpPorts) -> (IpAddr, u16, IpAddr, u16) {
    let (one, other) = ((ip.source, ports.source), (ip.destination, ports.destination));
    let (low, high) = if one <= other { (one, other) } else { (other, one) };
    (low.0, low.1, high.0, high.1)
}

/// `true` if the payload of a UDP datagram on unknown ports opens a DCCP connection: a Request or a Response
/// as in RFC 6773 (with a Checksum of zero), with all reserved bits zero and valid options. Other protocols
/// are very unlikely to match.
/// be read. Other protocols hardly ever look like that.
fn looks_like_dccp(payload: &[u8]) -> bool {
    let Ok(packet) = Packet::decode_slice(payload) else { return false };
    let opens = matches!(packet.packet_type(), PacketType::Request | PacketType::Response);
    // The byte of Type and X has three reserved bits, as has the following one.
    let is_clean = payload[CHECKSUM_FIELD..CHECKSUM_FIELD + 2] == [0, 0]
        && payload[8] >> 5 == 0
        && payload[9] == 0
        && packet.checksum_coverage.field() == 0;
    let is_readable = |option: &whimbrel_wire::DccpOption| {
        !matches!(option, whimbrel_wire::DccpOption::Malformed(_) | whimbrel_wire::DccpOption::Unknown { .. })
    };
    opens && is_clean && packet.options.iter().all(is_readable)
}

/// The bytes of a packet of `length` bytes, with zeros for those not captured.
fn whole(captured: &[u8], length: usize) -> Bytes {
    if captured.len() >= length {
        return Bytes::copy_from_slice(&captured[..length]);
    }
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(captured);
    bytes.resize(length, 0);
    bytes.into()
}

fn segment(
    record: &Record<'_>,
    ip: &IpPacket<'_>,
    udp: Option<UdpPorts>,
    is_whole: bool,
    packet: Packet,
) -> Segment {
    Segment {
        number: record.number,
        at: record.at,
        interface: record.interface,
        source: ip.source,
        destination: ip.destination,
        udp,
        ecn: ip.ecn,
        checksum: Checksum::Unknown,
        is_whole,
        packet,
    }
}

fn cut_reason(ip: &IpPacket<'_>, reason: String) -> String {
    if ip.payload.len() < ip.length {
        format!("{reason}; the capture has {} of its {} bytes", ip.payload.len(), ip.length)
    } else {
        reason
    }
}

fn malformed(
    record: &Record<'_>,
    ip: Option<&IpPacket<'_>>,
    layer: &'static str,
    offset: usize,
    reason: String,
) -> Dissected {
    Dissected::Malformed(Malformed {
        number: record.number,
        at: record.at,
        addresses: ip.map(|ip| (ip.source, ip.destination)),
        record_offset: record.offset,
        layer,
        offset,
        reason,
    })
}
