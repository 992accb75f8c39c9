//! A rate limit.

use whimbrel_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// A token bucket: a burst, and then one token per interval.
///
/// Stored as the instant at which the bucket will be full again, so no count needs updating while the bucket
/// is idle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    interval: Duration,
    capacity: u64,
    full_at: Instant,
}

impl TokenBucket {
    /// Creates a full bucket of `capacity` tokens that regains one per `interval`.
    pub(crate) const fn new(capacity: u64, interval: Duration) -> Self {
        Self { interval, capacity, full_at: Instant::ZERO }
    }

    /// Takes a token; returns `false` if there is none.
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
