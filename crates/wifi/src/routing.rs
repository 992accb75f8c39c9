//! Routing protocols of ad hoc networks.
//!
//! A routing agent is a machine in the shape of every other: packets, timeouts and the link layer's reports
//! go in, messages and [`RouteEvent`]s come out. The host owns the forwarding table, forwards by it, and
//! keeps the data packets; the agent refers to those by number.
//!
//! - [`dsdv`]: destination-sequenced distance vectors, proactive.
//! - [`aodv`]: on-demand distance vectors, RFC 3561.
//!
//! Routes that are given or computed from positions need no protocol: the network simulator has them.
//!
//! # Use
//!
//! After every `handle_` call the host drains [`poll_event`](RoutingAgent::poll_event), then
//! [`poll_transmit`](RoutingAgent::poll_transmit), and sets a timer to
//! [`poll_timeout`](RoutingAgent::poll_timeout).

pub mod aodv;
mod buffer;
pub mod dsdv;

#[cfg(test)]
pub(crate) mod harness;

use core::fmt;

use whimbrel_units::Instant;

use crate::PacketId;

pub(crate) use buffer::PacketBuffer;
pub use buffer::{BufferConfig, DiscardCause};

/// The address of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address(pub u32);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The receiver of a routing message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receiver {
    /// All neighbours.
    Broadcast,
    /// One neighbour.
    Neighbour(Address),
}

/// A routing message to be sent over one hop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transmit<M> {
    /// The receiver.
    pub to: Receiver,
    /// The message.
    pub message: M,
    /// Bytes of the network-layer packet, headers included.
    pub size: u32,
}

/// A data packet that has no route, or was given up by the link layer: the host keeps it until the agent
/// decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPacket {
    /// The host's number of the packet.
    pub packet: PacketId,
    /// The node that sent the packet.
    pub source: Address,
    /// The node that the packet is for.
    pub destination: Address,
    /// Hops that the packet has made: 0 at its source.
    pub hops: u8,
}

/// A data packet that was forwarded, or delivered to this node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForwardedPacket {
    /// The node that sent the packet.
    pub source: Address,
    /// The node that the packet is for.
    pub destination: Address,
    /// The neighbour that the packet came from; `None` at its source.
    pub from: Option<Address>,
}

/// An instruction of a routing agent to its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouteEvent {
    /// Packets to a destination go to this neighbour from now on.
    Set {
        /// The destination.
        destination: Address,
        /// The neighbour.
        next_hop: Address,
        /// Length of the route in hops.
        hops: u8,
    },
    /// There is no route to a destination any more.
    Remove {
        /// The destination.
        destination: Address,
    },
    /// A packet that waited is to be forwarded by the present route.
    Forward {
        /// The packet's number.
        packet: PacketId,
    },
    /// A packet that waited is given up.
    Discard {
        /// The packet's number.
        packet: PacketId,
        /// The cause.
        cause: DiscardCause,
    },
    /// The link to a neighbour is lost: the packets that are queued for it are to leave the queue.
    Flush {
        /// The neighbour.
        neighbour: Address,
        /// `true` if the packets are then packets without a route ([`RoutingAgent::handle_unrouted`]) unless
        /// they have another one; `false` if they are given up.
        is_salvage: bool,
    },
}

/// A routing protocol at one node.
///
/// The laws of a sans-IO machine hold: after a drain at `now` the deadline lies after `now`, a timeout that
/// comes early changes nothing, and draining twice is draining once.
pub trait RoutingAgent {
    /// A message of the protocol. It is cloned once per receiver of a broadcast and must be cheap to clone.
    type Message: Clone;

    /// The node's address.
    fn address(&self) -> Address;

    /// A message arrived from a neighbour.
    fn handle_packet(&mut self, now: Instant, from: Address, message: Self::Message);

    /// The deadline last returned by [`poll_timeout`](Self::poll_timeout) was reached.
    fn handle_timeout(&mut self, now: Instant);

    /// A data packet has no route. The agent decides by [`RouteEvent::Forward`] or [`RouteEvent::Discard`],
    /// now or later.
    fn handle_unrouted(&mut self, now: Instant, packet: DataPacket);

    /// The link layer gave up a packet to a neighbour after its retries: a data packet, or, with `None`, a
    /// message of a routing protocol.
    fn handle_link_failure(&mut self, now: Instant, neighbour: Address, packet: Option<DataPacket>);

    /// `true` if a data packet that the link layer gave up is to be treated as a packet without a route.
    /// Asked after [`handle_link_failure`](Self::handle_link_failure).
    fn salvages(&self, packet: DataPacket) -> bool {
        let _ = packet;
        false
    }

    /// A data packet was forwarded by this node, sent by it, or delivered to it.
    fn handle_forwarded(&mut self, now: Instant, packet: ForwardedPacket) {
        let _ = (now, packet);
    }

    /// The next message to send at `now`, if any.
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<Self::Message>>;

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due; `None` for never.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The next instruction to the host, if any.
    fn poll_event(&mut self) -> Option<RouteEvent>;

    /// The neighbour to which packets for a destination go at present.
    fn next_hop(&self, destination: Address) -> Option<Address>;
}
