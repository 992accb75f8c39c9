//! The one place where this crate reads a clock.
#![allow(clippy::disallowed_types, reason = "the driver's clock is read here and nowhere else")]

use whimbrel_units::{Duration, Instant};

/// A monotonic clock whose epoch is its creation.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: tokio::time::Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { epoch: tokio::time::Instant::now() }
    }
    /// The time since its epoch.
    pub fn now(&self) -> Instant {
        Instant::ZERO + Duration::from(self.epoch.elapsed())
    }
    /// Sleeps until `deadline`. The runtime's timers have a grain of a millisecond.
    pub async fn sleep_until(&self, deadline: Instant) {
        tokio::time::sleep_until(self.system_instant(deadline)).await;
    }
    /// That instant on the runtime's clock.
    pub(crate) fn system_instant(&self, instant: Instant) -> tokio::time::Instant {
        self.epoch + std::time::Duration::from_nanos(instant.as_nanos())
    }
}

/// Unpredictable bits for ports and initial sequence numbers: the randomly keyed hasher of the standard library.
pub fn entropy() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u128(std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos()));
    hasher.write_u32(std::process::id());
    hasher.finish()
}
