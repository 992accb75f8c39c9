//! Forwarding: a packet enters, goes from link to link, and leaves.

use super::Simulator;
use crate::agents::NO_HOST;
use crate::loss::LossRecord;
use crate::network::{MediumEffect, Verdict};
use crate::packets::Header;
use crate::{Agent, LinkId, LossCause, NodeId, Packet};

impl<A: Agent> Simulator<A> {
    /// Takes a packet from an agent.
    pub(super) fn inject(&mut self, agent: u32, packet: Packet<A::Payload>) {
        let Packet { flow, destination, size, ecn, payload, .. } = packet;
        let slot = &self.agents.slots[agent as usize];
        let (source, host) = (slot.node, slot.host);
        let mut receiver = slot.last_receiver;
        if slot.last_peer != (destination, flow) {
            receiver = self.agents.receiver_index(destination, flow);
            if receiver != Header::NO_AGENT {
                let slot = &mut self.agents.slots[agent as usize];
                slot.last_peer = (destination, flow);
                slot.last_receiver = receiver;
            }
        }
        let id = self.packets.next_id();
        let header =
            Header { id, flow, source, destination, size, receiver, ecn, damaged: false, hops_left: u8::MAX };
        let packet = self.packets.insert(header, payload);
        if destination == source {
            self.loopback.push(&mut self.timeline, packet);
        } else if host != NO_HOST {
            self.offer_to_host(host, packet);
        } else {
            self.forward(source.0, packet);
        }
    }

    /// The first packet of a link has come to the link's end.
    pub(super) fn handle_arrival(&mut self, link_index: u32) {
        let link = &mut self.network.links[link_index as usize];
        let Some(packet) = link.take_first() else { return };
        self.timeline.expect(link.source, link.next_arrival());
        match link.apply_medium(&packet) {
            MediumEffect::None => {}
            MediumEffect::Damaged => self.damage(packet.slot, LinkId(link_index)),
            MediumEffect::Lost => return self.lose(packet.slot, LossCause::Wireless(LinkId(link_index))),
        }
        if self.network.links[link_index as usize].delay_stage.is_some() {
            return self.delay_stage(link_index, packet.slot);
        }
        self.pass_on(link_index, packet.slot);
    }

    /// A packet at the link's end is delayed once more, and perhaps copied.
    #[cold]
    fn delay_stage(&mut self, link_index: u32, packet: u32) {
        let size = self.packets.header(packet).size;
        let stage = self.network.links[link_index as usize].delay_stage.as_mut();
        if stage.is_some_and(|stage| stage.duplicates(size)) {
            let copy = self.packets.copy(packet);
            self.delay(link_index, copy);
        }
        self.delay(link_index, packet);
    }

    fn delay(&mut self, link_index: u32, packet: u32) {
        let insertion = self.timeline.queue.insertion();
        let header = self.packets.header(packet);
        let (flow, size) = (header.flow, header.size);
        let Some(delay_stage) = &mut self.network.links[link_index as usize].delay_stage else { return };
        if !delay_stage.take(self.timeline.now, insertion, packet, flow, size) {
            return self.lose(packet, LossCause::QueueOverflow(LinkId(link_index)));
        }
        if let Some((at, insertion)) = delay_stage.next() {
            self.timeline.queue.set(delay_stage.source, at, insertion);
        }
    }

    /// The first packet delayed at a link's end goes on.
    #[inline(never)]
    pub(super) fn handle_release(&mut self, link_index: u32) {
        let Some(delay_stage) = &mut self.network.links[link_index as usize].delay_stage else { return };
        let Some(packet) = delay_stage.release() else { return };
        self.timeline.expect(delay_stage.source, delay_stage.next());
        self.pass_on(link_index, packet);
    }

    /// A packet leaves a link for the node at its end.
    #[inline]
    fn pass_on(&mut self, link_index: u32, packet: u32) {
        if self.capture.is_some() {
            self.capture_egress(LinkId(link_index), packet);
        }
        let node = self.network.link_ends[link_index as usize].to;
        self.arrive(node, packet);
    }

    /// A packet has come to a node.
    #[inline]
    pub(super) fn arrive(&mut self, node: NodeId, packet: u32) {
        if self.packets.header(packet).destination == node {
            self.deliver(packet);
        } else {
            self.forward(node.0, packet);
        }
    }

    pub(super) fn handle_local(&mut self) {
        if let Some(packet) = self.loopback.take_first(&mut self.timeline) {
            self.deliver(packet);
        }
    }

    /// Sends a packet on its way from a node towards its destination.
    pub(super) fn forward(&mut self, node: u32, packet: u32) {
        let header = self.packets.header_mut(packet);
        let route = self.network.routes.route(node, header.destination.0);
        let Some(link) = route.link() else { return self.forward_otherwise(NodeId(node), packet, route) };
        let Some(hops_left) = header.hops_left.checked_sub(1) else {
            return self.lose(packet, LossCause::HopLimit(NodeId(node)));
        };
        header.hops_left = hops_left;
        self.offer_inline(link, packet);
    }

    /// Hands a packet to a link.
    #[inline(never)]
    pub(super) fn offer(&mut self, link: u32, packet: u32) {
        self.offer_inline(link, packet);
    }

    /// The same, inlined: [`forward`](Self::forward) is the hot path.
    #[inline(always)]
    fn offer_inline(&mut self, link: u32, packet: u32) {
        let header = self.packets.header_mut(packet);
        let insertion = self.timeline.queue.insertion();
        let out = &mut self.network.links[link as usize];
        let verdict = out.offer(self.timeline.now, packet, header.size, &mut header.ecn, insertion);
        if verdict == Verdict::Managed {
            return self.enqueue(link, packet);
        }
        if self.capture.is_some() {
            self.capture_ingress(LinkId(link), packet, verdict);
        }
        match verdict {
            Verdict::Queued | Verdict::Managed => {}
            Verdict::QueuedFirst => self.expect_arrival(LinkId(link)),
            Verdict::Overflow => self.lose(packet, LossCause::QueueOverflow(LinkId(link))),
            Verdict::Down => self.lose(packet, LossCause::LinkDown(LinkId(link))),
        }
    }

    /// Sets a link's events again after its plan has changed.
    pub(super) fn replanned(&mut self, link: LinkId) {
        self.expect_arrival(link);
        if self.network.links[link.index()].managed.is_some() {
            self.serve(link.0);
        }
    }

    /// Makes a link's first packet its event.
    pub(super) fn expect_arrival(&mut self, link: LinkId) {
        let link = &self.network.links[link.index()];
        self.timeline.expect(link.source, link.next_arrival());
    }

    /// Hands a packet to the agent it was sent to.
    pub(super) fn deliver(&mut self, packet: u32) {
        let &Header { destination, flow, mut receiver, damaged, hops_left, .. } = self.packets.header(packet);
        if receiver == Header::NO_AGENT {
            // The agent may have been added while the packet was under way.
            receiver = self.agents.receiver_index(destination, flow);
            if receiver == Header::NO_AGENT {
                return self.lose(packet, LossCause::NoAgent(destination));
            }
        }
        let slot = &mut self.agents.slots[receiver as usize];
        slot.delivered.packets += 1;
        slot.delivered.hops += u64::from(u8::MAX - hops_left);
        if damaged {
            self.deliver_damaged(receiver, packet);
        } else {
            let agent = &mut slot.agent;
            agent.handle_stored(self.timeline.now, self.packets.stored(packet));
            self.packets.release(packet);
        }
        self.drain(receiver);
    }

    #[cold]
    fn deliver_damaged(&mut self, receiver: u32, packet: u32) {
        let link = self.packets.take_damage(packet);
        let packet = self.packets.remove(packet);
        let agent = &mut self.agents.slots[receiver as usize].agent;
        match link {
            None => agent.handle_packet(self.timeline.now, packet),
            Some(link) => agent.handle_damaged(self.timeline.now, packet, link),
        }
    }

    /// A packet goes on with content that a link has damaged; the first link that damaged it counts.
    #[cold]
    fn damage(&mut self, packet: u32, link: LinkId) {
        self.packets.damage(packet, link);
    }

    /// Takes a packet out of the network and notifies its receiver of the cause.
    #[cold]
    pub(super) fn lose(&mut self, packet: u32, cause: LossCause) {
        let header = *self.packets.header(packet);
        if header.damaged {
            self.packets.take_damage(packet);
        }
        if let Some(log) = &mut self.loss_log {
            log.push(LossRecord {
                at: self.timeline.now,
                cause,
                flow: header.flow,
                source: header.source,
                receiver: header.receiver(),
                packet: header.id,
                size: header.size,
            });
        }
        let packet = self.packets.remove(packet);
        if let Some(receiver) = header.receiver() {
            self.agents.slots[receiver.index()].agent.handle_loss(self.timeline.now, packet, cause);
            // The sender may be in the middle of being drained, so the receiver is drained later.
            self.agents.touch(receiver.0);
        }
    }
}
