//! A classifier that records its results.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::open_gaps::OpenGaps;
use super::{ClassifiedLoss, Evidence, LossClass, LossDifferentiation, LossGap, Overruled, PacketArrival};

/// Maximum number of results kept; the oldest are dropped first.
const MOST: usize = 256;

/// An algorithm whose results for lost packets are kept until they are [taken](RecordingClassifier::take).
#[derive(Debug)]
pub struct RecordingClassifier {
    inner: Box<dyn LossDifferentiation>,
    open: OpenGaps,
    verdicts: VecDeque<ClassifiedLoss>,
}

impl RecordingClassifier {
    /// Records the results of `inner`.
    pub fn new(inner: Box<dyn LossDifferentiation>) -> Self {
        Self { inner, open: OpenGaps::default(), verdicts: VecDeque::new() }
    }

    /// Removes and returns the oldest result. Consecutive lost packets of the same class form one result.
    pub fn take(&mut self) -> Option<ClassifiedLoss> {
        self.verdicts.pop_front()
    }

    /// `true` if there are results to take.
    pub fn has_verdicts(&self) -> bool {
        !self.verdicts.is_empty()
    }

    fn note(&mut self, sequence: u64, cause: LossClass) {
        // Packets are declared lost in order.
        self.open.settle(sequence);
        let Some(open) = self.open.find(sequence) else { return };
        let overruled = self.inner.overruled().or(open.overruled).filter(|_| cause == LossClass::Congestion);
        if let Some(last) = self.verdicts.back_mut()
            && last.gap == open.gap
            && last.first + last.count == sequence
            && (last.cause, last.overruled) == (cause, overruled)
        {
            last.count += 1;
            return;
        }
        if self.verdicts.len() == MOST {
            self.verdicts.pop_front();
        }
        let (gap, evidence) = (open.gap, open.evidence);
        self.verdicts.push_back(ClassifiedLoss {
            first: sequence,
            count: 1,
            gap,
            cause,
            evidence,
            overruled,
        });
    }
}

impl LossDifferentiation for RecordingClassifier {
    fn on_arrival(&mut self, arrival: &PacketArrival) {
        self.inner.on_arrival(arrival);
    }

    fn classify(&mut self, gap: &LossGap) -> LossClass {
        let cause = self.inner.classify(gap);
        self.open.insert(gap, &*self.inner);
        cause
    }

    fn evidence(&self) -> Evidence {
        self.inner.evidence()
    }

    fn overruled(&self) -> Option<Overruled> {
        self.inner.overruled()
    }

    fn final_class(&mut self, sequence: u64, class: LossClass) -> LossClass {
        let cause = self.inner.final_class(sequence, class);
        self.note(sequence, cause);
        cause
    }

    fn inform(&mut self, sequence: u64, cause: LossClass) {
        self.inner.inform(sequence, cause);
    }

    fn on_path_change(&mut self) {
        self.inner.on_path_change();
    }
}
