//! Plans of parity and repeats over rounds: the dynamic programme.

use alloc::vec;
use alloc::vec::Vec;

use crate::channel::Channel;

/// The bounds of the price of a missed frame, in packets.
const PRICES: (f64, f64) = (1e-3, 1e9);
/// Steps of the search for the cheapest mix: it needs about six. A gain below this share of the costs is an
/// error of rounding.
const MOST_STEPS: usize = 64;
const LEAST_GAIN: f64 = 1e-9;

/// A plan for frames of a size: how many packets to send in each round. By default, what is missing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// Probability that a frame is not whole at the deadline.
    pub missed: f64,
    /// Packets sent per packet of the frame, beyond one.
    pub overhead: f64,
    /// Packets of the frame.
    pub packets: usize,
    /// Packets of the first transmission: the frame's and parity.
    pub first: usize,
    /// `[rounds left, this one included, minus one][packets missing]`: packets to send.
    answers: Vec<Vec<usize>>,
}

impl Plan {
    /// Packets to send if `missing` are missing and `rounds` rounds are left, with this one. Each missing
    /// packet is sent again at least.
    #[must_use]
    pub fn answer(&self, rounds: usize, missing: usize) -> usize {
        let Some(row) = self.answers.get(rounds.clamp(1, self.answers.len().max(1)) - 1) else {
            return missing;
        };
        // A frame that misses more than the plan's frames have is answered in proportion.
        let last = row.len() - 1;
        let planned =
            if missing <= last { row[missing] } else { (row[last] * missing).div_ceil(last.max(1)) };
        planned.max(missing)
    }
}

impl Plan {
    /// Parity packets for a frame of `packets` packets, which exceeds the plan's if planned in parts.
    #[must_use]
    pub fn parity_for(&self, packets: usize) -> usize {
        let planned = self.packets.max(1);
        ((self.first - self.packets) * packets).div_ceil(planned).min(packets)
    }
}

/// The two plans that together meet a target.
#[derive(Clone, PartialEq, Debug)]
pub struct Mix {
    /// The cheaper plan, which misses more.
    pub cheap: Plan,
    /// The plan that misses less.
    pub safe: Plan,
    /// The share of the frames that follow the safe plan.
    pub share: f64,
}

impl Mix {
    /// Frames that are missed, in the mean.
    #[must_use]
    pub fn missed(&self) -> f64 {
        self.cheap.missed + self.share * (self.safe.missed - self.cheap.missed)
    }

    /// The overhead in the mean.
    #[must_use]
    pub fn overhead(&self) -> f64 {
        self.cheap.overhead + self.share * (self.safe.overhead - self.cheap.overhead)
    }
}

/// The programme for frames of one size on one channel.
#[derive(Clone, Debug)]
pub struct Rounds {
    packets: usize,
    most: usize,
    /// `[packets sent][packets lost]`.
    lost: Vec<Vec<f64>>,
}

impl Rounds {
    /// For frames of `packets` packets, of which parity may at first be as many, and at most `most` packets
    /// in a round.
    #[must_use]
    pub fn new(channel: &Channel, packets: usize, most: usize) -> Self {
        let packets = packets.max(1);
        let most = most.max(2 * packets);
        Self { packets, most, lost: channel.lost_up_to(most) }
    }

    /// Expected value after `sent` packets, with `missing` missing, where n missing are worth `worth[n]`.
    fn after(&self, sent: usize, missing: usize, worth: &[f64]) -> f64 {
        let lost = &self.lost[sent];
        // j arrive, so that sent - j are lost; nothing is missing if enough arrive.
        let few = 0..missing.min(sent + 1);
        let some: f64 = few.map(|j| lost[sent - j] * worth[missing - j]).sum();
        if sent < missing {
            return some;
        }
        let enough: f64 = lost[..=sent - missing].iter().sum();
        some + enough * worth[0]
    }

    /// The plan of the least cost with `count` rounds after the first transmission, at a price per missed
    /// frame.
    #[must_use]
    pub fn plan(&self, count: usize, price: f64) -> Plan {
        let states = self.packets + 1;
        let mut worth: Vec<f64> = (0..states).map(|n| if n > 0 { price } else { 0.0 }).collect();
        let mut miss: Vec<f64> = (0..states).map(|n| f64::from(u8::from(n > 0))).collect();
        let mut spent = vec![0.0; states];
        let mut answers = Vec::with_capacity(count);
        for _ in 0..count {
            let best: Vec<usize> = (0..states).map(|n| self.cheapest_answer(n, &worth)).collect();
            let next = |values: &[f64], cost: f64| -> Vec<f64> {
                (0..states).map(|n| self.after(best[n], n, values) + cost * best[n] as f64).collect()
            };
            (worth, miss, spent) = (next(&worth, 1.0), next(&miss, 0.0), next(&spent, 1.0));
            answers.push(best);
        }
        let all = self.packets;
        let cost = |sent: usize| self.after(sent, all, &worth) + sent as f64;
        // Parity is at most as much as the source.
        let first = least((all..=2 * all).map(|sent| (sent, cost(sent))));
        let spent = self.after(first, all, &spent) + first as f64;
        Plan {
            missed: self.after(first, all, &miss),
            overhead: spent / all as f64 - 1.0,
            packets: all,
            first,
            answers,
        }
    }

    fn cheapest_answer(&self, missing: usize, worth: &[f64]) -> usize {
        if missing == 0 {
            return 0;
        }
        // To send nothing is to give the frame up; sending fewer packets than are missing never makes it
        // whole in this round.
        let nothing = (0, worth[missing]);
        least(
            core::iter::once(nothing)
                .chain((1..=self.most).map(|b| (b, self.after(b, missing, worth) + b as f64))),
        )
    }

    /// The cheapest mix of two plans that misses at most `target` of the frames. `None` if no plan does.
    #[must_use]
    pub fn cheapest(&self, count: usize, target: f64) -> Option<Mix> {
        let (mut cheap, mut safe) = (self.plan(count, PRICES.0), self.plan(count, PRICES.1));
        if safe.missed > target {
            return None;
        }
        if cheap.missed <= target {
            return Some(Mix { safe: cheap.clone(), cheap, share: 0.0 });
        }
        // At the price at which both cost the same, a plan between them costs less, if there is one.
        for _ in 0..MOST_STEPS {
            let price = (safe.overhead - cheap.overhead) * self.packets as f64 / (cheap.missed - safe.missed);
            let cost = |plan: &Plan| plan.overhead * self.packets as f64 + price * plan.missed;
            let plan = self.plan(count, price);
            if cost(&plan) >= cost(&cheap) * (1.0 - LEAST_GAIN) {
                break;
            }
            if plan.missed > target {
                cheap = plan;
            } else {
                safe = plan;
            }
        }
        let share = (cheap.missed - target) / (cheap.missed - safe.missed);
        Some(Mix { cheap, safe, share })
    }
}

/// The first number of the least cost.
fn least(costs: impl Iterator<Item = (usize, f64)>) -> usize {
    costs.fold((0, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best }).0
}

#[cfg(test)]
mod tests;
