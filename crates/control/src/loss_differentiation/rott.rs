//! The relative one-way trip time.

use core::ops::{Add, Sub};

use super::PacketArrival;

/// A relative one-way trip time: the receiver's clock at arrival minus the sender's clock at departure, in
/// nanoseconds. The clocks are not synchronised, so that only differences are meaningful (paper, Section
/// 3.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Rott(pub i64);

impl Rott {
    /// Trip time of `arrival`, if its send time is known.
    pub fn of(arrival: &PacketArrival) -> Option<Self> {
        let sent = arrival.sent?;
        Some(Self(arrival.at.as_nanos().wrapping_sub(sent.as_nanos()).cast_signed()))
    }
}

impl Sub for Rott {
    type Output = f64;
    /// Difference in nanoseconds.
    fn sub(self, other: Self) -> f64 {
        self.0.saturating_sub(other.0) as f64
    }
}

impl Add<f64> for Rott {
    type Output = Self;
    /// The trip time that is longer by so many nanoseconds.
    fn add(self, nanos: f64) -> Self {
        Self(self.0.saturating_add(nanos as i64))
    }
}
