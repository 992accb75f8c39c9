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

/// Number of first samples of data that replace an estimate if they are much shorter than it. RFC 5348,
/// Section 4.3 has "R = R_sample" for the first one; radios wake up for the first packets of a connection or
/// of a path, which then take 100 to 300 ms more than any later one, and in an average they would hold the
/// rate down for dozens of round-trip times. TFRC "is not sensitive to the precise value for the filter
/// constant q" (Section 4.3).
pub const CORRECTING_SAMPLES: u8 = 4;

/// Number of samples in a row, each shorter than half of the estimate, that halve it. RFC 5348 has a sample
/// per round-trip time, so that after a queue has emptied, the estimate takes dozens of its own length to
/// follow, with a fraction of the rate; a TCP has a sample per acknowledgement. The samples themselves do not
/// replace the estimate: the round-trip time of an empty queue allows many times the rate of the path (the
/// lab's test `a_queue_that_empties_is_not_refilled_at_once`).
pub const EMPTY_SAMPLES: u8 = 2;

/// `true` if a round-trip time differs from a longer one by more than noise: it is less than two thirds.
pub(super) fn is_much_shorter(rtt: Duration, longer: Duration) -> bool {
    rtt * 3 < longer * 2
}

/// R and R_sqmean, the long-term average of its square root.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RoundTripEstimate {
    averages: Option<Averages>,
    /// `true` if the estimates belong to another path, so that the next sample replaces them.
    stale: bool,
    /// Number of samples to come that can correct the estimates.
    correcting: u8,
    follows_falls: bool,
    /// Number of the last samples that were shorter than half of the estimate.
    short: u8,
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
    /// No estimate. `follows_falls`: [`EMPTY_SAMPLES`] short samples halve it.
    pub fn new(follows_falls: bool) -> Self {
        Self { follows_falls, ..Self::default() }
    }

    /// Processes a sample (RFC 5348, Section 4.3, step 2).
    pub fn on_sample(&mut self, sample: Duration) {
        let latest = sample.max(MIN_RTT).as_secs_f64();
        let is_replaced = self.stale || self.is_corrected_by(sample);
        let past = self.averages.filter(|_| !is_replaced);
        let mut short = match past {
            Some(past) if self.follows_falls && latest * 2.0 < past.smoothed => self.short + 1,
            _ => 0,
        };
        let (smoothed, sqrt_mean) = match past {
            None => (latest, libm::sqrt(latest)),
            Some(past) if short == EMPTY_SAMPLES => {
                short = 0;
                let half = past.smoothed / 2.0;
                (half, libm::sqrt(half))
            }
            Some(past) => (
                RTT_FILTER * past.smoothed + (1.0 - RTT_FILTER) * latest,
                SQRT_RTT_FILTER * past.sqrt_mean + (1.0 - SQRT_RTT_FILTER) * libm::sqrt(latest),
            ),
        };
        let rounded = Duration::from_secs_f64(smoothed);
        let averages = Some(Averages { smoothed, rounded, sqrt_mean, latest });
        let correcting = self.correcting.saturating_sub(1);
        *self = Self { averages, stale: false, correcting, short, ..*self };
    }

    /// Processes a sample that was not taken from data, for example from a handshake: the first samples of
    /// data correct it.
    pub fn on_preliminary_sample(&mut self, sample: Duration) {
        self.on_sample(sample);
        self.correcting = CORRECTING_SAMPLES;
    }

    /// `true` if `sample`, one of the first of data, shows that the estimate is more than half again as long
    /// as it should be.
    pub fn is_corrected_by(&self, sample: Duration) -> bool {
        let can_correct = self.correcting > 0 && !self.stale;
        can_correct && self.smoothed().is_some_and(|smoothed| is_much_shorter(sample, smoothed))
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

    /// Prepares for a path change: the next sample replaces the estimate, which is used until then, and those
    /// after it can correct it.
    pub fn expect_other_path(&mut self) {
        (self.stale, self.correcting) = (true, CORRECTING_SAMPLES);
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
