//! Every datagram on every path.

use whimbrel_units::Instant;

use super::{PathView, Scheduler, Selection, ready};

/// A copy of each datagram on every path that may send it now: the first that arrives counts. A path whose
/// congestion control holds it back misses the datagram instead of delaying it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redundant;

impl Scheduler for Redundant {
    fn select(&mut self, now: Instant, size: usize, paths: &[PathView]) -> Option<Selection> {
        let _ = (now, size);
        let mut ready = ready(paths);
        let (path, _) = ready.next()?;
        Some(Selection { path, copies: ready.fold(0, |copies, (index, _)| copies | 1 << index) })
    }
}
