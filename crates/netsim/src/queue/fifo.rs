//! Packets in the order of their arrival: what the other disciplines are made of, and drop-tail itself.

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use super::{DropReason, Drops, QueueDiscipline, QueuedPacket};
use crate::{Count, QueueLimit};

/// Packets and their sum.
#[derive(Default)]
pub(super) struct Fifo {
    packets: VecDeque<QueuedPacket>,
    backlog: Count,
}

impl Fifo {
    pub(super) fn push(&mut self, packet: QueuedPacket) {
        self.backlog.add_packet(packet.size);
        self.packets.push_back(packet);
    }

    pub(super) fn pop(&mut self) -> Option<QueuedPacket> {
        let packet = self.packets.pop_front()?;
        self.backlog -= Count { packets: 1, bytes: u64::from(packet.size) };
        Some(packet)
    }

    /// Takes the packet that came last.
    pub(super) fn pop_last(&mut self) -> Option<QueuedPacket> {
        let packet = self.packets.pop_back()?;
        self.backlog -= Count { packets: 1, bytes: u64::from(packet.size) };
        Some(packet)
    }

    pub(super) fn backlog(&self) -> Count {
        self.backlog
    }

    /// Waiting time of the first packet at `now`; zero if there is none.
    pub(super) fn head_delay(&self, now: Instant) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |head| now.saturating_since(head.arrival))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedPacket> {
        self.packets.iter()
    }

    pub(super) fn head(&self) -> Option<&QueuedPacket> {
        self.packets.front()
    }
}

impl QueueLimit {
    /// Returns `true` if a packet of this size fits behind the backlog. An empty queue takes any packet.
    pub(crate) fn admits(self, backlog: Count, size: u32) -> bool {
        backlog.packets == 0
            || match self {
                Self::Packets(limit) => backlog.packets < u64::from(limit),
                Self::Bytes(limit) => backlog.bytes.saturating_add(u64::from(size)) <= limit,
                Self::Unlimited => true,
            }
    }
}

/// A FIFO that refuses what does not fit, as a discipline that is asked for each packet.
///
/// Links implement drop-tail without it and faster; this one serves where a discipline is wanted as an
/// object, and to check one against the other.
pub struct DropTail {
    limit: QueueLimit,
    fifo: Fifo,
}

impl DropTail {
    /// A queue for what waits, without the packet being transmitted.
    pub fn new(limit: QueueLimit) -> Self {
        Self { limit, fifo: Fifo::default() }
    }
}

impl QueueDiscipline for DropTail {
    fn enqueue(&mut self, _: Instant, packet: QueuedPacket, drops: &mut Drops) {
        if self.limit.admits(self.fifo.backlog(), packet.size) {
            self.fifo.push(packet);
        } else {
            drops.push(packet, DropReason::Overflow);
        }
    }

    fn dequeue(&mut self, _: Instant, _: &mut Drops) -> Option<QueuedPacket> {
        self.fifo.pop()
    }

    fn backlog(&self) -> Count {
        self.fifo.backlog()
    }

    fn evict(&mut self) -> Option<QueuedPacket> {
        self.fifo.pop_last()
    }
}
