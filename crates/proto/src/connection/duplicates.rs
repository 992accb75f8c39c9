//! Detection of duplicates among recent packets.

use whimbrel_wire::SeqNo;

#[cfg(test)]
mod tests;

const WORDS: usize = 16;
/// Distance below the newest packet up to which a late one is recognized as new.
const SPAN: u64 = WORDS as u64 * 64;

/// A bitmap of the last 1024 sequence numbers: set if received.
///
/// RFC 4340, Section 7 lets sequence numbers detect duplicates; this ensures that no datagram is delivered
/// twice. A packet older than the bitmap counts as a duplicate.
#[derive(Clone, Debug)]
pub(crate) struct Duplicates {
    newest: SeqNo,
    words: [u64; WORDS],
}

impl Duplicates {
    /// The bitmap of a connection whose first packet, not received yet, is numbered `isr`.
    pub(crate) fn new(isr: SeqNo) -> Self {
        Self { newest: isr.previous(), words: [0; WORDS] }
    }

    /// Records the packet. Returns `true` if it is the first with that number.
    pub(crate) fn is_first(&mut self, sequence: SeqNo) -> bool {
        let distance = sequence.distance_from(self.newest);
        if distance > 0 {
            self.advance(distance as u64);
            self.newest = sequence;
        } else if distance.unsigned_abs() >= SPAN {
            return false;
        }
        let (word, bit) = Self::place(sequence);
        let first = self.words[word] & bit == 0;
        self.words[word] |= bit;
        first
    }

    /// `true` if the packet was received, or is older than the bitmap.
    pub(crate) fn may_have_come(&self, sequence: SeqNo) -> bool {
        let distance = sequence.distance_from(self.newest);
        if distance > 0 {
            return false;
        }
        let (word, bit) = Self::place(sequence);
        distance.unsigned_abs() >= SPAN || self.words[word] & bit != 0
    }

    /// Clears the bits of the `distance` numbers after `newest`.
    fn advance(&mut self, distance: u64) {
        if distance >= SPAN {
            self.words = [0; WORDS];
            return;
        }
        let mut sequence = self.newest;
        for _ in 0..distance {
            sequence = sequence.next();
            let (word, bit) = Self::place(sequence);
            self.words[word] &= !bit;
        }
    }

    fn place(sequence: SeqNo) -> (usize, u64) {
        let index = sequence.value() % SPAN;
        ((index / 64) as usize, 1 << (index % 64))
    }
}
