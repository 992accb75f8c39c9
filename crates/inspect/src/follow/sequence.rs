//! One direction's sequence numbers, as they pass the capture point (RFC 4340, Section 7).

use std::collections::VecDeque;

use whimbrel_wire::SeqNo;

#[cfg(test)]
mod tests;

/// How many ranges of missing numbers are remembered; older ones stay missing.
const MAX_RANGES: usize = 256;
/// How many packets in a row beyond the window, each close to the one before, show that it is the
/// capture that has a gap and not the packets that are strays.
const RESYNCHRONISE: u8 = 3;
/// How close.
const CLOSE: u64 = 256;
/// How far a packet that may go beyond the window is believed to go.
const MAX_SYNC_GAP: u64 = 1 << 24;

/// What a packet's sequence number is to those before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SequencePlace {
    /// The first of its direction.
    First,
    /// Newer than all, after this many missing ones.
    New { missing: u64 },
    /// It fills a hole: it was overtaken.
    Late,
    /// Seen before, or older than what is remembered.
    Old,
    /// Beyond the window: it counts for nothing.
    Stray,
    /// Beyond the window, with others like it: the numbers go on from here.
    Jump,
}

/// Which numbers have passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    first: Option<SeqNo>,
    greatest: SeqNo,
    /// Ranges of numbers that have not passed, the oldest first; both ends belong to them.
    missing: VecDeque<(SeqNo, SeqNo)>,
    stray: Option<(SeqNo, u8)>,
    /// Numbers that have not passed.
    pub(crate) holes: u64,
    /// Packets that were overtaken.
    pub(crate) late: u64,
    /// Packets with a number that has passed.
    pub(crate) repeated: u64,
}

impl Sequence {
    /// The greatest number seen: GSS of its sender or GSR of its receiver, as far as one can tell from here.
    pub(crate) fn greatest(&self) -> Option<SeqNo> {
        self.first.map(|_| self.greatest)
    }

    /// The window [SWL, SWH] of RFC 4340, Section 7.5.1, `width` wide, around the greatest number seen.
    pub(crate) fn window(&self, width: u64) -> Option<(SeqNo, SeqNo)> {
        let first = self.first?;
        let low = self.greatest.next().sub(width / 4).max(first);
        Some((low, self.greatest.add(width - width / 4)))
    }

    /// A packet passes. `width`: the Sequence Window, or `None` for a packet that may go beyond it.
    pub(crate) fn on_packet(&mut self, sequence: SeqNo, width: Option<u64>) -> SequencePlace {
        if self.first.is_none() {
            (self.first, self.greatest) = (Some(sequence), sequence);
            return SequencePlace::First;
        }
        if !sequence.is_after(self.greatest) {
            return self.on_older(sequence);
        }
        let ahead = sequence.distance_from(self.greatest).unsigned_abs();
        let most = width.map_or(MAX_SYNC_GAP, |width| width - width / 4);
        if ahead > most {
            let row = match self.stray {
                Some((last, row)) if sequence.distance_from(last).unsigned_abs() <= CLOSE => row + 1,
                _ => 1,
            };
            self.stray = Some((sequence, row));
            if row < RESYNCHRONISE {
                return SequencePlace::Stray;
            }
            (self.greatest, self.stray) = (sequence, None);
            self.missing.clear();
            return SequencePlace::Jump;
        }
        let missing = ahead - 1;
        if missing > 0 {
            if self.missing.len() == MAX_RANGES {
                self.missing.pop_front();
            }
            self.missing.push_back((self.greatest.next(), sequence.previous()));
            self.holes += missing;
        }
        (self.greatest, self.stray) = (sequence, None);
        SequencePlace::New { missing }
    }

    fn on_older(&mut self, sequence: SeqNo) -> SequencePlace {
        let holds = |&(low, high): &(SeqNo, SeqNo)| sequence.is_between(low, high);
        let Some(at) = self.missing.iter().rposition(holds) else {
            self.repeated += 1;
            return SequencePlace::Old;
        };
        let (low, high) = self.missing[at];
        match (low == sequence, high == sequence) {
            (true, true) => {
                self.missing.remove(at);
            }
            (true, false) => self.missing[at].0 = low.next(),
            (false, true) => self.missing[at].1 = high.previous(),
            (false, false) => {
                self.missing[at].1 = sequence.previous();
                self.missing.insert(at + 1, (sequence.next(), high));
                self.missing.truncate(MAX_RANGES);
            }
        }
        self.holes -= 1;
        self.late += 1;
        SequencePlace::Late
    }
}
