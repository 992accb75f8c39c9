//! Forwarding: a packet enters, goes from link to link, and leaves.
//!
//! The other rooms say what comes next ([`Next`]), and [`Simulator::dispatch`] does it: none calls this one.

use whimbrel_units::Instant;

use super::Simulator;
use crate::loss::LossRecord;
use crate::medium::Observation;
use crate::network::{MediumEffect, Route, Verdict};
use crate::packets::{Header, HostId, PacketSlot};
use crate::queue::DropReason;
use crate::{Agent, AgentId, LinkId, LossCause, MediumId, NodeId, Packet, StationId};

/// Wake-ups of an agent at one time without moving its deadline, or packets sent without a pause, that are
/// taken for a livelock.
pub(super) const STALL_LIMIT: u32 = 1_000_000;

/// Next step of a packet, by its slot.
#[derive(Debug)]
pub(super) enum Next {
    Nothing,
    /// The packet goes on from a node.
    Forward(NodeId, PacketSlot),
    /// The packet has come to a node.
    Arrive(NodeId, PacketSlot),
    /// The packet goes to the agent it was sent to.
    Deliver(PacketSlot),
    /// The packet goes to a link.
    Offer(LinkId, PacketSlot),
    /// The packet goes to a station, for a neighbour or for all of them.
    OfferToStation(StationId, PacketSlot, Option<NodeId>),
    /// The packet goes to all neighbours of a node, or has come to one.
    Broadcast(NodeId, PacketSlot),
    /// The packet is lost.
    Lose(PacketSlot, LossCause),
    /// The packet is neither delivered nor lost.
    Discard(PacketSlot),
    /// A station has observed something.
    Observe(StationId, Observation),
}

impl<A: Agent> Simulator<A> {
    /// Does what comes next.
    pub(super) fn dispatch(&mut self, next: Next) {
        match next {
            Next::Nothing => {}
            Next::Forward(node, packet) => self.forward(node, packet),
            Next::Arrive(node, packet) => self.arrive(node, packet),
            Next::Deliver(packet) => self.deliver(packet),
            Next::Offer(link, packet) => self.offer(link, packet),
            Next::OfferToStation(station, packet, next) => self.offer_to_station(station, packet, next),
            Next::Broadcast(node, packet) => self.broadcast(node, packet),
            Next::Lose(packet, cause) => self.lose(packet, cause),
            Next::Discard(packet) => self.discard(packet),
            Next::Observe(station, observation) => self.observed(station, &observation),
        }
    }

    /// Takes a packet from an agent.
    fn inject(&mut self, agent: AgentId, packet: Packet<A::Payload>) {
        let Packet { flow, destination, size, ecn, payload, .. } = packet;
        let slot = &self.agents.slots[agent.index()];
        let (source, host) = (slot.node, slot.host);
        let mut receiver = slot.last_receiver;
        if slot.last_peer != (destination, flow) {
            receiver = self.agents.receiver_index(destination, flow);
            if receiver != AgentId::NONE {
                let slot = &mut self.agents.slots[agent.index()];
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
        } else if host != HostId::NONE {
            let next = self.offer_to_host(host, packet);
            self.dispatch(next);
        } else {
            self.forward(source, packet);
        }
    }

    /// The first packet of a link has come to the link's end.
    pub(super) fn handle_arrival(&mut self, id: LinkId) {
        let link = &mut self.network.links[id.index()];
        let Some(packet) = link.take_first() else { return };
        self.timeline.expect(link.source, link.next_arrival());
        match link.apply_medium(&packet) {
            MediumEffect::None => {}
            MediumEffect::Damaged => self.packets.damage(packet.slot, id),
            MediumEffect::Lost => return self.lose(packet.slot, LossCause::Wireless(id)),
        }
        if self.network.links[id.index()].delay_stage.is_some() {
            return self.delay_stage(id, packet.slot);
        }
        self.pass_on(id, packet.slot);
    }

    /// A packet at the link's end is delayed once more, and perhaps copied.
    #[cold]
    fn delay_stage(&mut self, id: LinkId, packet: PacketSlot) {
        let size = self.packets.header(packet).size;
        let stage = self.network.links[id.index()].delay_stage.as_mut();
        if stage.is_some_and(|stage| stage.duplicates(size)) {
            let copy = self.packets.copy(packet);
            self.delay(id, copy);
        }
        self.delay(id, packet);
    }

    fn delay(&mut self, id: LinkId, packet: PacketSlot) {
        let insertion = self.timeline.queue.insertion();
        let header = self.packets.header(packet);
        let (flow, size) = (header.flow, header.size);
        let Some(delay_stage) = &mut self.network.links[id.index()].delay_stage else { return };
        if !delay_stage.take(self.timeline.now, insertion, packet, flow, size) {
            return self.lose(packet, LossCause::QueueOverflow(id));
        }
        if let Some((at, insertion)) = delay_stage.next() {
            self.timeline.queue.set(delay_stage.source, at, insertion);
        }
    }

    /// The first packet delayed at a link's end goes on.
    #[inline(never)]
    pub(super) fn handle_release(&mut self, id: LinkId) {
        let Some(delay_stage) = &mut self.network.links[id.index()].delay_stage else { return };
        let Some(packet) = delay_stage.release() else { return };
        self.timeline.expect(delay_stage.source, delay_stage.next());
        self.pass_on(id, packet);
    }

    /// A packet leaves a link for the node at its end.
    #[inline]
    fn pass_on(&mut self, id: LinkId, packet: PacketSlot) {
        if self.capture.is_some() {
            self.capture_egress(id, packet);
        }
        let node = self.network.link_ends[id.index()].to;
        self.arrive(node, packet);
    }

    /// A packet has come to a node.
    #[inline]
    fn arrive(&mut self, node: NodeId, packet: PacketSlot) {
        if self.packets.header(packet).destination == node {
            self.deliver(packet);
        } else {
            self.forward(node, packet);
        }
    }

    pub(super) fn handle_local(&mut self) {
        if let Some(packet) = self.loopback.take_first(&mut self.timeline) {
            self.deliver(packet);
        }
    }

    /// Sends a packet on its way from a node towards its destination.
    fn forward(&mut self, node: NodeId, packet: PacketSlot) {
        let header = self.packets.header_mut(packet);
        let route = self.network.routes.route(node, header.destination);
        let Some(link) = route.link() else { return self.forward_otherwise(node, packet, route) };
        let Some(hops_left) = header.hops_left.checked_sub(1) else {
            return self.lose(packet, LossCause::HopLimit(node));
        };
        header.hops_left = hops_left;
        self.offer_inline(link, packet);
    }

    /// Sends a packet on its way, where its route is not a single link.
    #[cold]
    fn forward_otherwise(&mut self, node: NodeId, packet: PacketSlot, route: Route) {
        let next = self.route_otherwise(node, packet, route);
        self.dispatch(next);
    }

    fn broadcast(&mut self, node: NodeId, packet: PacketSlot) {
        let egresses = match self.begin_broadcast(node, packet) {
            Ok(egresses) => egresses,
            Err(next) => return self.dispatch(next),
        };
        for egress in 0..egresses {
            let next = self.broadcast_copy(node, egress, packet);
            self.dispatch(next);
        }
        self.discard(packet);
    }

    /// Hands a packet to a station, for a neighbour or for all of them.
    fn offer_to_station(&mut self, id: StationId, packet: PacketSlot, next: Option<NodeId>) {
        if let Some(controller) = self.network.station(id).controller {
            self.control_arrival(controller, packet);
        }
        // The medium may hold a packet in front of the queue, until it knows the neighbour's address.
        if let Some(next) = next
            && self.network.media[id.medium.index()].medium.may_hold()
        {
            let (now, queued) = (self.timeline.now, self.queued(packet));
            if self.call_medium(id.medium, |medium, io| medium.hold(now, id.index(), queued, next, io)) {
                return self.apply_effects(id.medium);
            }
        }
        let accepted = self.queue_at_station(id, packet, next);
        let drops = self.network.station_mut(id).take_drops();
        for &(packet, reason) in &drops {
            self.lose(packet.slot, Self::station_loss(id, reason));
        }
        self.network.station_mut(id).reuse_drops(drops);
        if accepted {
            let now = self.timeline.now;
            self.call_medium(id.medium, |medium, io| medium.handle_backlog(now, id.index(), io));
            self.apply_effects(id.medium);
        }
    }

    /// Applies the effects of a medium's calls, unless an outer call is doing so: what an agent does on a
    /// delivery must not overtake the deliveries before it.
    pub(super) fn apply_effects(&mut self, id: MediumId) {
        if !self.network.media[id.index()].is_applying {
            self.network.media[id.index()].is_applying = true;
            while let Some(effect) = self.network.media[id.index()].effects.pop_front() {
                let next = self.apply_effect(id, effect);
                self.dispatch(next);
            }
            self.network.media[id.index()].is_applying = false;
        }
    }

    /// Hands an observation to a station's controller, to the routing agent of its node and to the agents
    /// that observe it.
    fn observed(&mut self, id: StationId, observation: &Observation) {
        let now = self.timeline.now;
        if let Some(controller) = self.network.station(id).controller {
            self.network.controllers[controller.index()].controller.handle_observation(now, observation);
            self.expect_control(controller);
        }
        let station = self.network.station(id);
        let router = self.agents.routers[station.node.index()].filter(|router| {
            matches!(observation, Observation::Failed(_)) && !station.observers.contains(router)
        });
        for index in 0..=station.observers.len() {
            let observer = match index.checked_sub(1) {
                None => router,
                Some(index) => Some(self.network.station(id).observers[index]),
            };
            let Some(agent) = observer else { continue };
            self.agents.slots[agent.index()].agent.handle_observation(now, id, observation);
            self.drain(agent);
        }
    }

    /// Hands a packet to a link.
    #[inline(never)]
    fn offer(&mut self, link: LinkId, packet: PacketSlot) {
        self.offer_inline(link, packet);
    }

    /// The same, inlined: [`forward`](Self::forward) is the hot path.
    #[inline(always)]
    fn offer_inline(&mut self, link: LinkId, packet: PacketSlot) {
        let header = self.packets.header_mut(packet);
        let insertion = self.timeline.queue.insertion();
        let out = &mut self.network.links[link.index()];
        let verdict = out.offer(self.timeline.now, packet, header.size, &mut header.ecn, insertion);
        if verdict == Verdict::Managed {
            return self.enqueue(link, packet);
        }
        if self.capture.is_some() {
            self.capture_ingress(link, packet, verdict);
        }
        match verdict {
            Verdict::Queued | Verdict::Managed => {}
            Verdict::QueuedFirst => self.expect_arrival(link),
            Verdict::Overflow => self.lose(packet, LossCause::QueueOverflow(link)),
            Verdict::Down => self.lose(packet, LossCause::LinkDown(link)),
        }
    }

    /// A packet is offered to a link with a discipline.
    fn enqueue(&mut self, link: LinkId, packet: PacketSlot) {
        // A transmission that ends at this very time makes room first, as it does in a drop-tail link.
        self.serve(link);
        self.queue(link, packet);
        self.serve(link);
    }

    /// Fills the transmitter of a link from its discipline, and sees to what the discipline has dropped.
    pub(super) fn serve(&mut self, link: LinkId) {
        self.fill(link);
        for (packet, reason) in self.network.links[link.index()].take_drops() {
            let cause = match reason {
                DropReason::Overflow => LossCause::QueueOverflow(link),
                DropReason::Early => LossCause::EarlyDrop(link),
            };
            self.lose(packet.slot, cause);
        }
    }

    /// Sets a link's events again after its plan has changed.
    pub(super) fn replanned(&mut self, link: LinkId) {
        self.expect_arrival(link);
        if self.network.links[link.index()].managed.is_some() {
            self.serve(link);
        }
    }

    /// Makes a link's first packet its event.
    pub(super) fn expect_arrival(&mut self, link: LinkId) {
        let link = &self.network.links[link.index()];
        self.timeline.expect(link.source, link.next_arrival());
    }

    /// Hands a packet to the agent it was sent to.
    fn deliver(&mut self, packet: PacketSlot) {
        let &Header { destination, flow, mut receiver, damaged, hops_left, .. } = self.packets.header(packet);
        if receiver == AgentId::NONE {
            // The agent may have been added while the packet was under way.
            receiver = self.agents.receiver_index(destination, flow);
            if receiver == AgentId::NONE {
                return self.lose(packet, LossCause::NoAgent(destination));
            }
        }
        let slot = &mut self.agents.slots[receiver.index()];
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
    fn deliver_damaged(&mut self, receiver: AgentId, packet: PacketSlot) {
        let link = self.packets.take_damage(packet);
        let packet = self.packets.remove(packet);
        let agent = &mut self.agents.slots[receiver.index()].agent;
        match link {
            None => agent.handle_packet(self.timeline.now, packet),
            Some(link) => agent.handle_damaged(self.timeline.now, packet, link),
        }
    }

    /// Takes a packet out of the network and notifies its receiver of the cause.
    #[cold]
    pub(super) fn lose(&mut self, packet: PacketSlot, cause: LossCause) {
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
            self.agents.touch(receiver);
        }
    }

    /// Sends all that an agent has to send, and sees to it that it is woken in time.
    pub(super) fn drain(&mut self, agent: AgentId) {
        if self.agents.slots[agent.index()].is_router {
            self.drain_routing(agent);
        }
        let mut sent = 0;
        while let Some(packet) = self.agents.slots[agent.index()].agent.poll_transmit(self.timeline.now) {
            self.inject(agent, packet);
            sent += 1;
            assert!(sent < STALL_LIMIT, "agent {} sends without end at {}", agent.index(), self.timeline.now);
        }
        let slot = &mut self.agents.slots[agent.index()];
        slot.deadline = slot.agent.poll_timeout();
        if let Some(deadline) = slot.deadline
            && deadline < slot.wake_up
        {
            self.wake_at(agent, deadline);
        }
    }

    /// Processes the requests of a routing agent. Out of line: most agents are none.
    #[inline(never)]
    fn drain_routing(&mut self, agent: AgentId) {
        while let Some(next) = self.process_routing(agent) {
            self.dispatch(next);
        }
    }

    /// A deadline that moves later does not come here: the agent is then woken early, and asked again.
    pub(super) fn wake_at(&mut self, agent: AgentId, deadline: Instant) {
        let deadline = deadline.max(self.timeline.now);
        let insertion = self.timeline.queue.insertion();
        let slot = &mut self.agents.slots[agent.index()];
        slot.wake_up = deadline;
        self.timeline.queue.set(slot.source, deadline, insertion);
    }
}
