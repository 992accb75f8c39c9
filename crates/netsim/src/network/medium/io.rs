//! The interface between a medium and the network.

use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::{Duration, Instant};

use super::station::Station;
use super::{FrameReport, MediumLoss, Observation};
use crate::capture::OnAir;
use crate::packets::{Header, PacketSlot};
use crate::queue::{DropReason, FlowKey, QueuedPacket};
use crate::{Count, Ecn, NodeId, PacketId, StationIndex};

/// A packet that the medium has taken from a station's queue.
#[derive(PartialEq, Eq, Debug)]
#[must_use = "a frame that is neither delivered nor lost nor released stays in the network for ever"]
pub struct TakenPacket {
    /// The station that sends it.
    pub sender: StationIndex,
    /// The station that is to receive it; `None` for a broadcast.
    pub receiver: Option<StationIndex>,
    /// The packet's number.
    pub packet: PacketId,
    /// The packet's flow.
    pub flow: FlowKey,
    /// Bytes of the packet.
    pub size: u32,
    /// The ECN codepoint, which the medium may mark.
    pub ecn: Ecn,
    pub(crate) slot: PacketSlot,
}

/// A lane of a station, as the medium sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    /// The class of its packets.
    pub class: u8,
    /// The station that all of its packets are for, if each receiver has a lane; `None` for broadcasts.
    pub receiver: Option<StationIndex>,
    /// Packets and bytes that wait.
    pub backlog: Count,
}

/// A consequence of a call of a medium.
#[derive(Debug)]
pub(crate) enum Effect {
    /// A packet has left a station's queue.
    Taken { slot: PacketSlot, station: StationIndex },
    /// A station's discipline has dropped a packet.
    Dropped { slot: PacketSlot, station: StationIndex, reason: DropReason },
    /// A packet has left a station's queue without being sent, to be routed anew or to be lost.
    Flushed { slot: PacketSlot, station: StationIndex, is_salvage: bool },
    /// A packet of one station has reached another.
    Deliver { slot: PacketSlot, ecn: Ecn, from: StationIndex, to: StationIndex },
    /// A copy of a packet has reached a station.
    DeliverCopy { slot: PacketSlot, ecn: Ecn, to: StationIndex },
    /// A packet to a station, or a broadcast, was lost.
    Lose { slot: PacketSlot, station: StationIndex, to: Option<StationIndex>, cause: MediumLoss },
    /// A frame that is captured is transmitted.
    OnAir(Box<OnAir>),
    /// A broadcast has ended.
    Release { slot: PacketSlot },
    /// A station has observed something.
    Observe { station: StationIndex, observation: Observation },
    /// Other stations reach each other than before.
    RoutesChanged,
}

/// The stations of a medium and the effects of a call.
pub struct MediumIo<'a> {
    pub(crate) now: Instant,
    /// Nothing else happens in the network before this time.
    pub(crate) horizon: Instant,
    /// Number of times that the call has moved the time on.
    pub(crate) steps: u64,
    pub(crate) stations: &'a mut [Station],
    /// Stations by node.
    pub(crate) numbers: &'a BTreeMap<NodeId, StationIndex>,
    pub(crate) headers: &'a mut [Header],
    pub(crate) effects: &'a mut VecDeque<Effect>,
}

impl MediumIo<'_> {
    /// The number of stations.
    pub fn stations(&self) -> usize {
        self.stations.len()
    }

    /// Moves the time of a call of [`handle_timeout`](super::Medium::handle_timeout) on to the time of the
    /// next timeout, which the medium then handles in the same call. Returns `false` if something else may
    /// happen before, or if the call has had effects: the medium returns then.
    #[inline]
    pub fn advance(&mut self, to: Instant) -> bool {
        let advances = to < self.horizon && self.may_advance();
        if advances {
            self.step(to, 1);
        }
        advances
    }

    /// `true` if the call has had no effects so far.
    #[inline]
    pub(crate) fn may_advance(&self) -> bool {
        self.effects.is_empty()
    }

    /// Moves the time on to `to` in a number of steps, between which nothing else happens.
    #[inline]
    pub(crate) fn step(&mut self, to: Instant, steps: u64) {
        self.now = to;
        self.steps += steps;
    }

    /// The node of a station.
    pub fn node(&self, station: StationIndex) -> NodeId {
        self.stations[station.index()].node
    }

    /// The first station of a node.
    pub(crate) fn station(&self, node: NodeId) -> Option<StationIndex> {
        self.numbers.get(&node).copied()
    }

    /// Packets and bytes that wait at a station.
    pub fn backlog(&self, station: StationIndex) -> Count {
        self.stations[station.index()].backlog()
    }

    /// `true` if a station's queue had room for `size` further bytes if it also held `others` packets, whose
    /// bytes do not count.
    pub(crate) fn has_room(&self, station: StationIndex, others: u64, size: u32) -> bool {
        let mut backlog = self.backlog(station);
        backlog.packets += others;
        self.stations[station.index()].limit().admits(backlog, size)
    }

    /// Takes the next packet out of a lane that was not flushed, with its next hop.
    fn dequeue(&mut self, station: StationIndex, lane: usize) -> Option<(QueuedPacket, Option<NodeId>)> {
        loop {
            let from = &mut self.stations[station.index()];
            let taken = from.dequeue(self.now, lane);
            let drops = from.take_drops();
            for &(packet, reason) in &drops {
                self.effects.push_back(Effect::Dropped { slot: packet.slot, station, reason });
            }
            from.reuse_drops(drops);
            let (packet, next) = taken?;
            let Some(is_salvage) = from.take_flushed(packet.slot) else { return Some((packet, next)) };
            from.stats.dropped.add_packet(packet.size);
            let (slot, station) = (packet.slot, station);
            self.effects.push_back(Effect::Flushed { slot, station, is_salvage });
        }
    }

    /// Takes the next packet to send from a station whose packets wait in one queue; `None` if none is left.
    pub fn take(&mut self, station: StationIndex) -> Option<TakenPacket> {
        self.take_from(station, 0)
    }

    /// Number of a station's [lanes](super::Lanes).
    pub fn lanes(&self, station: StationIndex) -> usize {
        self.stations[station.index()].lanes()
    }

    /// The lane that the station's last packet was queued in.
    pub fn last_lane(&self, station: StationIndex) -> usize {
        self.stations[station.index()].last_lane()
    }

    /// State of a lane's packets.
    pub fn lane(&self, station: StationIndex, lane: usize) -> Lane {
        let (class, to, backlog) = self.stations[station.index()].lane(lane);
        let receiver = to.and_then(|node| self.station(node));
        Lane { class, receiver, backlog }
    }

    /// Takes the next packet to send from a lane of a station; `None` if none is left.
    pub fn take_from(&mut self, station: StationIndex, lane: usize) -> Option<TakenPacket> {
        let (packet, next) = self.dequeue(station, lane)?;
        let receiver = next.and_then(|node| self.station(node));
        Some(self.frame(station, packet, receiver))
    }

    /// Takes a packet that was to be queued at a station.
    pub(crate) fn take_offered(
        &mut self,
        station: StationIndex,
        packet: QueuedPacket,
        receiver: StationIndex,
    ) -> TakenPacket {
        self.stations[station.index()].stats.enqueued.add_packet(packet.size);
        self.frame(station, packet, Some(receiver))
    }

    fn frame(
        &mut self,
        station: StationIndex,
        packet: QueuedPacket,
        receiver: Option<StationIndex>,
    ) -> TakenPacket {
        self.stations[station.index()].stats.taken.add_packet(packet.size);
        let header = &mut self.headers[packet.slot.index()];
        header.ecn = packet.ecn;
        self.effects.push_back(Effect::Taken { slot: packet.slot, station });
        TakenPacket {
            sender: station,
            receiver,
            packet: header.id,
            flow: packet.flow,
            size: packet.size,
            ecn: packet.ecn,
            slot: packet.slot,
        }
    }

    /// A packet has reached a station, whose node delivers it or forwards it.
    pub fn deliver(&mut self, frame: TakenPacket, to: StationIndex) {
        let TakenPacket { slot, ecn, sender, .. } = frame;
        self.effects.push_back(Effect::Deliver { slot, ecn, from: sender, to });
    }

    /// A broadcast has reached one of several stations, whose node delivers a copy.
    pub fn deliver_copy(&mut self, frame: &TakenPacket, to: StationIndex) {
        self.effects.push_back(Effect::DeliverCopy { slot: frame.slot, ecn: frame.ecn, to });
    }

    /// The medium has lost a packet: it did not reach its receiver.
    pub fn lose(&mut self, frame: TakenPacket, cause: MediumLoss) {
        let (station, to) = (frame.sender, frame.receiver);
        self.effects.push_back(Effect::Lose { slot: frame.slot, station, to, cause });
    }

    /// A station begins to transmit a frame that is to be captured.
    pub(crate) fn capture(&mut self, on_air: OnAir) {
        self.effects.push_back(Effect::OnAir(Box::new(on_air)));
    }

    /// A broadcast has ended: all copies have been delivered.
    pub fn release(&mut self, frame: TakenPacket) {
        self.effects.push_back(Effect::Release { slot: frame.slot });
    }

    /// Hands an observation to the agents and the controller of a station.
    pub fn observe(&mut self, station: StationIndex, observation: Observation) {
        self.effects.push_back(Effect::Observe { station, observation });
    }

    /// Has the routes computed again: the result of [`Medium::reaches`](super::Medium::reaches) has changed.
    pub fn change_routes(&mut self) {
        self.effects.push_back(Effect::RoutesChanged);
    }

    /// The report on a frame that was sent `attempts` times and whose service took this time.
    pub fn report(&self, frame: &TakenPacket, attempts: u32, service: Duration) -> FrameReport {
        FrameReport {
            packet: frame.packet,
            flow: frame.flow,
            size: frame.size,
            to: frame.receiver.map(|station| self.node(station)),
            attempts,
            service,
        }
    }
}
