//! The parameters of the channel, from which packets were lost.
//!
//! Expectation maximization over blocks of 64 packets (Baum and Welch): with the model so far, each block
//! gives the expected numbers of moves and losses by state, which are added to sums that forget slowly; their
//! quotients are the next model. A change of the mean that chance does not explain shortens the memory of the
//! sums.
//!
//! The likelihood of what was seen decides whether losses have a memory at all: where the model with states
//! does not explain them better than its mean alone, they are independent. Otherwise chance would be taken
//! for bursts, and parity spent on them.

use super::Channel;

/// Packets per step of the estimation.
const BLOCK: u32 = 64;
/// Packets that the sums remember: 60 s of video at 4 Mbit/s.
const HORIZON: f64 = 30_000.0;
/// Packets in whose mean loss a change is seen.
const RECENT: f64 = 512.0;
/// Weight of the first assumption, in packets.
const PRIOR: f64 = 256.0;
/// Losses that [`Estimator::cautious`] adds to those that were seen.
const MORE_LOSSES: f64 = 4.0;
/// A probability that they do not exceed for it.
const MOST_ASSUMED: f64 = 0.2;
/// Packets over which the share of those lost is taken without a first assumption, and the share below which
/// the path is without losses.
const SEEN: (f64, f64) = (4096.0, 1e-3);
/// Deviations of the recent mean from the long one that are a change.
const CHANGE: f64 = 5.0;
/// Gain of the log likelihood that proves a memory.
const PROOF: f64 = 4.0;

/// The cause of a loss.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Cause {
    /// The radio: parity and repeats are worth their rate.
    Radio,
    /// A full queue, or a mark: what is lost is repeated within the allowed rate, but parity would add to the
    /// queue.
    Congestion,
    /// Not known: treated like congestion.
    #[default]
    Unknown,
}

/// Expected numbers, by state.
#[derive(Clone, Copy, Debug)]
struct Sums {
    moves: [[f64; 2]; 2],
    lost: [f64; 2],
    received: [f64; 2],
}

/// The estimator of a path's channel. Each packet is recorded once, in the order of sending.
#[derive(Clone, Debug)]
pub struct Estimator {
    model: Channel,
    sums: Sums,
    /// Probability of the bad state after the last packet of the last block.
    bad: f64,
    /// The packets of this block: a bit for each, set if lost.
    block: u64,
    filled: u32,
    /// Log likelihood of what was seen under the model, minus the log likelihood under independent losses.
    gain: f64,
    /// Mean loss of recent packets, and packets since the estimation began.
    recent: f64,
    age: f64,
    /// Mean loss of the last packets, which begins with none.
    seen: f64,
}

impl Default for Estimator {
    fn default() -> Self {
        Self::new()
    }
}

impl Estimator {
    /// An estimator that assumes a loss of 1 % with short bursts until it has seen some hundred packets.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_with(Channel { to_bad: 0.02, to_good: 0.6, loss_good: 0.002, loss_bad: 0.25 })
    }

    /// An estimator that begins with a model.
    #[must_use]
    pub fn starting_with(model: Channel) -> Self {
        let [good, bad] = model.stationary().map(|share| share * PRIOR);
        let sums = Sums {
            moves: [
                [good * (1.0 - model.to_bad), good * model.to_bad],
                [bad * model.to_good, bad * (1.0 - model.to_good)],
            ],
            lost: [good * model.loss_good, bad * model.loss_bad],
            received: [good * (1.0 - model.loss_good), bad * (1.0 - model.loss_bad)],
        };
        let bad = model.stationary()[1];
        Self { model, sums, bad, block: 0, filled: 0, gain: 0.0, recent: model.mean(), age: 0.0, seen: 0.0 }
    }

    /// The model so far.
    #[must_use]
    pub fn model(&self) -> Channel {
        if self.gain > PROOF { self.model } else { Channel::independent(self.model.mean()) }
    }

    /// The model for plans without a round, with more losses than were seen.
    ///
    /// The misses of a window of parity grow with the power m of the loss rate: estimates that are too low
    /// cost more than others save. With (m + 1) / 2 losses more, whether few or many were seen, the expected
    /// misses equal, to first order, the misses of a plan for the true rate. m is 4 to 10 for 1 to 8 %.
    #[must_use]
    pub fn cautious(&self) -> Channel {
        let more = |seen: f64| 1.0 + MORE_LOSSES / seen.max(1e-6);
        if self.gain > PROOF {
            // Bursts are what varies.
            let to_bad = self.model.to_bad * more(self.sums.moves[0][1]);
            Channel { to_bad: to_bad.min(MOST_ASSUMED.max(self.model.to_bad)), ..self.model }
        } else {
            let mean = self.model.mean();
            let assumed = mean * more(self.sums.lost[0] + self.sums.lost[1]);
            Channel::independent(assumed.min(MOST_ASSUMED.max(mean)))
        }
    }

    /// `true` if less than about four of the last 4,096 packets were lost. The model may assume more.
    #[must_use]
    pub fn is_without_losses(&self) -> bool {
        self.seen < SEEN.1
    }

    /// Records the next packet. Only losses by the radio count as losses: parity is no remedy for others.
    pub fn record(&mut self, lost: Option<Cause>) {
        let is_lost = lost == Some(Cause::Radio);
        self.block |= u64::from(is_lost) << self.filled;
        self.filled += 1;
        self.age += 1.0;
        self.recent += (f64::from(u8::from(is_lost)) - self.recent) / RECENT.min(self.age + PRIOR);
        self.seen += (f64::from(u8::from(is_lost)) - self.seen) / SEEN.0;
        if self.filled == BLOCK {
            self.step();
            self.block = 0;
            self.filled = 0;
        }
    }

    fn step(&mut self) {
        self.forget();
        self.add_block();
        let Sums { moves, lost, received } = self.sums;
        let share = |part: f64, rest: f64| if part + rest > 0.0 { part / (part + rest) } else { 0.0 };
        let bounded = |p: f64| p.clamp(1e-6, 1.0 - 1e-6);
        self.model = Channel {
            to_bad: bounded(share(moves[0][1], moves[0][0])),
            to_good: bounded(share(moves[1][0], moves[1][1])),
            loss_good: share(lost[0], received[0]).clamp(0.0, 1.0),
            loss_bad: share(lost[1], received[1]).clamp(0.0, 1.0),
        };
    }

    /// Reduces the weight of what was seen: slowly, or at once if the channel has changed.
    fn forget(&mut self) {
        let weight: f64 = self.sums.moves.iter().flatten().sum();
        let model = self.model();
        let (mean, memory) = (model.mean(), model.memory().min(0.98));
        // The variance of a mean of correlated packets.
        let correlation = if mean > 0.0 { (model.again(0) - mean).max(0.0) } else { 0.0 };
        let correlation = if memory > 0.0 { correlation } else { 0.0 };
        let inflation = 1.0 + 2.0 * correlation * memory / (1.0 - memory);
        let variance = mean.max(1.0 / RECENT) * (1.0 - mean) * inflation / (2.0 * RECENT);
        let is_changed = (self.recent - mean) * (self.recent - mean) > CHANGE * CHANGE * variance;
        let keep = if is_changed && weight > RECENT { RECENT } else { HORIZON } - f64::from(BLOCK);
        if weight > keep {
            let factor = keep / weight;
            let Sums { moves, lost, received } = &mut self.sums;
            moves.iter_mut().flatten().chain(lost).chain(received).for_each(|sum| *sum *= factor);
            self.gain *= factor;
        }
    }

    /// The forward and backward passes over a block.
    fn add_block(&mut self) {
        let (moves, loss) = (self.model.moves(), self.model.losses());
        let emit = |t: usize, s: usize| {
            if self.block >> t & 1 == 1 { loss[s] } else { 1.0 - loss[s] }
        };
        const LENGTH: usize = BLOCK as usize;
        let mut forward = [[0.0; 2]; LENGTH + 1];
        forward[0] = [1.0 - self.bad, self.bad];
        let mut scale = [1.0; LENGTH];
        let (mean, mut ratio) = (self.model.mean(), 1.0);
        for t in 0..LENGTH {
            let before = forward[t];
            let now = [0, 1].map(|s| (before[0] * moves[0][s] + before[1] * moves[1][s]) * emit(t, s));
            scale[t] = (now[0] + now[1]).max(1e-300);
            forward[t + 1] = now.map(|p| p / scale[t]);
            let independent = if self.block >> t & 1 == 1 { mean } else { 1.0 - mean };
            ratio *= scale[t] / independent.max(1e-300);
            if t % 8 == 7 {
                self.gain += logarithm(ratio);
                ratio = 1.0;
            }
        }
        let mut backward = [1.0; 2];
        for t in (0..LENGTH).rev() {
            let ahead: [f64; 2] = [0, 1].map(|s| emit(t, s) * backward[s] / scale[t]);
            let mut after = [0.0; 2];
            for from in 0..2 {
                let mut total = 0.0;
                for to in 0..2 {
                    let path = moves[from][to] * ahead[to];
                    let expected = forward[t][from] * path;
                    self.sums.moves[from][to] += expected;
                    after[to] += expected;
                    total += path;
                }
                backward[from] = total;
            }
            let is_lost = self.block >> t & 1 == 1;
            let sums = if is_lost { &mut self.sums.lost } else { &mut self.sums.received };
            sums[0] += after[0];
            sums[1] += after[1];
        }
        self.bad = forward[LENGTH][1];
    }
}

/// The natural logarithm of a positive number, equal on all platforms.
fn logarithm(x: f64) -> f64 {
    let (mut exponent, mut mantissa) = (0, x.clamp(1e-300, 1e300));
    while mantissa > 1.5 {
        mantissa /= 2.0;
        exponent += 1;
    }
    while mantissa < 0.75 {
        mantissa *= 2.0;
        exponent -= 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)); the argument is at most 0.2.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let series = (0..10).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    2.0 * z * series + f64::from(exponent) * core::f64::consts::LN_2
}

#[cfg(test)]
mod tests;
