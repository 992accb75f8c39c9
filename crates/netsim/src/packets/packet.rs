//! Packets, and the identifiers of nodes, links, agents and flows.

use whimbrel_units::Ecn;

/// A node, numbered in the order of addition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct NodeId(pub(crate) u32);

/// A simplex link, numbered in the order of addition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub(crate) u32);

/// An agent, numbered in the order of addition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AgentId(pub(crate) u32);

/// A flow, numbered by the builder of the network. A packet reaches the agent that was added with this
/// flow at its destination node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The flow of the messages of routing agents. Such a packet is not routed: the sender's station sends it to the
    /// destination as a neighbour, or to all neighbours.
    pub const ROUTING: Self = Self(u32::MAX);
}

impl NodeId {
    /// The destination of a packet for all neighbours: each egress of the sender's node sends it, every node that
    /// receives it hands it to its agent for the flow, and no node forwards it.
    pub const BROADCAST: Self = Self(u32::MAX);

    /// The position in the order of addition, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
impl LinkId {
    /// The position in the order of addition, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
impl AgentId {
    /// The position in the order of addition, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet as an agent sends and receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet<P> {
    /// Unique in the run, counting injected packets from 0. The simulator fills it in.
    pub id: u64,
    /// With `destination`, names the receiving agent.
    pub flow: FlowId,
    /// The sender's node. The simulator fills it in.
    pub source: NodeId,
    /// The node to bring it to, or [`NodeId::BROADCAST`].
    pub destination: NodeId,
    /// Bytes on the link, including the IP and transport headers.
    pub size: u32,
    /// The ECN codepoint: as sent, or as marked on the way.
    pub ecn: Ecn,
    /// The content, which concerns the agents alone.
    pub payload: P,
}

/// A packet that has arrived, still where the network stores packets: an agent that only reads it need not move it.
#[derive(Debug)]
pub struct StoredPacket<'a, P> {
    pub(crate) id: u64,
    pub(crate) flow: FlowId,
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    /// Bytes on the link, including the IP and transport headers.
    pub size: u32,
    /// The ECN codepoint: as sent, or as marked on the way.
    pub ecn: Ecn,
    /// The content. It is `Some`; an agent that keeps it takes it.
    pub payload: &'a mut Option<P>,
}

impl<P> StoredPacket<'_, P> {
    /// Takes the packet out of the store; `None` if its content was taken before.
    #[inline]
    pub fn take(self) -> Option<Packet<P>> {
        let Self { id, flow, source, destination, size, ecn, payload } = self;
        payload.take().map(|payload| Packet { id, flow, source, destination, size, ecn, payload })
    }
}
