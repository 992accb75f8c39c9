//! The sequence numbers of one direction at the capture point (RFC 4340, Section 7).

use std::collections::VecDeque;

use whimbrel_wire::SeqNo;

#[cfg(test)]
mod tests;

/// Maximum number of ranges of missing numbers kept; older ones stay missing.
const MAX_RANGES: usize = 256;
/// Number of consecutive packets beyond the window, each close to the previous one, from which the capture is
/// assumed to have a gap.
const RESYNCHRONISE: u8 = 3;
/// Maximum distance of such packets.
const CLOSE: u64 = 256;
/// Maximum distance beyond the window of a packet that may exceed it.
const MAX_SYNC_GAP: u64 = 1 << 24;

/// Position of a packet's sequence number relative to the previous ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SequencePlace {
    /// The first of its direction.
    First,
    /// Newer than all others, after this many missing ones.
    New { missing: u64 },
    /// In a hole: the packet was reordered.
    Late,
    /// Captured before, or older than the numbers kept.
    Old,
    /// Beyond the window: the packet does not count.
    Stray,
    /// Beyond the window, after others like it: the sequence numbers continue from here.
    Jump,
}

/// The captured sequence numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    first: Option<SeqNo>,
    greatest: SeqNo,
    /// Inclusive ranges of missing numbers, the oldest first.
    missing: VecDeque<(SeqNo, SeqNo)>,
    stray: Option<(SeqNo, u8)>,
    /// Number of missing sequence numbers.
    pub(crate) holes: u64,
    /// Packets that were reordered.
    pub(crate) late: u64,
    /// Packets with a number that was captured before.
    pub(crate) repeated: u64,
}

impl Sequence {
    /// The greatest number captured: an estimate of GSS of its sender and GSR of its receiver.
    pub(crate) fn greatest(&self) -> Option<SeqNo> {
        self.first.map(|_| self.greatest)
    }

    /// The window [SWL, SWH] of RFC 4340, Section 7.5.1, of `width`, around the greatest number captured.
    pub(crate) fn window(&self, width: u64) -> Option<(SeqNo, SeqNo)> {
        let first = self.first?;
        let low = self.greatest.next().sub(width / 4).max(first);
        Some((low, self.greatest.add(width - width / 4)))
    }

    /// Processes a packet. `width` is the Sequence Window, or `None` for a packet that may exceed it.
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
