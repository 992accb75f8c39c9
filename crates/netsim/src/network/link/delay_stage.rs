//! Delay stage at a link's end: each packet is delayed by a time of its own.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use whimbrel_units::{Duration, Instant};

use crate::delay_variation::DelayVariation;
use crate::events::EventSource;
use crate::netem::Netem;
use crate::network::Count;
use crate::packets::FlowId;
use crate::packets::PacketSlot;
use crate::trace::DelayTrace;

/// A delayed packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DelayedPacket {
    until: Instant,
    /// Distinguishes packets of the same time.
    insertion: u64,
    slot: PacketSlot,
    size: u32,
}

/// The source of the delays.
pub(crate) enum Delays {
    /// Independent of each other, so that packets may overtake; with a limit of packets.
    Netem(Netem, usize),
    /// In the order of each flow.
    Ordered(DelayVariation),
    /// As recorded, in the order of the link.
    Recorded(RecordedDelays),
}

/// Delays that follow a trace. Its least delay is the link's own: a packet is delayed by the rest.
pub(crate) struct RecordedDelays {
    trace: DelayTrace,
    last_release: Instant,
}

impl RecordedDelays {
    pub(crate) const fn new(trace: DelayTrace) -> Self {
        Self { trace, last_release: Instant::ZERO }
    }

    /// Time at which a packet leaves that arrives now. A shorter delay does not let it overtake the one
    /// before it.
    fn release(&mut self, now: Instant) -> Instant {
        let least = self.trace.least();
        let rest: Duration = self.trace.at(now.saturating_sub(least)) - least;
        self.last_release = self.last_release.max(now + rest);
        self.last_release
    }
}

/// Delayed packets, at the far end of the link.
pub(crate) struct DelayStage {
    /// Event of the first release.
    pub(crate) source: EventSource,
    delays: Delays,
    packets: BinaryHeap<Reverse<DelayedPacket>>,
    present: Count,
    refused: Count,
    duplicated: Count,
}

impl DelayStage {
    pub(crate) fn new(delays: Delays, source: EventSource) -> Self {
        Self {
            source,
            delays,
            packets: BinaryHeap::new(),
            present: Count::default(),
            refused: Count::default(),
            duplicated: Count::default(),
        }
    }

    /// `true` if the next packet, of `size` bytes, is to be taken twice. A copy is not copied again.
    pub(crate) fn duplicates(&mut self, size: u32) -> bool {
        let is_due = match &mut self.delays {
            Delays::Netem(netem, _) => netem.duplicates(),
            Delays::Ordered(_) | Delays::Recorded(_) => false,
        };
        if is_due {
            self.duplicated.add_packet(size);
        }
        is_due
    }

    /// Takes a packet. Returns `false` if the stage is full.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        insertion: u64,
        slot: PacketSlot,
        flow: FlowId,
        size: u32,
    ) -> bool {
        let until = match &mut self.delays {
            Delays::Netem(_, limit) if self.packets.len() >= *limit => {
                self.refused.add_packet(size);
                return false;
            }
            Delays::Netem(netem, _) => now + netem.delay(),
            Delays::Ordered(variation) => variation.release(now, flow, size),
            Delays::Recorded(delays) => delays.release(now),
        };
        self.packets.push(Reverse(DelayedPacket { until, insertion, slot, size }));
        self.present.add_packet(size);
        true
    }

    /// Removes the first packet and returns its slot.
    pub(crate) fn release(&mut self) -> Option<PacketSlot> {
        let Reverse(first) = self.packets.pop()?;
        let mut gone = Count::default();
        gone.add_packet(first.size);
        self.present -= gone;
        Some(first.slot)
    }

    /// Release time and insertion number of the first packet.
    pub(crate) fn next(&self) -> Option<(Instant, u64)> {
        self.packets.peek().map(|Reverse(first)| (first.until, first.insertion))
    }

    pub(crate) fn present(&self) -> Count {
        self.present
    }

    pub(crate) fn refused(&self) -> Count {
        self.refused
    }

    pub(crate) fn duplicated(&self) -> Count {
        self.duplicated
    }
}
