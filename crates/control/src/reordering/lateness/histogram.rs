//! A histogram of durations with buckets of equal relative width.

use whimbrel_units::Duration;

/// Buckets per octave, as a power of two.
const SUB_BITS: u32 = 3;
/// The unit is a microsecond; 2^26 of them are more than a minute, the longest D_max.
const OCTAVES: usize = 27;
const BUCKETS: usize = OCTAVES << SUB_BITS;

/// Counts of durations in buckets with a width of at most 1/8 of their lower bound, in microseconds.
/// Durations above 67 s are counted in the last bucket.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: [u32; BUCKETS],
    count: u64,
    maximum: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], count: 0, maximum: Duration::ZERO }
    }
}

impl Histogram {
    pub(super) fn record(&mut self, value: Duration) {
        let bucket = &mut self.counts[bucket_of(value)];
        *bucket = bucket.saturating_add(1);
        self.count += 1;
        self.maximum = self.maximum.max(value);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn maximum(&self) -> Duration {
        self.maximum
    }

    /// Upper bound of the bucket that contains the `share`-quantile (nearest rank), limited to the maximum;
    /// zero without samples.
    pub(super) fn quantile(&self, share: f64) -> Duration {
        if self.maximum.is_zero() {
            return Duration::ZERO;
        }
        let counted: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let rank = (libm::ceil(share * counted as f64) as u64).max(1);
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += u64::from(*count);
            if below >= rank {
                return upper_bound(bucket).min(self.maximum);
            }
        }
        self.maximum
    }
}

fn bucket_of(value: Duration) -> usize {
    let micros = value.as_nanos() / 1000;
    let octave = micros.checked_ilog2().unwrap_or(0);
    if octave < SUB_BITS {
        return micros as usize;
    }
    // The leading bit selects the octave, the next three the bucket within it.
    let sub = (micros >> (octave - SUB_BITS)) as usize & ((1 << SUB_BITS) - 1);
    (((octave - SUB_BITS + 1) as usize) << SUB_BITS | sub).min(BUCKETS - 1)
}

/// Lower bound of the bucket after `bucket`.
fn upper_bound(bucket: usize) -> Duration {
    let next = bucket as u64 + 1;
    let octave = next >> SUB_BITS;
    let micros = match octave {
        0 => next,
        _ => ((1 << SUB_BITS) + (next & ((1 << SUB_BITS) - 1))) << (octave - 1),
    };
    Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_bounds_and_is_an_eighth_wide() {
        for micros in (0..4096).chain([100_000, 1_000_000, 59_999_999]) {
            let bucket = bucket_of(Duration::from_micros(micros));
            let upper = upper_bound(bucket).as_nanos() / 1000;
            let lower = if bucket == 0 { 0 } else { upper_bound(bucket - 1).as_nanos() / 1000 };
            assert!((lower..upper).contains(&micros), "{micros} us in {lower}..{upper}");
            assert!(upper - lower <= (lower / 8).max(1), "{lower}..{upper}");
        }
        assert_eq!(bucket_of(Duration::from_secs(100_000)), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), Duration::ZERO);
        (1..=1000).for_each(|ms| histogram.record(Duration::from_millis(ms)));
        for (share, exact) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0)] {
            let quantile = histogram.quantile(share).as_secs_f64() * 1e3;
            assert!((exact..exact * 1.125).contains(&quantile), "{share}: {quantile} ms");
        }
        assert_eq!(histogram.quantile(1.0), Duration::from_secs(1), "never above the maximum");
    }
}
