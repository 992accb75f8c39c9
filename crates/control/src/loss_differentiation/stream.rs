//! Classification of a stream without effect on congestion control.

use alloc::boxed::Box;

use super::{LossClass, LossDifferentiation, LossGap, PacketArrival, RecordingClassifier};
use crate::loss_detection::{ArrivedPacket, LossDetector, LossObserver, MAX_CLASSIFIED_SINGLY, Settled};

/// Detects the losses in a stream and classifies each, independently of congestion control.
///
/// Packets that are hidden from it count as lost. A receiver that can recognize wireless losses from the
/// packets themselves (a wrong Data Checksum, RFC 4340, Section 9.3) hides these packets and measures how
/// often the algorithm classifies them correctly.
#[derive(Debug)]
pub struct StreamClassifier {
    recording: RecordingClassifier,
    detector: LossDetector,
}

impl StreamClassifier {
    /// A classifier for a new stream. Losses before the first arrival are not detected.
    pub fn new(algorithm: Box<dyn LossDifferentiation>) -> Self {
        Self { recording: RecordingClassifier::new(algorithm), detector: LossDetector::new(None) }
    }

    /// Processes an arrival, given both as input of the algorithm and as input of the loss detector.
    pub fn on_arrival(&mut self, arrival: &PacketArrival, reception: &ArrivedPacket) {
        self.recording.on_arrival(arrival);
        self.detector.on_arrival(reception, &mut GapObserver(&mut self.recording));
    }

    /// The recorded results and the algorithm.
    pub fn recording(&mut self) -> &mut RecordingClassifier {
        &mut self.recording
    }

    /// `true` if there are results to take.
    pub fn has_verdicts(&self) -> bool {
        self.recording.has_verdicts()
    }
}

/// Passes the gaps found by a detector to a classifier.
struct GapObserver<'a>(&'a mut RecordingClassifier);

impl LossObserver for GapObserver<'_> {
    fn classify(&mut self, gap: &LossGap) -> LossClass {
        self.0.classify(gap)
    }

    fn on_settled(&mut self, settled: &Settled) {
        let classified = settled.lost.min(MAX_CLASSIFIED_SINGLY);
        for sequence in settled.first_lost..settled.first_lost + classified {
            self.0.final_class(sequence, settled.gap.class);
        }
    }
}
