//! A limit on how often something may be done.

use whimbrel_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// So many at once, and then one per interval.
///
/// Kept as the instant at which the bucket will be full again, so there is no count to update
/// while nothing happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    interval: Duration,
    capacity: u64,
    full_at: Instant,
}

impl TokenBucket {
    /// A full bucket of `capacity` tokens that regains one per `interval`.
    pub(crate) const fn new(capacity: u64, interval: Duration) -> Self {
        Self { interval, capacity, full_at: Instant::ZERO }
    }
    /// Takes a token, if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let full_at = self.full_at.max(now);
        let missing_after = (full_at - now) + self.interval;
        if missing_after > self.interval * self.capacity {
            return false;
        }
        self.full_at = full_at + self.interval;
        true
    }
}
