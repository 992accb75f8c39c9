//! The reference: somebody told it the truth.

use alloc::collections::BTreeMap;

use super::{LossClass, LossDifferentiation, LossGap, PacketArrival};

/// Knows the cause of each loss beforehand, because the simulator says so.
///
/// The ideal that the other algorithms are measured against (paper, Section 3). Only losses that it
/// was told to be wireless are; anything else is congestion.
#[derive(Clone, Debug, Default)]
pub struct Omniscient {
    told: BTreeMap<u64, LossClass>,
}

impl Omniscient {
    /// How many losses it remembers; the ones with the lowest sequence numbers are forgotten first.
    pub const MEMORY: usize = 4096;

    /// One that has been told nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl LossDifferentiation for Omniscient {
    fn on_arrival(&mut self, _arrival: &PacketArrival) {}

    fn classify(&mut self, _gap: &LossGap) -> LossClass {
        LossClass::Congestion
    }

    fn final_class(&mut self, sequence: u64, class: LossClass) -> LossClass {
        self.told.remove(&sequence).unwrap_or(class)
    }

    fn inform(&mut self, sequence: u64, cause: LossClass) {
        self.told.insert(sequence, cause);
        if self.told.len() > Self::MEMORY {
            self.told.pop_first();
        }
    }
}
