//! One path at a time.

use core::cmp::Reverse;

use whimbrel_units::Instant;

use super::{MAX_PATHS, PathView, Scheduler, Selection, UNUSABLE};

/// The path with the highest priority that is alive, including secondary and standby paths (RFC 9897,
/// Sections 3.2.10 and 3.11.1). It is kept while no other has a higher priority, and data waits for it: a
/// path that is only congested is not left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handover {
    /// The path in use.
    current: Option<u32>,
}

impl Handover {
    /// A scheduler that has used no path.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Scheduler for Handover {
    fn select(&mut self, now: Instant, size: usize, paths: &[PathView]) -> Option<Selection> {
        let _ = (now, size);
        let usable = paths.iter().take(MAX_PATHS).enumerate().filter(|(_, path)| path.priority > UNUSABLE);
        let is_other = |path: &PathView| Some(path.id) != self.current;
        let rank = |(_, path): &(usize, &PathView)| (!path.is_alive, Reverse(path.priority), is_other(path));
        let (index, path) = usable.min_by_key(rank)?;
        self.current = Some(path.id);
        path.may_send.then_some(Selection::one(index))
    }
}
