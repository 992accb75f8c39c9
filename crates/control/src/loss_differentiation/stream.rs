//! A classifier on trial: it judges, and nobody acts on it.

use alloc::boxed::Box;

use super::{LossClass, LossDifferentiation, LossGap, PacketArrival, RecordingClassifier};
use crate::tfrc::loss_detection::{ArrivedPacket, LossDetector, LossObserver, Settled};
use crate::tfrc::loss_history::ASKED_SINGLY;

/// Finds the holes in a stream by itself and asks an algorithm about each, beside a congestion control that does not.
///
/// A packet that it is not shown did not arrive. So whoever knows from the packets themselves why they were damaged
/// (a Data Checksum that is wrong: RFC 4340, Section 9.3) hides these from the algorithm, and sees how often it would
/// have been right about them.
#[derive(Debug)]
pub struct StreamClassifier {
    recording: RecordingClassifier,
    detector: LossDetector,
}

impl StreamClassifier {
    /// Puts `algorithm` on trial. What is missing before the first arrival goes unnoticed.
    pub fn new(algorithm: Box<dyn LossDifferentiation>) -> Self {
        Self { recording: RecordingClassifier::new(algorithm), detector: LossDetector::new(None) }
    }
    /// A packet arrived: what the algorithm learns from, and what it is to the record of receptions.
    pub fn on_arrival(&mut self, arrival: &PacketArrival, reception: &ArrivedPacket) {
        self.recording.on_arrival(arrival);
        self.detector.on_arrival(reception, &mut GapObserver(&mut self.recording));
    }
    /// Its verdicts, and a way to the algorithm.
    pub fn recording(&mut self) -> &mut RecordingClassifier {
        &mut self.recording
    }
    /// Whether there are verdicts to take.
    pub fn has_verdicts(&self) -> bool {
        self.recording.has_verdicts()
    }
}

/// Hands what a detector finds to a witness.
struct GapObserver<'a>(&'a mut RecordingClassifier);

impl LossObserver for GapObserver<'_> {
    fn classify(&mut self, gap: &LossGap) -> LossClass {
        self.0.classify(gap)
    }
    fn on_settled(&mut self, settled: &Settled) {
        let asked = settled.lost.min(ASKED_SINGLY);
        for sequence in settled.first_lost..settled.first_lost + asked {
            self.0.final_class(sequence, settled.gap.class);
        }
    }
}
