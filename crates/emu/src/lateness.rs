//! Distance between the times at which events are due and the times at which they are handled.

use hdrhistogram::Histogram;
use whimbrel_units::{Duration, Instant};

/// The longest lateness that is told from longer ones.
const LONGEST: u64 = 3_600_000_000_000;

/// A distribution of lateness, in constant memory, with an error of 1 %.
#[derive(Clone, Debug)]
pub struct Lateness {
    histogram: Histogram<u64>,
    /// The greatest since the last call of [`Lateness::take_recent`].
    recent: u64,
}

/// Numbers of a distribution of lateness.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LatenessSummary {
    /// Events.
    pub count: u64,
    /// The median.
    pub median: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The greatest.
    pub maximum: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        let histogram =
            Histogram::new_with_max(LONGEST, 2).expect("the bounds of the histogram are in order");
        Self { histogram, recent: 0 }
    }
}

impl Lateness {
    /// An event that was due at `due` is handled at `now`.
    #[inline]
    pub fn record(&mut self, due: Instant, now: Instant) {
        let nanos = (now - due).as_nanos();
        self.histogram.saturating_record(nanos);
        self.recent = self.recent.max(nanos);
    }

    /// The greatest lateness since the last call.
    pub fn take_recent(&mut self) -> Duration {
        Duration::from_nanos(core::mem::take(&mut self.recent))
    }

    /// The distribution so far.
    pub fn summary(&self) -> LatenessSummary {
        let quantile = |share| Duration::from_nanos(self.histogram.value_at_quantile(share));
        LatenessSummary {
            count: self.histogram.len(),
            median: quantile(0.5),
            p99: quantile(0.99),
            maximum: Duration::from_nanos(self.histogram.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_percent_and_the_maximum_recovers() {
        let mut lateness = Lateness::default();
        for micros in 1..=1_000u64 {
            lateness.record(Instant::from_secs(5), Instant::from_secs(5) + Duration::from_micros(micros));
        }
        let LatenessSummary { count, median, p99, maximum } = lateness.summary();
        assert_eq!(count, 1_000);
        for (value, expected) in [(median, 500.0), (p99, 990.0), (maximum, 1_000.0)] {
            assert!((value.as_secs_f64() * 1e6 / expected - 1.0).abs() < 0.01, "{value} {expected}");
        }
        assert!(lateness.take_recent() == Duration::from_millis(1) && lateness.take_recent().is_zero());
    }
}
