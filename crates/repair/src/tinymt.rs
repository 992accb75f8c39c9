//! The generator TinyMT32 of RFC 8682, with the parameters and the initialization that RFC 8681 prescribes.

const MAT1: u32 = 0x8f70_11ee;
const MAT2: u32 = 0xfc78_ff1f;
const TMAT: u32 = 0x3793_fdff;

/// The generator: 127 bits of state.
#[derive(Clone, Debug)]
pub struct TinyMt32([u32; 4]);

impl TinyMt32 {
    /// A generator for `seed` (RFC 8682, Section 2.2).
    #[must_use]
    pub const fn new(seed: u32) -> Self {
        let mut state = [seed, MAT1, MAT2, TMAT];
        let mut i = 1;
        while i < 8 {
            let before = state[(i - 1) % 4];
            let mixed = 1_812_433_253_u32.wrapping_mul(before ^ (before >> 30));
            state[i % 4] ^= mixed.wrapping_add(i as u32);
            i += 1;
        }
        let mut generator = Self(state);
        let mut step = 0;
        while step < 8 {
            generator.step();
            step += 1;
        }
        generator
    }

    const fn step(&mut self) {
        let [a, b, c, d] = self.0;
        let mut x = (a & 0x7fff_ffff) ^ b ^ c;
        x ^= x << 1;
        let y = d ^ (d >> 1) ^ x;
        let odd = (y & 1).wrapping_neg();
        self.0 = [b, c ^ (MAT1 & odd), x ^ (y << 10) ^ (MAT2 & odd), y];
    }

    /// The next word.
    pub const fn next_u32(&mut self) -> u32 {
        self.step();
        let low = self.0[0].wrapping_add(self.0[2] >> 8);
        self.0[3] ^ low ^ (TMAT & (low & 1).wrapping_neg())
    }

    /// The next number from 0 to 255 (RFC 8681, Section 3.5).
    pub const fn next_256(&mut self) -> u8 {
        self.next_u32() as u8
    }

    /// The next number from 0 to 15.
    pub const fn next_16(&mut self) -> u8 {
        self.next_u32() as u8 & 15
    }
}

#[cfg(test)]
mod tests;
