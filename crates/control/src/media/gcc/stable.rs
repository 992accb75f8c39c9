//! The stable target: a capacity that falls at once and rises slowly.
//!
//! Earlier versions of libwebrtc reported it in addition to the target, for decisions that should not follow
//! each variation, such as the resolution of video; the named commit has it no more.

use libm::exp;
use whimbrel_units::{DataRate, Duration, Instant};

/// Time constant of the rise.
const RISE: Duration = Duration::from_secs(10);

/// The tracker.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct StableCapacity {
    capacity: DataRate,
    updated: Option<Instant>,
    delay_based: DataRate,
}

impl StableCapacity {
    pub(super) const fn new(start: DataRate) -> Self {
        Self { capacity: start, updated: None, delay_based: DataRate::INFINITE }
    }

    pub(super) const fn capacity(&self) -> DataRate {
        self.capacity
    }

    /// Records the delay-based estimate: the capacity falls with it.
    pub(super) fn on_delay_based(&mut self, rate: DataRate, now: Instant) {
        if rate < self.delay_based {
            self.fall(rate, now);
        }
        self.delay_based = rate;
    }

    /// Lowers the capacity to `rate`.
    pub(super) fn fall(&mut self, rate: DataRate, now: Instant) {
        self.capacity = self.capacity.min(rate);
        self.updated = Some(now);
    }

    /// Records the acknowledged rate and the target: the capacity rises to the lower of them.
    pub(super) fn on_update(&mut self, acknowledged: Option<DataRate>, target: DataRate, now: Instant) {
        let Some(acknowledged) = acknowledged else { return };
        let rate = acknowledged.min(target);
        if rate > self.capacity {
            let share = self.updated.map_or(0.0, |updated| exp(-(now.saturating_since(updated) / RISE)));
            self.capacity = self.capacity * share + rate * (1.0 - share);
        }
        self.updated = Some(now);
    }
}
