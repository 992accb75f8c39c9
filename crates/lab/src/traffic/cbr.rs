//! Constant bit rate.

use whimbrel_units::{Duration, Instant};

use super::Emission;

/// A datagram of one size at every interval.
#[derive(Debug)]
pub struct Cbr {
    start: Instant,
    interval: Duration,
    size: u32,
    emitted: u64,
}

impl Cbr {
    /// From `start` on, a datagram of `size` bytes every `interval`.
    pub fn new(start: Instant, interval: Duration, size: u32) -> Self {
        Self { start, interval, size, emitted: 0 }
    }

    pub(super) fn next(&self) -> Instant {
        // A product, not a sum of rounded steps: the rate is exact in the long run.
        self.start + self.interval * self.emitted
    }

    pub(super) fn emit(&mut self) -> Emission {
        let tag = self.emitted;
        self.emitted += 1;
        Emission { size: self.size, tag, deadline: None }
    }
}
