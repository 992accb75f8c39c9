//! The acknowledged rate: a Bayesian estimate of the rate of arrival.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use crate::media::PacketReport;

/// Window of the first sample.
const FIRST_WINDOW: Duration = Duration::from_millis(500);
/// Window of all others.
const WINDOW: Duration = Duration::from_millis(150);
/// Uncertainty of a sample, per relative distance from the estimate.
const UNCERTAINTY: f64 = 10.0;
/// Variance of the estimate at the beginning, what each sample adds, and what the end of an
/// application-limited period adds, in (kbit/s)^2.
const FIRST_VARIANCE: f64 = 50.0;
const VARIANCE_STEP: f64 = 5.0;
const VARIANCE_JUMP: f64 = 200.0;

/// The estimate.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct AcknowledgedRate {
    bytes: ByteCount,
    window: Duration,
    last: Option<Instant>,
    /// In kbit/s.
    estimate: Option<f64>,
    variance: f64,
    limited_until: Option<Instant>,
}

impl AcknowledgedRate {
    pub(super) const fn new() -> Self {
        Self {
            bytes: ByteCount::ZERO,
            window: Duration::ZERO,
            last: None,
            estimate: None,
            variance: FIRST_VARIANCE,
            limited_until: None,
        }
    }

    /// An application-limited period ended: packets sent after `now` may arrive at quite another rate.
    pub(super) const fn on_limit_ended(&mut self, now: Instant) {
        self.limited_until = Some(now);
    }

    /// Records an arrival. Arrivals must be in the order of time; one before its predecessor begins a new
    /// window.
    pub(super) fn record(&mut self, packet: &PacketReport) {
        let Some(arrival) = packet.arrival() else { return };
        if self.limited_until.is_some_and(|until| packet.sent.sent_at > until) {
            self.variance += VARIANCE_JUMP;
            self.limited_until = None;
        }
        if let Some(sample) = self.advance(arrival, packet.sent.size) {
            self.update(sample);
        }
    }

    /// Adds `size` at `arrival`; returns the rate of the window before if that is complete, in kbit/s.
    fn advance(&mut self, arrival: Instant, size: ByteCount) -> Option<f64> {
        let length = if self.estimate.is_none() { FIRST_WINDOW } else { WINDOW };
        if self.last.is_some_and(|last| arrival < last) {
            self.last = None;
            self.bytes = ByteCount::ZERO;
            self.window = Duration::ZERO;
        }
        if let Some(last) = self.last {
            let since = arrival.saturating_since(last);
            self.window += since;
            if since > length {
                // Nothing arrived for more than a window.
                self.bytes = ByteCount::ZERO;
                self.window = Duration::from_nanos(self.window.as_nanos() % length.as_nanos());
            }
        }
        self.last = Some(arrival);
        let sample = (self.window >= length).then(|| {
            self.window -= length;
            let rate = core::mem::replace(&mut self.bytes, ByteCount::ZERO) / length;
            rate.as_bits_per_second() / 1e3
        });
        self.bytes += size;
        sample
    }

    fn update(&mut self, sample: f64) {
        let Some(estimate) = self.estimate else {
            self.estimate = Some(sample);
            return;
        };
        // The distance is relative to the estimate, so that a rise is as uncertain as a fall of the same
        // size.
        let uncertainty = UNCERTAINTY * (estimate - sample).abs() / estimate.max(f64::MIN_POSITIVE);
        let sample_variance = uncertainty * uncertainty;
        let variance = self.variance + VARIANCE_STEP;
        let sum = sample_variance + variance;
        self.estimate = Some((sample_variance * estimate + variance * sample) / sum);
        self.variance = sample_variance * variance / sum;
    }

    /// The estimate; `None` before the first window is complete.
    pub(super) fn rate(&self) -> Option<DataRate> {
        self.estimate.map(DataRate::from_kilobits_per_second)
    }

    /// The rate of the window that is not complete.
    pub(super) fn peek(&self) -> Option<DataRate> {
        (!self.window.is_zero()).then(|| self.bytes / self.window)
    }
}

#[cfg(test)]
mod tests;
