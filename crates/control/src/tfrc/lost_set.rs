//! A set of sequence numbers among the latest.

const WORDS: usize = 16;
const BITS: u64 = WORDS as u64 * 64;

/// Packets, declared lost say, among the last 1024 sequence numbers: a bit each.
#[derive(Clone, Debug, Default)]
pub(super) struct LostSet {
    bits: [u64; WORDS],
    count: u32,
}

impl LostSet {
    /// The sequence numbers `from..to` come into view, not in the set; as many of the oldest go.
    #[inline]
    pub(super) fn advance(&mut self, from: u64, to: u64) {
        if self.count == 0 {
            return;
        }
        if to - from >= BITS {
            *self = Self::default();
            return;
        }
        for sequence in from..to {
            self.take(sequence);
        }
    }

    /// The `count` packets from `first` on, all below `next`, join the set.
    pub(super) fn insert(&mut self, first: u64, count: u64, next: u64) {
        for sequence in first.max(next.saturating_sub(BITS))..first + count {
            let (word, bit) = place(sequence);
            self.count += u32::from(self.bits[word] & bit == 0);
            self.bits[word] |= bit;
        }
    }

    /// A packet below `next`, the first number not yet in view, has arrived after all. Whether it
    /// was in the set.
    pub(super) fn remove(&mut self, sequence: u64, next: u64) -> bool {
        next - sequence <= BITS && self.take(sequence)
    }

    fn take(&mut self, sequence: u64) -> bool {
        let (word, bit) = place(sequence);
        let present = self.bits[word] & bit != 0;
        self.count -= u32::from(present);
        self.bits[word] &= !bit;
        present
    }
}

fn place(sequence: u64) -> (usize, u64) {
    ((sequence / 64 % WORDS as u64) as usize, 1 << (sequence % 64))
}
