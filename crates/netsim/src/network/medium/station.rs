//! A node's interface on a medium, with the packets that wait.

use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::Instant;

use super::StationStats;
use crate::packets::{ControllerId, PacketSlot};
use crate::queue::{
    DisciplineError, DropReason, DropTail, Drops, FqCoDel, FqCoDelConfig, QueueDiscipline, QueuedPacket,
};
use crate::{AgentId, Count, FlowId, NodeId, QueueLimit};

/// The lanes of a station: queues of their own for classes of packets, or for classes and receivers.
#[derive(Clone, PartialEq, Debug)]
pub struct Lanes {
    /// The classes of the packets of some flows.
    pub classes: BTreeMap<FlowId, u8>,
    /// The class of all others.
    pub class: u8,
    /// FQ-CoDel for each receiver and class, all of which share the station's limit. `None` for a queue for
    /// each class with that limit, of the station's discipline for `class` and drop-tail for the others.
    pub by_receiver: Option<FqCoDelConfig>,
}

impl Lanes {
    fn class_of(&self, flow: FlowId) -> u8 {
        self.classes.get(&flow).copied().unwrap_or(self.class)
    }

    /// # Errors
    /// If a parameter of the discipline is out of range.
    pub(crate) fn check(&self) -> Result<(), DisciplineError> {
        self.by_receiver
            .as_ref()
            .map_or(Ok(()), |config| FqCoDel::new(config, QueueLimit::Unlimited).map(|_| ()))
    }

    fn queue(&self, limit: QueueLimit) -> Box<dyn QueueDiscipline> {
        let by_receiver = self.by_receiver.as_ref();
        let queue = by_receiver.map(|config| FqCoDel::new(config, QueueLimit::Unlimited));
        match queue {
            Some(Ok(queue)) => Box::new(queue),
            _ => Box::new(DropTail::new(limit)),
        }
    }
}

/// A queue of a station.
struct Lane {
    class: u8,
    /// The neighbour of all of its packets, if neighbours have lanes of their own.
    to: Option<NodeId>,
    queue: Box<dyn QueueDiscipline>,
    /// Slots and next hops of the packets that wait, in the order of their arrival; broadcasts have none.
    next_hops: VecDeque<(PacketSlot, NodeId)>,
}

impl Lane {
    /// Removes the next hop of a packet that leaves the queue. Most packets leave at the front.
    fn take_next_hop(&mut self, slot: PacketSlot) -> Option<NodeId> {
        let position = self.next_hops.iter().position(|&(waiting, _)| waiting == slot)?;
        self.next_hops.remove(position).map(|(_, next)| next)
    }
}

/// A node's interface on a medium.
pub(crate) struct Station {
    pub(crate) node: NodeId,
    /// One, which has all packets, unless there are `rules`.
    lanes: Vec<Lane>,
    rules: Option<Box<Lanes>>,
    last_lane: usize,
    limit: QueueLimit,
    drops: Drops,
    /// Packets that leave the queue without being sent, when they reach the head, regardless of the
    /// discipline; by slot, `true` for those that are then routed anew.
    flushed: BTreeMap<PacketSlot, bool>,
    /// Agents that the station's observations are handed to.
    pub(crate) observers: Vec<AgentId>,
    /// Number of the controller that sees the packets.
    pub(crate) controller: Option<ControllerId>,
    pub(crate) stats: StationStats,
}

impl Station {
    /// A station with a queue, or with lanes.
    pub(crate) fn new(
        node: NodeId,
        queue: Box<dyn QueueDiscipline>,
        limit: QueueLimit,
        rules: Option<Lanes>,
    ) -> Self {
        let class = rules.as_ref().map_or(0, |rules| rules.class);
        let mut lanes = vec![Lane { class, to: None, queue, next_hops: VecDeque::new() }];
        if rules.as_ref().is_some_and(|rules| rules.by_receiver.is_some()) {
            lanes.clear();
        }
        Self {
            node,
            lanes,
            rules: rules.map(Box::new),
            last_lane: 0,
            limit,
            drops: Drops::default(),
            flushed: BTreeMap::new(),
            observers: Vec::new(),
            controller: None,
            stats: StationStats::default(),
        }
    }

    pub(crate) const fn limit(&self) -> QueueLimit {
        self.limit
    }

    /// Packets and bytes that wait.
    pub(crate) fn backlog(&self) -> Count {
        let mut sum = Count::default();
        self.lanes.iter().for_each(|lane| sum += lane.queue.backlog());
        sum
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    pub(crate) const fn last_lane(&self) -> usize {
        self.last_lane
    }

    /// Class, neighbour and backlog of a lane.
    pub(crate) fn lane(&self, lane: usize) -> (u8, Option<NodeId>, Count) {
        let Lane { class, to, queue, .. } = &self.lanes[lane];
        (*class, *to, queue.backlog())
    }

    /// The lane of a packet, with the rules. A lane is made for the first packet.
    fn find_lane(&mut self, packet: &QueuedPacket, next: Option<NodeId>) -> usize {
        let Some(rules) = &self.rules else { return 0 };
        let class = rules.class_of(packet.flow.flow);
        let to = next.filter(|_| rules.by_receiver.is_some());
        let found = self.lanes.iter().position(|lane| lane.class == class && lane.to == to);
        found.unwrap_or_else(|| {
            let queue = rules.queue(self.limit);
            self.lanes.push(Lane { class, to, queue, next_hops: VecDeque::new() });
            self.lanes.len() - 1
        })
    }

    /// Queues a packet. Returns `false` if the discipline dropped it; drops are to be
    /// [taken](Self::take_drops).
    pub(crate) fn enqueue(&mut self, now: Instant, packet: QueuedPacket, next: Option<NodeId>) -> bool {
        let number = self.find_lane(&packet, next);
        self.last_lane = number;
        let shares_limit = self.rules.as_ref().is_some_and(|rules| rules.by_receiver.is_some());
        let is_full = shares_limit && !self.limit.admits(self.backlog(), packet.size);
        let lane = &mut self.lanes[number];
        if let Some(node) = next
            && lane.to.is_none()
        {
            lane.next_hops.push_back((packet.slot, node));
        }
        lane.queue.enqueue(now, packet, &mut self.drops);
        if is_full && let Some(lane) = self.lanes.iter_mut().max_by_key(|lane| lane.queue.backlog().bytes) {
            lane.queue.shed(&mut self.drops);
        }
        let accepted = !self.drops.iter().any(|(dropped, _)| dropped.slot == packet.slot);
        if accepted {
            self.stats.enqueued.add_packet(packet.size);
        }
        accepted
    }

    /// Takes the next packet out of a lane, with its next hop; drops are to be [taken](Self::take_drops).
    pub(crate) fn dequeue(&mut self, now: Instant, lane: usize) -> Option<(QueuedPacket, Option<NodeId>)> {
        let lane = self.lanes.get_mut(lane)?;
        let packet = lane.queue.dequeue(now, &mut self.drops)?;
        let next = lane.to.or_else(|| lane.take_next_hop(packet.slot));
        Some((packet, next))
    }

    /// The packets that wait for a neighbour leave the queue without being sent.
    pub(crate) fn flush(&mut self, neighbour: NodeId, is_salvage: bool) {
        for lane in &self.lanes {
            let waiting = lane.next_hops.iter().filter(|&&(_, next)| next == neighbour);
            self.flushed.extend(waiting.map(|&(slot, _)| (slot, is_salvage)));
            if lane.to == Some(neighbour) {
                lane.queue.visit(&mut |packet| {
                    self.flushed.insert(packet.slot, is_salvage);
                });
            }
        }
    }

    /// `Some` if a packet was flushed: whether it is to be routed anew.
    pub(crate) fn take_flushed(&mut self, slot: PacketSlot) -> Option<bool> {
        self.flushed.remove(&slot)
    }

    /// The packets that the discipline has dropped since the last call, in the order of their drops. The
    /// list is to be [given back](Self::reuse_drops).
    pub(crate) fn take_drops(&mut self) -> Vec<(QueuedPacket, DropReason)> {
        let drops = self.drops.take();
        for (packet, _) in &drops {
            let lanes = self.lanes.iter_mut().filter(|lane| lane.to.is_none());
            lanes.into_iter().find_map(|lane| lane.take_next_hop(packet.slot));
            self.flushed.remove(&packet.slot);
            self.stats.dropped.add_packet(packet.size);
        }
        drops
    }

    /// Keeps the memory of a list of drops that was processed.
    pub(crate) fn reuse_drops(&mut self, drops: Vec<(QueuedPacket, DropReason)>) {
        self.drops.reuse(drops);
    }
}
