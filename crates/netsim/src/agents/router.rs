//! Routing protocols: agents that keep the routes of their node.

use crate::queue::FlowKey;
use crate::{NextHop, NodeId, PacketId, StationId};

/// A change of routes that an agent requests for its own node, or its decision on a packet offered to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoutingRequest {
    /// Sets the route to a destination. The next hop leaves the agent's node.
    Set {
        /// The destination.
        destination: NodeId,
        /// The next hop.
        next: NextHop,
    },
    /// Removes the route to a destination.
    Remove {
        /// The destination.
        destination: NodeId,
    },
    /// Forwards a packet that waits for a route.
    Forward {
        /// The packet's number.
        packet: PacketId,
    },
    /// Gives up a packet that waits for a route.
    Discard {
        /// The packet's number.
        packet: PacketId,
    },
    /// Takes the packets for a neighbour out of the queue of a station of the agent's node.
    Flush {
        /// The station.
        station: StationId,
        /// The neighbour.
        neighbour: NodeId,
        /// `true` if the packets are forwarded by the present routes, or are then packets without a route;
        /// `false` if they are lost.
        is_salvage: bool,
    },
}

/// A packet without a route, which waits in the network for the decision of its node's routing agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnroutedPacket {
    /// The packet's number.
    pub packet: PacketId,
    /// Sender, destination and flow.
    pub flow: FlowKey,
    /// Bytes of the packet.
    pub size: u32,
    /// Hops that the packet has made: 0 at its source.
    pub hops: u8,
}

/// A packet that passes the node of a routing agent: on arrival over a station, and at its source when a
/// station is to send it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassingPacket {
    /// The node that sent the packet.
    pub source: NodeId,
    /// The node that it is for.
    pub destination: NodeId,
    /// The neighbour that it came from; `None` at its source.
    pub from: Option<NodeId>,
}
