//! Packets.

use whimbrel_units::Ecn;

use crate::{FlowId, NodeId, PacketId};

/// A packet as an agent sends and receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet<P> {
    /// Unique in the run, counting injected packets from 0. The simulator fills it in.
    pub id: PacketId,
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

/// A packet that has arrived, still where the network stores packets: an agent that only reads it need not
/// move it.
#[derive(Debug)]
pub struct StoredPacket<'a, P> {
    pub(crate) id: PacketId,
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
