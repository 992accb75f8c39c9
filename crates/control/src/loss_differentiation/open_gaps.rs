//! Gaps that have been classified and whose packets have not been declared lost yet.

use alloc::collections::VecDeque;

use super::{Evidence, LossDifferentiation, LossGap, Overruled};

/// Maximum number of gaps kept. A gap is open for a few arrivals only; a conforming sender does not cause
/// more.
const MOST: usize = 64;

/// A gap and the evidence for its classification.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct OpenGap {
    pub(super) gap: LossGap,
    pub(super) evidence: Evidence,
    pub(super) overruled: Option<Overruled>,
}

impl OpenGap {
    fn end(&self) -> u64 {
        self.gap.first + self.gap.count
    }
}

/// Open gaps in the order in which they were revealed.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenGaps {
    open: VecDeque<OpenGap>,
}

impl OpenGaps {
    /// Inserts a gap that `algorithm` has just classified.
    pub(super) fn insert(&mut self, gap: &LossGap, algorithm: &dyn LossDifferentiation) {
        if self.open.len() == MOST {
            self.open.pop_front();
        }
        let (evidence, overruled) = (algorithm.evidence(), algorithm.overruled());
        self.open.push_back(OpenGap { gap: *gap, evidence, overruled });
    }

    /// The open gap that contains packet `sequence`.
    pub(super) fn find(&self, sequence: u64) -> Option<&OpenGap> {
        self.open.iter().find(|open| open.gap.first <= sequence && sequence < open.end())
    }

    /// Removes the gaps that end at or below `sequence`.
    pub(super) fn settle(&mut self, sequence: u64) {
        while self.open.front().is_some_and(|open| open.end() <= sequence) {
            self.open.pop_front();
        }
    }
}
