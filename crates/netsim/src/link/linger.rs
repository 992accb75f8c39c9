//! Packets that have come to a link's end and are delayed there, each by its own time: later ones may overtake.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use whimbrel_units::Instant;

use crate::event_queue::Source;
use crate::netem::{Netem, NetemConfig, NetemError};
use crate::random::RandomStream;
use crate::record::Count;

/// A packet that lingers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Lingerer {
    until: Instant,
    /// Tells packets of the same time apart.
    insertion: u64,
    slot: u32,
    size: u32,
}

/// The packets and what delays them. NetEm's queue, at the far end of the link.
pub(crate) struct Linger {
    /// Of the first to go on.
    pub(crate) source: Source,
    netem: Netem,
    limit: usize,
    packets: BinaryHeap<Reverse<Lingerer>>,
    present: Count,
    refused: Count,
}

impl Linger {
    pub(crate) fn new(
        config: &NetemConfig,
        random: RandomStream,
        source: Source,
    ) -> Result<Self, NetemError> {
        Ok(Self {
            source,
            netem: Netem::new(config, random)?,
            limit: config.limit,
            packets: BinaryHeap::new(),
            present: Count::default(),
            refused: Count::default(),
        })
    }

    /// A packet comes: whether there is room for it.
    pub(crate) fn take(&mut self, now: Instant, insertion: u64, slot: u32, size: u32) -> bool {
        if self.packets.len() >= self.limit {
            self.refused.add_packet(size);
            return false;
        }
        let until = now + self.netem.delay();
        self.packets.push(Reverse(Lingerer { until, insertion, slot, size }));
        self.present.add_packet(size);
        true
    }

    /// The slot of the first to go on, which leaves.
    pub(crate) fn release(&mut self) -> Option<u32> {
        let Reverse(first) = self.packets.pop()?;
        let mut gone = Count::default();
        gone.add_packet(first.size);
        self.present -= gone;
        Some(first.slot)
    }

    /// When the first goes on, and its insertion number.
    pub(crate) fn next(&self) -> Option<(Instant, u64)> {
        self.packets.peek().map(|Reverse(first)| (first.until, first.insertion))
    }

    pub(crate) fn present(&self) -> Count {
        self.present
    }

    pub(crate) fn refused(&self) -> Count {
        self.refused
    }
}
