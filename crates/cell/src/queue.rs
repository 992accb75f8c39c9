//! The queue of a bearer: a limit, a discard timer and marks.
//!
//! A cell has a queue for each bearer, so that users do not wait behind each other, but all flows of a user
//! do.

use alloc::collections::VecDeque;

use whimbrel_units::random::{Random, SplitMix64};
use whimbrel_units::{ByteCount, Duration, Ecn, Instant};

use crate::packet::Packet;

/// Marks of packets of L4S (ECT(1)) by their wait in the queue, without the waits of repetitions and grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ramp {
    /// Up to this wait none is marked: 4 ms in an operator's test bed.
    pub free: Duration,
    /// From this wait on all are marked, and in between a share that grows linearly: 14 ms.
    pub full: Duration,
}

impl Ramp {
    /// The share of the packets to be marked at a wait.
    pub fn share(&self, wait: Duration) -> f64 {
        if wait >= self.full {
            1.0
        } else {
            wait.saturating_sub(self.free) / (self.full.saturating_sub(self.free))
        }
    }
}

/// What a queue does to its packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QueueConfig {
    /// The most bytes; a packet that does not fit is dropped. Operators' queues hold megabytes.
    pub limit: ByteCount,
    /// PDCP's discard timer: a packet that has waited so long is not sent. `None` for never.
    pub discard: Option<Duration>,
    /// Marks; `None` for none.
    pub marks: Option<Ramp>,
}

/// Why a packet was dropped by a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueDrop {
    /// The queue was full.
    Full,
    /// The discard timer has expired.
    Discarded,
    /// The terminal has left the cell, which does not forward.
    Left,
}

/// The queue of a bearer, first in, first out.
#[derive(Clone, PartialEq, Debug)]
pub struct BearerQueue {
    config: QueueConfig,
    packets: VecDeque<(Instant, Packet)>,
    bytes: ByteCount,
    drops: VecDeque<(Packet, QueueDrop)>,
    random: SplitMix64,
}

impl BearerQueue {
    /// An empty queue, whose marks are drawn from this seed.
    pub const fn new(config: QueueConfig, seed: u64) -> Self {
        Self {
            config,
            packets: VecDeque::new(),
            bytes: ByteCount::new(0),
            drops: VecDeque::new(),
            random: SplitMix64::new(seed),
        }
    }

    /// Bytes that wait.
    pub const fn bytes(&self) -> ByteCount {
        self.bytes
    }

    /// `true` if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// A packet arrives.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) {
        if self.bytes + packet.size > self.config.limit {
            self.drops.push_back((packet, QueueDrop::Full));
        } else {
            self.bytes += packet.size;
            self.packets.push_back((now, packet));
        }
    }

    /// Discards the packets whose timer has expired.
    pub fn handle_timeout(&mut self, now: Instant) {
        while self.poll_timeout().is_some_and(|deadline| deadline <= now) {
            let Some((_, packet)) = self.packets.pop_front() else { return };
            self.bytes = self.bytes - packet.size;
            self.drops.push_back((packet, QueueDrop::Discarded));
        }
    }

    /// Drops all packets: the terminal has left a cell that does not forward.
    pub fn clear(&mut self) {
        self.bytes = ByteCount::new(0);
        self.drops.extend(self.packets.drain(..).map(|(_, packet)| (packet, QueueDrop::Left)));
    }

    /// When the first packet is discarded.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let (arrival, _) = self.packets.front()?;
        self.config.discard.map(|discard| *arrival + discard)
    }

    /// The next packet to be sent, marked by its wait.
    pub fn poll_packet(&mut self, now: Instant) -> Option<Packet> {
        self.handle_timeout(now);
        let (arrival, mut packet) = self.packets.pop_front()?;
        self.bytes = self.bytes - packet.size;
        if let Some(ramp) = self.config.marks
            && packet.ecn == Ecn::Ect1
            && self.random.uniform() < ramp.share(now - arrival)
        {
            packet.ecn = Ecn::Ce;
        }
        Some(packet)
    }

    /// The next packet that was dropped.
    pub fn poll_drop(&mut self) -> Option<(Packet, QueueDrop)> {
        self.drops.pop_front()
    }
}

#[cfg(test)]
mod tests;
