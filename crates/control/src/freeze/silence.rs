//! Unannounced outages.

use whimbrel_units::Duration;

/// Minimum time without feedback, while data was sent, that counts as an outage.
///
/// On the next feedback, the sender continues as if it had been frozen since the last feedback: it
/// restores the rate of that time. This does not undo the packets sent meanwhile, at rates halved by the
/// nofeedback timer; and the sender detects the return of the path by a packet that is answered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Silence {
    /// This number of round-trip times. Less than four, after which the nofeedback timer first expires, has
    /// the same effect as four.
    RoundTrips(f64),
    /// This time.
    Time(Duration),
}

impl Silence {
    /// The time for this round-trip time.
    pub fn duration(self, rtt: Duration) -> Duration {
        match self {
            Self::RoundTrips(count) => rtt.mul_f64(count),
            Self::Time(time) => time,
        }
    }

    /// `true` if the value is above zero.
    pub fn is_valid(self) -> bool {
        match self {
            Self::RoundTrips(count) => count > 0.0 && count.is_finite(),
            Self::Time(time) => !time.is_zero(),
        }
    }
}
