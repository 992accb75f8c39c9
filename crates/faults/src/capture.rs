//! A trial as a capture file: the packets that each host sends and receives, with remarks on their fate.

use core::net::{IpAddr, SocketAddr};

use whimbrel_netsim::capture::PcapngWriter;
use whimbrel_units::Instant;
use whimbrel_wire::checksum::{self, PseudoHeader, internet_checksum};
use whimbrel_wire::{Ecn, Packet};

use crate::plan::Side;

/// Bytes of an IPv4 header without options.
const IP_HEADER: usize = 20;

/// The direction in which a packet passes a host's interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Out,
    In,
}

/// The interface that a packet passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Passage {
    pub(crate) side: Side,
    /// The path, from 0.
    pub(crate) path: usize,
    pub(crate) way: Direction,
}

/// The capture of one trial: an interface for each host, path and direction.
#[derive(Debug)]
pub(crate) struct Capture {
    writer: PcapngWriter,
    /// By path, host and direction.
    interfaces: Vec<[[u32; 2]; 2]>,
    bytes: Vec<u8>,
}

impl Capture {
    /// An empty capture of a connection over that many paths.
    pub(crate) fn new(paths: usize) -> Self {
        let mut writer = PcapngWriter::new();
        let mut interfaces_of = |path: usize| {
            let place = if paths > 1 { format!(" path {path}") } else { String::new() };
            ["client", "server"]
                .map(|host| ["out", "in"].map(|way| writer.interface(&format!("{host}{place} {way}"))))
        };
        let interfaces = (0..paths).map(&mut interfaces_of).collect();
        Self { writer, interfaces, bytes: Vec::new() }
    }

    /// Adds a packet, as an IPv4 packet. Packets of other paths are left out.
    pub(crate) fn packet(
        &mut self,
        now: Instant,
        at: Passage,
        (source, destination): (SocketAddr, SocketAddr),
        ecn: Ecn,
        packet: &Packet,
        remark: Option<&str>,
    ) {
        let (IpAddr::V4(from), IpAddr::V4(to)) = (source.ip(), destination.ip()) else { return };
        let Some(interfaces) = self.interfaces.get(at.path) else { return };
        let interface = interfaces[at.side as usize][at.way as usize];
        self.bytes.clear();
        self.bytes.resize(IP_HEADER, 0);
        // Packets that cannot be encoded were detected when they were sent.
        let mut dccp = Vec::with_capacity(packet.encoded_len());
        let _ = packet.encode_with_checksum(&PseudoHeader::v4(from, to), &mut dccp);
        self.bytes.extend_from_slice(&dccp);
        let length = self.bytes.len() as u16;
        let header = &mut self.bytes[..IP_HEADER];
        header[0] = 0x45;
        header[1] = ecn.bits();
        header[2..4].copy_from_slice(&length.to_be_bytes());
        header[8] = 64;
        header[9] = checksum::PROTOCOL;
        header[12..16].copy_from_slice(&from.octets());
        header[16..20].copy_from_slice(&to.octets());
        let checksum = internet_checksum(header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        self.writer.packet(interface, now, &self.bytes, u32::from(length), remark);
    }

    /// The file.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.writer.take()
    }
}
