//! A classifier on trial: it judges, and nobody acts on it.

use alloc::boxed::Box;

use super::{LossCause, LossDifferentiation, LossGap, PacketArrival, Witness};
use crate::tfrc::loss_detection::{Arrival, LossDetector, LossObserver, Settled};
use crate::tfrc::loss_history::ASKED_SINGLY;

/// Finds the holes in a stream by itself and asks an algorithm about each, beside a congestion control that does not.
///
/// A packet that it is not shown did not arrive. So whoever knows from the packets themselves why they were damaged
/// (a Data Checksum that is wrong: RFC 4340, Section 9.3) hides these from the algorithm, and sees how often it would
/// have been right about them.
#[derive(Debug)]
pub struct Trial {
    witness: Witness,
    detector: LossDetector,
}

impl Trial {
    /// Puts `algorithm` on trial. What is missing before the first arrival goes unnoticed.
    pub fn new(algorithm: Box<dyn LossDifferentiation>) -> Self {
        Self { witness: Witness::new(algorithm), detector: LossDetector::new(None) }
    }
    /// A packet arrived: what the algorithm learns from, and what it is to the record of receptions.
    pub fn on_arrival(&mut self, arrival: &PacketArrival, reception: &Arrival) {
        self.witness.on_arrival(arrival);
        self.detector.on_arrival(reception, &mut Bench(&mut self.witness));
    }
    /// Its verdicts, and a way to the algorithm.
    pub fn witness(&mut self) -> &mut Witness {
        &mut self.witness
    }
    /// Whether there are verdicts to take.
    pub fn has_verdicts(&self) -> bool {
        self.witness.has_verdicts()
    }
}

/// Hands what a detector finds to a witness.
struct Bench<'a>(&'a mut Witness);

impl LossObserver for Bench<'_> {
    fn judge(&mut self, gap: &LossGap) -> LossCause {
        self.0.judge(gap)
    }
    fn on_settled(&mut self, settled: &Settled) {
        let asked = settled.lost.min(ASKED_SINGLY);
        for sequence in settled.first_lost..settled.first_lost + asked {
            self.0.cause_of(sequence, settled.gap.judged);
        }
    }
}
