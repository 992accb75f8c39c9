//! Random times between probes for bandwidth.

/// A generator of the random times (xorshift64*).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(super) const fn bit(&mut self) -> u32 {
        (self.next() >> 63) as u32
    }

    /// Uniform in [0, 1).
    pub(super) const fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
