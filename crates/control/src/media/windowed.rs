//! The minimum of a quantity over a sliding window of time.

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

/// Entries per window: samples that follow another within this share of the window are kept only if they are
/// less.
const PARTS: u64 = 64;

/// A sliding minimum with at most 65 entries: the window is exact to a 64th of its length.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WindowedMin<T> {
    entries: VecDeque<(Instant, T)>,
}

impl<T> Default for WindowedMin<T> {
    fn default() -> Self {
        Self { entries: VecDeque::new() }
    }
}

impl<T: Copy + PartialOrd> WindowedMin<T> {
    /// Adds a sample taken at `now`, drops those older than `window`, and returns the minimum.
    pub(crate) fn add(&mut self, now: Instant, value: T, window: Duration) -> T {
        while self.entries.back().is_some_and(|(_, last)| *last >= value) {
            self.entries.pop_back();
        }
        if self.entries.back().is_none_or(|(at, _)| now.saturating_since(*at) >= window / PARTS) {
            self.entries.push_back((now, value));
        }
        let start = now.saturating_sub(window);
        while self.entries.len() > 1 && self.entries.front().is_some_and(|(at, _)| *at < start) {
            self.entries.pop_front();
        }
        self.entries.front().map_or(value, |(_, least)| *least)
    }

    /// The minimum at the last sample.
    pub(crate) fn min(&self) -> Option<T> {
        self.entries.front().map(|(_, least)| *least)
    }

    /// Forgets all samples.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests;
