//! The queue of a link whose discipline decides when the transmitter becomes free.

use whimbrel_units::Instant;

use super::{Link, State};
use crate::DownPolicy;
use crate::events::EventSource;
use crate::network::Count;
use crate::packets::{ControllerId, PacketSlot};
use crate::queue::{DropReason, Drops, QueueDiscipline, QueuedPacket};
use whimbrel_units::Ecn;

/// A discipline and what it has dropped in its last call.
pub(crate) struct ManagedQueue {
    /// Of the end of the transmission that the next packet waits for.
    pub(crate) source: EventSource,
    discipline: Box<dyn QueueDiscipline>,
    drops: Drops,
    /// Number of the controller that sees the packets.
    pub(crate) controller: Option<ControllerId>,
}

impl ManagedQueue {
    pub(crate) fn new(discipline: Box<dyn QueueDiscipline>, source: EventSource) -> Self {
        Self { source, discipline, drops: Drops::default(), controller: None }
    }

    pub(crate) fn backlog(&self) -> Count {
        self.discipline.backlog()
    }
}

impl Link {
    /// The number of packets at the link from which [`Link::offer`] looks closer; 0 if each packet needs it.
    pub(super) fn usual_look_at(&self) -> u64 {
        if self.managed.is_some() { 0 } else { self.limit_packets.min(self.mark_at) }
    }

    pub(crate) fn set_managed(&mut self, managed: ManagedQueue) {
        self.managed = Some(Box::new(managed));
        self.look_at = self.usual_look_at();
    }

    /// Hands an offered packet to the discipline. Returns why this packet was dropped, if it was; the drops
    /// are to be [taken](Link::take_drops).
    pub(crate) fn enqueue(&mut self, now: Instant, packet: QueuedPacket) -> Option<DropReason> {
        let managed = self.managed.as_mut()?;
        managed.discipline.enqueue(now, packet, &mut managed.drops);
        let own = managed.drops.iter().find(|(dropped, _)| dropped.slot == packet.slot);
        own.map(|&(_, reason)| reason)
    }

    /// Takes the next packet to transmit from the discipline, if the transmitter is free. `ecn` is the
    /// codepoint that packets have in the packet store, to see which of them have been marked.
    pub(crate) fn next_for_service(
        &mut self,
        now: Instant,
        ecn: impl Fn(PacketSlot) -> Ecn,
    ) -> Option<QueuedPacket> {
        if self.idle_from > now {
            return None;
        }
        let managed = self.managed.as_mut()?;
        let packet = managed.discipline.dequeue(now, &mut managed.drops)?;
        if packet.ecn == Ecn::Ce && ecn(packet.slot) != Ecn::Ce {
            self.tally.marked.add_packet(packet.size);
        }
        Some(packet)
    }

    /// The time to ask for the next packet: at the end of the present transmission, if something waits.
    pub(crate) fn next_service(&self) -> Option<Instant> {
        let waits = self.managed.as_ref().is_some_and(|managed| managed.backlog().packets > 0);
        let serves = matches!(self.state, State::Up) && self.idle_from < Instant::FAR_FUTURE;
        (waits && serves).then_some(self.idle_from)
    }

    /// The packets that the discipline has dropped since the last call, in the order of their drops.
    pub(crate) fn take_drops(&mut self) -> Vec<(QueuedPacket, DropReason)> {
        let Some(managed) = &mut self.managed else { return Vec::new() };
        let drops = managed.drops.take();
        for (packet, _) in &drops {
            self.tally.dropped.add_packet(packet.size);
        }
        drops
    }

    /// Empties the discipline of a link that has gone down and does not hold packets. Returns their slots.
    pub(super) fn flush_managed(&mut self, now: Instant) -> Vec<PacketSlot> {
        let Some(managed) = &mut self.managed else { return Vec::new() };
        if !matches!(self.state, State::Down(DownPolicy::DropQueue | DownPolicy::DropAll)) {
            return Vec::new();
        }
        let mut lost = Vec::new();
        while let Some(packet) = managed.discipline.dequeue(now, &mut managed.drops) {
            lost.push(packet);
        }
        lost.extend(managed.drops.take().into_iter().map(|(packet, _)| packet));
        for packet in &lost {
            self.tally.enqueued.add_packet(packet.size);
            self.tally.flushed.add_packet(packet.size);
        }
        lost.into_iter().map(|packet| packet.slot).collect()
    }
}
