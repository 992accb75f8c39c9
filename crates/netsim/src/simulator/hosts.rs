//! Hosts with a limited processor, between their agents and the network.

use super::Simulator;
use super::forward::Next;
use crate::events::Event;
use crate::network::{Host, HostConfig, HostStats};
use crate::packets::{HostId, PacketSlot};
use crate::{Agent, LossCause, NodeId};

impl<A: Agent> Simulator<A> {
    /// Limits the processor of a node: each packet that its agents send to other nodes takes time, and waits
    /// for that in a send queue. To be called once, before packets are sent. Packets that the node forwards,
    /// or sends to itself, cost nothing.
    ///
    /// # Panics
    /// If the node has a host configuration.
    pub fn set_host(&mut self, node: NodeId, config: HostConfig) {
        assert!(self.host(node).is_none(), "node `{}` has two hosts", self.node_name(node));
        let number = HostId(self.network.hosts.len() as u32);
        let source = self.timeline.queue.add_source(Event::Host(number));
        self.network.hosts.push(Host::new(config, node, source));
        self.agents.set_host(node, number);
    }

    /// The counters of a node's host; `None` if its processor is not limited.
    pub fn host_stats(&self, node: NodeId) -> Option<HostStats> {
        self.host(node).map(Host::stats)
    }

    fn host(&self, node: NodeId) -> Option<&Host> {
        self.network.hosts.iter().find(|host| host.node == node)
    }

    /// An agent of a host sends a packet.
    pub(super) fn offer_to_host(&mut self, number: HostId, packet: PacketSlot) -> Next {
        let insertion = self.timeline.queue.insertion();
        let size = self.packets.header(packet).size;
        let host = &mut self.network.hosts[number.index()];
        if !host.offer(self.timeline.now, packet, size, insertion) {
            return Next::Lose(packet, LossCause::HostOverflow(host.node));
        }
        self.timeline.expect(host.source, host.next());
        Next::Nothing
    }

    /// A host has processed a packet, which enters the network.
    pub(super) fn handle_host(&mut self, number: HostId) -> Next {
        let host = &mut self.network.hosts[number.index()];
        let Some(packet) = host.take_first() else { return Next::Nothing };
        self.timeline.expect(host.source, host.next());
        Next::Forward(host.node, packet)
    }
}
