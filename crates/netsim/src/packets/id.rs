//! The numbers of the parts of a network: types of their own, so that one kind is not taken for another.

/// A type for the positions of a kind of things in the order of their addition.
macro_rules! position {
    ($(#[$doc:meta])* $visibility:vis $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(transparent)]
        $visibility struct $name(pub(crate) u32);

        impl $name {
            /// The position in the order of addition, from 0.
            #[inline]
            $visibility const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

position! {
    /// A node, numbered in the order of addition.
    #[derive(Default)]
    pub NodeId
}
position! {
    /// A simplex link, numbered in the order of addition.
    pub LinkId
}
position! {
    /// An agent, numbered in the order of addition.
    pub AgentId
}
position! {
    /// A shared medium, numbered in the order of addition.
    pub MediumId
}
position! {
    /// A host with a limited processor, numbered in the order of addition.
    pub(crate) HostId
}
position! {
    /// A controller of an egress, numbered in the order of addition.
    pub(crate) ControllerId
}
position! {
    /// The slot of a packet inside the network. A slot is used again when its packet has left.
    pub(crate) PacketSlot
}

/// A flow, numbered by the builder of the network. A packet reaches the agent that was added with this
/// flow at its destination node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
#[repr(transparent)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The flow of the messages of routing agents. Such a packet is not routed: the sender's station sends it
    /// to the destination as a neighbour, or to all neighbours.
    pub const ROUTING: Self = Self(u32::MAX);
}

impl NodeId {
    /// The destination of a packet for all neighbours: each egress of the sender's node sends it, every node
    /// that receives it hands it to its agent for the flow, and no node forwards it.
    pub const BROADCAST: Self = Self(u32::MAX);
}

impl AgentId {
    /// No agent, in one word where packets are forwarded.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl HostId {
    /// Of the agents at nodes whose processor is not limited.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl PacketSlot {
    /// Of a packet that is not in the network.
    pub(crate) const NONE: Self = Self(u32::MAX);
}
