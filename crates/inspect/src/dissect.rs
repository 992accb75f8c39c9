//! Dissection of captured frames: DCCP over IP (RFC 4340) or inside UDP (RFC 6773), UDP and TCP, also in
//! tunnels.

use core::hash::Hash;
use core::net::IpAddr;
use std::collections::BTreeSet;

use whimbrel_units::Instant;
use whimbrel_wire::checksum::{self, PseudoHeader};
use whimbrel_wire::udp_encapsulation::{self, PORT, UdpPorts};
use whimbrel_wire::{Packet, PacketType};

use crate::capture::Record;
use crate::copies::{Identity, Sighting};
use crate::ip::{self, IpPacket, reassembly::Reassembly};
use crate::link::{Frame, NoPacket, place_of};
use crate::segment::{AnySegment, Checksum, Datagram, Segment, TcpHeader};

mod checksums;
mod coalesced;
mod cut;
mod tunnel;

use checksums::classify;
use cut::{fixed_header_len, known_options, with_zeros};

#[cfg(test)]
mod tests;

/// Maximum number of pairs of UDP ports kept as carrying DCCP.
const MAX_UDP_FLOWS: usize = 4096;
/// Offset of the Checksum field in a DCCP header, and in a UDP header.
const CHECKSUM_FIELD: usize = 6;
/// Offset of the checksum in an IPv4 header.
const IP_CHECKSUM_FIELD: usize = 10;
const WRONG_CHECKSUM: &str = "wrong header checksum: receivers drop the packet";
const TCP: u8 = 6;
/// Length of a TCP header without options.
const TCP_HEADER: usize = 20;
/// Length of the shortest DCCP header.
const MIN_DCCP_HEADER: usize = 12;
/// Bytes behind the UDP header, and of a DCCP header, by which packets are identified: those that short
/// captures have.
const IDENTIFYING: usize = 32;

/// The packets of a frame.
#[derive(Clone, Debug, Default)]
pub struct Dissected {
    /// Packets that are followed, each with what identifies it among its copies.
    pub(crate) segments: Vec<(AnySegment, Sighting)>,
    /// Malformed DCCP packets.
    pub malformed: Vec<Malformed>,
    /// Reason why the frame was not read, or a packet in it.
    pub not_read: Option<NotRead>,
}

/// Reason for which a frame is not followed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NotRead {
    /// The frame has no IP packet that can be read.
    Link(NoPacket),
    /// The headers of IP or of the transport protocol were not captured completely.
    Cut,
    /// The transport protocol, by its number.
    Protocol(u8),
    /// The header is invalid.
    Invalid,
    /// A fragment whose datagram is not complete yet.
    Fragment,
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

/// Finds packets in frames, and keeps the UDP ports that carry DCCP and the fragments of datagrams.
#[derive(Clone, Debug, Default)]
pub struct Dissector {
    udp_ports: Vec<u16>,
    flows: BTreeSet<(IpAddr, u16, IpAddr, u16)>,
    reassembly: Reassembly,
}

/// A frame that is being dissected.
struct Context<'a> {
    record: &'a Record<'a>,
    place: u64,
    is_retry: bool,
    /// The number of tunnels in which the packet is.
    depth: u8,
    out: Dissected,
}

impl Dissector {
    /// A dissector; `udp_ports` carry DCCP in addition to 6511.
    pub fn new(udp_ports: &[u16]) -> Self {
        Self { udp_ports: udp_ports.to_vec(), ..Self::default() }
    }

    /// The fragments.
    pub fn reassembly(&self) -> &Reassembly {
        &self.reassembly
    }

    /// Dissects a frame.
    pub fn dissect(&mut self, record: &Record<'_>) -> Dissected {
        let frame = match Frame::parse(record.link_type, record.data) {
            Ok(frame) => frame,
            Err(reason) => {
                return Dissected { not_read: Some(NotRead::Link(reason)), ..Dissected::default() };
            }
        };
        let (place, is_retry) = (frame.place, frame.is_retry);
        let mut context = Context { record, place, is_retry, depth: 0, out: Dissected::default() };
        for bytes in frame {
            self.packet(&mut context, bytes);
        }
        let out = &mut context.out;
        if out.segments.is_empty() && out.malformed.is_empty() && out.not_read.is_none() {
            // An A-MSDU without IP.
            out.not_read = Some(NotRead::Link(NoPacket::NotIp));
        }
        context.out
    }

    fn packet(&mut self, context: &mut Context<'_>, bytes: &[u8]) {
        let record = context.record;
        let ip = match ip::decode(bytes) {
            Ok(ip) => ip,
            // The header may be correct: the capture has a part of it.
            Err(_) if bytes.len() < ip::MAX_HEADER && record.data.len() < record.original_length as usize => {
                return context.not_read(NotRead::Cut);
            }
            Err(error) => return context.malformed(None, "IP", error.offset, error.reason.into()),
        };
        if !matches!(
            ip.protocol,
            checksum::PROTOCOL
                | udp_encapsulation::PROTOCOL
                | TCP
                | tunnel::IPV4
                | tunnel::IPV6
                | tunnel::GRE
        ) {
            return context.not_read(NotRead::Protocol(ip.protocol));
        }
        if ip.fragment.is_none() {
            return self.datagram(context, &ip);
        }
        let place = (record.interface, context.place);
        let Some(whole) = self.reassembly.on_fragment(record.number, record.at, place, &ip) else {
            return context.not_read(NotRead::Fragment);
        };
        let ip = IpPacket {
            payload: &whole.payload,
            length: whole.length,
            offset: whole.offset,
            fragment: None,
            ..ip
        };
        self.datagram(context, &ip);
    }

    fn datagram(&mut self, context: &mut Context<'_>, ip: &IpPacket<'_>) {
        match ip.protocol {
            checksum::PROTOCOL => native(context, ip),
            udp_encapsulation::PROTOCOL => self.in_udp(context, ip),
            TCP => tcp(context, ip),
            protocol => match tunnel::in_ip(ip) {
                Some(inner) if context.depth < tunnel::MAX_DEPTH => self.in_tunnel(context, ip, inner),
                _ => context.not_read(NotRead::Protocol(protocol)),
            },
        }
    }

    /// A packet inside another one.
    fn in_tunnel(&mut self, context: &mut Context<'_>, outer: &IpPacket<'_>, inner: &[u8]) {
        let place = context.place;
        // A packet may pass one interface outside and inside the tunnel.
        context.place = place_of(&(place, outer.source, outer.destination));
        context.depth += 1;
        self.packet(context, inner);
        (context.place, context.depth) = (place, context.depth - 1);
    }

    fn in_udp(&mut self, context: &mut Context<'_>, ip: &IpPacket<'_>) {
        let Some((header, captured)) = ip.payload.split_first_chunk::<{ udp_encapsulation::HEADER_LEN }>()
        else {
            return context.too_short(ip);
        };
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let ports = UdpPorts { source: word(0), destination: word(2) };
        let announced = usize::from(word(4));
        let most = ip.length.saturating_sub(header.len());
        let length = match announced.checked_sub(header.len()) {
            // Datagrams that a network card has yet to segment may have no length.
            None if announced == 0 => Some(most),
            length => length.filter(|length| *length <= most),
        };
        let size = length.unwrap_or(most);
        let captured = &captured[..captured.len().min(size)];
        if context.depth < tunnel::MAX_DEPTH
            && let Some(inner) = tunnel::in_udp(ports.destination, captured)
        {
            return self.in_tunnel(context, ip, inner);
        }
        // RTP numbers its packets; other datagrams may have the same content again.
        let is_numbered = captured.first().is_some_and(|first| first >> 6 == 2);
        let identity = Identity::of(ip, is_numbered, |hasher| {
            (ports.source, ports.destination).hash(hasher);
            captured[..captured.len().min(IDENTIFYING)].hash(hasher);
        });
        if !self.is_known(ip, ports) && !looks_like_dccp(captured, size) {
            if length.is_none() {
                return context.not_read(NotRead::Invalid);
            }
            let datagram = Datagram {
                size: u32::try_from(size).unwrap_or(u32::MAX),
                head: captured.first_chunk().copied(),
                tail: captured.last_chunk().copied().filter(|_| captured.len() == size),
            };
            let segment = context.segment(ip, Some(ports), captured.len() == size, datagram);
            return context.push(AnySegment::Udp(segment), ip, identity);
        }
        if !ip.header_is_good {
            return context.malformed(Some(ip), "IP", IP_CHECKSUM_FIELD, WRONG_CHECKSUM.into());
        }
        let Some(length) = length else {
            let reason = format!("UDP length {announced}: expected 8 to {}", ip.length);
            return context.malformed(Some(ip), "UDP", 4, reason);
        };
        let is_whole = captured.len() == length;
        let verdict = if is_whole { checksums::of_udp(ip, header.len() + length) } else { Checksum::Unknown };
        if !is_whole && is_without_header(captured) {
            return context.not_read(NotRead::Cut);
        }
        let bytes = with_zeros(captured, length);
        let packet = match Packet::decode(&bytes) {
            Ok(packet) => packet,
            Err(error) => {
                let reason = cut_reason(ip, error.kind.to_string());
                return context.malformed(Some(ip), "DCCP", error.offset, reason);
            }
        };
        self.remember(ip, ports);
        let packets = if is_whole { coalesced::split(&bytes, packet) } else { vec![packet] };
        let several = packets.len() > 1;
        for packet in packets {
            let mut segment = context.segment(ip, Some(ports), is_whole, packet);
            segment.has_all_options = is_whole || known_options(captured).is_none();
            // The checksum of coalesced packets is computed when they are segmented.
            segment.checksum = if several { Checksum::Unfinished } else { verdict };
            let identity = Identity { number: identity.number ^ segment.packet.sequence.value(), ..identity };
            context.push(AnySegment::Dccp(segment), ip, identity);
        }
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
fn looks_like_dccp(payload: &[u8], size: usize) -> bool {
    // Most datagrams need no look at more than their type. The fields below are in the shortest header.
    let Some([.., kind]) = payload.first_chunk::<9>() else { return false };
    if !matches!(kind >> 1 & 0xf, 0 | 1) || payload.len() < 12 {
        return false;
    }
    let Ok(packet) = Packet::decode(&with_zeros(payload, size)) else { return false };
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

fn cut_reason(ip: &IpPacket<'_>, reason: String) -> String {
    if ip.payload.len() < ip.length {
        format!("{reason}; the capture has {} of its {} bytes", ip.payload.len(), ip.length)
    } else {
        reason
    }
}

/// `true` if the fields of a header were not captured completely.
fn is_without_header(captured: &[u8]) -> bool {
    captured.len() < MIN_DCCP_HEADER || fixed_header_len(captured).is_some_and(|len| captured.len() < len)
}

fn native(context: &mut Context<'_>, ip: &IpPacket<'_>) {
    if !ip.header_is_good {
        return context.malformed(Some(ip), "IP", IP_CHECKSUM_FIELD, WRONG_CHECKSUM.into());
    }
    let is_whole = ip.payload.len() == ip.length;
    if !is_whole && is_without_header(ip.payload) {
        return context.not_read(NotRead::Cut);
    }
    let bytes = with_zeros(ip.payload, ip.length);
    let verdict = || {
        let pseudo_header = PseudoHeader::between(ip.source, ip.destination);
        let good = pseudo_header.is_some_and(|addresses| checksum::verify(&bytes, &addresses));
        let field = bytes.get(CHECKSUM_FIELD..CHECKSUM_FIELD + 2);
        classify(ip, checksum::PROTOCOL, ip.length, field, good)
    };
    match Packet::decode(&bytes) {
        Ok(packet) => {
            let mut segment = context.segment(ip, None, is_whole, packet);
            segment.checksum = if is_whole { verdict() } else { Checksum::Unknown };
            segment.has_all_options = is_whole || known_options(ip.payload).is_none();
            let identity = Identity::of(ip, true, |hasher| {
                let known = &ip.payload[..ip.payload.len().min(IDENTIFYING)];
                known[..known.len().min(CHECKSUM_FIELD)].hash(hasher);
                known.get(CHECKSUM_FIELD + 2..).unwrap_or_default().hash(hasher);
            });
            context.push(AnySegment::Dccp(segment), ip, identity);
        }
        Err(error) => {
            let reason = cut_reason(ip, error.kind.to_string());
            context.malformed(Some(ip), "DCCP", error.offset, reason);
        }
    }
}

/// TCP (RFC 9293, Section 3.1).
fn tcp(context: &mut Context<'_>, ip: &IpPacket<'_>) {
    let Some(fixed) = ip.payload.first_chunk::<TCP_HEADER>() else { return context.too_short(ip) };
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < TCP_HEADER || header_len > ip.length {
        return context.not_read(NotRead::Invalid);
    }
    let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
    let flags = fixed[13];
    let header = TcpHeader {
        source_port: half(0),
        destination_port: half(2),
        sequence: word(4),
        ack: (flags & 0x10 != 0).then(|| word(8)),
        flags,
        size: u32::try_from(ip.length - header_len).unwrap_or(u32::MAX),
    };
    let options = ip.payload.get(TCP_HEADER..header_len.min(ip.payload.len())).unwrap_or_default();
    // Window and checksum may be completed on the way, and a segment may be divided or joined: its length is
    // no part of it.
    let is_numbered = header.size > 0;
    let identity = Identity::of(ip, is_numbered, |hasher| {
        fixed[..12].hash(hasher);
        (flags & (TcpHeader::FIN | TcpHeader::SYN | TcpHeader::RST)).hash(hasher);
        (header.size > 0).hash(hasher);
        options.hash(hasher);
    });
    let is_whole = ip.payload.len() == ip.length;
    let mut segment = context.segment(ip, None, is_whole, header);
    segment.has_all_options = ip.payload.len() >= header_len;
    context.push(AnySegment::Tcp(segment), ip, identity);
}

impl Context<'_> {
    fn not_read(&mut self, reason: NotRead) {
        self.out.not_read = Some(reason);
    }

    /// A packet without the header that it should have.
    fn too_short(&mut self, ip: &IpPacket<'_>) {
        self.not_read(if ip.payload.len() < ip.length { NotRead::Cut } else { NotRead::Invalid });
    }

    fn push(&mut self, segment: AnySegment, ip: &IpPacket<'_>, identity: Identity) {
        let sighting = Sighting {
            identity,
            interface: self.record.interface,
            place: self.place,
            ttl: ip.ttl,
            is_retry: self.is_retry,
        };
        self.out.segments.push((segment, sighting));
    }

    fn segment<P>(&self, ip: &IpPacket<'_>, udp: Option<UdpPorts>, is_whole: bool, packet: P) -> Segment<P> {
        Segment {
            number: self.record.number,
            at: self.record.at,
            first_at: self.record.at,
            interface: self.record.interface,
            copy: 1,
            source: ip.source,
            destination: ip.destination,
            udp,
            ecn: ip.ecn,
            checksum: Checksum::Unknown,
            is_whole,
            has_all_options: true,
            packet,
        }
    }

    fn malformed(&mut self, ip: Option<&IpPacket<'_>>, layer: &'static str, offset: usize, reason: String) {
        self.out.malformed.push(Malformed {
            number: self.record.number,
            at: self.record.at,
            addresses: ip.map(|ip| (ip.source, ip.destination)),
            record_offset: self.record.offset,
            layer,
            offset,
            reason,
        });
    }
}
