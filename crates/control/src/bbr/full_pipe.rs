//! The estimator of a filled pipe (draft-ietf-ccwg-bbr, Section 5.3.1.2).

/// Growth of the rate below which a round-trip time counts as one without growth, and their number
/// (CheckFullBWReached).
const FULL_PIPE_GROWTH: f64 = 1.25;
const FULL_PIPE_ROUNDS: u32 = 3;

/// The estimator of a filled pipe.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct FullPipe {
    rate: f64,
    rounds: u32,
    /// `true` if the pipe is full now, and if it ever was.
    pub(super) now: bool,
    pub(super) reached: bool,
}

impl FullPipe {
    pub(super) const fn reset(&mut self, rate: f64) {
        (self.rate, self.rounds, self.now) = (rate, 0, false);
    }

    pub(super) fn on_round(&mut self, rate: f64) {
        if rate >= self.rate * FULL_PIPE_GROWTH {
            self.reset(rate);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= FULL_PIPE_ROUNDS;
        self.reached |= self.now;
    }
}
