//! A list of arrivals, and the verdicts on what is missing among them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::{Evidence, LossCause, LossDifferentiation, LossGap, PacketArrival};
use crate::tfrc::loss_detection::{Arrival, LossDetector, LossObserver, Settled};

/// Packets lost in a row, and what is thought of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClassifiedLoss {
    /// The first packet lost.
    pub first: u64,
    /// How many in a row.
    pub count: u64,
    /// The gap as it opened: it may have been longer, and filled in part by packets that were late.
    pub gap: LossGap,
    /// The verdict.
    pub cause: LossCause,
    /// What it rests on.
    pub evidence: Evidence,
}

/// Finds the losses among `arrivals`, in order of arrival, and asks `algorithm` about each.
///
/// A packet counts as lost once three with higher numbers have arrived (RFC 5348, Section 5.1);
/// later ones are late. Losses before the first arrival go unnoticed, and so do holes among the
/// last three packets.
pub fn classify(
    algorithm: &mut dyn LossDifferentiation,
    arrivals: impl IntoIterator<Item = PacketArrival>,
) -> Vec<ClassifiedLoss> {
    let mut detector = LossDetector::new(None);
    let mut court = Court { algorithm, open: VecDeque::new(), losses: Vec::new() };
    for arrival in arrivals {
        court.algorithm.on_arrival(&arrival);
        detector.on_arrival(&Arrival::new(arrival.at, arrival.sequence), &mut court);
    }
    court.losses
}

/// Judges gaps as they open and keeps the verdicts until the packets are declared lost.
struct Court<'a> {
    algorithm: &'a mut dyn LossDifferentiation,
    open: VecDeque<(LossGap, LossCause, Evidence)>,
    losses: Vec<ClassifiedLoss>,
}

impl LossObserver for Court<'_> {
    fn judge(&mut self, gap: &LossGap) -> LossCause {
        let cause = self.algorithm.judge(gap);
        self.open.push_back((*gap, cause, self.algorithm.evidence()));
        cause
    }

    fn on_settled(&mut self, settled: &Settled) {
        if settled.lost > 0 {
            let place = self.open.iter().find(|(gap, ..)| {
                gap.first <= settled.first_lost && settled.first_lost < gap.first + gap.count
            });
            if let Some(&(gap, judged, evidence)) = place {
                let cause = self.algorithm.cause_of(settled.first_lost, judged);
                let (first, count) = (settled.first_lost, settled.lost);
                self.losses.push(ClassifiedLoss { first, count, gap, cause, evidence });
            }
        }
        let done = |gap: &LossGap| gap.first + gap.count <= settled.arrival.sequence;
        while self.open.front().is_some_and(|(gap, ..)| done(gap)) {
            self.open.pop_front();
        }
    }
}
