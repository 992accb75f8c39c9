//! Sets of bytes, held as ranges: those that a receiver has buffered, those that a sender has had
//! acknowledged.

use std::collections::VecDeque;

use core::fmt;

/// The bytes from `start` up to but not including `end`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ByteRange {
    /// The first byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

impl ByteRange {
    /// The bytes from `start` up to but not including `end`.
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// Number of bytes in the range.
    pub const fn length(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Number of its bytes below `limit`.
    pub(super) fn below(self, limit: u64) -> u64 {
        self.end.min(limit).saturating_sub(self.start)
    }
}
impl fmt::Debug for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A set of bytes: disjoint ranges in order, with a gap between any two.
///
/// The operations of TCP are cheap: adding at the top and removing at the bottom take constant time, adding
/// elsewhere a binary search, unless a range arises or vanishes in the middle. Memory is kept for reuse.
#[derive(Clone, Default, Debug)]
pub(super) struct RangeSet {
    ranges: VecDeque<ByteRange>,
}

impl RangeSet {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }

    pub(super) fn first(&self) -> Option<ByteRange> {
        self.ranges.front().copied()
    }

    pub(super) fn last(&self) -> Option<ByteRange> {
        self.ranges.back().copied()
    }

    /// The ranges from the highest down.
    pub(super) fn descending(&self) -> impl Iterator<Item = ByteRange> {
        self.ranges.iter().rev().copied()
    }

    /// The lowest range that ends above `byte`: the one that contains it or the next one.
    pub(super) fn containing_or_after(&self, byte: u64) -> Option<ByteRange> {
        // The lowest range is the most frequent case: a search for holes starts there.
        match self.ranges.front() {
            Some(first) if byte < first.end => Some(*first),
            None => None,
            Some(_) => self.ranges.get(self.ranges.partition_point(|range| range.end <= byte)).copied(),
        }
    }

    /// Adds a range and reports each piece that was not in the set.
    pub(super) fn insert(&mut self, added: ByteRange, mut is_new: impl FnMut(ByteRange)) {
        if added.length() == 0 {
            return;
        }
        // The newest segment is usually the highest.
        match self.ranges.back_mut() {
            None => {
                is_new(added);
                return self.ranges.push_back(added);
            }
            Some(last) if added.start > last.end => {
                is_new(added);
                return self.ranges.push_back(added);
            }
            Some(last) if added.start >= last.start => {
                if added.end > last.end {
                    is_new(ByteRange::new(last.end, added.end));
                    last.end = added.end;
                }
                return;
            }
            Some(_) => {}
        }
        self.insert_below_the_top(added, is_new);
    }

    fn insert_below_the_top(&mut self, added: ByteRange, mut is_new: impl FnMut(ByteRange)) {
        // The first range that overlaps or touches from above.
        let at = self.ranges.partition_point(|range| range.end < added.start);
        if self.ranges[at].start > added.end {
            is_new(added);
            return self.ranges.insert(at, added);
        }
        let mut merged = self.ranges[at];
        let mut missing_from = added.start;
        let mut after = at;
        while let Some(&range) = self.ranges.get(after).filter(|range| range.start <= added.end) {
            if missing_from < range.start {
                is_new(ByteRange::new(missing_from, range.start));
            }
            missing_from = missing_from.max(range.end);
            merged.end = range.end;
            after += 1;
        }
        if missing_from < added.end {
            is_new(ByteRange::new(missing_from, added.end));
            merged.end = added.end;
        }
        merged.start = merged.start.min(added.start);
        self.ranges[at] = merged;
        if after > at + 1 {
            self.ranges.drain(at + 1..after);
        }
    }

    /// Removes all bytes below `limit` and reports each piece that was in the set.
    pub(super) fn remove_below(&mut self, limit: u64, mut removed: impl FnMut(ByteRange)) {
        while let Some(first) = self.ranges.front_mut() {
            if first.start >= limit {
                return;
            }
            if first.end > limit {
                removed(ByteRange::new(first.start, limit));
                first.start = limit;
                return;
            }
            removed(*first);
            self.ranges.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
