//! Careful Resume: half of the old rate at once, then see.
//!
//! draft-ietf-tsvwg-careful-resume, for a sender that knows a rate instead of a window. *Reconnaissance*: a round-trip time
//! at the initial rate, to see that the path is alive and its round-trip time like the one of old. *Unvalidated*: a jump
//! to half of the old rate, for a round-trip time. *Validating*: no more than that until all that was sent
//! unvalidated is acknowledged. A loss on the way is a *Safe Retreat*: half of what got through, until that is
//! acknowledged. Then congestion control goes on as ever.
//!
//! Where the draft speaks of windows that are not filled, this speaks of the rate allowed. The draft trusts no
//! round-trip time below half of the old or above ten times it, and neither does this.

use whimbrel_units::{DataRate, Duration, Instant};

#[cfg(test)]
mod tests;

/// The part of the old rate that is jumped to.
const JUMP: f64 = 0.5;

/// The part of what got through that a retreat leaves.
const RETREAT: f64 = 0.5;

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// At the initial rate.
    Reconnaissance,
    /// The jump, not acknowledged yet.
    Unvalidated,
    /// Acknowledgements of the jump arrive.
    Validating,
    /// The jump was too far.
    SafeRetreat,
    /// Over.
    Done,
}

/// A careful restart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CarefulResume {
    phase: Phase,
    /// When the phase began.
    since: Instant,
    old_rate: DataRate,
    old_rtt: Duration,
    /// The most that may be sent in this phase.
    limit: DataRate,
}

impl CarefulResume {
    /// Begins at `initial_rate`, with what was known of the old path.
    pub fn new(now: Instant, old_rate: DataRate, old_rtt: Duration, initial_rate: DataRate) -> Self {
        Self { phase: Phase::Reconnaissance, since: now, old_rate, old_rtt, limit: initial_rate }
    }

    /// A report came, of packets up to one sent at `sent`: whether there was a loss since the restart, a sample of the round-trip
    /// time, and X_recv, which until now nobody was to believe.
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
        let resembles = sample * 2 >= self.old_rtt && sample <= self.old_rtt * 10;
        let jump = self.old_rate * JUMP;
        if resembles && jump > self.limit {
            self.enter(now, Phase::Unvalidated, jump);
        } else {
            self.phase = Phase::Done;
        }
    }

    fn enter(&mut self, now: Instant, phase: Phase, limit: DataRate) {
        *self = Self { phase, since: now, limit, ..*self };
    }

    /// Where it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The most that may be sent; no limit once it is over.
    pub fn limit(&self) -> DataRate {
        if self.phase == Phase::Done { DataRate::INFINITE } else { self.limit }
    }
}
