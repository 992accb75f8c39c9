//! The round-trip time by the reports: smoothed, its variation, and what it is without a queue.

use whimbrel_units::Duration;

/// Part of the distance to the newest sample by which the least round-trip time rises: at 30 reports a second
/// a longer route is known after half a minute.
const RISE: u64 = 1024;

/// The measured round-trip time.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    pub(super) smoothed: Duration,
    /// Mean deviation.
    pub(super) variation: Duration,
    /// The least, which rises slowly.
    pub(super) least: Duration,
    is_measured: bool,
}

impl RoundTrip {
    /// With a first assumption.
    pub(super) fn new(assumed: Duration) -> Self {
        Self { smoothed: assumed, variation: Duration::ZERO, least: assumed, is_measured: false }
    }

    /// Takes in a sample (RFC 6298, Section 2).
    pub(super) fn measure(&mut self, sample: Duration) {
        if !self.is_measured {
            *self = Self { smoothed: sample, least: sample, is_measured: true, ..*self };
            return;
        }
        let deviation = self.smoothed.saturating_sub(sample) + sample.saturating_sub(self.smoothed);
        self.variation = (self.variation * 3 + deviation) / 4;
        self.smoothed = (self.smoothed * 7 + sample) / 8;
        self.least = sample.min(self.least + sample.saturating_sub(self.least) / RISE);
    }
}
