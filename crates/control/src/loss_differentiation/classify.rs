//! Classification of the losses in a recorded list of arrivals.

use alloc::vec::Vec;

use super::open_gaps::{OpenGap, OpenGaps};
use super::{ClockSkew, Evidence, LossClass, LossDifferentiation, LossGap, Overruled, PacketArrival};
use crate::loss_detection::{ArrivedPacket, LossDetector, LossObserver, Settled};

/// A run of lost packets and its classification.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClassifiedLoss {
    /// The first packet lost.
    pub first: u64,
    /// Number of packets lost in a row.
    pub count: u64,
    /// The gap as it was revealed: it may have been longer and filled in part by late packets.
    pub gap: LossGap,
    /// The final class.
    pub cause: LossClass,
    /// Evidence for the classification.
    pub evidence: Evidence,
    /// Reason for which a [`Guard`](super::Guard) overruled the classifier and counted the loss as
    /// congestion; `None` if it did not.
    pub overruled: Option<Overruled>,
}

/// Finds the losses among `arrivals`, given in order of arrival, and classifies each with `algorithm`.
///
/// A packet counts as lost once three packets with higher sequence numbers have arrived (RFC 5348, Section
/// 5.1); if it arrives afterwards, it is late. Send times are [corrected](ClockSkew) for clock skew. Losses
/// before the first arrival and gaps among the last three packets are not detected.
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

/// Classifies gaps as they are revealed and keeps the results until the packets are declared lost.
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
