//! A list of arrivals, and the verdicts on what is missing among them.

use alloc::vec::Vec;

use super::open_gaps::{OpenGap, OpenGaps};
use super::{ClockSkew, Evidence, LossClass, LossDifferentiation, LossGap, Overruled, PacketArrival};
use crate::tfrc::loss_detection::{ArrivedPacket, LossDetector, LossObserver, Settled};

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
    pub cause: LossClass,
    /// What it rests on.
    pub evidence: Evidence,
    /// Why a [`Guard`](super::Guard) took the loss for congestion where the classifier did not, if it did.
    pub overruled: Option<Overruled>,
}

/// Finds the losses among `arrivals`, in order of arrival, and asks `algorithm` about each.
///
/// A packet counts as lost once three with higher numbers have arrived (RFC 5348, Section 5.1);
/// later ones are late. Send times of a clock that runs at another rate are [corrected](ClockSkew). Losses before the first arrival go unnoticed, and so do holes among the
/// last three packets.
pub fn classify(
    algorithm: &mut dyn LossDifferentiation,
    arrivals: impl IntoIterator<Item = PacketArrival>,
) -> Vec<ClassifiedLoss> {
    let mut detector = LossDetector::new(None);
    let mut classifier = GapClassifier { algorithm, open: OpenGaps::default(), losses: Vec::new() };
    let mut skew = ClockSkew::default();
    for arrival in arrivals {
        let arrival = skew.correct(arrival);
        classifier.algorithm.on_arrival(&arrival);
        detector.on_arrival(&ArrivedPacket::new(arrival.at, arrival.sequence), &mut classifier);
    }
    classifier.losses
}

/// Judges gaps as they open and keeps the verdicts until the packets are declared lost.
struct GapClassifier<'a> {
    algorithm: &'a mut dyn LossDifferentiation,
    open: OpenGaps,
    losses: Vec<ClassifiedLoss>,
}

impl LossObserver for GapClassifier<'_> {
    fn classify(&mut self, gap: &LossGap) -> LossClass {
        let cause = self.algorithm.classify(gap);
        self.open.insert(gap, self.algorithm);
        cause
    }

    fn on_settled(&mut self, settled: &Settled) {
        if settled.lost > 0
            && let Some(&OpenGap { gap, evidence, overruled }) = self.open.find(settled.first_lost)
        {
            let cause = self.algorithm.final_class(settled.first_lost, settled.gap.class);
            let (first, count) = (settled.first_lost, settled.lost);
            self.losses.push(ClassifiedLoss { first, count, gap, cause, evidence, overruled });
        }
        self.open.settle(settled.arrival.sequence);
    }
}
