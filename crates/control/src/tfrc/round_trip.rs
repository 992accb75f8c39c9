//! R: the sender's estimate of the round-trip time.

use whimbrel_units::Duration;

#[cfg(test)]
mod tests;

/// q, the weight of the past in R (RFC 5348, Section 4.3).
pub const RTT_FILTER: f64 = 0.9;

/// q2, the weight of the past in R_sqmean (RFC 5348, Section 4.5).
pub const SQRT_RTT_FILTER: f64 = 0.9;

/// Minimum round-trip time assumed: clock resolution is limited, and the equation divides by the round-trip
/// time.
pub const MIN_RTT: Duration = Duration::from_micros(1);

/// R and R_sqmean, the long-term average of its square root.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RoundTripEstimate {
    averages: Option<Averages>,
    /// `true` if the estimates belong to another path, so that the next sample replaces them.
    stale: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Averages {
    /// R in seconds.
    smoothed: f64,
    /// R as returned by [`smoothed`](RoundTripEstimate::smoothed).
    rounded: Duration,
    /// R_sqmean.
    sqrt_mean: f64,
    /// R_sample in seconds.
    latest: f64,
}

impl RoundTripEstimate {
    /// Processes a sample (RFC 5348, Section 4.3, step 2).
    pub fn on_sample(&mut self, sample: Duration) {
        let latest = sample.max(MIN_RTT).as_secs_f64();
        let sqrt = libm::sqrt(latest);
        let (smoothed, sqrt_mean) = match self.averages.filter(|_| !self.stale) {
            None => (latest, sqrt),
            Some(past) => (
                RTT_FILTER * past.smoothed + (1.0 - RTT_FILTER) * latest,
                SQRT_RTT_FILTER * past.sqrt_mean + (1.0 - SQRT_RTT_FILTER) * sqrt,
            ),
        };
        let rounded = Duration::from_secs_f64(smoothed);
        *self = Self { averages: Some(Averages { smoothed, rounded, sqrt_mean, latest }), stale: false };
    }

    /// Processes a sample that includes a time without any feedback: it is limited to twice the estimate.
    ///
    /// If the receiving host was suspended, packets have waited for it, not on the path, and a single sample
    /// of 20 s would raise a round-trip time of 50 ms to 2 s, which slows down the sender: feedback is sent
    /// once per round-trip time, so that each of the dozens of samples that reduce the estimate again takes
    /// that long. If the path did become that long, the samples of the next packets show it.
    pub fn on_sample_over_silence(&mut self, sample: Duration) {
        let most = self.smoothed().filter(|_| !self.stale).map_or(Duration::MAX, |smoothed| smoothed * 2);
        self.on_sample(sample.min(most));
    }

    /// Prepares for a path change: the next sample replaces the estimate, which is used until then.
    pub fn expect_other_path(&mut self) {
        self.stale = true;
    }

    /// Replaces the estimate by the last sample: the average lags behind a queue that has just filled.
    pub fn trust_latest(&mut self) {
        if let Some(averages) = &mut self.averages {
            averages.smoothed = averages.latest;
            averages.rounded = Duration::from_secs_f64(averages.latest);
        }
    }

    /// R; `None` without a sample.
    pub fn smoothed(&self) -> Option<Duration> {
        self.averages.map(|averages| averages.rounded)
    }

    /// R_sample, the last one; `None` without a sample.
    pub fn latest(&self) -> Option<Duration> {
        self.averages.map(|averages| Duration::from_secs_f64(averages.latest))
    }

    /// R_sqmean / sqrt(R_sample): below one while the round-trip time, and so probably the queue, is growing
    /// (RFC 5348, Section 4.5).
    pub fn damping(&self) -> f64 {
        self.averages.map_or(1.0, |averages| averages.sqrt_mean / libm::sqrt(averages.latest))
    }
}
