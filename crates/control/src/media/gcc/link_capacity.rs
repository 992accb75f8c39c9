//! The capacity of the link, from the rates acknowledged while it was overused.

use libm::sqrt;
use whimbrel_units::DataRate;

/// Weight of a rate acknowledged during overuse.
const OVERUSE_WEIGHT: f64 = 0.05;
/// Bounds of the normalised variance, in kbit/s: about 14 and 35 kbit/s of deviation at 500 kbit/s.
const VARIANCE: (f64, f64) = (0.4, 2.5);
/// Deviations from the estimate beyond which a rate does not belong to the link any more.
const DEVIATIONS: f64 = 3.0;

/// The estimate and its deviation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct LinkCapacity {
    /// In kbit/s.
    estimate: Option<f64>,
    /// Variance divided by the estimate, in kbit/s.
    variance: f64,
}

impl LinkCapacity {
    pub(super) const fn new() -> Self {
        Self { estimate: None, variance: VARIANCE.0 }
    }

    pub(super) fn estimate(&self) -> Option<DataRate> {
        self.estimate.map(DataRate::from_kilobits_per_second)
    }

    pub(super) fn upper_bound(&self) -> DataRate {
        self.bound(DEVIATIONS).unwrap_or(DataRate::INFINITE)
    }

    pub(super) fn lower_bound(&self) -> DataRate {
        self.bound(-DEVIATIONS).unwrap_or(DataRate::ZERO)
    }

    fn bound(&self, deviations: f64) -> Option<DataRate> {
        let estimate = self.estimate?;
        Some(DataRate::from_kilobits_per_second(estimate + deviations * sqrt(self.variance * estimate)))
    }

    /// Forgets the estimate; the variance remains.
    pub(super) const fn reset(&mut self) {
        self.estimate = None;
    }

    pub(super) fn on_overuse(&mut self, acknowledged: DataRate) {
        let sample = acknowledged.as_bits_per_second() / 1e3;
        let estimate =
            self.estimate.map_or(sample, |estimate| estimate + OVERUSE_WEIGHT * (sample - estimate));
        let error = estimate - sample;
        let variance = error * error / estimate.max(1.0);
        self.estimate = Some(estimate);
        self.variance += OVERUSE_WEIGHT * (variance - self.variance);
        self.variance = self.variance.clamp(VARIANCE.0, VARIANCE.1);
    }
}
