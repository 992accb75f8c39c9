//! Packets for all neighbours.

use super::Simulator;
use super::forward::Next;
use crate::packets::PacketSlot;
use crate::{Agent, AgentId, Egress, NodeId};

/// The hop limit of a broadcast that has left its sender: no node forwards it.
const SENT: u8 = 0;

impl<A: Agent> Simulator<A> {
    /// A broadcast that leaves its sender's node has a copy for each egress: the number of these. One that
    /// has come to a neighbour is for the node's agent for its flow; a node without one ignores it.
    pub(super) fn begin_broadcast(&mut self, node: NodeId, packet: PacketSlot) -> Result<usize, Next> {
        let header = self.packets.header_mut(packet);
        if header.hops_left != SENT {
            header.hops_left = SENT;
            return Ok(self.network.egresses[node.index()].len());
        }
        header.receiver = self.agents.receiver_index(node, header.flow);
        Err(if header.receiver == AgentId::NONE { Next::Discard(packet) } else { Next::Deliver(packet) })
    }

    /// The copy for an egress.
    pub(super) fn broadcast_copy(&mut self, node: NodeId, egress: usize, packet: PacketSlot) -> Next {
        let copy = self.packets.copy(packet);
        match self.network.egresses[node.index()][egress] {
            Egress::Link(link) => Next::Offer(link, copy),
            Egress::Station(station) => Next::OfferToStation(station, copy, None),
        }
    }

    /// Takes a packet out of the network that is neither delivered nor lost.
    pub(super) fn discard(&mut self, packet: PacketSlot) {
        if self.packets.header(packet).damaged {
            self.packets.take_damage(packet);
        }
        self.packets.remove(packet);
    }
}
