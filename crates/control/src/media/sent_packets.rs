//! The sender's memory of packets in flight, joined with the receiver's reports.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{ByteCount, Duration, Instant};

use super::{Feedback, PacketReport, Reception, SentPacket};

#[cfg(test)]
mod tests;

/// A packet in the memory.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Remembered {
    packet: SentPacket,
    /// `true` if it was reported missing: it is no longer in flight, and may still arrive.
    missing: bool,
    /// `true` if its arrival was reported.
    arrived: bool,
}

/// The packets sent, and which of them were reported.
///
/// Memory is bounded: the oldest packets are forgotten beyond the limit, as if they had been reported.
#[derive(Clone, PartialEq, Debug)]
pub struct SentPackets {
    packets: VecDeque<Remembered>,
    limit: usize,
    in_flight: u64,
    reports: Vec<PacketReport>,
}

impl SentPackets {
    /// A memory of at most `limit` packets.
    pub fn new(limit: usize) -> Self {
        Self { packets: VecDeque::new(), limit: limit.max(1), in_flight: 0, reports: Vec::new() }
    }

    /// Bytes sent and not yet reported.
    pub fn in_flight(&self) -> ByteCount {
        ByteCount::new(self.in_flight)
    }

    /// Records a packet. Sequence numbers must be consecutive; a packet out of sequence empties the memory first.
    pub fn on_sent(&mut self, packet: SentPacket) {
        if self
            .packets
            .back()
            .is_some_and(|last| last.packet.sequence.checked_add(1) != Some(packet.sequence))
        {
            self.packets.clear();
            self.in_flight = 0;
        }
        if self.packets.len() >= self.limit {
            self.forget_oldest();
        }
        self.in_flight += packet.size.as_u64();
        self.packets.push_back(Remembered { packet, missing: false, arrived: false });
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.packets.pop_front()
            && !oldest.missing
            && !oldest.arrived
        {
            self.in_flight -= oldest.packet.size.as_u64();
        }
    }

    /// Joins a report that arrived at `now`: `receptions` are sequence numbers and receptions in ascending order, and
    /// `held` is the time from the newest arrival to the sending of the report.
    ///
    /// Packets that are unknown, or whose arrival was reported before, are left out.
    pub fn on_report(
        &mut self,
        now: Instant,
        receptions: impl IntoIterator<Item = (u64, Reception)>,
        held: Duration,
    ) -> Feedback<'_> {
        self.reports.clear();
        let mut newest: Option<(Instant, Instant)> = None;
        let first = self.packets.front().map_or(0, |oldest| oldest.packet.sequence);
        for (sequence, reception) in receptions {
            let index = sequence.checked_sub(first).and_then(|index| usize::try_from(index).ok());
            let Some(remembered) = index.and_then(|index| self.packets.get_mut(index)) else { continue };
            if remembered.arrived || (remembered.missing && reception == Reception::Missing) {
                continue;
            }
            if !remembered.missing {
                self.in_flight -= remembered.packet.size.as_u64();
            }
            match reception {
                Reception::Arrived { at, .. } => {
                    remembered.arrived = true;
                    if newest.is_none_or(|(latest, _)| latest <= at) {
                        newest = Some((at, remembered.packet.sent_at));
                    }
                }
                Reception::Missing => remembered.missing = true,
            }
            self.reports.push(PacketReport { sent: remembered.packet, reception });
        }
        while self.packets.front().is_some_and(|oldest| oldest.arrived) {
            self.packets.pop_front();
        }
        let rtt = newest.map(|(_, sent_at)| now.saturating_since(sent_at).saturating_sub(held));
        Feedback { now, packets: &self.reports, rtt, in_flight: self.in_flight() }
    }
}
