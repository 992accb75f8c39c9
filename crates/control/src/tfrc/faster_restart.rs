//! Faster Restart: quadrupling instead of doubling, up to a recently sustained rate.
//!
//! After an idle or data-limited time TFRC doubles its rate each round-trip time until it is restored.
//! draft-ietf-dccp-tfrc-faster-restart-06 (expired) allows quadrupling up to the receive rate that the
//! connection last sustained, decreasing with its age. Experimental, and disabled by default.

use whimbrel_units::{DataRate, Duration, Instant};

#[cfg(test)]
mod tests;

/// The draft's default for DecayTime.
pub const DECAY_TIME: Duration = Duration::from_secs(120);

/// State of Faster Restart: the recently sustained rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FasterRestart {
    /// DecayTime: age up to which a rate is used in full; from three times this age on it is not used at all.
    decay_time: Duration,
    /// X_active_recv.
    active_rate: DataRate,
    /// T_active_recv.
    active_at: Instant,
}

impl FasterRestart {
    /// State without a sustained rate.
    pub fn new(now: Instant, decay_time: Duration) -> Self {
        Self { decay_time, active_rate: DataRate::ZERO, active_at: now }
    }

    /// X_fast_max: the rate up to which X may quadruple.
    ///
    /// The text of the draft's Section 3.1 has the rate decrease from full at one DecayTime to zero at three,
    /// but its formula divides by one DecayTime where that requires two, and so starts at twice the rate. The
    /// text is followed.
    pub fn fast_limit(&self, now: Instant) -> DataRate {
        let age = now - self.active_at;
        let trust = ((self.decay_time * 3 - age) / (self.decay_time * 2)).min(1.0);
        self.active_rate * trust
    }

    /// Processes a feedback with `receive_rate`; `loss` is `true` if it reports a loss.
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

    /// Increases recv_limit: at most doubled, and not beyond the sustained rate.
    pub fn raise(&self, now: Instant, receive_limit: DataRate) -> DataRate {
        let limit = self.fast_limit(now);
        if receive_limit < limit { (receive_limit * 2.0).min(limit) } else { receive_limit }
    }
}
