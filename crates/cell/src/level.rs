//! Decibels and powers: types of their own, so that a gain is not taken for a power.

use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Neg, Sub};

/// A power ratio in decibels: a gain, a loss or a signal-to-noise ratio.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Decibels(pub f64);

impl Decibels {
    /// The ratio 1.
    pub const ZERO: Self = Self(0.0);

    /// The level of a power ratio; minus infinity for 0.
    pub fn from_ratio(ratio: f64) -> Self {
        Self(10.0 * libm::log10(ratio))
    }

    /// The power ratio.
    pub fn ratio(self) -> f64 {
        libm::exp2(self.0 * (core::f64::consts::LOG2_10 / 10.0))
    }

    /// The greater of the two.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl Add for Decibels {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Decibels {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Decibels {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl Neg for Decibels {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// A power in dBm: decibels above a milliwatt.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct PowerLevel(pub f64);

impl PowerLevel {
    /// The power, which can be added to others.
    pub fn power(self) -> Milliwatts {
        Milliwatts(Decibels(self.0).ratio())
    }

    /// The lesser of the two.
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

impl Add<Decibels> for PowerLevel {
    type Output = Self;
    fn add(self, gain: Decibels) -> Self {
        Self(self.0 + gain.0)
    }
}
impl Sub<Decibels> for PowerLevel {
    type Output = Self;
    fn sub(self, loss: Decibels) -> Self {
        Self(self.0 - loss.0)
    }
}
impl Sub for PowerLevel {
    type Output = Decibels;
    fn sub(self, other: Self) -> Decibels {
        Decibels(self.0 - other.0)
    }
}

/// A power in milliwatts.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Milliwatts(pub f64);

impl Milliwatts {
    /// No power.
    pub const ZERO: Self = Self(0.0);

    /// The level in dBm; minus infinity for no power.
    pub fn level(self) -> PowerLevel {
        PowerLevel(Decibels::from_ratio(self.0).0)
    }

    /// A part of this power.
    pub fn scaled(self, factor: f64) -> Self {
        Self(self.0 * factor)
    }
}

impl Add for Milliwatts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl Div for Milliwatts {
    type Output = f64;
    fn div(self, other: Self) -> f64 {
        self.0 / other.0
    }
}
impl Sum for Milliwatts {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests;
