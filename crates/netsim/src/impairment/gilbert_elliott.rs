//! The two-state chains of Gilbert and Elliott, per packet and in continuous time.

use whimbrel_units::{Duration, Instant};

use crate::random::RandomStream;

const GOOD: usize = 0;
const BAD: usize = 1;

/// Arrays are indexed by state: good, bad.
#[derive(Clone, Debug)]
pub(super) struct PerPacketChain {
    leave: [f64; 2],
    loss: [f64; 2],
    state: usize,
}

impl PerPacketChain {
    pub(super) fn new(leave: [f64; 2], loss: [f64; 2], random: &mut RandomStream) -> Self {
        let bad_share = leave[GOOD] / (leave[GOOD] + leave[BAD]);
        Self { leave, loss, state: usize::from(random.bernoulli(bad_share)) }
    }

    /// Two draws per packet regardless of the state, so that changing a loss probability does not move the
    /// state changes.
    pub(super) fn loses(&mut self, random: &mut RandomStream) -> bool {
        let lost = random.bernoulli(self.loss[self.state]);
        if random.bernoulli(self.leave[self.state]) {
            self.state = 1 - self.state;
        }
        lost
    }
}

/// Arrays are indexed by state: good, bad.
#[derive(Clone, Debug)]
pub(super) struct TimedChain {
    mean_stay: [Duration; 2],
    loss: [f64; 2],
    state: usize,
    until: Instant,
}

impl TimedChain {
    pub(super) fn new(mean_stay: [Duration; 2], loss: [f64; 2], random: &mut RandomStream) -> Self {
        let (good, bad) = (mean_stay[GOOD].as_secs_f64(), mean_stay[BAD].as_secs_f64());
        let state = usize::from(random.bernoulli(bad / (good + bad)));
        // An exponential stay that is already under way has the same distribution as a fresh one.
        let until = Instant::ZERO + random.exponential_duration(mean_stay[state]);
        Self { mean_stay, loss, state, until }
    }

    pub(super) fn loses(&mut self, time: Instant, random: &mut RandomStream) -> bool {
        while self.until <= time && self.until < Instant::FAR_FUTURE {
            self.state = 1 - self.state;
            // A stay rounded to no time at all would not advance.
            let stay = random.exponential_duration(self.mean_stay[self.state]);
            self.until += stay.max(Duration::from_nanos(1));
        }
        random.bernoulli(self.loss[self.state])
    }
}
