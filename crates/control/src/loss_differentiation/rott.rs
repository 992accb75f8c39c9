//! The relative one-way trip time.

use core::ops::Sub;

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
