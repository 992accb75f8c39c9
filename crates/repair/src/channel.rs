//! Models of loss: the channel of Gilbert and Elliott, and its parameters as estimated from what was lost.
//!
//! The channel is in a good or in a bad state, loses packets with the probability of the state, and may
//! change its state before each packet. Independent losses are the case without memory. The loss of a packet
//! that follows a lost one `d` packets later has the probability p + (v / p) mu^d, with the mean p, the
//! variance v of the states' probabilities and the memory mu ([`Channel::again`]).

use alloc::vec;
use alloc::vec::Vec;

mod estimator;

pub use estimator::{Cause, Estimator};

/// A Gilbert-Elliott channel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Channel {
    /// Probability that a good state becomes bad before a packet.
    pub to_bad: f64,
    /// Probability that a bad state becomes good before a packet.
    pub to_good: f64,
    /// Probability of a loss in the good state.
    pub loss_good: f64,
    /// Probability of a loss in the bad state.
    pub loss_bad: f64,
}

/// `[state before][packets lost][state after]`: probabilities for a number of packets in a row.
pub(crate) type Joint = [Vec<[f64; 2]>; 2];

impl Channel {
    /// Independent losses.
    #[must_use]
    pub const fn independent(loss: f64) -> Self {
        Self { to_bad: loss, to_good: 1.0 - loss, loss_good: 0.0, loss_bad: 1.0 }
    }

    /// Bursts of a mean length: all packets of a burst are lost, none between.
    #[must_use]
    pub fn bursts(loss: f64, length: f64) -> Self {
        Self { to_bad: loss / (1.0 - loss) / length, to_good: 1.0 / length, loss_good: 0.0, loss_bad: 1.0 }
    }

    /// The probabilities of the states, in the long run.
    #[must_use]
    pub fn stationary(&self) -> [f64; 2] {
        let sum = self.to_bad + self.to_good;
        let bad = if sum > 0.0 { self.to_bad / sum } else { 0.0 };
        [1.0 - bad, bad]
    }

    fn losses(&self) -> [f64; 2] {
        [self.loss_good, self.loss_bad]
    }

    fn moves(&self) -> [[f64; 2]; 2] {
        [[1.0 - self.to_bad, self.to_bad], [self.to_good, 1.0 - self.to_good]]
    }

    /// The mean loss.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let [good, bad] = self.stationary();
        good * self.loss_good + bad * self.loss_bad
    }

    /// mu: what is left of the knowledge of the state after one packet.
    #[must_use]
    pub fn memory(&self) -> f64 {
        1.0 - self.to_bad - self.to_good
    }

    /// The probability that a packet is lost `distance` packets after a lost one.
    #[must_use]
    pub fn again(&self, distance: u32) -> f64 {
        let ([good, bad], mean) = (self.stationary(), self.mean());
        if mean <= 0.0 {
            return 0.0;
        }
        let difference = self.loss_bad - self.loss_good;
        let variance = good * bad * difference * difference;
        (mean + variance / mean * power(self.memory(), distance)).clamp(0.0, 1.0)
    }

    /// One more packet: it moves the state, then it is lost or not.
    fn extend(&self, table: &mut Joint) {
        let (moves, loss) = (self.moves(), self.losses());
        for rows in table {
            rows.push([0.0; 2]);
            for lost in (0..rows.len()).rev() {
                let moved = |row: [f64; 2]| {
                    [row[0] * moves[0][0] + row[1] * moves[1][0], row[0] * moves[0][1] + row[1] * moves[1][1]]
                };
                let kept = moved(rows[lost]);
                let before = if lost > 0 { moved(rows[lost - 1]) } else { [0.0; 2] };
                rows[lost] = [0, 1].map(|s| kept[s] * (1.0 - loss[s]) + before[s] * loss[s]);
            }
        }
    }

    /// The joint probabilities for `count` packets in a row.
    pub(crate) fn joint(&self, count: usize) -> Joint {
        let mut table = [vec![[1.0, 0.0]], vec![[0.0, 1.0]]];
        for _ in 0..count {
            self.extend(&mut table);
        }
        table
    }

    /// For 0, 1, ... `most` packets in a row the probabilities that 0, 1, ... of them are lost.
    #[must_use]
    pub fn lost_up_to(&self, most: usize) -> Vec<Vec<f64>> {
        let [good, bad] = self.stationary();
        let mut table = [vec![[1.0, 0.0]], vec![[0.0, 1.0]]];
        (0..=most)
            .map(|count| {
                if count > 0 {
                    self.extend(&mut table);
                }
                (0..=count).map(|n| good * sum(table[0][n]) + bad * sum(table[1][n])).collect()
            })
            .collect()
    }

    /// `true` if the two lose alike: packets, pairs, and many of sixteen, within `tolerance` of each other.
    #[must_use]
    pub fn is_close(&self, other: &Self, tolerance: f64) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= tolerance * a.max(b).max(1e-4);
        close(self.mean(), other.mean())
            && [1, 8, 32].iter().all(|&d| close(self.again(d) * self.mean(), other.again(d) * other.mean()))
    }
}

fn sum(row: [f64; 2]) -> f64 {
    row[0] + row[1]
}

/// `base` to the power of a whole number, equal on all platforms.
pub(crate) fn power(base: f64, mut exponent: u32) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests;
