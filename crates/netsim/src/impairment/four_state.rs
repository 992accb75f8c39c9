//! The four-state Markov chain of Linux's NetEm (`loss state`).
//!
//! Source: S. Salsano, F. Ludovici, A. Ordine, D. Giannuzzi, "Definition of a general and intuitive loss
//! model for packet networks and its implementation in the Netem module in the Linux kernel", University of
//! Rome "Tor Vergata", 2012. The numbers of the states are theirs.

use super::ImpairmentError;
use crate::random::RandomStream;

/// The probabilities of transitions; those not listed are 0, except that the isolated loss (4) always returns
/// to 1, and that a state is kept with the remaining probability.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FourStateTransitions {
    /// From delivery in a gap (1) to loss in a burst (3).
    pub p13: f64,
    /// From loss in a burst (3) to delivery in a gap (1).
    pub p31: f64,
    /// From loss in a burst (3) to delivery in a burst (2).
    pub p32: f64,
    /// From delivery in a burst (2) to loss in a burst (3).
    pub p23: f64,
    /// From delivery in a gap (1) to an isolated loss (4).
    pub p14: f64,
}

impl FourStateTransitions {
    /// The long-term shares of the states 1 to 4.
    ///
    /// The probabilities are not defined if neither `p13` nor `p31` is above zero, which
    /// [`super::Impairment::check`] refuses.
    pub fn shares(&self) -> [f64; 4] {
        let Self { p13, p31, p32, p23, p14 } = *self;
        // Balance of flows: 1 and 3 by p13 and p31, 2 and 3 by p32 and p23, 1 and 4 by p14 and 1.
        let weights = if p32 > 0.0 {
            [p31 * p23, p13 * p32, p13 * p23, p31 * p23 * p14]
        } else {
            [p31, 0.0, p13, p31 * p14]
        };
        let sum: f64 = weights.iter().sum();
        weights.map(|weight| weight / sum)
    }

    pub(super) fn check(&self) -> Result<(), ImpairmentError> {
        let named =
            [("p13", self.p13), ("p31", self.p31), ("p32", self.p32), ("p23", self.p23), ("p14", self.p14)];
        for (name, value) in named {
            if !(0.0..=1.0).contains(&value) {
                return Err(ImpairmentError::NotAProbability { name, value });
            }
        }
        // Sums of fitted probabilities may exceed 1 by their rounding.
        for (names, sum) in [("p13 + p14", self.p13 + self.p14), ("p31 + p32", self.p31 + self.p32)] {
            if sum > 1.0 + 1e-9 {
                return Err(ImpairmentError::NotAProbability { name: names, value: sum });
            }
        }
        // Otherwise the states fall into parts that never meet, and there is no long-term share.
        let meets = self.p13 > 0.0 || self.p31 > 0.0;
        if meets && !self.shares().iter().any(|share| share.is_nan()) {
            Ok(())
        } else {
            Err(ImpairmentError::Stuck)
        }
    }
}

/// The states, by what happens to the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// 1: delivered in a gap.
    Gap,
    /// 2: delivered in a burst.
    InBurst,
    /// 3: lost in a burst.
    BurstLoss,
    /// 4: lost alone in a gap.
    Isolated,
}

#[derive(Clone, Debug)]
pub(super) struct FourStateChain {
    transitions: FourStateTransitions,
    /// The state of the next packet.
    state: State,
}

impl FourStateChain {
    /// The state of the first packet is drawn from the long-term shares.
    pub(super) fn new(transitions: FourStateTransitions, random: &mut RandomStream) -> Self {
        let [gap, in_burst, burst_loss, _] = transitions.shares();
        let draw = random.uniform();
        let state = if draw < gap {
            State::Gap
        } else if draw < gap + in_burst {
            State::InBurst
        } else if draw < gap + in_burst + burst_loss {
            State::BurstLoss
        } else {
            State::Isolated
        };
        Self { transitions, state }
    }

    /// One draw per packet, regardless of the state.
    pub(super) fn loses(&mut self, random: &mut RandomStream) -> bool {
        let lost = matches!(self.state, State::BurstLoss | State::Isolated);
        let FourStateTransitions { p13, p31, p32, p23, p14 } = self.transitions;
        let draw = random.uniform();
        self.state = match self.state {
            State::Gap if draw < p14 => State::Isolated,
            State::Gap if draw < p14 + p13 => State::BurstLoss,
            State::InBurst if draw < p23 => State::BurstLoss,
            State::BurstLoss if draw < p32 => State::InBurst,
            State::BurstLoss if draw < p32 + p31 => State::Gap,
            State::Isolated => State::Gap,
            kept => kept,
        };
        lost
    }
}
