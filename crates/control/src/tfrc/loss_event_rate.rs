//! p: loss events per packet.

use core::fmt;

/// p, the loss event rate: loss events as a fraction of the packets sent (RFC 5348, Section 3.1).
///
/// Between 0 and 1. Zero means that there was no loss so far, not that loss is rare: the sender is then in
/// its initial slow start.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct LossEventRate(f64);

impl LossEventRate {
    /// No loss so far.
    pub const ZERO: Self = Self(0.0);
    /// Every packet starts a loss event.
    pub const ONE: Self = Self(1.0);
    /// The lowest non-zero rate that the 32-bit inverse can represent.
    pub const LOWEST: Self = Self(1.0 / (u32::MAX - 1) as f64);

    /// The fraction `p`, clamped to 0..=1. NaN becomes one, the conservative choice.
    pub fn new(p: f64) -> Self {
        if p.is_nan() { Self::ONE } else { Self(p.clamp(0.0, 1.0)) }
    }

    /// The rate that corresponds to loss intervals of `packets` on average (RFC 5348, Section 5.4); never
    /// zero.
    pub fn from_average_interval(packets: f64) -> Self {
        Self::new(1.0 / packets).max(Self::LOWEST)
    }

    /// Decodes the inverse transmitted by CCID 3, in packets per loss interval; all ones mean no loss so far
    /// (RFC 4342, Section 8.5). Zero, which no conforming receiver sends, is decoded as a rate of one.
    pub fn from_inverse(packets_per_interval: u32) -> Self {
        if packets_per_interval == u32::MAX {
            Self::ZERO
        } else {
            Self::new(1.0 / f64::from(packets_per_interval))
        }
    }

    /// Encodes the inverse transmitted by CCID 3: packets per loss interval, rounded up; all ones if the rate
    /// is zero (RFC 4342, Section 8.5).
    pub fn to_inverse(self) -> u32 {
        if self.is_zero() {
            return u32::MAX;
        }
        let packets = 1.0 / self.0;
        // The inverse of an inverse may exceed the original whole number by a rounding error, which must
        // not add a packet.
        let rounded_up = libm::ceil(packets * (1.0 - 1e-12));
        (rounded_up as u32).clamp(1, u32::MAX - 1)
    }

    /// The fraction.
    pub const fn as_f64(self) -> f64 {
        self.0
    }

    /// `true` if there was no loss so far.
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }

    /// The greater of the two.
    pub fn max(self, other: Self) -> Self {
        if other.0 > self.0 { other } else { self }
    }
}

impl fmt::Debug for LossEventRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for LossEventRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} %", self.0 * 100.0)
    }
}

#[cfg(test)]
mod tests;
