//! Options of hosts with several local addresses.

use std::net::SocketAddr;

use whimbrel_proto::{EndpointConfig, config_setters};

use crate::{Dscp, HostOptions};

/// Options of a [`MultipathHost`](super::MultipathHost) besides the protocol's configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MultipathOptions {
    /// Limits on the number of connections.
    pub endpoint: EndpointConfig,
    /// Unread datagrams kept for each socket; beyond that the oldest is dropped. For a connection that the application
    /// has not accepted yet, 64 at most.
    pub receive_queue: usize,
    /// DSCP of the sent packets, as [`SocketOptions::dscp`](crate::SocketOptions::dscp). At a
    /// [listener](crate::Listener::multipath), that of the listener applies.
    pub dscp: Dscp,
    /// The UDP address of the only peer, for a host that only connects. The system then reports ICMP errors about packets to it,
    /// and no other host's packets are received.
    pub peer: Option<SocketAddr>,
}

impl Default for MultipathOptions {
    fn default() -> Self {
        Self {
            endpoint: EndpointConfig::default(),
            receive_queue: HostOptions::default().receive_queue,
            dscp: Dscp::DEFAULT,
            peer: None,
        }
    }
}

config_setters!(MultipathOptions {
    endpoint: EndpointConfig,
    receive_queue: usize,
    dscp: Dscp,
    peer: Option<SocketAddr>,
});
