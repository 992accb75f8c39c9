//! Data on the fastest path, and what repairs them on another one.

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{PathView, Purpose, Scheduler, Selection, ready};

/// Least time between two copies on a path that carries no data.
const COPY_INTERVAL: Duration = Duration::from_millis(100);
/// Least number of datagrams per copy.
const COPY_SHARE: u32 = 10;

/// Data takes the path with the least round-trip time that may send, and repeats and coded packets another
/// one, which has not lost what they repair. For connections with repair.
///
/// When a path fails without a sign, nothing that arrives would show the receiver what it misses, until the
/// sender's retransmission timeout. Each path without data therefore gets a copy of a datagram every 100 ms,
/// but of one in ten at most: it shows the gap. Feedback takes all paths.
#[derive(Clone, Debug, Default)]
pub struct Coded {
    /// When each path had its last datagram, and the datagrams that others had since.
    used: Vec<(u32, Instant, u32)>,
    /// The path of the last data.
    last: Option<u32>,
}

impl Coded {
    /// A scheduler that has used no path.
    pub fn new() -> Self {
        Self::default()
    }

    fn needs_copy(&self, now: Instant, path: &PathView) -> bool {
        let used = self.used.iter().find(|(id, ..)| *id == path.id);
        used.is_none_or(|(_, used, others)| now - *used >= COPY_INTERVAL && *others >= COPY_SHARE)
    }

    fn on_data(&mut self, now: Instant, selection: Selection, paths: &[PathView]) {
        self.used.retain(|(id, ..)| paths.iter().any(|path| path.id == *id));
        self.used.iter_mut().for_each(|(_, _, others)| *others = others.saturating_add(1));
        for index in selection.paths() {
            let id = paths[index].id;
            self.used.retain(|(other, ..)| *other != id);
            self.used.push((id, now, 0));
        }
        self.last = Some(paths[selection.path].id);
    }
}

/// The path with the least round-trip time; one without a measurement comes first.
fn fastest<'a>(paths: impl Iterator<Item = (usize, &'a PathView)>) -> Option<usize> {
    let rank = |(_, path): &(usize, &PathView)| (path.rtt, core::cmp::Reverse(path.priority));
    paths.min_by_key(rank).map(|(index, _)| index)
}

impl Scheduler for Coded {
    fn select(&mut self, now: Instant, size: usize, paths: &[PathView]) -> Option<Selection> {
        let _ = size;
        let path = fastest(ready(paths))?;
        let copies = ready(paths).filter(|(index, other)| *index != path && self.needs_copy(now, other));
        let selection = Selection { path, copies: copies.fold(0, |copies, (index, _)| copies | 1 << index) };
        self.on_data(now, selection, paths);
        Some(selection)
    }

    fn select_for(
        &mut self,
        purpose: Purpose,
        now: Instant,
        size: usize,
        paths: &[PathView],
    ) -> Option<Selection> {
        match purpose {
            Purpose::Data => self.select(now, size, paths),
            Purpose::Repair => {
                let others = ready(paths).filter(|(_, path)| Some(path.id) != self.last);
                fastest(others).or_else(|| fastest(ready(paths))).map(Selection::one)
            }
            Purpose::Feedback => {
                let path = fastest(ready(paths))?;
                let others = ready(paths).filter(|(index, _)| *index != path);
                Some(Selection { path, copies: others.fold(0, |copies, (index, _)| copies | 1 << index) })
            }
        }
    }
}
