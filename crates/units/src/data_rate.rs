//! Data rates.

use core::fmt;
use core::ops::{Add, Div, Mul, Sub};

use crate::{ByteCount, Duration};

/// Data per time, held as bits per second.
///
/// Real-valued, because the minimum rate of TFRC is a packet in 64 s (RFC 5348, Section 4.3). Never negative
/// and never NaN; infinity is allowed and represents "no limit".
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct DataRate(f64);

impl DataRate {
    /// Zero.
    pub const ZERO: Self = Self(0.0);
    /// No limit.
    pub const INFINITE: Self = Self(f64::INFINITY);

    /// `rate` in bit/s; negative values and NaN give zero.
    pub fn from_bits_per_second(rate: f64) -> Self {
        Self(if rate > 0.0 { rate } else { 0.0 })
    }

    /// `rate` in byte/s; negative values and NaN give zero.
    pub fn from_bytes_per_second(rate: f64) -> Self {
        Self::from_bits_per_second(rate * 8.0)
    }

    /// `rate` in kbit/s (1000 bit/s); negative values and NaN give zero.
    pub fn from_kilobits_per_second(rate: f64) -> Self {
        Self::from_bits_per_second(rate * 1e3)
    }

    /// `rate` in Mbit/s (10^6 bit/s); negative values and NaN give zero.
    pub fn from_megabits_per_second(rate: f64) -> Self {
        Self::from_bits_per_second(rate * 1e6)
    }

    /// The rate in bit/s.
    pub const fn as_bits_per_second(self) -> f64 {
        self.0
    }

    /// The rate in byte/s.
    pub fn as_bytes_per_second(self) -> f64 {
        self.0 / 8.0
    }

    /// The lower of the two.
    pub fn min(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }

    /// The higher of the two.
    pub fn max(self, other: Self) -> Self {
        if other.0 > self.0 { other } else { self }
    }

    /// `true` if the rate is zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }
}

impl Add for DataRate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl Sub for DataRate {
    type Output = Self;
    /// Saturates at zero.
    fn sub(self, other: Self) -> Self {
        Self::from_bits_per_second(self.0 - other.0)
    }
}
impl Mul<f64> for DataRate {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self::from_bits_per_second(self.0 * factor)
    }
}
impl Div<f64> for DataRate {
    type Output = Self;
    fn div(self, divisor: f64) -> Self {
        Self::from_bits_per_second(self.0 / divisor)
    }
}
impl Div for DataRate {
    type Output = f64;
    fn div(self, other: Self) -> f64 {
        self.0 / other.0
    }
}
impl Mul<Duration> for DataRate {
    type Output = ByteCount;
    /// The amount transmitted in `time`, rounded down to a whole byte.
    fn mul(self, time: Duration) -> ByteCount {
        ByteCount::new((self.0 * time.as_secs_f64() / 8.0) as u64)
    }
}
impl fmt::Debug for DataRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl fmt::Display for DataRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            rate if rate >= 1e9 => write!(f, "{:.3} Gbit/s", rate / 1e9),
            rate if rate >= 1e6 => write!(f, "{:.3} Mbit/s", rate / 1e6),
            rate if rate >= 1e3 => write!(f, "{:.3} kbit/s", rate / 1e3),
            rate => write!(f, "{rate:.3} bit/s"),
        }
    }
}
