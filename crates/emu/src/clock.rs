//! The one place where this crate reads a clock.
#![allow(clippy::disallowed_types, reason = "the driver's clock is read here and nowhere else")]

use whimbrel_units::{Duration, Instant};

/// A monotonic clock whose epoch is its creation.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: std::time::Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { epoch: std::time::Instant::now() }
    }

    /// The time since its epoch.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::ZERO + Duration::from(self.epoch.elapsed())
    }
}
