//! An amount of data.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

use crate::{DataRate, Duration};

/// An amount of data in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ByteCount(u64);

impl ByteCount {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);

    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The amount in bytes.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The amount in bytes, as a float.
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The amount in bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl Add for ByteCount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for ByteCount {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for ByteCount {
    type Output = Self;
    /// Saturates at zero.
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
impl Mul<u64> for ByteCount {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}
impl Div<DataRate> for ByteCount {
    type Output = Duration;
    /// The transmission time of this amount at `rate`; [`Duration::MAX`] at rate zero.
    fn div(self, rate: DataRate) -> Duration {
        Duration::from_secs_f64(self.bits() as f64 / rate.as_bits_per_second())
    }
}
impl Div<Duration> for ByteCount {
    type Output = DataRate;
    /// The rate at which this amount is transmitted in `time`.
    fn div(self, time: Duration) -> DataRate {
        DataRate::from_bits_per_second(self.bits() as f64 / time.as_secs_f64())
    }
}
impl Sum for ByteCount {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}
impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}
