//! The path with the least round-trip time.

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{PathView, Scheduler, Selection, ready};

/// Least time between two probes of a path.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// The same, in round-trip times of the path.
const PROBE_INTERVAL_IN_RTT: u64 = 10;

/// The path with the least round-trip time among those that may send; a path without a measurement comes
/// first.
///
/// A path that loses would keep its old measurement, and would not be used again if it became the faster one.
/// A path that has carried no datagram for a second, or ten of its round-trip times if that is longer,
/// therefore gets a copy of the next one. The receiver discards the later of the two, so that the probe
/// neither delays nor risks data.
#[derive(Clone, Debug, Default)]
pub struct LowestRtt {
    /// Time of the last datagram on each path.
    used: Vec<(u32, Instant)>,
}

impl LowestRtt {
    /// A scheduler that has used no path.
    pub fn new() -> Self {
        Self::default()
    }

    fn is_stale(&self, now: Instant, path: &PathView) -> bool {
        let interval =
            path.rtt.map_or(PROBE_INTERVAL, |rtt| (rtt * PROBE_INTERVAL_IN_RTT).max(PROBE_INTERVAL));
        self.used.iter().find(|(id, _)| *id == path.id).is_none_or(|(_, used)| now - *used >= interval)
    }

    fn on_used(&mut self, now: Instant, path: &PathView) {
        match self.used.iter_mut().find(|(id, _)| *id == path.id) {
            Some((_, used)) => *used = now,
            None => self.used.push((path.id, now)),
        }
    }
}

impl Scheduler for LowestRtt {
    fn select(&mut self, now: Instant, size: usize, paths: &[PathView]) -> Option<Selection> {
        let _ = size;
        let rank = |(_, path): &(usize, &PathView)| (path.rtt, core::cmp::Reverse(path.priority));
        let (best, _) = ready(paths).min_by_key(rank)?;
        let stale = ready(paths).filter(|(index, path)| *index != best && self.is_stale(now, path));
        let copies = stale.fold(0, |copies, (index, _)| copies | 1 << index);
        let selection = Selection { path: best, copies };
        self.used.retain(|(id, _)| paths.iter().any(|path| path.id == *id));
        for index in selection.paths() {
            self.on_used(now, &paths[index]);
        }
        Some(selection)
    }
}
