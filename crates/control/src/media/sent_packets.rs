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
    /// `true` if it was reported missing: it may still arrive.
    missing: bool,
    /// `true` if its arrival was reported.
    arrived: bool,
}

/// The packets sent, and which of them were reported.
///
/// A packet is in flight until a report covers it or a later one. The fate of a packet whose report was lost
/// stays unknown: it is no longer in flight, and the laws learn neither an arrival nor a loss, as after the
/// loss of a report the level of congestion is taken to have stayed the same (RFC 8888, Section 5).
///
/// Memory is bounded: the oldest packets are forgotten beyond the limit, as if they had been reported.
#[derive(Clone, PartialEq, Debug)]
pub struct SentPackets {
    packets: VecDeque<Remembered>,
    limit: usize,
    /// Packets of the memory up to the highest that a report covered: those after them are in flight.
    covered: usize,
    in_flight: u64,
    /// `true` if packets were taken out of flight since the last report.
    advanced: bool,
    reports: Vec<PacketReport>,
}

impl SentPackets {
    /// A memory of at most `limit` packets.
    pub fn new(limit: usize) -> Self {
        Self {
            packets: VecDeque::new(),
            limit: limit.max(1),
            covered: 0,
            in_flight: 0,
            advanced: false,
            reports: Vec::new(),
        }
    }

    /// Bytes of the packets that were sent after the highest that a report covered.
    pub fn in_flight(&self) -> ByteCount {
        ByteCount::new(self.in_flight)
    }

    /// Records a packet. Sequence numbers must be consecutive; a packet out of sequence empties the memory
    /// first.
    pub fn on_sent(&mut self, packet: SentPacket) {
        if self
            .packets
            .back()
            .is_some_and(|last| last.packet.sequence.checked_add(1) != Some(packet.sequence))
        {
            self.packets.clear();
            (self.covered, self.in_flight) = (0, 0);
        }
        if self.packets.len() >= self.limit {
            self.forget_oldest();
        }
        self.in_flight += packet.size.as_u64();
        self.packets.push_back(Remembered { packet, missing: false, arrived: false });
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.packets.pop_front() else { return };
        match self.covered.checked_sub(1) {
            Some(covered) => self.covered = covered,
            None => self.in_flight -= oldest.packet.size.as_u64(),
        }
    }

    fn index(&self, sequence: u64) -> Option<usize> {
        let first = self.packets.front()?.packet.sequence;
        usize::try_from(sequence.checked_sub(first)?).ok().filter(|index| *index < self.packets.len())
    }

    /// A report covers the packet `sequence`: it and those before it are no longer in flight.
    ///
    /// [`on_report`](Self::on_report) does this for the packets of which it is given the receptions. A packet
    /// that arrived at a time that the report could not state has no reception, and still counts as covered.
    pub fn cover(&mut self, sequence: u64) {
        let Some(index) = self.index(sequence) else { return };
        if index < self.covered {
            return;
        }
        let newly = self.packets.range(self.covered..=index);
        self.in_flight -= newly.map(|remembered| remembered.packet.size.as_u64()).sum::<u64>();
        (self.covered, self.advanced) = (index + 1, true);
    }

    /// Joins a report that arrived at `now`: `receptions` are sequence numbers and receptions in ascending
    /// order, and `held` is the time from the newest arrival to the sending of the report. `None` if the
    /// report says nothing new, as the copy of one that arrived before.
    ///
    /// Packets that are unknown, or whose arrival was reported before, are left out.
    pub fn on_report(
        &mut self,
        now: Instant,
        receptions: impl IntoIterator<Item = (u64, Reception)>,
        held: Duration,
    ) -> Option<Feedback<'_>> {
        self.reports.clear();
        let mut newest: Option<(Instant, Instant)> = None;
        for (sequence, reception) in receptions {
            self.cover(sequence);
            let Some(remembered) = self.index(sequence).and_then(|index| self.packets.get_mut(index)) else {
                continue;
            };
            if remembered.arrived || (remembered.missing && reception == Reception::Missing) {
                continue;
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
            self.forget_oldest();
        }
        let has_news = core::mem::take(&mut self.advanced) || !self.reports.is_empty();
        let rtt = newest.map(|(_, sent_at)| now.saturating_since(sent_at).saturating_sub(held));
        has_news.then(|| Feedback { now, packets: &self.reports, rtt, in_flight: self.in_flight() })
    }
}
