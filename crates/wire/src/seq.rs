//! Circular 48-bit sequence numbers (RFC 4340, Section 3.1 and 7).

use core::fmt;

#[cfg(test)]
mod tests;

/// A sequence number: 48 bits, circular. It has no total order, so it has no `Ord`:
/// ask for [`SeqNo::is_after`] or a signed [`SeqNo::distance_from`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNo(u64);

impl SeqNo {
    /// One more than the largest value: 2^48.
    pub const MODULUS: u64 = 1 << 48;
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// `value` modulo 2^48.
    pub const fn new(value: u64) -> Self {
        Self(value & (Self::MODULUS - 1))
    }
    /// The number as an integer below 2^48.
    pub const fn value(self) -> u64 {
        self.0
    }
    /// The number after this one.
    pub const fn next(self) -> Self {
        Self::new(self.0 + 1)
    }
    /// The number before this one.
    pub const fn previous(self) -> Self {
        Self::new(self.0.wrapping_sub(1))
    }
    /// This number advanced by `n` (modulo 2^48).
    pub const fn add(self, n: u64) -> Self {
        Self::new(self.0.wrapping_add(n))
    }
    /// This number moved back by `n` (modulo 2^48).
    pub const fn sub(self, n: u64) -> Self {
        Self::new(self.0.wrapping_sub(n))
    }
    /// The signed circular distance `self - other`, in `-2^47 .. 2^47`.
    pub const fn distance_from(self, other: Self) -> i64 {
        // Shifting into the top of the word makes the sign bit of the circle the sign bit of the integer.
        ((self.0.wrapping_sub(other.0) << 16) as i64) >> 16
    }
    /// Whether this number comes after `other` in circular order.
    pub const fn is_after(self, other: Self) -> bool {
        self.distance_from(other) > 0
    }
    /// Whether this number comes before `other` in circular order.
    pub const fn is_before(self, other: Self) -> bool {
        self.distance_from(other) < 0
    }
    /// Whether `low <= self <= high` on the circle, walking upwards from `low`.
    pub const fn is_between(self, low: Self, high: Self) -> bool {
        self.0.wrapping_sub(low.0) & (Self::MODULUS - 1) <= high.0.wrapping_sub(low.0) & (Self::MODULUS - 1)
    }
    /// The later of the two in circular order.
    pub const fn max(self, other: Self) -> Self {
        if other.is_after(self) { other } else { self }
    }
    /// The integer nearest to `last` that is this number modulo 2^48: a number that does not wrap.
    pub const fn unwrap_near(self, last: u64) -> u64 {
        last.saturating_add_signed(self.distance_from(Self::new(last)))
    }
    /// As [`SeqNo::unwrap_near`], for a count of packets that may be the first: `next` is zero before any. Then one turn of the circle
    /// is left below it, for packets that were overtaken.
    pub const fn unwrap_or_first(self, next: u64) -> u64 {
        if next == 0 { Self::MODULUS + self.0 } else { self.unwrap_near(next) }
    }
    /// The low 24 bits, as a packet with X = 0 carries them.
    pub const fn low24(self) -> u32 {
        (self.0 & 0xff_ffff) as u32
    }
    /// The number nearest to `reference` with these low 24 bits (RFC 4340, Section 7.6).
    pub const fn extend(low24: u32, reference: Self) -> Self {
        let step = ((low24.wrapping_sub(reference.low24()) << 8) as i32) >> 8;
        Self::new(reference.0.wrapping_add(step as u64))
    }
}

impl fmt::Debug for SeqNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
impl fmt::Display for SeqNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
