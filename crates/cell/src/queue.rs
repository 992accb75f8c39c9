//! The queue of a bearer: a limit, a discard timer and marks.
//!
//! A cell has a queue for each bearer, so that users do not wait behind each other, but all flows of a user
//! do.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::fmt;

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

/// Treatment of a queue's packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QueueConfig {
    /// The most bytes; a packet that does not fit is dropped. Operators' queues hold megabytes.
    pub limit: ByteCount,
    /// PDCP's discard timer: a packet that has waited so long is not sent. `None` for never.
    pub discard: Option<Duration>,
    /// Marks; `None` for none.
    pub marks: Option<Ramp>,
}

/// Reason of a queue's drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueDrop {
    /// The queue was full.
    Full,
    /// The queue's management dropped it.
    Early,
    /// The discard timer has expired.
    Discarded,
    /// The terminal has left the cell, which does not forward.
    Left,
}

/// A queue that drops or marks packets by rules of its own, in place of the first-in-first-out one with the
/// rules of a [`QueueConfig`].
pub trait Management: Send + fmt::Debug {
    /// A packet arrives; it is queued or dropped.
    fn handle_packet(&mut self, now: Instant, packet: Packet, drops: &mut VecDeque<(Packet, QueueDrop)>);

    /// The next packet to be sent.
    fn poll_packet(&mut self, now: Instant, drops: &mut VecDeque<(Packet, QueueDrop)>) -> Option<Packet>;

    /// Bytes that wait.
    fn bytes(&self) -> ByteCount;
}

/// The queue of a bearer, first in, first out unless it is [managed](Management).
#[derive(Debug)]
pub struct BearerQueue {
    config: QueueConfig,
    management: Option<Box<dyn Management>>,
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
            management: None,
            packets: VecDeque::new(),
            bytes: ByteCount::new(0),
            drops: VecDeque::new(),
            random: SplitMix64::new(seed),
        }
    }

    /// Has an empty queue managed.
    pub fn manage(&mut self, management: Box<dyn Management>) {
        self.management = Some(management);
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> ByteCount {
        self.management.as_ref().map_or(self.bytes, |management| management.bytes())
    }

    /// `true` if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.bytes() == ByteCount::new(0)
    }

    /// A packet arrives.
    pub fn handle_packet(&mut self, now: Instant, packet: Packet) {
        if let Some(management) = &mut self.management {
            management.handle_packet(now, packet, &mut self.drops);
        } else if self.bytes + packet.size > self.config.limit {
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
    pub fn clear(&mut self, now: Instant) {
        while let Some(packet) = self.management.as_mut().and_then(|it| it.poll_packet(now, &mut self.drops))
        {
            self.drops.push_back((packet, QueueDrop::Left));
        }
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
        if let Some(management) = &mut self.management {
            return management.poll_packet(now, &mut self.drops);
        }
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
