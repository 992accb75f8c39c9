//! Circular 48-bit sequence numbers (RFC 4340, Sections 3.1 and 7).

use core::fmt;

#[cfg(test)]
mod tests;

/// A sequence number: 48 bits, circular. As it has no total order, it does not implement `Ord`: use
/// [`SeqNo::is_after`] or the signed [`SeqNo::distance_from`].
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
        // Shifting into the high bits makes the sign bit of the circular distance the sign bit of the
        // integer.
        ((self.0.wrapping_sub(other.0) << 16) as i64) >> 16
    }

    /// `true` if this number is after `other` in circular order.
    pub const fn is_after(self, other: Self) -> bool {
        self.distance_from(other) > 0
    }

    /// `true` if this number is before `other` in circular order.
    pub const fn is_before(self, other: Self) -> bool {
        self.distance_from(other) < 0
    }

    /// `true` if `low <= self <= high` in circular order, counting upwards from `low`.
    pub const fn is_between(self, low: Self, high: Self) -> bool {
        self.0.wrapping_sub(low.0) & (Self::MODULUS - 1) <= high.0.wrapping_sub(low.0) & (Self::MODULUS - 1)
    }

    /// The later of the two in circular order.
    pub const fn max(self, other: Self) -> Self {
        if other.is_after(self) { other } else { self }
    }

    /// The integer nearest to `last` that equals this number modulo 2^48: an unwrapped sequence number.
    pub const fn unwrap_near(self, last: u64) -> u64 {
        last.saturating_add_signed(self.distance_from(Self::new(last)))
    }

    /// The counterpart of [`SeqNo::unwrap_near`] for a sequence that may be empty: `next` is zero before the
    /// first number. The first number then leaves room for one wrap below it, for reordered packets.
    pub const fn unwrap_or_first(self, next: u64) -> u64 {
        if next == 0 { Self::MODULUS + self.0 } else { self.unwrap_near(next) }
    }

    /// The low 24 bits, as carried by a packet with X = 0.
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
