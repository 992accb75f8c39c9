//! The path with the least cost.

use core::cmp::Reverse;

use whimbrel_units::Instant;

use super::{PathView, Scheduler, Selection, ready};

/// The cheapest path that may send: a dearer one carries what the cheaper ones cannot. Among paths of one
/// cost, the one with the highest priority comes first, then the one with the least round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheapestFirst;

impl Scheduler for CheapestFirst {
    fn select(&mut self, now: Instant, size: usize, paths: &[PathView]) -> Option<Selection> {
        let _ = (now, size);
        let rank = |(_, path): &(usize, &PathView)| (path.cost, Reverse(path.priority), path.rtt);
        ready(paths).min_by_key(rank).map(|(index, _)| Selection::one(index))
    }
}
