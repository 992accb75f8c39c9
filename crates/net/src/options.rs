//! Options of sockets and hosts besides the protocol's configuration.

use std::net::SocketAddr;

use whimbrel_proto::{EndpointConfig, config_setters};

use crate::Dscp;

/// Unread datagrams kept for each socket, unless options say otherwise.
const RECEIVE_QUEUE: usize = 4096;

/// Options of a socket besides the protocol's [`Config`](crate::Config).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SocketOptions {
    /// The local UDP address; `None`: any.
    pub local: Option<SocketAddr>,
    /// The DCCP port to connect from, for a server that expects it; `None`: any.
    pub source_port: Option<u16>,
    /// Unread datagrams kept; beyond that the oldest is dropped.
    pub receive_queue: usize,
    /// DSCP of the sent packets. Any but the default one needs Linux, and costs an allocation per batch of
    /// packets.
    pub dscp: Dscp,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { local: None, source_port: None, receive_queue: RECEIVE_QUEUE, dscp: Dscp::DEFAULT }
    }
}

/// Options of a [`Listener`](crate::Listener) or a [`Host`](crate::Host) besides the protocol's
/// configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HostOptions {
    /// Limits on the number of connections, in all and per source, the use of Init Cookies, and more.
    /// [`EndpointConfig::is_alone`] has no effect on a raw socket, which never is.
    pub endpoint: EndpointConfig,
    /// Unread datagrams kept for each socket; beyond that the oldest is dropped. For a connection that the
    /// application has not accepted yet, 64 at most.
    pub receive_queue: usize,
    /// DSCP of the packets sent by all connections of the host, as [`SocketOptions::dscp`].
    pub dscp: Dscp,
    /// The UDP address of the only peer, for a host that only connects. The system then reports ICMP errors
    /// about packets to it, and no other host's packets are received.
    pub peer: Option<SocketAddr>,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            endpoint: EndpointConfig::default(),
            receive_queue: RECEIVE_QUEUE,
            dscp: Dscp::DEFAULT,
            peer: None,
        }
    }
}

config_setters!(SocketOptions {
    local: Option<SocketAddr>,
    source_port: Option<u16>,
    receive_queue: usize,
    dscp: Dscp,
});

config_setters!(HostOptions {
    endpoint: EndpointConfig,
    receive_queue: usize,
    dscp: Dscp,
    peer: Option<SocketAddr>,
});
