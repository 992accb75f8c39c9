//! Careful Resume: a validated jump to half of the old window.
//!
//! RFC 9959, adapted to a rate-based sender. *Reconnaissance*: a round-trip time at the initial rate, to
//! confirm the path and a round-trip time similar to the old one. *Unvalidated*: a jump to half of the old
//! rate, or less if the round-trip time is longer, for a round-trip time. *Validating*: no increase until all
//! packets sent unvalidated are acknowledged. A loss in these phases causes a *Safe Retreat*: half of the
//! delivered rate, until that is acknowledged. Then normal congestion control resumes.
//!
//! The condition of the RFC on windows that are not filled applies here to the allowed rate. As in the RFC,
//! a round-trip time of at most half or above ten times the old one ends the attempt.

use whimbrel_units::{DataRate, Duration, Instant};

#[cfg(test)]
mod tests;

/// Target of the jump, as a fraction of the old window.
const JUMP: f64 = 0.5;

/// Rate after a retreat, as a fraction of the delivered rate.
const RETREAT: f64 = 0.5;

/// Phase of Careful Resume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Sending at the initial rate.
    Reconnaissance,
    /// The jump has not been acknowledged yet.
    Unvalidated,
    /// Acknowledgements of the jump arrive.
    Validating,
    /// The jump caused a loss.
    SafeRetreat,
    /// Careful Resume has ended.
    Done,
}

/// State of Careful Resume.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CarefulResume {
    phase: Phase,
    /// Start time of the phase.
    since: Instant,
    old_rate: DataRate,
    old_rtt: Duration,
    /// Maximum rate in this phase.
    limit: DataRate,
}

impl CarefulResume {
    /// Starts at `initial_rate`, with the rate and the round-trip time of the old path.
    pub fn new(now: Instant, old_rate: DataRate, old_rtt: Duration, initial_rate: DataRate) -> Self {
        Self { phase: Phase::Reconnaissance, since: now, old_rate, old_rtt, limit: initial_rate }
    }

    /// Processes a report on packets up to the one sent at `sent`: `true` if there was a loss since the
    /// restart, a sample of the round-trip time, and X_recv, which is used by no other law in these phases.
    pub fn on_report(
        &mut self,
        now: Instant,
        sent: Instant,
        loss: bool,
        sample: Duration,
        receive_rate: DataRate,
    ) {
        let covers_phase = sent >= self.since;
        let covers_round_trip = sent >= self.since + sample;
        match self.phase {
            Phase::Reconnaissance if loss => self.phase = Phase::Done,
            Phase::Reconnaissance if covers_phase => self.leave_reconnaissance(now, sample),
            Phase::Unvalidated | Phase::Validating if loss => {
                self.enter(now, Phase::SafeRetreat, (receive_rate * RETREAT).min(self.limit * RETREAT));
            }
            Phase::Unvalidated if covers_phase => self.phase = Phase::Validating,
            Phase::Validating if covers_round_trip => self.phase = Phase::Done,
            Phase::SafeRetreat if covers_round_trip => self.phase = Phase::Done,
            _ => {}
        }
    }

    fn leave_reconnaissance(&mut self, now: Instant, sample: Duration) {
        let resembles = sample * 2 > self.old_rtt && sample <= self.old_rtt * 10;
        // Half of the old window: over a longer round-trip time, that is less than half of the rate.
        let stretch = sample.as_secs_f64() / self.old_rtt.as_secs_f64();
        let jump = self.old_rate * (JUMP / stretch.max(1.0));
        if resembles && jump > self.limit {
            self.enter(now, Phase::Unvalidated, jump);
        } else {
            self.phase = Phase::Done;
        }
    }

    fn enter(&mut self, now: Instant, phase: Phase, limit: DataRate) {
        *self = Self { phase, since: now, limit, ..*self };
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Maximum sending rate; infinite once Careful Resume has ended.
    pub fn limit(&self) -> DataRate {
        if self.phase == Phase::Done { DataRate::INFINITE } else { self.limit }
    }
}
