//! The scoreboard of selective acknowledgements (RFC 6675, Sections 3 and 4).
//!
//! RFC 6675 describes its scoreboard byte by byte and requires sums over the whole window. Two facts make
//! those sums cheap. All data below some point is lost: more has been received above a lower byte than above
//! a higher one, so `IsLost` has a single threshold, and it is the start of one of the highest three ranges
//! received. And retransmissions go upwards, so all holes below `HighRxt` have been retransmitted and none
//! above. For each such point, it is therefore enough to keep how much has been received below it.

use super::ranges::{ByteRange, RangeSet};

/// A point in the sequence space, and the number of bytes selectively acknowledged between HighACK and it.
#[derive(Clone, Copy, Default, Debug)]
struct Mark {
    at: u64,
    received_below: u64,
}

impl Mark {
    fn add(&mut self, piece: ByteRange) {
        self.received_below += piece.below(self.at);
    }

    fn remove(&mut self, piece: ByteRange) {
        self.received_below -= piece.below(self.at);
    }

    /// Holes below this point, from `from` on.
    fn missing(&self, from: u64) -> u64 {
        self.at - from - self.received_below
    }
}

/// The scoreboard.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    /// SMSS.
    segment_size: u64,
    /// DupThresh.
    threshold: u32,
    /// HighACK + 1: the first byte not cumulatively acknowledged.
    unacknowledged: u64,
    received: RangeSet,
    total: u64,
    /// `IsLost`: every hole below this is lost, by the data received above it.
    lost: Mark,
    /// Every hole below this is lost, because the timer expired.
    expired: Mark,
    /// HighRxt + 1: every hole below this has been retransmitted.
    retransmitted: Mark,
}

impl Scoreboard {
    pub(super) fn new(segment_size: u32, threshold: u32) -> Self {
        Self {
            segment_size: u64::from(segment_size),
            threshold: threshold.max(1),
            unacknowledged: 0,
            received: RangeSet::default(),
            total: 0,
            lost: Mark::default(),
            expired: Mark::default(),
            retransmitted: Mark::default(),
        }
    }

    /// The cumulative part of Update(): all below `acknowledged` has arrived.
    pub(super) fn advance(&mut self, acknowledged: u64) {
        let Self { received, total, lost, expired, retransmitted, .. } = self;
        received.remove_below(acknowledged, |piece| {
            *total -= piece.length();
            lost.remove(piece);
            expired.remove(piece);
            retransmitted.remove(piece);
        });
        self.unacknowledged = acknowledged;
        // A mark that fell behind has nothing below it.
        for mark in [lost, expired, retransmitted] {
            mark.at = mark.at.max(acknowledged);
        }
    }

    /// The selective part of Update(): returns `true` if anything was new. `high` is the end of the data
    /// sent; blocks beyond it, or of data acknowledged already, are ignored.
    pub(super) fn update(&mut self, blocks: &[ByteRange], high: u64) -> bool {
        let before = self.total;
        for &block in blocks {
            if block.end > high || block.end <= self.unacknowledged {
                continue;
            }
            let block = ByteRange::new(block.start.max(self.unacknowledged), block.end);
            let Self { received, total, expired, retransmitted, .. } = self;
            received.insert(block, |piece| {
                *total += piece.length();
                expired.add(piece);
                retransmitted.add(piece);
            });
        }
        let news = self.total > before;
        if news {
            self.find_lost();
        }
        news
    }

    /// The threshold of `IsLost`: DupThresh ranges, or more than (DupThresh - 1) SMSS bytes, have been
    /// received above what is lost. It may fall when short ranges join.
    fn find_lost(&mut self) {
        let enough = u64::from(self.threshold - 1) * self.segment_size;
        let (mut above, mut ranges) = (0, 0);
        for range in self.received.descending() {
            above += range.length();
            ranges += 1;
            if above > enough || ranges == self.threshold {
                self.lost = Mark { at: range.start, received_below: self.total - above };
                return;
            }
        }
        self.lost = Mark { at: self.unacknowledged, received_below: 0 };
    }

    /// Every hole below this is lost, for either reason.
    fn lost(&self) -> Mark {
        if self.expired.at > self.lost.at { self.expired } else { self.lost }
    }

    /// Bytes received beyond the cumulative acknowledgement.
    pub(super) fn received(&self) -> u64 {
        self.total
    }

    /// `IsLost` of a byte that has not been received.
    pub(super) fn is_lost(&self, byte: u64) -> bool {
        byte < self.lost().at
    }

    /// `SetPipe`: bytes still in the network, if all data below `high` was sent. A retransmission counts in
    /// addition to an original that is not lost.
    pub(super) fn pipe(&self, high: u64) -> u64 {
        let lost = self.lost();
        let not_lost = (high - lost.at) - (self.total - lost.received_below);
        not_lost + self.retransmitted.missing(self.unacknowledged)
    }

    /// The lowest hole that was not retransmitted and is lost (NextSeg rule 1), cut to a segment.
    pub(super) fn next_lost(&self) -> Option<ByteRange> {
        let hole = self.next_hole(self.retransmitted.at)?;
        // A timeout moves the threshold above everything received, into the middle of a hole.
        self.is_lost(hole.start).then(|| self.cut(ByteRange::new(hole.start, hole.end.min(self.lost().at))))
    }

    /// The lowest hole that was not retransmitted and has something received above it (NextSeg rules 1 and
    /// 3), cut to a segment.
    pub(super) fn next_below_received(&self) -> Option<ByteRange> {
        let hole = self.next_hole(self.retransmitted.at)?;
        self.received.last().filter(|last| hole.start < last.start)?;
        Some(self.cut(hole))
    }

    /// The highest bytes not received below `high`, at most a segment of them (NextSeg rule 4).
    pub(super) fn last_missing(&self, high: u64) -> Option<ByteRange> {
        let mut end = high;
        let mut floor = self.unacknowledged;
        if let Some(last) = self.received.last() {
            if last.end < high {
                floor = last.end;
            } else {
                end = last.start;
                floor = self.received.descending().nth(1).map_or(self.unacknowledged, |range| range.end);
            }
        }
        let start = floor.max(end.saturating_sub(self.segment_size));
        (start < end).then_some(ByteRange::new(start, end))
    }

    /// The next hole at or above `from`, up to the next data received; the last has no end.
    fn next_hole(&self, from: u64) -> Option<ByteRange> {
        let from = from.max(self.unacknowledged);
        Some(match self.received.containing_or_after(from) {
            Some(range) if range.start <= from => {
                let end = self.received.containing_or_after(range.end).map_or(u64::MAX, |next| next.start);
                ByteRange::new(range.end, end)
            }
            Some(range) => ByteRange::new(from, range.start),
            None => ByteRange::new(from, u64::MAX),
        })
    }

    fn cut(&self, hole: ByteRange) -> ByteRange {
        ByteRange::new(hole.start, hole.end.min(hole.start + self.segment_size))
    }

    /// The first segment not acknowledged, for a fast retransmit; `high` is the end of the data sent.
    pub(super) fn first_missing(&self, high: u64) -> ByteRange {
        let end = self.received.first().map_or(high, |first| first.start);
        self.cut(ByteRange::new(self.unacknowledged, end))
    }

    /// HighRxt moves up over a hole, or a part of one, that `next_` or `first_missing` returned.
    pub(super) fn on_retransmitted(&mut self, range: ByteRange) {
        if range.end <= self.retransmitted.at {
            return;
        }
        // All between the mark and the hole has been received, or the hole would have been another.
        let skipped = range.start.saturating_sub(self.retransmitted.at);
        self.retransmitted.at = range.end;
        self.retransmitted.received_below += skipped;
    }

    /// A recovery begins: nothing counts as retransmitted (RFC 6675, Section 5, step 3.1).
    pub(super) fn forget_retransmissions(&mut self) {
        self.retransmitted = Mark { at: self.unacknowledged, received_below: 0 };
    }

    /// The timer expired: everything sent is lost, nothing is retransmitted, and the received ranges are
    /// cleared unless `keep` (RFC 6675, Section 5.1).
    pub(super) fn on_timeout(&mut self, high: u64, keep: bool) {
        if !keep {
            self.clear();
        }
        self.expired = Mark { at: high, received_below: self.total };
        self.forget_retransmissions();
    }

    /// Forgets everything received.
    pub(super) fn clear(&mut self) {
        self.received.clear();
        self.total = 0;
        self.lost = Mark { at: self.unacknowledged, received_below: 0 };
        self.expired = self.lost;
        self.forget_retransmissions();
    }
}

#[cfg(test)]
mod tests;
