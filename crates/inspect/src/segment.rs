//! A packet of a transport protocol as it was captured: the one type that all readers of captures share.
//!
//! Bytes that were not captured are unknown. A packet that passes several places of a capture, or one place
//! again, is one packet: a segment knows which copy of it was taken, and when the first copy passed.

use core::net::{IpAddr, SocketAddr};

use serde::Serialize;
use whimbrel_units::Instant;
use whimbrel_wire::udp_encapsulation::UdpPorts;
use whimbrel_wire::{Ecn, Packet};

/// A captured packet. `P`: what the capture holds of it above IP and UDP.
#[derive(Clone, Debug)]
pub struct Segment<P = Packet> {
    /// The record's number, from 1.
    pub number: u64,
    /// Capture time.
    pub at: Instant,
    /// Capture time of the packet's first copy; this one's if there is only one.
    pub first_at: Instant,
    /// The capture's interface.
    pub interface: u32,
    /// Number of this copy of the packet, from 1.
    pub copy: u32,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// The UDP ports, if it is inside UDP.
    pub udp: Option<UdpPorts>,
    /// The ECN bits of the IP header.
    pub ecn: Ecn,
    /// Result of checking its checksum: DCCP's own over IP, UDP's inside UDP.
    pub checksum: Checksum,
    /// `true` if the packet was captured completely.
    pub is_whole: bool,
    /// `true` if its header with all options was captured.
    pub has_all_options: bool,
    /// The packet. Application data that was not captured is zero, and options that were not are absent.
    pub packet: P,
}

/// A UDP datagram that carries no DCCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Application data in bytes, as sent.
    pub size: u32,
    /// The beginning of the application data, if that much was captured.
    pub head: Option<[u8; Self::HEAD]>,
    /// The end of the application data, if they were captured completely.
    pub tail: Option<[u8; Self::TAIL]>,
}

impl Datagram {
    /// An RTP header without contributing sources (RFC 3550, Section 5.1).
    pub const HEAD: usize = 12;
    /// An Explicit Source FEC Payload ID (RFC 8681, Section 4.1.2).
    pub const TAIL: usize = 4;
}

/// The header of a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpHeader {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number, if there is one.
    pub ack: Option<u32>,
    /// Flags: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR from the lowest bit.
    pub flags: u8,
    /// Application data in bytes, as sent.
    pub size: u32,
}

impl TcpHeader {
    /// FIN, SYN and RST among the flags.
    pub const FIN: u8 = 0x01;
    /// See [`TcpHeader::FIN`].
    pub const SYN: u8 = 0x02;
    /// See [`TcpHeader::FIN`].
    pub const RST: u8 = 0x04;
}

/// A segment of one of the protocols that are followed.
#[derive(Clone, Debug)]
pub enum AnySegment {
    /// DCCP over IP, or inside UDP.
    Dccp(Segment<Packet>),
    /// UDP.
    Udp(Segment<Datagram>),
    /// TCP.
    Tcp(Segment<TcpHeader>),
}

impl AnySegment {
    /// Sets the number of this copy and the time of the first.
    pub(crate) fn set_copy(&mut self, number: u32, first: Instant) {
        let (copy, first_at) = match self {
            Self::Dccp(segment) => (&mut segment.copy, &mut segment.first_at),
            Self::Udp(segment) => (&mut segment.copy, &mut segment.first_at),
            Self::Tcp(segment) => (&mut segment.copy, &mut segment.first_at),
        };
        (*copy, *first_at) = (number, first);
    }

    /// Capture time.
    pub fn at(&self) -> Instant {
        match self {
            Self::Dccp(segment) => segment.at,
            Self::Udp(segment) => segment.at,
            Self::Tcp(segment) => segment.at,
        }
    }

    /// The flow to which it belongs.
    pub fn flow(&self) -> Flow {
        match self {
            Self::Dccp(segment) => Flow::of(segment),
            Self::Udp(segment) => Flow::of_udp(segment),
            Self::Tcp(segment) => Flow::of_tcp(segment),
        }
    }

    /// Bytes of memory that it holds beyond its own.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            Self::Dccp(segment) => segment.packet.payload.len(),
            Self::Udp(_) | Self::Tcp(_) => 0,
        }
    }
}

/// The protocol of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// DCCP over IP, or inside UDP.
    Dccp,
    /// UDP without DCCP.
    Udp,
    /// TCP.
    Tcp,
}

/// One direction of the traffic between two ports. With DCCP over IP they are DCCP's ports, otherwise UDP's
/// or TCP's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Flow {
    /// The protocol.
    pub protocol: Protocol,
    /// The sender.
    pub source: SocketAddr,
    /// The receiver.
    pub destination: SocketAddr,
}

impl Flow {
    /// The flow of a DCCP packet.
    pub fn of(segment: &Segment) -> Self {
        let packet = &segment.packet;
        let own = (packet.source_port, packet.destination_port);
        let ports = segment.udp.map_or(own, |udp| (udp.source, udp.destination));
        Self::new(Protocol::Dccp, segment, ports)
    }

    /// The flow of a UDP datagram.
    pub fn of_udp(segment: &Segment<Datagram>) -> Self {
        let ports = segment.udp.unwrap_or_default();
        Self::new(Protocol::Udp, segment, (ports.source, ports.destination))
    }

    /// The flow of a TCP segment.
    pub fn of_tcp(segment: &Segment<TcpHeader>) -> Self {
        let ports = (segment.packet.source_port, segment.packet.destination_port);
        Self::new(Protocol::Tcp, segment, ports)
    }

    fn new<P>(protocol: Protocol, segment: &Segment<P>, (source, destination): (u16, u16)) -> Self {
        Self {
            protocol,
            source: SocketAddr::new(segment.source, source),
            destination: SocketAddr::new(segment.destination, destination),
        }
    }

    /// The other direction.
    pub fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source, ..self }
    }
}

impl core::fmt::Display for Flow {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}>{}", self.source, self.destination)
    }
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
