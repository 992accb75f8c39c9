//! A Minstrel-like rate control.

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::RateCost;
use crate::random::Random;

/// A rate control after Minstrel of Linux's mac80211, as its documentation describes it.
///
/// The success probability of each rate is an exponentially weighted moving average, updated once per
/// `interval`. A payload is tried twice at the rate of the highest throughput (success probability over the
/// time of a frame), twice at the second highest, twice at the one of the highest probability, then at the
/// lowest rate. A share of the payloads looks around: one transmission is at a random other rate. If that is
/// slower than the best rate, it comes after two failures at the best rate, so that lookaround at slow rates
/// costs nothing while the best rate works.
///
/// Differences from mac80211: the time that retries may take is not limited, and the random rate is drawn
/// anew instead of from a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Minstrel {
    /// Time between updates of the averages.
    pub interval: Duration,
    /// Share of the payloads that look around, in percent.
    pub lookaround_percent: u8,
    /// Weight of the old average in percent.
    pub old_weight_percent: u8,
}

impl Default for Minstrel {
    /// 100 ms, 10 %, 75 %.
    fn default() -> Self {
        Self { interval: Duration::from_millis(100), lookaround_percent: 10, old_weight_percent: 75 }
    }
}

/// Below this success probability a rate's throughput counts as zero.
const USELESS: f64 = 0.1;
/// Above this success probability differences do not count.
const PERFECT: f64 = 0.95;
/// Transmissions of each stage of a chain but the last.
const TRIES: u8 = 2;

/// Measurements of a rate.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Statistics {
    /// Transmissions and acknowledgements in the present interval.
    attempts: u32,
    successes: u32,
    /// Average success probability; `None` before the first measurement.
    probability: Option<f64>,
}

/// A stage of the chain of transmissions of a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stage {
    place: usize,
    tries: u8,
}

/// State for one receiver.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct MinstrelState {
    rates: Vec<Statistics>,
    /// Places of the rates of the highest throughput, the second highest, and the highest probability.
    best: usize,
    second: usize,
    surest: usize,
    updated: Instant,
    payloads: u64,
    looks: u64,
    chain: [Stage; 4],
    /// Transmissions of the payload so far.
    attempt: u8,
}

impl MinstrelState {
    pub(super) fn new(now: Instant, start: usize, rates: usize) -> Self {
        let stage = Stage { place: start, tries: TRIES };
        Self {
            rates: alloc::vec![Statistics::default(); rates],
            best: start,
            second: start,
            surest: start,
            updated: now,
            payloads: 0,
            looks: 0,
            chain: [stage; 4],
            attempt: 0,
        }
    }

    /// Place of the rate of the next transmission.
    pub(super) fn place(&self) -> usize {
        let mut before = 0;
        for stage in self.chain {
            before += stage.tries;
            if self.attempt < before {
                return stage.place;
            }
        }
        0
    }

    pub(super) fn begin(
        &mut self,
        now: Instant,
        minstrel: Minstrel,
        ladder: &[RateCost],
        random: &mut impl Random,
    ) {
        if now.saturating_since(self.updated) >= minstrel.interval {
            self.update(minstrel, ladder);
            self.updated = now;
        }
        self.attempt = 0;
        self.payloads += 1;
        let [best, second, surest] = [self.best, self.second, self.surest];
        let stage = |place| Stage { place, tries: TRIES };
        self.chain = [stage(best), stage(second), stage(surest), stage(0)];
        let is_due = self.looks * 100 < self.payloads * u64::from(minstrel.lookaround_percent);
        if !is_due || ladder.len() < 2 {
            return;
        }
        self.looks += 1;
        let draw = random.below(ladder.len() as u64 - 1) as usize;
        let look = Stage { place: if draw < best { draw } else { draw + 1 }, tries: 1 };
        self.chain = if ladder[look.place].time < ladder[best].time {
            [look, stage(best), stage(surest), stage(0)]
        } else {
            [stage(best), look, stage(surest), stage(0)]
        };
    }

    pub(super) fn handle_outcome(&mut self, is_success: bool) {
        let place = self.place();
        let rate = &mut self.rates[place];
        rate.attempts += 1;
        rate.successes += u32::from(is_success);
        self.attempt = self.attempt.saturating_add(1);
    }

    /// Average success probability of a rate.
    #[cfg(test)]
    pub(super) fn probability(&self, place: usize) -> Option<f64> {
        self.rates[place].probability
    }

    fn update(&mut self, minstrel: Minstrel, ladder: &[RateCost]) {
        let old_weight = f64::from(minstrel.old_weight_percent) / 100.0;
        for rate in &mut self.rates {
            if rate.attempts > 0 {
                let measured = f64::from(rate.successes) / f64::from(rate.attempts);
                let average = |old: f64| old * old_weight + measured * (1.0 - old_weight);
                rate.probability = Some(rate.probability.map_or(measured, average));
                rate.attempts = 0;
                rate.successes = 0;
            }
        }
        let probability = |place: usize| self.rates[place].probability.unwrap_or(0.0);
        let throughput = |place: usize| {
            let probability = probability(place);
            if probability < USELESS { 0.0 } else { probability / ladder[place].time.as_secs_f64() }
        };
        // Of equals the slowest; without any success the lowest rate.
        let highest = |value: &dyn Fn(usize) -> f64, without: Option<usize>| {
            let places = (0..ladder.len()).filter(|&place| Some(place) != without);
            places.reduce(|best, place| if value(place) > value(best) { place } else { best }).unwrap_or(0)
        };
        let best = highest(&throughput, None);
        let second = highest(&throughput, Some(best));
        // Without a second rate that works the best one is tried four times.
        let second = if throughput(second) > 0.0 { second } else { best };
        // Among rates that are all but certain, the one of the highest throughput.
        let certainty = |place: usize| {
            let probability = probability(place);
            if probability >= PERFECT { 1.0 + throughput(place) } else { probability }
        };
        let surest = highest(&certainty, None);
        (self.best, self.second, self.surest) = (best, second, surest);
    }
}
