//! Block acknowledgements: the bitmap on the air, and the scoreboard at the receiver.

use super::{HALF, LARGEST_WINDOW, sequence_after, sequences_between};

const WORDS: usize = LARGEST_WINDOW as usize / 64;

/// A compressed BlockAck: which of the MPDUs from a sequence number on were received.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BlockAck {
    /// The sequence number of the first bit.
    pub start: u16,
    /// Number of bits.
    pub window: u16,
    bits: [u64; WORDS],
}

impl BlockAck {
    /// No bits.
    pub const EMPTY: Self = Self { start: 0, window: 0, bits: [0; WORDS] };

    /// `true` if the MPDU of this number was received. `false` outside of the bitmap.
    pub const fn contains(&self, sequence: u16) -> bool {
        let place = sequences_between(self.start, sequence);
        place < self.window && self.bits[place as usize / 64] >> (place % 64) & 1 == 1
    }

    /// The bitmap's bytes, as many as the window has: bit i of byte j belongs to the number start + 8 j + i.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        let bytes = usize::from(self.window).div_ceil(8);
        self.bits.into_iter().flat_map(u64::to_le_bytes).take(bytes)
    }

    /// Length of the frame with its frame check sequence, by the number of bits: 32 bytes for 64, 56 for 256.
    pub const fn frame_bytes(window: u16) -> u32 {
        if window <= 64 { 32 } else { 56 }
    }
}

/// A receiver's record of the MPDUs of one sender and traffic class, for its block acknowledgements
/// (10.25.6.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scoreboard {
    /// The first number of the window.
    start: u16,
    window: u16,
    /// One bit for each number, at its place modulo 256.
    bits: [u64; WORDS],
}

impl Scoreboard {
    /// A scoreboard whose window begins with this number.
    ///
    /// # Panics
    /// If the window is 0 or above [`LARGEST_WINDOW`].
    pub const fn new(start: u16, window: u16) -> Self {
        assert!(window > 0 && window <= LARGEST_WINDOW, "a window of 1 to 256");
        Self { start, window, bits: [0; WORDS] }
    }

    /// An MPDU was received. One behind the window moves it, so that it ends with this number; one before it
    /// changes nothing.
    pub fn receive(&mut self, sequence: u16) {
        let ahead = sequences_between(self.start, sequence);
        if ahead >= HALF {
            return;
        }
        if ahead >= self.window {
            self.move_to(sequence_after(self.start, ahead - self.window + 1));
        }
        let place = sequence as usize % LARGEST_WINDOW as usize;
        self.bits[place / 64] |= 1 << (place % 64);
    }

    /// The sender gives up what precedes this number (a BlockAckReq).
    pub fn request(&mut self, start: u16) {
        if sequences_between(self.start, start) < HALF {
            self.move_to(start);
        }
    }

    fn move_to(&mut self, start: u16) {
        let steps = sequences_between(self.start, start);
        if steps >= self.window {
            self.bits = [0; WORDS];
        } else {
            for step in 0..steps {
                let place = sequence_after(self.start, step) as usize % LARGEST_WINDOW as usize;
                self.bits[place / 64] &= !(1 << (place % 64));
            }
        }
        self.start = start;
    }

    /// The answer to an A-MPDU or to a BlockAckReq.
    pub fn answer(&self) -> BlockAck {
        // The window's first number moves to the first bit of the 256.
        let shift = usize::from(self.start) % LARGEST_WINDOW as usize;
        let (words, bits) = (shift / 64, shift % 64);
        let word = |number: usize| self.bits[number % WORDS];
        let mut turned = [0; WORDS];
        for (number, turned) in turned.iter_mut().enumerate() {
            let low = word(number + words) >> bits;
            let high = if bits == 0 { 0 } else { word(number + words + 1) << (64 - bits) };
            *turned = low | high;
        }
        BlockAck { start: self.start, window: self.window, bits: turned }
    }
}

#[cfg(test)]
mod tests;
