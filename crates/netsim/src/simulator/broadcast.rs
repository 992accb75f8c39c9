//! Packets for all neighbours.

use super::Simulator;
use crate::packets::Header;
use crate::{Agent, Egress, NodeId};

/// The hop limit of a broadcast that has left its sender: no node forwards it.
const SENT: u8 = 0;

impl<A: Agent> Simulator<A> {
    /// A broadcast leaves its sender's node, or has come to a neighbour.
    pub(super) fn handle_broadcast(&mut self, node: NodeId, packet: u32) {
        if self.packets.header(packet).hops_left == SENT {
            return self.deliver_broadcast(node, packet);
        }
        self.packets.header_mut(packet).hops_left = SENT;
        for index in 0..self.network.egresses[node.index()].len() {
            let copy = self.packets.copy(packet);
            match self.network.egresses[node.index()][index] {
                Egress::Link(link) => self.offer(link.0, copy),
                Egress::Station(station) => self.offer_to_station(station, copy, None),
            }
        }
        self.discard(packet);
    }

    /// Hands a broadcast to the node's agent for its flow. A node without one ignores it.
    fn deliver_broadcast(&mut self, node: NodeId, packet: u32) {
        let header = self.packets.header_mut(packet);
        header.receiver = self.agents.receiver_index(node, header.flow);
        if header.receiver == Header::NO_AGENT { self.discard(packet) } else { self.deliver(packet) }
    }

    /// Takes a packet out of the network that is neither delivered nor lost.
    pub(super) fn discard(&mut self, packet: u32) {
        if self.packets.header(packet).damaged {
            self.packets.take_damage(packet);
        }
        self.packets.remove(packet);
    }
}
