//! An outage that nobody announced.

use whimbrel_units::Duration;

/// How long there must have been no feedback, though data were sent, for that to be taken for an outage.
///
/// When feedback comes again after that, the sender goes on as if it had been frozen since the last feedback: it
/// restores the rate of then. What it cannot undo is what it sent meanwhile, at rates that the nofeedback timer
/// halved; and it learns of the path's return only by a packet that happens to be answered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Silence {
    /// So many round-trip times. Less than four, after which the nofeedback timer first expires, would mean four.
    RoundTrips(f64),
    /// So long.
    Time(Duration),
}

impl Silence {
    /// How long that is.
    pub fn duration(self, rtt: Duration) -> Duration {
        match self {
            Self::RoundTrips(count) => rtt.mul_f64(count),
            Self::Time(time) => time,
        }
    }

    /// Whether it makes sense: above zero.
    pub fn is_valid(self) -> bool {
        match self {
            Self::RoundTrips(count) => count > 0.0 && count.is_finite(),
            Self::Time(time) => !time.is_zero(),
        }
    }
}
