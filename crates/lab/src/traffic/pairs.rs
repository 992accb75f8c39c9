//! Pairs of packets, back to back.

use whimbrel_units::{Duration, Instant};

use super::Emission;

/// Two datagrams of one size at every interval.
#[derive(Debug)]
pub struct Pairs {
    start: Instant,
    interval: Duration,
    size: u32,
    emitted: u64,
}

impl Pairs {
    /// From `start` on, two datagrams of `size` bytes every `interval`.
    pub fn new(start: Instant, interval: Duration, size: u32) -> Self {
        Self { start, interval, size, emitted: 0 }
    }

    pub(super) fn next(&self) -> Instant {
        self.start + self.interval * (self.emitted / 2)
    }

    pub(super) fn emit(&mut self) -> Emission {
        let tag = self.emitted;
        self.emitted += 1;
        Emission { size: self.size, tag, deadline: None }
    }
}
