//! Tracking of connections.
//!
//! Nothing here reads a file or a clock. Memory is bounded by the number of connections, each of which keeps
//! a bounded number of packets and intervals.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use serde::Serialize;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{PacketType, SeqNo};

use crate::copies::Viewpoint;
use crate::segment::{Checksum, Flow, Protocol, Segment};

pub mod anomaly;
mod ccids;
mod connection;
pub mod ending;
pub mod features;
mod half;
pub mod handover;
mod handshake;
pub mod repair;
mod rtt;
mod sent;
pub(crate) mod sequence;
pub mod side;
pub mod table;
mod tfrc;

use anomaly::AnomalyKind;
pub use ccids::experiment;
pub(crate) use connection::Connection;
pub(crate) use ending::quiet;
pub(crate) use half::Half;
pub(crate) use rtt::Spread;
use side::Side;

#[cfg(test)]
mod tests;

/// Configuration of connection tracking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowConfig {
    /// Length of an interval of the tables.
    pub interval: Duration,
    /// Maximum number of connections tracked; packets of others are counted.
    pub max_connections: usize,
    /// Time without packets before the end of the capture from which a connection is idle.
    pub idle_timeout: Duration,
    /// The side of the path on which packets count that were captured at several points.
    pub viewpoint: Viewpoint,
}

impl Default for FollowConfig {
    /// Seconds, a thousand connections, half a minute.
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            max_connections: 1000,
            idle_timeout: Duration::from_secs(30),
            viewpoint: Viewpoint::Receiver,
        }
    }
}

/// Addresses of one end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Endpoint {
    /// IP address.
    pub address: IpAddr,
    /// DCCP port.
    pub port: u16,
    /// UDP port, if DCCP is inside UDP.
    pub udp_port: Option<u16>,
}

impl Endpoint {
    /// The source of a packet.
    pub fn source(segment: &Segment) -> Self {
        Self {
            address: segment.source,
            port: segment.packet.source_port,
            udp_port: segment.udp.map(|ports| ports.source),
        }
    }

    /// The flow to another end.
    pub(crate) fn flow_to(self, destination: Self) -> Flow {
        let end = |end: Self| SocketAddr::new(end.address, end.udp_port.unwrap_or(end.port));
        Flow { protocol: Protocol::Dccp, source: end(self), destination: end(destination) }
    }

    /// The destination of a packet.
    pub fn destination(segment: &Segment) -> Self {
        Self {
            address: segment.destination,
            port: segment.packet.destination_port,
            udp_port: segment.udp.map(|ports| ports.destination),
        }
    }
}

/// Evidence for the roles of the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Roles {
    /// A packet that only one of the two sends was captured.
    Seen,
    /// The end with the lower port number is assumed to be the server.
    Guessed,
}

/// Result of tracking a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Followed {
    /// The connection's number, from 1; `None` beyond the limit.
    pub connection: Option<usize>,
    /// The sending end.
    pub by: Side,
    /// The full sequence number.
    pub sequence: SeqNo,
    /// `true` if the packet counts for its direction: without a wrong checksum, with a sequence number within
    /// the window that has not been captured before.
    pub is_new: bool,
    /// Anomalies found in the packet.
    pub anomalies: Vec<AnomalyKind>,
}

/// Tracks the connections of a capture.
#[derive(Clone, Debug)]
pub struct Follower {
    config: FollowConfig,
    connections: Vec<Connection>,
    /// Index of the latest connection between two ends.
    latest: BTreeMap<(Endpoint, Endpoint), usize>,
    /// Connections with a mobile client, by their identifier and the server.
    identifiers: BTreeMap<(u64, Endpoint), usize>,
    refused: u64,
    span: Option<(Instant, Instant)>,
}

impl Follower {
    /// A tracker without packets.
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

    /// Processes a captured packet.
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
            // At most as many as connections, regardless of what a server sends.
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

    /// Advances the time for a captured frame without DCCP.
    pub fn on_time(&mut self, at: Instant) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// Capture times of the first and the last frame.
    pub fn span(&self) -> Option<(Instant, Instant)> {
        self.span
    }

    /// Number of packets of connections beyond the limit.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Time without packets before the end of the capture from which a connection is idle.
    pub(crate) fn idle_timeout(&self) -> Duration {
        self.config.idle_timeout
    }

    /// The connections, in order of their first packets.
    pub(crate) fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// Finds the connection of a packet: the latest one between its ends, or a new one.
    fn find(&mut self, segment: &Segment) -> Option<usize> {
        let (source, destination) = (Endpoint::source(segment), Endpoint::destination(segment));
        let key = if source <= destination { (source, destination) } else { (destination, source) };
        let kind = segment.packet.packet_type();
        if let Some(&index) = self.latest.get(&key) {
            let connection = &mut self.connections[index];
            let begins =
                kind == PacketType::Request && !connection.handshake.admits_request(segment.packet.sequence);
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

    /// Finds the connection of a client that has moved to the packet's source, by the identifier in the
    /// packet.
    fn find_moved(&self, segment: &Segment) -> Option<usize> {
        let server = Endpoint::destination(segment);
        let is_move =
            segment.packet.packet_type() != PacketType::Request && segment.checksum != Checksum::Bad;
        let identifier = handover::identifier(&segment.packet).filter(|_| is_move)?;
        self.identifiers.get(&(identifier, server)).copied()
    }
}

/// Client and server, derived from the first captured packet.
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
