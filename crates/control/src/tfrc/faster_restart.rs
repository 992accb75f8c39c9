//! Faster Restart: quadrupling instead of doubling, up to a rate that recently worked.
//!
//! After an idle or data-limited time TFRC doubles its rate each round-trip time until it is back.
//! draft-ietf-dccp-tfrc-faster-restart-06 (expired) lets it quadruple up to the receive rate that
//! the connection last sustained, the less so the longer ago that was. An experiment, off unless
//! asked for.

use whimbrel_units::{DataRate, Duration, Instant};

#[cfg(test)]
mod tests;

/// The draft's default for DecayTime.
pub const DECAY_TIME: Duration = Duration::from_secs(120);

/// The memory of the rate that recently worked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FasterRestart {
    /// DecayTime: the age up to which a rate is trusted in full; at three times this, not at all.
    decay_time: Duration,
    /// X_active_recv.
    active_rate: DataRate,
    /// T_active_recv.
    active_at: Instant,
}

impl FasterRestart {
    /// One that remembers nothing yet.
    pub fn new(now: Instant, decay_time: Duration) -> Self {
        Self { decay_time, active_rate: DataRate::ZERO, active_at: now }
    }

    /// X_fast_max: the rate up to which to hurry.
    ///
    /// The draft's Section 3.1 says in prose that trust falls from full at one DecayTime to none at
    /// three, but its formula divides by one DecayTime where that takes two, and so begins at twice
    /// the rate. The prose is followed.
    pub fn fast_limit(&self, now: Instant) -> DataRate {
        let age = now - self.active_at;
        let trust = ((self.decay_time * 3 - age) / (self.decay_time * 2)).min(1.0);
        self.active_rate * trust
    }

    /// A feedback reports `receive_rate`, with or without news of loss.
    pub fn on_feedback(&mut self, now: Instant, receive_rate: DataRate, loss: bool) {
        let limit = self.fast_limit(now);
        let learned = match loss {
            false if receive_rate >= limit => receive_rate,
            true if receive_rate < limit => receive_rate / 2.0,
            _ => return,
        };
        self.active_rate = learned;
        self.active_at = now;
    }

    /// recv_limit, raised: at most doubled, and not beyond what worked.
    pub fn raise(&self, now: Instant, receive_limit: DataRate) -> DataRate {
        let limit = self.fast_limit(now);
        if receive_limit < limit { (receive_limit * 2.0).min(limit) } else { receive_limit }
    }
}
