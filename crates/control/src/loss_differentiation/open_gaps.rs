//! Gaps that have been judged and whose packets are not declared lost yet.

use alloc::collections::VecDeque;

use super::{Evidence, LossDifferentiation, LossGap, Overruled};

/// Gaps that are remembered at most. A gap is open for a few arrivals, so that more are no honest sender's.
const MOST: usize = 64;

/// A gap, and what its verdict went by.
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

/// The gaps that are open, in the order in which they opened.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenGaps {
    open: VecDeque<OpenGap>,
}

impl OpenGaps {
    /// Enters a gap that `algorithm` has just judged.
    pub(super) fn insert(&mut self, gap: &LossGap, algorithm: &dyn LossDifferentiation) {
        if self.open.len() == MOST {
            self.open.pop_front();
        }
        let (evidence, overruled) = (algorithm.evidence(), algorithm.overruled());
        self.open.push_back(OpenGap { gap: *gap, evidence, overruled });
    }
    /// The gap in which packet `sequence` is missing.
    pub(super) fn find(&self, sequence: u64) -> Option<&OpenGap> {
        self.open.iter().find(|open| open.gap.first <= sequence && sequence < open.end())
    }
    /// Everything below `sequence` is settled.
    pub(super) fn settle(&mut self, sequence: u64) {
        while self.open.front().is_some_and(|open| open.end() <= sequence) {
            self.open.pop_front();
        }
    }
}
