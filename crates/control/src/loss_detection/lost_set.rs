//! A set of recent sequence numbers.

const WORDS: usize = 16;
const BITS: u64 = WORDS as u64 * 64;

/// Lost packets among the last 1024 sequence numbers, as a bitmap.
#[derive(Clone, Debug, Default)]
pub(crate) struct LostSet {
    bits: [u64; WORDS],
    count: u32,
}

impl LostSet {
    /// Moves the range forward by the sequence numbers `from..to`, which are not in the set; as many of the
    /// oldest are dropped.
    #[inline]
    pub(crate) fn advance(&mut self, from: u64, to: u64) {
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

    /// Adds the `count` packets from `first` on, all below `next`.
    pub(crate) fn insert(&mut self, first: u64, count: u64, next: u64) {
        for sequence in first.max(next.saturating_sub(BITS))..first + count {
            let (word, bit) = place(sequence);
            self.count += u32::from(self.bits[word] & bit == 0);
            self.bits[word] |= bit;
        }
    }

    /// Removes a packet below `next`, the first number beyond the range, which has arrived after all. Returns
    /// `true` if it was in the set.
    pub(crate) fn remove(&mut self, sequence: u64, next: u64) -> bool {
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
