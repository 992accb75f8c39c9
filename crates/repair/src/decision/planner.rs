//! The choice between rounds and window, computed when it is first needed and remembered.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::rounds::{Mix, Plan, Rounds};
use super::window::{self, WindowPlan};
use crate::channel::{Channel, Estimator};
use crate::wire::Role;

/// Plans that are remembered.
const REMEMBERED: usize = 24;
/// More rounds than this change nothing: the first of them send what is missing.
const MOST_ROUNDS: usize = 5;
/// Larger frames are planned in parts.
const LARGEST: usize = 24;
/// The share of the target that plans aim at, because the model is an estimate.
const CAUTION: f64 = 0.8;
/// Change of the channel's model beyond which plans are computed again.
const TOLERANCE: f64 = 0.08;

/// Aims of plans.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlannerConfig {
    /// Share of the frames that may be missed.
    pub target: f64,
    /// The price of a missed frame in packets, where the target is out of reach.
    pub price: f64,
}

impl Default for PlannerConfig {
    /// 99.99 % of the frames. Out of reach, a packet is sent if it saves a frame once in 10,000 times.
    fn default() -> Self {
        Self { target: 1e-4, price: 1e4 }
    }
}

/// Repair of the frames of one size with one budget.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// Parity with the frame and answers to requests.
    pub rounds: Mix,
    /// Parity over a window instead, if that is cheaper.
    pub window: Option<WindowPlan>,
    /// Frames that are missed nevertheless, by the model.
    pub missed: f64,
    /// Packets sent per packet of the source, beyond one, by the model.
    pub overhead: f64,
    /// The target cannot be met.
    pub is_out_of_reach: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    packets: usize,
    rounds: usize,
    frames: usize,
    value: u32,
}

/// Frames that cannot be decoded for a miss of a frame of this role, in proportion to a frame inside a group
/// ([module documentation](crate::decision)).
fn value(role: Role) -> u32 {
    match role {
        Role::Start => 2,
        // One that nothing refers to costs less, and counts like any other among the frames in time.
        Role::Inner | Role::Disposable => 1,
    }
}

/// The choices for one path.
#[derive(Debug)]
pub struct Planner {
    config: PlannerConfig,
    channel: Channel,
    /// The channel where no round is left.
    without_round: Channel,
    known: Vec<(Key, Arc<Choice>)>,
    computed: u64,
}

impl Planner {
    /// A planner for a channel.
    #[must_use]
    pub fn new(config: PlannerConfig, channel: Channel) -> Self {
        Self { config, channel, without_round: channel, known: Vec::new(), computed: 0 }
    }

    /// The channel for which plans are computed.
    #[must_use]
    pub fn channel(&self) -> Channel {
        self.channel
    }

    /// Choices that were computed so far.
    #[must_use]
    pub fn computed(&self) -> u64 {
        self.computed
    }

    /// Forgets the plans if the channel is not any more the one that they are for.
    pub fn set_channel(&mut self, channel: Channel) {
        self.set_channels(channel, channel);
    }

    /// The same for a channel that is estimated from reports. Where no round is left, plans are for the
    /// cautious model: nothing corrects what is too little.
    pub fn follow(&mut self, estimator: &Estimator) {
        self.set_channels(estimator.model(), estimator.cautious());
    }

    fn set_channels(&mut self, channel: Channel, without_round: Channel) {
        if !self.channel.is_close(&channel, TOLERANCE) {
            self.channel = channel;
            self.known.retain(|(key, _)| key.rounds == 0);
        }
        if !self.without_round.is_close(&without_round, TOLERANCE) {
            self.without_round = without_round;
            self.known.retain(|(key, _)| key.rounds > 0);
        }
    }

    /// The choice for a frame of that role with `packets` packets, `rounds` rounds before its deadline, and a
    /// window of `frames` frames, the frame itself included.
    pub fn choose(&mut self, role: Role, packets: usize, rounds: usize, frames: usize) -> Arc<Choice> {
        let packets = packets.max(1);
        let parts = packets.div_ceil(LARGEST);
        let key = Key {
            packets: packets.div_ceil(parts),
            rounds: rounds.min(MOST_ROUNDS),
            // With rounds, the window is a second choice of little use.
            frames: if rounds > 0 { 1 } else { frames.max(1) },
            value: value(role),
        };
        if let Some(index) = self.known.iter().position(|(known, _)| *known == key) {
            let found = self.known.remove(index);
            let choice = Arc::clone(&found.1);
            self.known.push(found);
            return choice;
        }
        if self.known.len() >= REMEMBERED {
            self.known.remove(0);
        }
        self.computed += 1;
        // A frame in parts is missed if any of them is.
        let target = CAUTION * self.config.target / parts as f64 / f64::from(key.value);
        let choice = Arc::new(self.compute(key, target));
        self.known.push((key, Arc::clone(&choice)));
        choice
    }

    fn compute(&self, key: Key, target: f64) -> Choice {
        let price = self.config.price * f64::from(key.value);
        let channel = if key.rounds == 0 { &self.without_round } else { &self.channel };
        let programme = Rounds::new(channel, key.packets, 3 * key.packets.max(4));
        let rounds = programme.cheapest(key.rounds, target);
        let window = (key.rounds == 0 && key.frames > 1)
            .then(|| window::cheapest(channel, key.packets, key.frames, target))
            .flatten();
        match (rounds, window) {
            (Some(rounds), window) if window.is_none_or(|window| rounds.overhead() <= window.overhead) => {
                let (missed, overhead) = (rounds.missed(), rounds.overhead());
                Choice { rounds, window: None, missed, overhead, is_out_of_reach: false }
            }
            (rounds, Some(window)) => {
                let rounds = rounds.unwrap_or_else(|| alone(programme.plan(key.rounds, price)));
                let WindowPlan { missed, overhead } = window;
                Choice { rounds, window: Some(window), missed, overhead, is_out_of_reach: false }
            }
            (_, None) => {
                let rounds = alone(programme.plan(key.rounds, price));
                let (missed, overhead) = (rounds.missed(), rounds.overhead());
                Choice { rounds, window: None, missed, overhead, is_out_of_reach: true }
            }
        }
    }
}

fn alone(plan: Plan) -> Mix {
    Mix { cheap: plan.clone(), safe: plan, share: 0.0 }
}

#[cfg(test)]
mod tests;
