//! The distribution of delays, in constant memory.

use whimbrel_units::Duration;

use super::seconds;

/// Mean, extremes and quantiles of a set of delays.
///
/// Quantiles come from a histogram whose buckets are a 32nd of their value wide, so they are off by
/// at most 1.6 %.
#[derive(Clone, Debug)]
pub struct DelayStatistics {
    count: u64,
    sum: f64,
    sum_of_squares: f64,
    least: Duration,
    greatest: Duration,
    /// Counts by bucket, as far as they are needed.
    buckets: Vec<u32>,
}

/// Buckets per power of two, as a power of two.
const PRECISION: u32 = 5;

impl Default for DelayStatistics {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0.0,
            sum_of_squares: 0.0,
            least: Duration::MAX,
            greatest: Duration::ZERO,
            buckets: Vec::new(),
        }
    }
}

/// The bucket of a value: its power of two and the bits that follow.
fn bucket(nanos: u64) -> usize {
    let power = (nanos | (1 << PRECISION)).ilog2() - PRECISION;
    ((u64::from(power) << PRECISION) + (nanos >> power)) as usize
}

/// The middle of a bucket, in nanoseconds.
fn middle(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    let power = (bucket >> PRECISION).saturating_sub(1);
    let low = (bucket - (power << PRECISION)) as f64;
    (low + 0.5) * (1u64 << power) as f64
}

impl DelayStatistics {
    /// Adds a delay.
    #[inline]
    pub fn add(&mut self, delay: Duration) {
        let seconds = seconds(delay);
        self.count += 1;
        self.sum += seconds;
        self.sum_of_squares += seconds * seconds;
        self.least = self.least.min(delay);
        self.greatest = self.greatest.max(delay);
        let bucket = bucket(delay.as_nanos());
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
    }

    /// The number of delays.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean in seconds.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Their standard deviation in seconds (of the delays as they are, not as a sample).
    pub fn standard_deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some((self.sum_of_squares / self.count as f64 - mean * mean).max(0.0).sqrt())
    }

    /// The least of them in seconds.
    pub fn least(&self) -> Option<f64> {
        (self.count > 0).then(|| seconds(self.least))
    }

    /// The greatest of them in seconds.
    pub fn greatest(&self) -> Option<f64> {
        (self.count > 0).then(|| seconds(self.greatest))
    }

    /// The delay in seconds that `share` (0 to 1) of them do not exceed.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = ((share * self.count as f64).ceil() as u64).max(1);
        if rank >= self.count {
            return self.greatest();
        }
        let mut below = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below += u64::from(*count);
            if below >= rank {
                return Some((middle(bucket) / 1e9).clamp(seconds(self.least), seconds(self.greatest)));
            }
        }
        None
    }
}
