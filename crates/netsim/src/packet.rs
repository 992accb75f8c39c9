//! What travels, and the names of the things it travels between.

/// A node, numbered in the order of addition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct NodeId(pub(crate) u32);

/// A simplex link, numbered in the order of addition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub(crate) u32);

/// An agent, numbered in the order of addition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AgentId(pub(crate) u32);

/// A flow, named by whoever builds the network. A packet reaches the agent that was added with this
/// flow at its destination node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct FlowId(pub u32);

impl NodeId {
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

/// The ECN codepoint of the IP header (RFC 3168, Section 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[repr(u8)]
pub enum Ecn {
    /// `00`: the transport does not understand marks.
    #[default]
    NotEct = 0b00,
    /// `01`: ECN-capable, codepoint 1.
    Ect1 = 0b01,
    /// `10`: ECN-capable, codepoint 0.
    Ect0 = 0b10,
    /// `11`: congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The two bits as they stand in the IP header.
    pub const fn bits(self) -> u8 {
        self as u8
    }
    /// Whether a router may mark this packet instead of dropping it.
    pub const fn is_ect(self) -> bool {
        !matches!(self, Self::NotEct)
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
    /// The node to bring it to.
    pub destination: NodeId,
    /// Bytes on the link, including the IP and transport headers.
    pub size: u32,
    /// The ECN codepoint: as sent, or as marked on the way.
    pub ecn: Ecn,
    /// What the agents say to each other.
    pub payload: P,
}
