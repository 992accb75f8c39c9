//! Why something could not be done, and why a connection ended.

use thiserror::Error;
use whimbrel_wire::{Reset, ServiceCode};

/// Why a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// This end closed it and the other end agreed.
    #[error("closed by this end")]
    ClosedLocally,
    /// This end aborted it, without waiting for the other end to agree.
    #[error("aborted by this end")]
    AbortedLocally,
    /// The other end closed it.
    #[error("closed by the peer")]
    ClosedByPeer,
    /// The other end reset it.
    #[error("reset by the peer: {0}")]
    Reset(Reset),
    /// This end reset it because of what the peer sent.
    #[error("reset by this end: {0}")]
    ResetLocally(Reset),
    /// The other end never answered, or no longer does.
    #[error("the peer does not answer")]
    TimedOut,
    /// The other end had not completed the handshake, and another took its place
    /// ([`EndpointConfig::max_accepted`](crate::EndpointConfig::max_accepted)).
    #[error("given up for another before its handshake was complete")]
    Evicted,
    /// No host, port or protocol there (ICMP).
    #[error("the destination cannot be reached")]
    Unreachable,
}

/// Why a datagram was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// It is larger than a packet can carry.
    #[error("a datagram of {size} bytes exceeds the limit of {limit} bytes")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The largest size now possible, in bytes.
        limit: usize,
    },
    /// The queue is full and its policy is to refuse; [`crate::Event::SendReady`] will follow.
    #[error("the send queue is full")]
    QueueFull,
    /// The application at the other end no longer listens: nothing sent would reach it (RFC 4340,
    /// Section 11.7.2).
    #[error("the peer's application no longer listens")]
    PeerNotListening,
    /// The connection is closing or over.
    #[error("the connection is closed")]
    Closed,
}

/// Why a configuration cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A field has a value that makes no sense.
    #[error("{field} = {value}: expected {expected}")]
    Invalid {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What would do.
        expected: &'static str,
    },
}

/// Why an endpoint cannot listen.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The port already serves this Service Code.
    #[error("port {port} already serves {service_code}")]
    InUse {
        /// The DCCP port.
        port: u16,
        /// The Service Code.
        service_code: ServiceCode,
    },
}

/// Why an endpoint cannot open a connection.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Every local port is in use towards this destination.
    #[error("no local port is free towards this destination")]
    NoPort,
    /// The local port asked for is in use towards this destination.
    #[error("local port {port} is in use towards this destination")]
    PortInUse {
        /// The DCCP port.
        port: u16,
    },
}
