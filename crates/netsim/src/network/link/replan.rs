//! Changes of a link that has packets.
//!
//! Packets that have departed keep their arrival; those that wait get a new departure. The packet in service
//! goes on with the bits it has left when the rate changes, and starts from its beginning when the link comes
//! back up, or when its transmission began on a delivery trace, which does not define the part that has been
//! sent.

use whimbrel_units::{Duration, Instant};

use super::transmitter::Transmitter;
use super::{Link, LinkRate, State};
use crate::DownPolicy;
use crate::network::Count;
use crate::packets::PacketSlot;

impl Link {
    pub(crate) fn set_rate(&mut self, now: Instant, rate: LinkRate) {
        self.settle(now);
        let first = self.packets.get(self.departed).map(|first| first.departure);
        let bits = self
            .stalled_bits
            .take()
            .or_else(|| first.and_then(|departure| self.transmitter.bits_left(now, departure)));
        self.delay -= self.transmitter.base_delay();
        self.transmitter = Transmitter::new(rate);
        self.replan(now, bits);
        let stands_still =
            self.packets.get(self.departed).is_some_and(|first| first.departure == Instant::FAR_FUTURE);
        self.stalled_bits = if stands_still { bits } else { None };
    }

    /// Packets under way keep the old delay. A shorter one does not let later packets overtake them.
    pub(crate) fn set_delay(&mut self, now: Instant, delay: Duration) {
        self.settle(now);
        let delay = delay + self.transmitter.base_delay();
        self.delay = delay;
        let mut last_arrival = self.arrival_of_departed(now);
        for packet in self.packets.range_mut(self.departed..) {
            packet.arrival = (packet.departure + delay).max(last_arrival);
            last_arrival = packet.arrival;
        }
        self.last_arrival = last_arrival;
    }

    /// Returns the slots of the packets that are lost.
    pub(crate) fn take_down(&mut self, now: Instant, policy: DownPolicy) -> Vec<PacketSlot> {
        self.settle(now);
        let in_service = usize::from(!self.is_held() && self.departed < self.packets.len());
        self.state = State::Down(policy);
        self.look_at = 0;
        match policy {
            DownPolicy::Hold => {
                self.stalled_bits = None;
                self.replan(now, None);
                Vec::new()
            }
            DownPolicy::DropQueue => {
                let kept = self.departed + in_service;
                let mut lost = self.remove_from(kept);
                lost.extend(self.flush_managed(now));
                self.idle_from = if in_service == 1 { self.packets[kept - 1].departure } else { now };
                self.last_arrival = self.packets.back().map_or(now, |last| last.arrival);
                self.transmitter.restart(self.idle_from);
                lost
            }
            DownPolicy::DropAll => {
                self.stalled_bits = None;
                let mut lost = self.remove_from(0);
                lost.extend(self.flush_managed(now));
                self.idle_from = now;
                self.last_arrival = now;
                self.transmitter.restart(now);
                lost
            }
        }
    }

    pub(crate) fn bring_up(&mut self, now: Instant) {
        let was_held = self.is_held();
        self.state = State::Up;
        self.look_at = self.usual_look_at();
        if was_held {
            self.settle(now);
            self.replan(now, None);
        }
    }

    /// Plans everything that waits anew from `now`; of the first one only `bits` are left, if given.
    fn replan(&mut self, now: Instant, mut bits: Option<f64>) {
        let held = self.is_held();
        let mut last_arrival = self.arrival_of_departed(now);
        self.idle_from = now;
        self.transmitter.restart(now);
        for packet in self.packets.range_mut(self.departed..) {
            packet.departure = match bits.take() {
                _ if held => Instant::FAR_FUTURE,
                Some(bits) => self.transmitter.departure_of_bits(now, bits),
                None => self.transmitter.departure(now, self.idle_from, packet.size, &mut self.delay),
            };
            self.idle_from = packet.departure;
            packet.arrival = (packet.departure + self.delay).max(last_arrival);
            last_arrival = packet.arrival;
        }
        self.last_arrival = last_arrival;
    }

    /// The last arrival that is settled: of the packets under way, or else not before now.
    fn arrival_of_departed(&self, now: Instant) -> Instant {
        self.departed.checked_sub(1).map_or(now, |last| self.packets[last].arrival)
    }

    /// Removes the packets from this position on.
    fn remove_from(&mut self, position: usize) -> Vec<PacketSlot> {
        let departed = self.departed;
        let mut lost = Vec::with_capacity(self.packets.len() - position);
        for (index, packet) in self.packets.drain(position..).enumerate() {
            if position + index < departed {
                self.tally.severed.add_packet(packet.size);
            } else {
                self.tally.flushed.add_packet(packet.size);
                self.queued -= Count { packets: 1, bytes: u64::from(packet.size) };
            }
            lost.push(packet.slot);
        }
        self.departed = departed.min(position);
        lost
    }
}

#[cfg(test)]
mod tests;
