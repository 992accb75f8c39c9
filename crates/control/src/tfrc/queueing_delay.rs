//! The queueing delay of a path whose delay varies for other reasons as well.
//!
//! A delay consists of propagation, queueing, and jitter: contention for a radio, retransmissions of a link
//! layer, the schedule of a base station. A single delay less the least one of some time takes all jitter for
//! a queue. The two differ in time: the queue changes with the rate of the sender, the jitter from sample to
//! sample.
//!
//! # Estimate
//!
//! The deviation sigma of the jitter is measured by the distance of a sample d from the mean of its
//! neighbours, which does not contain a queue that grows or shrinks evenly (the pseudo-residuals of Gasser,
//! Sroka and Jennen-Steinmetz, "Residual variance and residual pattern in nonlinear regression", Biometrika
//! 73, 1986). A queue that fills in slow start or is emptied has residuals, too; they do not move the median
//! of the last 31 while they are fewer than half:
//!
//! ```text
//! e_i = d_(i-1) - (d_i + d_(i-2)) / 2        median |e| = 0.674 (3/2)^(1/2) sigma = 0.826 sigma
//! ```
//!
//! The delay is the mean m of the last N samples. N is the least power of two for which the noise of the
//! mean, z sigma / N^(1/2), is at most an eighth of the target, and at most four: the mean of more would
//! follow the queue later than the loop of a sender with a report per round-trip time permits. The baseline
//! is the least mean *of as many samples* in the last 30 s: it contains the jitter as m does. The least of
//! several hundred means is lower than their expectation by about the noise, for z = 2.5, therefore
//!
//! ```text
//! q = m - min m - z sigma / N^(1/2)
//! ```
//!
//! Without jitter N is one, and q is the delay over the least delay. The noise subtracted is at most half of
//! the target: a queue that varies as quickly as jitter, due to other traffic, becomes at most longer by
//! that. Until there is a pseudo-residual, half of the target is subtracted.

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use crate::media::windowed::WindowedMin;

#[cfg(test)]
mod tests;

/// Number of values of N: 1, 2 and 4.
const SCALES: usize = 3;
/// Most samples kept: N of the present mean and of the one before it.
const SAMPLES: usize = (1 << (SCALES - 1)) + 1;
/// Noise of a mean in standard errors (z).
const STANDARD_ERRORS: f64 = 2.5;
/// Noise over the target that is not averaged further, and the most that is subtracted.
const NOISE_AIM: f64 = 0.125;
const NOISE_MAX: f64 = 0.5;
/// Pseudo-residuals of which the median is taken.
const RESIDUALS: usize = 31;
/// The median of |e| over sigma.
const RESIDUAL: f64 = 0.826;

/// The queueing delay at a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QueueEstimate {
    /// q.
    pub queueing: Duration,
    /// Change of m since the sample before, in seconds.
    pub change: f64,
    /// Number of samples by which m lags behind the delay: (N - 1) / 2.
    pub lag: f64,
}

impl QueueEstimate {
    /// No queue.
    pub const EMPTY: Self = Self { queueing: Duration::ZERO, change: 0.0, lag: 0.0 };
}

/// Estimates the queueing delay from samples of the delay.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueingDelay {
    /// Target of the queueing delay, in seconds.
    target: f64,
    /// Period of the baseline.
    period: Duration,
    /// The first sample, to which the others are relative.
    origin: Option<i64>,
    /// Samples in nanoseconds, the last one first.
    samples: VecDeque<i64>,
    /// The least mean of 2^k samples, by k.
    baselines: [WindowedMin<f64>; SCALES],
    /// |e| in seconds, the last one first.
    residuals: VecDeque<f64>,
    /// sigma, in seconds.
    deviation: f64,
}

impl QueueingDelay {
    /// An estimator for a queueing delay of about `target`, with baselines of `period`.
    pub fn new(target: Duration, period: Duration) -> Self {
        Self {
            target: target.as_secs_f64(),
            period,
            origin: None,
            samples: VecDeque::with_capacity(SAMPLES + 1),
            baselines: core::array::from_fn(|_| WindowedMin::default()),
            residuals: VecDeque::with_capacity(RESIDUALS + 1),
            deviation: 0.0,
        }
    }

    /// Standard deviation of the jitter.
    pub fn deviation(&self) -> Duration {
        Duration::from_secs_f64(self.deviation)
    }

    /// Adds a delay in nanoseconds, of which only differences count, and returns the estimate.
    pub fn on_sample(&mut self, now: Instant, delay: i64) -> QueueEstimate {
        let origin = *self.origin.get_or_insert(delay);
        self.samples.push_front(delay.wrapping_sub(origin));
        self.samples.truncate(SAMPLES);
        self.measure_deviation();
        for scale in 0..SCALES {
            if let Some(mean) = self.mean(scale, 0) {
                self.baselines[scale].add(now, mean, self.period);
            }
        }
        let scale = self.scale();
        let (Some(mean), Some(baseline)) = (self.mean(scale, 0), self.baselines[scale].min()) else {
            return QueueEstimate::EMPTY;
        };
        let most = NOISE_MAX * self.target;
        let noise = if self.residuals.is_empty() { most } else { self.noise(scale).min(most) };
        QueueEstimate {
            queueing: Duration::from_secs_f64((mean - baseline - noise).max(0.0)),
            change: self.mean(scale, 1).map_or(0.0, |before| mean - before),
            lag: (f64::from(1u32 << scale) - 1.0) / 2.0,
        }
    }

    /// Forgets the path.
    pub fn clear(&mut self) {
        *self = Self::new(Duration::from_secs_f64(self.target), self.period);
    }

    fn measure_deviation(&mut self) {
        let sample = |index: usize| self.samples.get(index).map(|&nanos| nanos as f64 / 1e9);
        let (Some(after), Some(this), Some(before)) = (sample(0), sample(1), sample(2)) else { return };
        self.residuals.push_front((this - f64::midpoint(after, before)).abs());
        self.residuals.truncate(RESIDUALS);
        let mut sorted = [f64::INFINITY; RESIDUALS];
        for (place, &residual) in sorted.iter_mut().zip(&self.residuals) {
            *place = residual;
        }
        let middle = self.residuals.len() / 2;
        let (_, median, _) = sorted.select_nth_unstable_by(middle, f64::total_cmp);
        self.deviation = *median / RESIDUAL;
    }

    /// log2 N.
    fn scale(&self) -> usize {
        let is_enough = |scale: usize| {
            self.noise(scale) <= NOISE_AIM * self.target
                || scale + 1 == SCALES
                || self.samples.len() < 2 << scale
        };
        (0..SCALES).find(|&scale| is_enough(scale)).unwrap_or(SCALES - 1)
    }

    /// Noise of the mean of 2^scale samples.
    fn noise(&self, scale: usize) -> f64 {
        STANDARD_ERRORS * self.deviation / libm::sqrt(f64::from(1u32 << scale))
    }

    /// Mean of 2^scale samples in seconds, without the last `skip`.
    fn mean(&self, scale: usize, skip: usize) -> Option<f64> {
        let count = 1 << scale;
        (self.samples.len() >= count + skip).then(|| {
            let sum = self.samples.iter().skip(skip).take(count).fold(0i64, |sum, &d| sum.wrapping_add(d));
            sum as f64 / count as f64 / 1e9
        })
    }
}
