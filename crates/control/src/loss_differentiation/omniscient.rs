//! The reference algorithm, which is given the true cause of each loss.

use alloc::collections::BTreeMap;

use super::{LossClass, LossDifferentiation, LossGap, PacketArrival};

/// Classifies losses by their true cause, as reported by the simulator.
///
/// The ideal against which the other algorithms are measured (paper, Section 3). Only losses reported as
/// wireless are wireless; all others are congestion.
#[derive(Clone, Debug, Default)]
pub struct Omniscient {
    known: BTreeMap<u64, LossClass>,
}

impl Omniscient {
    /// Maximum number of losses kept; those with the lowest sequence numbers are dropped first.
    pub const MEMORY: usize = 4096;

    /// A classifier without any report.
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
        self.known.remove(&sequence).unwrap_or(class)
    }

    fn inform(&mut self, sequence: u64, cause: LossClass) {
        self.known.insert(sequence, cause);
        if self.known.len() > Self::MEMORY {
            self.known.pop_first();
        }
    }
}
