//! What an endpoint allows, and how it treats those it does not know.

#[cfg(doc)]
use super::Endpoint;
use crate::config_setters;

/// What an [`Endpoint`] allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EndpointConfig {
    /// Server connections it holds at most, TIMEWAIT not counted; further Requests get Reset 9, "Too Busy". While some of
    /// them wait for their clients to complete the handshake, a client that returns an Init Cookie takes the place of the
    /// one that has waited longest.
    pub max_accepted: usize,
    /// Server connections with a complete handshake from one source at most: an IPv4 address, or an IPv6 network of 64 bits. Requests
    /// beyond that get Reset 9, "Too Busy". Those that were half-open when it was reached may still exceed it,
    /// by `max_half_open_per_source` at most.
    pub max_accepted_per_source: usize,
    /// Of `max_accepted`, how many may wait for the client to complete the handshake: their addresses may be forged.
    pub max_half_open: usize,
    /// The same for one source.
    pub max_half_open_per_source: usize,
    /// Connections in TIMEWAIT at most, of which next to nothing is kept. Beyond that the oldest ends early: RFC 4340, Section 8.3,
    /// has no limit, but a client could fill memory with connections that it resets.
    pub max_time_wait: usize,
    /// What becomes of Requests that would make either more.
    pub init_cookies: InitCookies,
    /// Stateless Responses sent to one address per second at most: a victim of forged Requests gets
    /// no more of them than that.
    pub stateless_responses_per_second: u32,
    /// Resets sent to strangers per second at most (RFC 4340, Section 8.1.3: 1024 is the example).
    pub resets_per_second: u32,
    /// How many connections may share one pair of UDP ports.
    pub port_sharing: PortSharing,
    /// Packets that a connection sends before it is the next one's turn. Several in a row can leave
    /// a host with one system call.
    pub packets_per_turn: u32,
    /// Whether the address is this endpoint's alone, so that what belongs to no connection and asks
    /// for no port that is served deserves a Reset. Others may own it where raw sockets of several
    /// programs each get a copy of every packet.
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

/// How many DCCP connections may share one pair of UDP addresses and ports, this end's and the peer's.
/// RFC 6773, Section 3.8 has an endpoint choose one of two methods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PortSharing {
    /// The second method: any number, told apart by the DCCP ports inside.
    #[default]
    ManyConnections,
    /// The first method: one at a time. Whatever belongs to no connection while there is one gets
    /// Reset 12, "Encapsulated Port Reuse": the other end may try again from another UDP port.
    OneConnection,
}

/// When a server answers a Request without keeping anything: its Response has an Init Cookie, which
/// the client sends back (RFC 4340, Section 8.1.4). Application data on such a Request are not taken.
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
    /// Always: nothing is kept for a client that has not shown to be where it seems to be.
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
