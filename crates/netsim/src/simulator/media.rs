//! Shared media: stations send packets, the medium says what becomes of them.

use core::any::Any;
use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::{Duration, Instant};

use super::Simulator;
use super::forward::Next;
use crate::events::Event;
use crate::medium::{Lanes, Medium, MediumIo, StationStats};
use crate::network::{Effect, MediumSlot, Station};
use crate::packets::{Header, PacketSlot};
use crate::queue::{Discipline, DisciplineError, DropReason, DropTail};
use crate::{
    Agent, AgentId, Count, Egress, FlowId, LossCause, MediumId, NodeId, PassingPacket, QueueLimit, StationId,
    StationIndex,
};

impl<A: Agent> Simulator<A> {
    /// Adds a medium, without stations.
    pub fn add_medium(&mut self, medium: impl Medium) -> MediumId {
        let id = MediumId(self.network.media.len() as u32);
        let source = self.timeline.queue.add_source(Event::Medium(id));
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

    /// Gives a node a station on a medium, with a queue of that discipline, unless the medium divides the
    /// packets among [lanes](Medium::lanes). Its random stream is named after the node.
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
        let index = StationIndex::new(slot.stations.len());
        let name = format!("{}@{}", self.node_name(node), medium.0);
        let random = self.streams.stream(&name, "queue");
        let queue = discipline.build(limit, random)?.unwrap_or_else(|| Box::new(DropTail::new(limit)));
        let slot = &mut self.network.media[medium.index()];
        let lanes = slot.medium.lanes();
        lanes.as_ref().map_or(Ok(()), Lanes::check)?;
        slot.stations.push(Station::new(node, queue, limit, lanes));
        slot.numbers.entry(node).or_insert(index);
        slot.medium.handle_station(index);
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

    /// A medium's timeout, whose effects are still to be applied. The medium may handle those timeouts of its
    /// own that follow before any other event, up to `until`: most of them change nothing outside it.
    pub(super) fn handle_medium(&mut self, id: MediumId, until: Instant) {
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
    }

    /// Queues a packet at a station for a neighbour, or for all of them. Returns `false` if it is not
    /// accepted. What this has dropped is still to be lost.
    pub(super) fn queue_at_station(
        &mut self,
        id: StationId,
        packet: PacketSlot,
        next: Option<NodeId>,
    ) -> bool {
        let queued = self.queued(packet);
        let now = self.timeline.now;
        self.network.station_mut(id).enqueue(now, queued, next)
    }

    /// Calls a medium. The effects of the call are still to be applied.
    pub(super) fn call_medium<R>(
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
        result
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

    /// Applies an effect of a call, as far as no packet moves by it.
    pub(super) fn apply_effect(&mut self, medium: MediumId, effect: Effect) -> Next {
        match effect {
            Effect::Taken { slot, station } => {
                if let Some(controller) =
                    self.network.station(StationId { medium, index: station }).controller
                {
                    self.control_departure(controller, slot);
                }
            }
            Effect::Dropped { slot, station, reason } => {
                return Next::Lose(slot, Self::station_loss(StationId { medium, index: station }, reason));
            }
            Effect::Flushed { slot, station, is_salvage } => {
                let node = self.network.station(StationId { medium, index: station }).node;
                return if is_salvage {
                    Next::Forward(node, slot)
                } else {
                    Next::Lose(slot, LossCause::NoRoute(node))
                };
            }
            Effect::Deliver { slot, ecn, from, to } => {
                let from = self.network.station(StationId { medium, index: from }).node;
                let to = StationId { medium, index: to };
                let &Header { flow, source, destination, .. } = self.packets.header(slot);
                if flow != FlowId::ROUTING {
                    let node = self.network.station(to).node;
                    self.note_passing(node, PassingPacket { source, destination, from: Some(from) });
                }
                return self.receive_at_station(to, slot, ecn);
            }
            Effect::DeliverCopy { slot, ecn, to } => {
                let copy = self.packets.copy(slot);
                return self.receive_at_station(StationId { medium, index: to }, copy, ecn);
            }
            Effect::Lose { slot, station, to, cause } => {
                let id = StationId { medium, index: station };
                let size = self.packets.header(slot).size;
                let sender = self.network.station_mut(id);
                sender.stats.lost.add_packet(size);
                let node = sender.node;
                let neighbour = to.map(|index| self.network.station(StationId { medium, index }).node);
                if !neighbour.is_some_and(|neighbour| self.salvage(node, slot, neighbour)) {
                    return Next::Lose(slot, LossCause::Medium(id, cause));
                }
            }
            Effect::Release { slot } => return Next::Discard(slot),
            Effect::OnAir(on_air) => self.capture_on_air(medium, &on_air),
            Effect::RoutesChanged => self.network.routes_current = false,
            Effect::Observe { station, observation } => {
                return Next::Observe(StationId { medium, index: station }, observation);
            }
        }
        Next::Nothing
    }

    fn receive_at_station(&mut self, id: StationId, packet: PacketSlot, ecn: crate::Ecn) -> Next {
        let header = self.packets.header_mut(packet);
        header.ecn = ecn;
        let station = self.network.station_mut(id);
        station.stats.received.add_packet(header.size);
        Next::Arrive(station.node, packet)
    }

    /// The cause of the loss of a packet that a station's discipline has dropped.
    pub(super) fn station_loss(station: StationId, reason: DropReason) -> LossCause {
        match reason {
            DropReason::Overflow => LossCause::StationOverflow(station),
            DropReason::Early => LossCause::StationDrop(station),
        }
    }
}
