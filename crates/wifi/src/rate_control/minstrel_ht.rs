//! Minstrel-HT, the rate adaptation of Linux for 802.11n and ac (`net/mac80211/rc80211_minstrel_ht.c`, Linux
//! 6.18), with its integers.
//!
//! Each group has the schemes of one number of streams and one guard interval. The same rules serve the
//! modes of HE, for which Linux leaves the choice to the firmware.

mod chain;
mod estimate;

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

pub use chain::{Chain, Stage};

use self::estimate::{Average, duration, retries, throughput};
use crate::phy::{Format, GuardInterval, Mode};
use crate::random::Random;

/// Probabilities and lengths are scaled by this.
const ONE: u32 = 4_096;
const INTERVAL: Duration = Duration::from_millis(50);
const PROBE_INTERVAL: Duration = Duration::from_millis(20);
/// The share of the old value in the mean length of aggregates, of 128.
const LENGTH_WEIGHT: u32 = 96;
/// Rates slower than the ones in use are not probed above this probability, and are good enough for the last
/// resort above the other one.
const GOOD: u32 = ONE * 95 / 100;
const RELIABLE: u32 = ONE * 75 / 100;

/// Aim of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Probe {
    /// The next faster rate of a group.
    Increase,
    /// Any faster rate of a group.
    Jump,
    /// A slower rate.
    Slower,
}

const PROBES: [Probe; 6] =
    [Probe::Increase, Probe::Jump, Probe::Increase, Probe::Jump, Probe::Increase, Probe::Slower];

/// Statistics of a mode.
#[derive(Clone, Copy, Debug)]
struct Known {
    mode: Mode,
    group: usize,
    /// Nanoseconds for a packet of 1200 bytes in a long aggregate.
    duration: u32,
    attempts: u32,
    successes: u32,
    last: (u32, u32),
    average: Average,
    /// The average; where there is none, the highest of the group's faster rates.
    probability: u32,
    throughput: u32,
}

/// The rate adaptation for one receiver.
#[derive(Clone, Debug)]
pub struct MinstrelHt {
    /// By group, each from the slowest on.
    rates: Vec<Known>,
    groups: usize,
    /// Mean MPDUs of an aggregate, scaled.
    length: u32,
    /// The rates of most throughput, by number.
    best: [usize; 3],
    /// The last resort.
    surest: usize,
    updated: Instant,
    next_probe: Instant,
    /// Number of the next probe, and of the group at which its search begins.
    probe: usize,
    probe_group: usize,
}

impl MinstrelHt {
    /// All modes with the format and width of `widest`, up to its streams, in groups of one guard interval.
    pub fn new(widest: Mode) -> Self {
        let guards: &[GuardInterval] = match widest.format() {
            Format::Ht | Format::Vht => &[GuardInterval::Ns800, GuardInterval::Ns400],
            _ => &[GuardInterval::Ns800],
        };
        let groups: Vec<Vec<Mode>> = (1..=widest.streams())
            .flat_map(|streams| guards.iter().map(move |&guard| (streams, guard)))
            .map(|(streams, guard)| {
                let mode = |mcs| Mode::new(widest.format(), mcs, streams, widest.width(), guard).ok();
                (0..widest.format().schemes()).filter_map(mode).collect()
            })
            .collect();
        let known = |(group, modes): (usize, &Vec<Mode>)| {
            let slowest = modes.first().copied().unwrap_or(widest);
            let known = move |&mode: &Mode| Known {
                mode,
                group,
                duration: duration(mode, slowest),
                attempts: 0,
                successes: 0,
                last: (0, 0),
                average: Average::default(),
                probability: 0,
                throughput: 0,
            };
            modes.iter().map(known).collect::<Vec<_>>()
        };
        Self {
            rates: groups.iter().enumerate().flat_map(known).collect(),
            groups: groups.len(),
            length: ONE,
            best: [0; 3],
            surest: 0,
            updated: Instant::ZERO,
            next_probe: Instant::ZERO,
            probe: 0,
            probe_group: 0,
        }
    }

    /// The mode of most throughput.
    pub fn best(&self) -> Mode {
        self.rates[self.best[0]].mode
    }

    /// The modes for the next transmission and its repetitions, in turn.
    pub fn chain(&mut self, now: Instant, random: &mut impl Random) -> Chain {
        let mut chain = Chain::default();
        if now >= self.next_probe {
            self.next_probe = now + PROBE_INTERVAL;
            if let Some(number) = self.next_candidate(random) {
                chain.push(Stage { mode: self.rates[number].mode, tries: 1, is_probe: true });
            }
        }
        for number in self.best.into_iter().chain([self.surest]) {
            let rate = &self.rates[number];
            let is_hopeless = rate.probability < ONE / 10;
            let tries = if is_hopeless { 1 } else { retries(rate.duration, self.length / ONE) };
            chain.push(Stage { mode: rate.mode, tries, is_probe: false });
        }
        chain
    }

    /// The rate of the next probe; `None` if there is nothing to learn.
    fn next_candidate(&mut self, random: &mut impl Random) -> Option<usize> {
        let kind = PROBES[self.probe % PROBES.len()];
        self.probe += 1;
        let used = [self.best[0], self.best[1], self.surest].map(|number| self.rates[number].duration);
        let fastest = used.into_iter().min().unwrap_or(0);
        let slowest = used.into_iter().max().unwrap_or(0);
        for offset in 0..self.groups {
            let group = (self.probe_group + offset) % self.groups;
            let members = || {
                let numbered = self.rates.iter().enumerate();
                numbered.filter(move |(_, rate)| rate.group == group && rate.attempts == 0)
            };
            // The second best rate, if it is the fastest one, would never be tried again otherwise.
            let faster =
                || members().filter(|&(number, rate)| rate.duration <= fastest && number != self.best[0]);
            let mut slower =
                members().filter(|(_, rate)| rate.duration > slowest && rate.probability <= GOOD);
            let found = match kind {
                Probe::Increase => faster().next(),
                Probe::Jump => {
                    let count = faster().count() as u64;
                    if count > 0 { faster().nth(random.below(count) as usize) } else { None }
                }
                Probe::Slower => slower.next_back(),
            };
            if let Some((number, _)) = found {
                self.probe_group = (group + 1) % self.groups;
                return Some(number);
            }
        }
        None
    }

    /// A transmission of `mpdus` MPDUs ended, of which `received` were acknowledged.
    pub fn report(&mut self, mode: Mode, mpdus: u32, received: u32) {
        if let Some(rate) = self.rates.iter_mut().find(|rate| rate.mode == mode) {
            rate.attempts += mpdus;
            rate.successes += received;
        }
    }

    /// The last transmission of a chain ended with this length. The statistics are renewed once they are old
    /// enough.
    pub fn end_chain(&mut self, now: Instant, mpdus: u32) {
        self.length = (self.length * LENGTH_WEIGHT + mpdus * ONE * (128 - LENGTH_WEIGHT)) / 128;
        if now.saturating_since(self.updated) >= INTERVAL {
            self.updated = now;
            self.update();
        }
    }

    fn update(&mut self) {
        for rate in &mut self.rates {
            if rate.attempts > 0 {
                let (attempts, successes) = (rate.attempts + rate.last.0, rate.successes + rate.last.1);
                rate.average.add(successes * ONE / attempts);
            }
            rate.last = (rate.attempts, rate.successes);
            (rate.attempts, rate.successes) = (0, 0);
        }
        // Untried rates are at least as good as the faster rates of their group.
        let (mut group, mut highest) = (usize::MAX, 0);
        for rate in self.rates.iter_mut().rev() {
            if core::mem::replace(&mut group, rate.group) != rate.group {
                highest = 0;
            }
            rate.probability = rate.average.value().unwrap_or(highest);
            highest = highest.max(rate.probability);
            rate.throughput = throughput(rate.duration, self.length / ONE, rate.probability);
        }
        let mut order: Vec<usize> = (0..self.rates.len()).collect();
        order.sort_by_key(|&number| {
            let rate = &self.rates[number];
            core::cmp::Reverse((rate.throughput, rate.probability))
        });
        let with_throughput = |place: usize| {
            order.get(place).copied().filter(|&number| self.rates[number].throughput > 0).unwrap_or(0)
        };
        self.best = [0, 1, 2].map(with_throughput);
        self.surest = self.find_surest();
    }

    /// A rate that is clearly slower than the best ones: of most throughput if it is reliable, else the most
    /// probable one.
    fn find_surest(&self) -> usize {
        let longest = self.rates[self.best[0]].duration.max(self.rates[self.best[1]].duration);
        let is_slower = |rate: &Known| rate.duration > longest / 16 * 19;
        let candidates = || self.rates.iter().enumerate().filter(|(_, rate)| is_slower(rate));
        let reliable = candidates().filter(|(_, rate)| rate.probability > RELIABLE);
        let surest = reliable
            .max_by_key(|(_, rate)| rate.throughput)
            .or_else(|| candidates().max_by_key(|(_, rate)| rate.probability));
        surest.map_or(self.best[0], |(number, _)| number)
    }
}

#[cfg(test)]
mod tests;
