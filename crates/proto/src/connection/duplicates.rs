//! Which of the recent packets have already come: the network may duplicate.

use whimbrel_wire::SeqNo;

#[cfg(test)]
mod tests;

const WORDS: usize = 16;
/// How far below the newest packet a late one is still recognised as new.
const SPAN: u64 = WORDS as u64 * 64;

/// A map of the last 1024 sequence numbers: which have been received.
///
/// RFC 4340, Section 7 lets sequence numbers detect duplicates; this makes sure that no datagram is
/// delivered twice. Whatever is older than the map counts as a duplicate.
#[derive(Clone, Debug)]
pub(crate) struct Duplicates {
    newest: SeqNo,
    words: [u64; WORDS],
}

impl Duplicates {
    /// A map for a connection whose first packet is numbered `isr`; that packet has not been seen yet.
    pub(crate) fn new(isr: SeqNo) -> Self {
        Self { newest: isr.previous(), words: [0; WORDS] }
    }
    /// Notes the packet. Whether it is the first with that number.
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
    /// Whether the packet has come, as far as is remembered: of one older than the map it is possible.
    pub(crate) fn may_have_come(&self, sequence: SeqNo) -> bool {
        let distance = sequence.distance_from(self.newest);
        if distance > 0 {
            return false;
        }
        let (word, bit) = Self::place(sequence);
        distance.unsigned_abs() >= SPAN || self.words[word] & bit != 0
    }
    /// Clears the places of the `distance` numbers after `newest`.
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
