//! Multipath DCCP (RFC 9897): one connection over several paths.
//!
//! A [`MultipathConnection`] owns one [`Connection`](crate::Connection) per path, a *subflow*, with
//! congestion control of its own. It numbers the datagrams of all subflows (MP_SEQ), chooses their paths by a
//! [scheduler](whimbrel_control::multipath), and restores their order at the receiver. It is driven like a
//! connection, by the same five verbs, together with the [`Path`] of each packet. A [`MultipathEndpoint`]
//! holds many of them, and finds the connection of a subflow that joins by its Connection Identifier.
//!
//! - *Handshake* (Section 3.3): the first subflow exchanges keys. With a peer that does not take part, or has
//!   no key type in common, the connection is a regular one ([`MultipathEvent::Established`]).
//! - *Joining*: [`MultipathConnection::join`] adds a subflow. Both ends prove by a code over two nonces that
//!   they hold the keys.
//! - *Signals* (addresses, priorities) are repeated until the peer confirms them or a newer one replaces
//!   them.
//! - *Failure*: a path whose acknowledgements cease for a retransmission timeout carries no further data
//!   while another is alive. It is probed, and used again once it answers.
//! - *Closing*: in order (MP_CLOSE) or at once (MP_FAST_CLOSE), on all subflows. A Close or Reset without the
//!   key ends its subflow only. In order, no data under way in either direction is lost, only data in
//!   the send queue of the end that answers.
//!
//! The keys of type 0 travel in plain text: the extension protects subflows against attackers that have not
//! seen the first handshake, and nothing else (Section 4).

mod addresses;
mod config;
mod connection;
mod delivery;
mod entropy;
mod event;
mod inbound_signals;
mod keys;
pub(crate) mod offer;
mod sending;
mod signals;
mod subflow;
mod watch;

#[cfg(test)]
mod tests;

use core::net::SocketAddr;

pub use config::{Dialect, MultipathConfig};
pub use connection::{JoinError, MultipathConnection, MultipathSnapshot, MultipathStatistics};
pub use event::MultipathEvent;
pub use subflow::{SubflowId, SubflowSnapshot, SubflowStage};
pub use whimbrel_control::multipath::{Purpose, SchedulerKind};
pub use whimbrel_wire::option::multipath::{KeyType, PathPriority};

pub(crate) use connection::option_error;
pub(crate) use entropy::Entropy;

/// Many connections over several paths, of one host.
pub type MultipathEndpoint = crate::Endpoint<MultipathConnection>;

/// The addresses of a path, as the driver sees them: the addresses of the packets' carrier.
///
/// With UDP encapsulation (RFC 6773) they are UDP addresses, otherwise IP addresses with port 0. DCCP's own
/// ports are in the packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Path {
    /// Address of this end.
    pub local: SocketAddr,
    /// Address of the peer.
    pub remote: SocketAddr,
}
