//! Limits of an endpoint, and the treatment of packets that belong to no connection.

#[cfg(doc)]
use super::Endpoint;
use crate::config_setters;

/// Configuration of an [`Endpoint`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EndpointConfig {
    /// Maximum number of server connections, TIMEWAIT not counted; further Requests get Reset 9, "Too Busy".
    /// While some of them wait for their clients to complete the handshake, a client that returns an Init
    /// Cookie replaces the one that has waited longest.
    pub max_accepted: usize,
    /// Maximum number of server connections with a complete handshake from one source: an IPv4 address, or an
    /// IPv6 network of 64 bits. Requests beyond that get Reset 9, "Too Busy". Connections that were half-open
    /// when the limit was reached may still exceed it, by `max_half_open_per_source` at most.
    pub max_accepted_per_source: usize,
    /// Maximum number of half-open connections, out of `max_accepted`: the addresses of their clients may be
    /// forged.
    pub max_half_open: usize,
    /// Maximum number of half-open connections from one source.
    pub max_half_open_per_source: usize,
    /// Maximum number of connections in TIMEWAIT. Beyond that the oldest ends early: RFC 4340, Section 8.3,
    /// has no limit, but a client could exhaust memory with connections that it resets.
    pub max_time_wait: usize,
    /// Treatment of Requests beyond the limits of half-open connections.
    pub init_cookies: InitCookies,
    /// Maximum rate of stateless Responses to one address, per second, which bounds what a victim of forged
    /// Requests receives.
    pub stateless_responses_per_second: u32,
    /// Maximum rate of Resets to packets that belong to no connection, per second (RFC 4340, Section 8.1.3:
    /// 1024 is the example).
    pub resets_per_second: u32,
    /// Number of connections that may share one pair of UDP ports.
    pub port_sharing: PortSharing,
    /// Number of packets that a connection sends before the next one is served. Consecutive packets can leave
    /// a host with one system call.
    pub packets_per_turn: u32,
    /// `true` if the endpoint has the address to itself, so that packets for no connection and no open port
    /// are answered with a Reset. With raw sockets, several programs may share the address, and each gets a
    /// copy of every packet.
    pub is_alone: bool,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            max_accepted: 16_384,
            max_accepted_per_source: 2_048,
            max_half_open: 4_096,
            max_half_open_per_source: 1_024,
            max_time_wait: 16_384,
            init_cookies: InitCookies::default(),
            stateless_responses_per_second: 1024,
            resets_per_second: 1024,
            port_sharing: PortSharing::default(),
            packets_per_turn: 32,
            is_alone: true,
        }
    }
}

/// Number of DCCP connections that may share one pair of UDP addresses and ports, this end's and the peer's.
/// RFC 6773, Section 3.8 lets an endpoint choose one of two methods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PortSharing {
    /// The second method: any number, demultiplexed by the DCCP ports inside.
    #[default]
    ManyConnections,
    /// The first method: one at a time. While there is a connection, packets that do not belong to it get
    /// Reset 12, "Encapsulated Port Reuse": the peer may try again from another UDP port.
    OneConnection,
}

/// Condition under which a server answers a Request without keeping state: its Response has an Init Cookie,
/// which the client returns (RFC 4340, Section 8.1.4). Application data on such a Request are discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum InitCookies {
    /// Never: while [`EndpointConfig::max_half_open`] connections wait, or
    /// [`EndpointConfig::max_half_open_per_source`] from the same source, Requests get Reset 9, "Too Busy".
    Never,
    /// While [`EndpointConfig::max_half_open`] connections wait for their clients, or
    /// [`EndpointConfig::max_half_open_per_source`] from the same source.
    #[default]
    UnderPressure,
    /// Always: no state is kept for a client that has not proved its address.
    Always,
}

config_setters!(EndpointConfig {
    max_accepted: usize,
    max_accepted_per_source: usize,
    max_half_open: usize,
    max_half_open_per_source: usize,
    max_time_wait: usize,
    init_cookies: InitCookies,
    stateless_responses_per_second: u32,
    resets_per_second: u32,
    port_sharing: PortSharing,
    packets_per_turn: u32,
    is_alone: bool,
});
