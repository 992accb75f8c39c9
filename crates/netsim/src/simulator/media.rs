//! Shared media: stations send packets, the medium says what becomes of them.

use core::any::Any;
use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::{Duration, Instant};

use super::Simulator;
use crate::events::Event;
use crate::medium::{Medium, MediumIo, Observation, StationStats};
use crate::network::{Effect, MediumSlot, Station};
use crate::packets::Header;
use crate::queue::{Discipline, DisciplineError, DropReason, DropTail};
use crate::{
    Agent, AgentId, Count, Egress, FlowId, LossCause, MediumId, NodeId, PassingPacket, QueueLimit, StationId,
};

impl<A: Agent> Simulator<A> {
    /// Adds a medium, without stations.
    pub fn add_medium(&mut self, medium: impl Medium) -> MediumId {
        let id = MediumId(self.network.media.len() as u32);
        let source = self.timeline.queue.add_source(Event::Medium(id.0));
        self.network.media.push(MediumSlot {
            medium: Box::new(medium),
            stations: Vec::new(),
            numbers: BTreeMap::new(),
            source,
            expected: None,
            effects: VecDeque::new(),
            is_applying: false,
        });
        id
    }

    /// Gives a node a station on a medium, with a queue of that discipline. Its random stream is named after the node.
    ///
    /// # Errors
    /// If a parameter of the discipline is out of range.
    pub fn add_station(
        &mut self,
        node: NodeId,
        medium: MediumId,
        discipline: &Discipline,
        limit: QueueLimit,
    ) -> Result<StationId, DisciplineError> {
        let slot = &self.network.media[medium.index()];
        let index = slot.stations.len() as u32;
        let name = format!("{}@{}", self.node_name(node), medium.0);
        let random = self.streams.stream(&name, "queue");
        let queue = discipline.build(limit, random)?.unwrap_or_else(|| Box::new(DropTail::new(limit)));
        let slot = &mut self.network.media[medium.index()];
        slot.stations.push(Station::new(node, name, queue));
        slot.numbers.entry(node).or_insert(index);
        slot.medium.handle_station(index as usize);
        let id = StationId { medium, index };
        self.network.egresses[node.index()].push(Egress::Station(id));
        self.network.routes_current = false;
        self.expect_medium(medium);
        Ok(id)
    }

    /// Hands a station's observations to an agent, at any node.
    pub fn observe(&mut self, station: StationId, agent: AgentId) {
        self.network.station_mut(station).observers.push(agent);
    }

    /// The node of a station.
    pub fn station_node(&self, station: StationId) -> NodeId {
        self.network.station(station).node
    }

    /// A station's name: its node's, and the medium's number.
    pub fn station_name(&self, station: StationId) -> &str {
        &self.network.station(station).name
    }

    /// A station's counters.
    pub fn station_stats(&self, station: StationId) -> StationStats {
        self.network.station(station).stats
    }

    /// Packets and bytes that wait at a station.
    pub fn station_backlog(&self, station: StationId) -> Count {
        self.network.station(station).backlog()
    }

    /// A medium; `None` if it is not of that type.
    pub fn medium<M: Medium>(&self, id: MediumId) -> Option<&M> {
        let medium: &dyn Any = &*self.network.media[id.index()].medium;
        medium.downcast_ref()
    }

    /// Calls a function with a medium, to change it; `None` if the medium is not of that type. Routes follow after a
    /// [`Command::Reroute`](crate::Command::Reroute).
    pub fn with_medium<M: Medium, R>(
        &mut self,
        id: MediumId,
        call: impl FnOnce(&mut M, &mut MediumIo<'_>) -> R,
    ) -> Option<R> {
        self.call_medium(id, |medium, io| {
            let medium: &mut dyn Any = medium;
            medium.downcast_mut().map(|medium| call(medium, io))
        })
    }

    /// A medium's timeout. The medium may handle those timeouts of its own that follow before any other event, up to
    /// `until`: most of them change nothing outside it.
    pub(super) fn handle_medium(&mut self, medium: u32, until: Instant) {
        let id = MediumId(medium);
        let horizon = until + Duration::from_nanos(1);
        let horizon = self.timeline.queue.next_at().map_or(horizon, |next| next.min(horizon));
        let MediumSlot { medium, stations, numbers, effects, expected, .. } =
            &mut self.network.media[id.index()];
        *expected = None;
        let headers = self.packets.headers_mut();
        let now = self.timeline.now;
        let mut io = MediumIo { now, horizon, steps: 0, stations, numbers, headers, effects };
        medium.handle_timeout(now, &mut io);
        self.timeline.now = io.now;
        self.timeline.handled += io.steps;
        self.expect_medium(id);
        self.apply_effects(id);
    }

    /// Queues a packet at a station for a neighbour, or for all of them.
    pub(super) fn offer_to_station(&mut self, id: StationId, packet: u32, next: Option<NodeId>) {
        if let Some(controller) = self.network.station(id).controller {
            self.control_arrival(controller, packet);
        }
        let queued = self.queued(packet);
        let now = self.timeline.now;
        let station = self.network.station_mut(id);
        let accepted = station.enqueue(now, queued, next);
        let drops = station.take_drops();
        for &(packet, reason) in &drops {
            self.lose_at_station(id, packet.slot, reason);
        }
        self.network.station_mut(id).reuse_drops(drops);
        if accepted {
            self.call_medium(id.medium, |medium, io| medium.handle_backlog(now, id.index(), io));
        }
    }

    /// Calls a medium, and then applies the effects of the call unless an outer call is doing so: what an agent
    /// does on a delivery must not overtake the deliveries before it.
    fn call_medium<R>(
        &mut self,
        id: MediumId,
        call: impl FnOnce(&mut dyn Medium, &mut MediumIo<'_>) -> R,
    ) -> R {
        let MediumSlot { medium, stations, numbers, effects, .. } = &mut self.network.media[id.index()];
        let headers = self.packets.headers_mut();
        let now = self.timeline.now;
        let mut io = MediumIo { now, horizon: now, steps: 0, stations, numbers, headers, effects };
        let result = call(&mut **medium, &mut io);
        self.expect_medium(id);
        self.apply_effects(id);
        result
    }

    /// Applies the effects of calls, unless an outer call is doing so.
    fn apply_effects(&mut self, id: MediumId) {
        if !self.network.media[id.index()].is_applying {
            self.network.media[id.index()].is_applying = true;
            while let Some(effect) = self.network.media[id.index()].effects.pop_front() {
                self.apply_effect(id, effect);
            }
            self.network.media[id.index()].is_applying = false;
        }
    }

    /// Makes the medium's timeout an event.
    fn expect_medium(&mut self, id: MediumId) {
        let slot = &mut self.network.media[id.index()];
        let next = slot.medium.poll_timeout().map(|at| at.max(self.timeline.now));
        if next != slot.expected {
            slot.expected = next;
            let next = next.map(|at| (at, self.timeline.queue.insertion()));
            self.timeline.expect(slot.source, next);
        }
    }

    fn apply_effect(&mut self, medium: MediumId, effect: Effect) {
        match effect {
            Effect::Taken { slot, station } => {
                if let Some(controller) =
                    self.network.station(StationId { medium, index: station }).controller
                {
                    self.control_departure(controller, slot);
                }
            }
            Effect::Dropped { slot, station, reason } => {
                self.lose_at_station(StationId { medium, index: station }, slot, reason);
            }
            Effect::Flushed { slot, station, is_salvage } => {
                let node = self.network.station(StationId { medium, index: station }).node;
                if is_salvage {
                    self.forward(node.0, slot);
                } else {
                    self.lose(slot, LossCause::NoRoute(node));
                }
            }
            Effect::Deliver { slot, ecn, from, to } => {
                let from = self.network.station(StationId { medium, index: from }).node;
                let to = StationId { medium, index: to };
                self.note_arrival(to, slot, from);
                self.receive_at_station(to, slot, ecn);
            }
            Effect::DeliverCopy { slot, ecn, to } => {
                let copy = self.packets.copy(slot);
                self.receive_at_station(StationId { medium, index: to }, copy, ecn);
            }
            Effect::Lose { slot, station, to, cause } => {
                let id = StationId { medium, index: station };
                let size = self.packets.header(slot).size;
                let sender = self.network.station_mut(id);
                sender.stats.lost.add_packet(size);
                let node = sender.node;
                let neighbour = to.map(|index| self.network.station(StationId { medium, index }).node);
                if !neighbour.is_some_and(|neighbour| self.salvage(node, slot, neighbour)) {
                    self.lose(slot, LossCause::Medium(id, cause));
                }
            }
            Effect::Release { slot } => self.discard(slot),
            Effect::OnAir(on_air) => self.capture_on_air(medium, &on_air),
            Effect::RoutesChanged => self.network.routes_current = false,
            Effect::Observe { station, observation } => {
                self.hand_on(StationId { medium, index: station }, &observation);
            }
        }
    }

    fn receive_at_station(&mut self, id: StationId, packet: u32, ecn: crate::Ecn) {
        let header = self.packets.header_mut(packet);
        header.ecn = ecn;
        let station = self.network.station_mut(id);
        station.stats.received.add_packet(header.size);
        let node = station.node;
        self.arrive(node, packet);
    }

    /// Notifies the routing agent of a station's node of a packet that has come from a neighbour.
    fn note_arrival(&mut self, id: StationId, packet: u32, from: NodeId) {
        let &Header { flow, source, destination, .. } = self.packets.header(packet);
        if flow != FlowId::ROUTING {
            let node = self.network.station(id).node;
            self.note_passing(node, PassingPacket { source, destination, from: Some(from) });
        }
    }

    fn lose_at_station(&mut self, station: StationId, packet: u32, reason: DropReason) {
        let cause = match reason {
            DropReason::Overflow => LossCause::StationOverflow(station),
            DropReason::Early => LossCause::StationDrop(station),
        };
        self.lose(packet, cause);
    }

    /// Hands an observation to a station's controller and to the agents that observe the station.
    fn hand_on(&mut self, id: StationId, observation: &Observation) {
        let now = self.timeline.now;
        let station = self.network.station(id);
        if let Some(controller) = station.controller {
            self.network.controllers[controller as usize].controller.handle_observation(now, observation);
            self.expect_control(controller);
        }
        let router = self.agents.routers[self.network.station(id).node.index()];
        if let (Observation::Failed(_), Some(router)) = (observation, router)
            && !self.network.station(id).observers.contains(&router)
        {
            self.agents.slots[router.index()].agent.handle_observation(now, id, observation);
            self.drain(router.0);
        }
        for index in 0..self.network.station(id).observers.len() {
            let agent = self.network.station(id).observers[index];
            self.agents.slots[agent.index()].agent.handle_observation(now, id, observation);
            self.drain(agent.0);
        }
    }
}
