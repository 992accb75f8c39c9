//! By how much packets arrive after others that were sent later, as one end has seen it of late.

use whimbrel_units::Duration;

/// The wait for packets that may only be overtaken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness(Duration);

impl Lateness {
    /// The longest wait: what is not repeated too early need not be repeated, but two thirds of the time that
    /// a repeat leaves are for a second one, whose round trip varies as well. RACK waits for a round-trip
    /// time at most (RFC 8985, Section 6.2).
    fn most(latency: Duration, round_trip: Duration) -> Duration {
        let left = latency.saturating_sub(round_trip + Duration::from_millis(1));
        (left / 3).clamp(round_trip / 4, round_trip)
    }

    /// A packet arrived so long after it was missing.
    pub(crate) fn on_late(&mut self, late: Duration, latency: Duration, round_trip: Duration) {
        self.raise(late.min(Self::most(latency, round_trip)));
    }

    /// Something arrived so long after it was expected.
    pub(crate) fn raise(&mut self, late: Duration) {
        self.0 = self.0.max(late);
    }

    /// A frame passed: what the path reorders is forgotten slowly.
    pub(crate) fn on_frame(&mut self) {
        self.0 = self.0.saturating_sub(self.0 / 64);
    }

    /// The time for which a missing packet may only be late.
    pub(crate) fn wait(&self) -> Duration {
        self.0
    }
}
