//! Shares in proportion to weights.

use alloc::vec::Vec;

use whimbrel_units::Instant;

use super::{PathView, Scheduler, Selection, ready};

/// Bytes of a path of weight 1 that correspond to one unit of its position: a fraction, as weights divide it.
const SCALE: u64 = 1 << 16;

/// Each path carries bytes in proportion to its weight, as far as congestion control permits: the path that
/// is the furthest behind its share comes first (stride scheduling). A path that could not send for a while
/// does not make up for it: its position moves along with the positions of the paths that sent.
#[derive(Clone, Debug, Default)]
pub struct Weighted {
    /// The position of each path: its bytes divided by its weight.
    positions: Vec<(u32, u64)>,
}

impl Weighted {
    /// A scheduler that has used no path.
    pub fn new() -> Self {
        Self::default()
    }

    fn position(&mut self, id: u32, start: u64) -> &mut u64 {
        let place = self.positions.iter().position(|(path, _)| *path == id).unwrap_or_else(|| {
            self.positions.push((id, start));
            self.positions.len() - 1
        });
        &mut self.positions[place].1
    }
}

impl Scheduler for Weighted {
    fn select(&mut self, now: Instant, size: usize, paths: &[PathView]) -> Option<Selection> {
        let _ = now;
        self.positions.retain(|(id, _)| paths.iter().any(|path| path.id == *id));
        // A new path begins where the others are.
        let start = self.positions.iter().map(|(_, position)| *position).min().unwrap_or(0);
        let (best, path) = ready(paths).min_by_key(|(_, path)| *self.position(path.id, start))?;
        let from = *self.position(path.id, start);
        let stride = size.max(1) as u64 * SCALE / u64::from(path.weight.max(1));
        *self.position(path.id, start) = from.saturating_add(stride.max(1));
        // The paths that may not send lose their turn.
        for path in paths.iter().filter(|path| !path.may_send) {
            let position = self.position(path.id, from);
            *position = (*position).max(from);
        }
        Some(Selection::one(best))
    }
}
