//! The processor of a host: sending a packet takes time, and packets wait for it in a send queue.

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use super::{Count, QueueLimit};
use crate::NodeId;
use crate::events::EventSource;
use crate::packets::PacketSlot;

/// Cost of sending at a host, and its send queue in front of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostConfig {
    /// Processing time of a packet.
    pub send_cost: Duration,
    /// Further processing time per byte on the link.
    pub send_cost_per_byte: Duration,
    /// Limit of the send queue; it includes the packet being processed.
    pub queue: QueueLimit,
}

/// Counters of a host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HostStats {
    /// Packets that entered the send queue.
    pub accepted: Count,
    /// Packets that found it full.
    pub dropped: Count,
    /// Processing time of the accepted packets.
    pub busy: Duration,
}

/// A packet in the send queue.
struct Waiting {
    done: Instant,
    insertion: u64,
    slot: PacketSlot,
    size: u32,
}

/// A host with a limited processor.
pub(crate) struct Host {
    config: HostConfig,
    pub(crate) node: NodeId,
    pub(crate) source: EventSource,
    waiting: VecDeque<Waiting>,
    backlog: Count,
    /// End of the processing of the last accepted packet.
    idle_from: Instant,
    stats: HostStats,
}

impl Host {
    pub(crate) fn new(config: HostConfig, node: NodeId, source: EventSource) -> Self {
        Self {
            config,
            node,
            source,
            waiting: VecDeque::new(),
            backlog: Count::default(),
            idle_from: Instant::ZERO,
            stats: HostStats::default(),
        }
    }

    /// Accepts a packet, or returns `false` if the send queue is full. As in a drop-tail link, a packet that
    /// is longer than a limit in bytes is accepted into an empty queue.
    pub(crate) fn offer(&mut self, now: Instant, slot: PacketSlot, size: u32, insertion: u64) -> bool {
        let is_full = match self.config.queue {
            QueueLimit::Packets(packets) => self.backlog.packets >= u64::from(packets),
            QueueLimit::Bytes(bytes) => self.backlog.bytes + u64::from(size) > bytes,
            QueueLimit::Unlimited => false,
        };
        if is_full && self.backlog.packets > 0 {
            self.stats.dropped.add_packet(size);
            return false;
        }
        let cost = self.config.send_cost + self.config.send_cost_per_byte * u64::from(size);
        let done = self.idle_from.max(now) + cost;
        self.idle_from = done;
        self.backlog.add_packet(size);
        self.stats.accepted.add_packet(size);
        self.stats.busy += cost;
        self.waiting.push_back(Waiting { done, insertion, slot, size });
        true
    }

    /// Time and insertion number of the next packet that is processed.
    pub(crate) fn next(&self) -> Option<(Instant, u64)> {
        self.waiting.front().map(|first| (first.done, first.insertion))
    }

    /// Takes the packet that has been processed.
    pub(crate) fn take_first(&mut self) -> Option<PacketSlot> {
        let first = self.waiting.pop_front()?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(first.size);
        Some(first.slot)
    }

    pub(crate) fn stats(&self) -> HostStats {
        self.stats
    }
}
