//! Follows connections: packets in, report out.
//!
//! Nothing here reads a file or a clock. Memory is bounded by the number of connections, of which each
//! remembers a bounded number of packets and intervals.

use core::net::IpAddr;
use std::collections::BTreeMap;

use serde::Serialize;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{PacketType, SeqNo};

use crate::dissect::{Checksum, Segment};
use crate::report::{self, ConnectionReport};

pub mod anomaly;
mod connection;
pub mod ending;
pub mod features;
mod half;
pub mod handover;
mod handshake;
mod rtt;
mod sent;
mod sequence;
pub mod side;
pub mod table;
mod tfrc;

use anomaly::AnomalyKind;
pub(crate) use connection::Connection;
pub(crate) use ending::quiet;
pub(crate) use half::Half;
pub(crate) use rtt::Spread;
use side::Side;

#[cfg(test)]
mod tests;

/// How connections are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowConfig {
    /// How long an interval of the tables is.
    pub interval: Duration,
    /// How many connections are followed; packets of others are counted.
    pub max_connections: usize,
    /// How long a silence before the capture's end makes a connection idle.
    pub patience: Duration,
}

impl Default for FollowConfig {
    /// Seconds, a thousand connections, half a minute.
    fn default() -> Self {
        Self { interval: Duration::from_secs(1), max_connections: 1000, patience: Duration::from_secs(30) }
    }
}

/// One end's addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Endpoint {
    /// Its IP address.
    pub address: IpAddr,
    /// Its DCCP port.
    pub port: u16,
    /// Its UDP port, if DCCP is inside UDP.
    pub udp_port: Option<u16>,
}

impl Endpoint {
    /// Where a packet comes from.
    pub fn source(segment: &Segment) -> Self {
        Self {
            address: segment.source,
            port: segment.packet.source_port,
            udp_port: segment.udp.map(|ports| ports.source),
        }
    }
    /// Where it goes.
    pub fn destination(segment: &Segment) -> Self {
        Self {
            address: segment.destination,
            port: segment.packet.destination_port,
            udp_port: segment.udp.map(|ports| ports.destination),
        }
    }
}

/// How it is known which end is the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Roles {
    /// From a packet that only one of the two sends.
    Seen,
    /// The end with the lower port number is taken for the server.
    Guessed,
}

/// What came of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Followed {
    /// The connection's number, from 1; `None` where there are too many of them.
    pub connection: Option<usize>,
    /// Who sent it.
    pub by: Side,
    /// Its whole sequence number.
    pub sequence: SeqNo,
    /// Whether it counts as one more packet of its direction: captured where the direction is followed, with
    /// no wrong checksum, with a number within the window that has not passed before.
    pub is_new: bool,
    /// What should not be.
    pub anomalies: Vec<AnomalyKind>,
}

/// Follows the connections of a capture.
#[derive(Clone, Debug)]
pub struct Follower {
    config: FollowConfig,
    connections: Vec<Connection>,
    /// The latest connection between two ends.
    latest: BTreeMap<(Endpoint, Endpoint), usize>,
    /// Connections whose client may move, by their identifier and the server.
    identifiers: BTreeMap<(u64, Endpoint), usize>,
    refused: u64,
    span: Option<(Instant, Instant)>,
}

impl Follower {
    /// Has seen nothing.
    pub fn new(config: FollowConfig) -> Self {
        Self {
            config,
            connections: Vec::new(),
            latest: BTreeMap::new(),
            identifiers: BTreeMap::new(),
            refused: 0,
            span: None,
        }
    }

    /// A packet has been captured.
    pub fn on_segment(&mut self, segment: &Segment) -> Followed {
        self.on_time(segment.at);
        let Some(index) = self.find(segment) else {
            self.refused += 1;
            let (source, destination) = (Endpoint::source(segment), Endpoint::destination(segment));
            let by = if source.port < destination.port { Side::Server } else { Side::Client };
            let sequence = segment.packet.sequence;
            return Followed { connection: None, by, sequence, is_new: false, anomalies: Vec::new() };
        };
        let connection = &mut self.connections[index];
        let (counts, total) = (connection.anomalies.counts(), connection.anomalies.total());
        let by = connection.side_of(Endpoint::source(segment));
        let (sequence, is_new) = connection.on_segment(segment);
        if by == Side::Server
            && let Some(identifier) = handover::identifier(&segment.packet)
        {
            // As many as connections, whatever a server says.
            self.identifiers.retain(|_, known| *known != index);
            self.identifiers.insert((identifier, connection.server), index);
        }
        let anomalies = if connection.anomalies.total() == total {
            Vec::new()
        } else {
            connection.anomalies.kinds_since(&counts)
        };
        Followed { connection: Some(index + 1), by, sequence, is_new, anomalies }
    }

    /// Something else has been captured: time goes on.
    pub fn on_time(&mut self, at: Instant) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// When the first and the last packet were captured.
    pub fn span(&self) -> Option<(Instant, Instant)> {
        self.span
    }

    /// Packets of connections beyond the limit.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// What has come of the connections.
    pub fn report(&self) -> Vec<ConnectionReport> {
        let (zero, end) = self.span.unwrap_or_default();
        let report = |(index, connection): (usize, &Connection)| {
            report::connection(index + 1, connection, zero, end, self.config.patience)
        };
        self.connections.iter().enumerate().map(report).collect()
    }

    /// The connection of a packet: the latest one between its ends, or a new one.
    fn find(&mut self, segment: &Segment) -> Option<usize> {
        let (source, destination) = (Endpoint::source(segment), Endpoint::destination(segment));
        let key = if source <= destination { (source, destination) } else { (destination, source) };
        let kind = segment.packet.packet_type();
        if let Some(&index) = self.latest.get(&key) {
            let connection = &mut self.connections[index];
            let begins = kind == PacketType::Request
                && !connection.handshake.admits_request(segment.packet.sequence)
                && connection
                    .half(connection.side_of(source))
                    .interface
                    .is_none_or(|here| here == segment.interface);
            if !begins {
                return Some(index);
            }
        }
        if let Some(index) = self.find_moved(segment) {
            self.latest.insert(key, index);
            return Some(index);
        }
        if self.connections.len() >= self.config.max_connections {
            return None;
        }
        let (client, server, roles) = roles(kind, source, destination);
        self.connections.push(Connection::new(client, server, roles, segment, self.config.interval));
        self.latest.insert(key, self.connections.len() - 1);
        Some(self.connections.len() - 1)
    }

    /// The connection whose client is at the packet's source now, as the packet says.
    fn find_moved(&self, segment: &Segment) -> Option<usize> {
        let server = Endpoint::destination(segment);
        let is_move =
            segment.packet.packet_type() != PacketType::Request && segment.checksum != Checksum::Bad;
        let identifier = handover::identifier(&segment.packet).filter(|_| is_move)?;
        self.identifiers.get(&(identifier, server)).copied()
    }
}

/// Client and server, by the first packet that has been seen.
fn roles(kind: PacketType, source: Endpoint, destination: Endpoint) -> (Endpoint, Endpoint, Roles) {
    match kind {
        PacketType::Request => (source, destination, Roles::Seen),
        PacketType::Response | PacketType::CloseReq | PacketType::Listen => {
            (destination, source, Roles::Seen)
        }
        _ if source.port < destination.port => (destination, source, Roles::Guessed),
        _ => (source, destination, Roles::Guessed),
    }
}
