//! Detection of application-limited regions: times in which the sender sends clearly less than the target.

use whimbrel_units::{ByteCount, DataRate, Instant};

use super::AlrConfig;

/// Time for which a budget is kept, in seconds.
const WINDOW: f64 = 0.5;

/// A budget of bytes that grows at a share of the target and shrinks by what is sent.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct AlrDetector {
    config: AlrConfig,
    /// Growth in byte/s.
    rate: f64,
    /// In bytes, at most the growth of the window, above or below zero.
    budget: f64,
    last_sent: Option<Instant>,
    since: Option<Instant>,
}

impl AlrDetector {
    pub(super) const fn new(config: AlrConfig) -> Self {
        Self { config, rate: 0.0, budget: 0.0, last_sent: None, since: None }
    }

    fn limit(&self) -> f64 {
        self.rate * WINDOW
    }

    pub(super) fn set_target(&mut self, target: DataRate) {
        self.rate = target.as_bytes_per_second() * self.config.usage;
        self.budget = self.budget.clamp(-self.limit(), self.limit());
    }

    pub(super) fn on_sent(&mut self, size: ByteCount, now: Instant) {
        let Some(last) = self.last_sent.replace(now) else { return };
        let time = now.saturating_since(last).as_secs_f64();
        self.budget = (self.budget - size.as_f64()).max(-self.limit());
        self.budget = (self.budget + self.rate * time).min(self.limit());
        let ratio = if self.rate > 0.0 { self.budget / self.limit() } else { 0.0 };
        if self.since.is_none() && ratio > self.config.start {
            self.since = Some(now);
        } else if ratio < self.config.stop {
            self.since = None;
        }
    }

    /// Time at which the present region began; `None` if the sender is not application-limited.
    pub(super) const fn since(&self) -> Option<Instant> {
        self.since
    }
}

#[cfg(test)]
mod tests;
