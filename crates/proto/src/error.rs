//! Errors of configuration, sending, listening and connecting, and the reasons for the end of a connection.

use thiserror::Error;
use whimbrel_wire::{Reset, ServiceCode};

/// Reason for the end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// This end closed the connection and the peer agreed.
    #[error("closed by this end")]
    ClosedLocally,
    /// This end aborted the connection, without waiting for the peer to agree.
    #[error("aborted by this end")]
    AbortedLocally,
    /// The peer closed the connection.
    #[error("closed by the peer")]
    ClosedByPeer,
    /// The peer reset the connection.
    #[error("reset by the peer: {0}")]
    Reset(Reset),
    /// This end reset the connection because of a packet of the peer.
    #[error("reset by this end: {0}")]
    ResetLocally(Reset),
    /// The peer never answered, or stopped answering.
    #[error("the peer does not answer")]
    TimedOut,
    /// The connection was still half-open when another needed its place
    /// ([`EndpointConfig::max_accepted`](crate::EndpointConfig::max_accepted)).
    #[error("replaced by another connection before its handshake was complete")]
    Evicted,
    /// The host, port or protocol does not exist (ICMP).
    #[error("the destination cannot be reached")]
    Unreachable,
}

/// Reason for refusing a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The datagram is larger than a packet can carry.
    #[error("a datagram of {size} bytes exceeds the limit of {limit} bytes")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The largest size possible now, in bytes.
        limit: usize,
    },
    /// The queue is full and its policy is to refuse; [`crate::Event::SendReady`] follows when it has room.
    #[error("the send queue is full")]
    QueueFull,
    /// The peer's application no longer listens: data sent would not reach it (RFC 4340, Section 11.7.2).
    #[error("the peer's application no longer listens")]
    PeerNotListening,
    /// The connection is closing or over.
    #[error("the connection is closed")]
    Closed,
}

/// Reason for rejecting a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A field has an invalid value.
    #[error("{field} = {value}: expected {expected}")]
    Invalid {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Description of the valid values.
        expected: &'static str,
    },
}

/// Reason for which an endpoint cannot listen.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The configuration is invalid.
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

/// Reason for which an endpoint cannot open a connection.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Every local port is in use towards this destination.
    #[error("no local port is free towards this destination")]
    NoPort,
    /// The requested local port is in use towards this destination.
    #[error("local port {port} is in use towards this destination")]
    PortInUse {
        /// The DCCP port.
        port: u16,
    },
}

/// An error about a configuration's field unless `holds`.
pub(crate) fn check(
    holds: bool,
    field: &'static str,
    value: u64,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError::Invalid { field, value, expected }) }
}
