//! A test's positions that count their evaluations.

use core::cell::Cell;

use whimbrel_units::Instant;

use super::Positions;
use crate::StationIndex;
use crate::mobility::{Leg, Path};

/// Positions on paths. Their legs end at once, so that an index keeps none and every use is an evaluation.
pub(super) struct Counted<'a> {
    paths: &'a [Path],
    evaluations: Cell<usize>,
}

impl<'a> Counted<'a> {
    pub(super) const fn new(paths: &'a [Path]) -> Self {
        Self { paths, evaluations: Cell::new(0) }
    }

    /// The evaluations since the last call.
    pub(super) fn take(&self) -> usize {
        self.evaluations.take()
    }
}

impl Positions for Counted<'_> {
    fn current(&self, node: StationIndex, now: Instant) -> (Leg, Instant) {
        self.evaluations.set(self.evaluations.get() + 1);
        (self.paths[node.index()].current(now).0, now)
    }

    fn max_speed(&self, node: StationIndex) -> f64 {
        self.paths[node.index()].max_speed()
    }
}
