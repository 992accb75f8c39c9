//! The rates of an egress that a law uses.

use whimbrel_units::DataRate;

use crate::capacity::Estimate;

/// Capacity and available bandwidth in bit/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct EgressRates {
    /// C.
    pub(super) capacity: f64,
    /// AB: at most C.
    pub(super) available: f64,
}

impl EgressRates {
    /// An egress that is not in use.
    pub(super) fn new(capacity: DataRate) -> Self {
        let capacity = finite(capacity);
        Self { capacity, available: capacity }
    }

    pub(super) fn set_capacity(&mut self, capacity: DataRate) {
        self.capacity = finite(capacity);
    }

    pub(super) fn set_estimate(&mut self, estimate: Estimate) {
        self.capacity = finite(estimate.capacity);
        self.available = finite(estimate.available).min(self.capacity);
    }
}

/// A rate in bit/s, bounded so that sums of rates are finite.
fn finite(rate: DataRate) -> f64 {
    rate.as_bits_per_second().min(1e18)
}
