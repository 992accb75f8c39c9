//! Discontinuous reception: a connected terminal without traffic listens in a part of each cycle.

use whimbrel_units::{Duration, Instant};

/// Parameters of discontinuous reception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrxConfig {
    /// The cycle, from the driver's epoch on.
    pub cycle: Duration,
    /// Time for which the terminal listens at the beginning of a cycle.
    pub on: Duration,
    /// Time for which the terminal listens after a grant.
    pub inactivity: Duration,
}

/// The state of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drx {
    config: DrxConfig,
    awake_until: Instant,
}

impl Drx {
    /// A terminal that had no traffic yet.
    pub const fn new(config: DrxConfig) -> Self {
        Self { config, awake_until: Instant::ZERO }
    }

    /// A grant of either direction has reached the terminal.
    pub fn handle_grant(&mut self, now: Instant) {
        self.awake_until = self.awake_until.max(now + self.config.inactivity);
    }

    /// The first time from `now` on at which the terminal listens. Downlink packets wait for it; an uplink
    /// packet wakes the terminal itself.
    pub fn listens_at(&self, now: Instant) -> Instant {
        let cycle = self.config.cycle.as_nanos().max(1);
        let within = now.as_nanos() % cycle;
        if now < self.awake_until || within < self.config.on.as_nanos() {
            now
        } else {
            now + Duration::from_nanos(cycle - within)
        }
    }
}

#[cfg(test)]
mod tests;
