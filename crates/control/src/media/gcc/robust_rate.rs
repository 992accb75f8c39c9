//! The acknowledged rate of a window of packets, without its largest gap, and not above the rate of sending.

use alloc::collections::VecDeque;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use crate::media::PacketReport;

/// Packets and time that the window holds at least, if it is not at its limits.
const PACKETS: usize = 20;
const TIME: Duration = Duration::from_secs(1);
/// Most packets and longest time.
const MOST_PACKETS: usize = 500;
const LONGEST: Duration = Duration::from_secs(5);
/// Packets without which there is no estimate.
const REQUIRED: usize = 10;
/// Disorder from which the window is void.
const REORDERING: Duration = Duration::from_secs(1);
/// Least time of sending or arrival.
const SHORTEST: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, PartialEq, Debug)]
struct Packet {
    sent: Instant,
    arrival: Instant,
    size: ByteCount,
}

/// The estimate.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RobustRate {
    /// In the order of arrival.
    window: VecDeque<Packet>,
    /// Latest sending time of a packet that has left the window.
    discarded: Instant,
    rate: Option<DataRate>,
}

impl RobustRate {
    pub(super) const fn new() -> Self {
        Self { window: VecDeque::new(), discarded: Instant::ZERO, rate: None }
    }

    /// Records the packets of a report that arrived.
    pub(super) fn record(&mut self, packets: &[PacketReport]) {
        for packet in packets {
            let Some(arrival) = packet.arrival() else { continue };
            self.insert(Packet { sent: packet.sent.sent_at, arrival, size: packet.sent.size });
        }
        while self.is_first_outside() {
            let Some(first) = self.window.pop_front() else { break };
            self.discarded = self.discarded.max(first.sent);
        }
        self.rate = self.compute();
    }

    fn insert(&mut self, packet: Packet) {
        self.window.push_back(packet);
        let mut index = self.window.len() - 1;
        while index > 0 && self.window[index].arrival < self.window[index - 1].arrival {
            self.window.swap(index, index - 1);
            index -= 1;
        }
        let newest = self.window.back().map_or(packet.arrival, |newest| newest.arrival);
        if newest.saturating_since(packet.arrival) > REORDERING {
            self.window.clear();
            self.discarded = Instant::ZERO;
        }
        // A report on very many packets must not fill the memory.
        if self.window.len() > 2 * MOST_PACKETS {
            self.window.pop_front();
        }
    }

    fn is_first_outside(&self) -> bool {
        let (Some(first), Some(last)) = (self.window.front(), self.window.back()) else { return false };
        let time = last.arrival.saturating_since(first.arrival);
        let packets = self.window.len();
        packets > MOST_PACKETS || time > LONGEST || (packets > PACKETS && time > TIME)
    }

    fn compute(&self) -> Option<DataRate> {
        let (Some(first), Some(last)) = (self.window.front(), self.window.back()) else { return None };
        if self.window.len() < REQUIRED {
            return None;
        }
        // A gap in the arrivals with a burst after it does not lower the rate: it counts as the second
        // largest.
        let (mut largest, mut second) = (Duration::ZERO, Duration::ZERO);
        for (before, after) in self.window.iter().zip(self.window.iter().skip(1)) {
            let gap = after.arrival.saturating_since(before.arrival);
            if gap > largest {
                (largest, second) = (gap, largest);
            } else if gap > second {
                second = gap;
            }
        }
        let time = last.arrival.saturating_since(first.arrival).saturating_sub(largest) + second;
        let size: ByteCount = self.window.iter().map(|packet| packet.size).sum();
        // The first packet was transmitted before the time began.
        let arrived = (size - first.size) / time.max(SHORTEST);
        Some(self.sending_rate().map_or(arrived, |sent| sent.min(arrived)))
    }

    /// Rate of sending the packets that were not sent before those which left the window.
    fn sending_rate(&self) -> Option<DataRate> {
        let mut sent = self.window.iter().filter(|packet| packet.sent >= self.discarded);
        let packet = *sent.next()?;
        let (mut first, mut last, mut size, mut packets) = (packet.sent, packet, packet.size, 1);
        for packet in sent {
            first = first.min(packet.sent);
            if packet.sent > last.sent {
                last = *packet;
            }
            size += packet.size;
            packets += 1;
        }
        let time = last.sent.saturating_since(first).max(SHORTEST);
        // The last packet was transmitted after the time ended.
        (packets >= REQUIRED).then(|| (size - last.size) / time)
    }

    /// The estimate; `None` while there are too few packets.
    pub(super) const fn rate(&self) -> Option<DataRate> {
        self.rate
    }
}

#[cfg(test)]
mod tests;
