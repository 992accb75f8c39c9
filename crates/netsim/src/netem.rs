//! Delay, jitter, reordering and duplication as Linux's NetEm does them.
//!
//! `tc qdisc add dev ... netem delay 100ms 20ms 25% distribution normal reorder 5% 50% gap 5` and this draw
//! delays by the same arithmetic on the same integers (`net/sched/sch_netem.c`: `get_crandom`, `tabledist`,
//! `netem_enqueue`); only the generator behind them is the simulation's own. So what looks odd in NetEm is
//! odd here:
//!
//! - a packet that is *reordered* is sent at once, ahead of those that are being delayed; without `reorder`,
//!   jitter alone reorders wherever a later packet draws a shorter delay;
//! - a correlation of c makes the next number the mean of a fresh one and the last, weighted 1 - c and c.
//!   Delays go by that number's remainder (by twice the jitter, or by 4096), in which nothing of it is left:
//!   they are as independent as without. Reordering goes by the number itself, whose spread shrinks: at 5 %
//!   of packets and a correlation of a half, fewer than one in a thousand are reordered;
//! - the uniform distribution is delay ± jitter, the others are tables with a standard deviation of jitter,
//!   whose heavy tails end at four of them.

use whimbrel_units::Duration;

use crate::random::RandomStream;

mod table;
#[cfg(test)]
mod tests;

use table::{SCALE, Table};
use thiserror::Error;

/// Distribution of delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum JitterDistribution {
    /// Delay ± jitter, all alike.
    #[default]
    Uniform,
    /// The normal distribution.
    Normal,
    /// Pareto's with exponent 3.
    Pareto,
    /// A quarter normal, three quarters Pareto: "experimental".
    ParetoNormal,
}

/// Packets that overtake others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reorder {
    /// Probability that a candidate goes ahead.
    pub probability: f64,
    /// Correlation with the previous draw: 0 to 1.
    pub correlation: f64,
    /// Every how many packets there is a candidate; 1: each is one.
    pub gap: u32,
}

/// Packets that arrive twice.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Duplicate {
    /// Probability that a packet is copied.
    pub probability: f64,
    /// Correlation with the previous draw: 0 to 1.
    pub correlation: f64,
}

/// Delay, jitter, reordering and duplication, as data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NetemConfig {
    /// The mean delay.
    pub delay: Duration,
    /// Spread of delays.
    pub jitter: Duration,
    /// Correlation of successive delays: 0 to 1.
    pub correlation: f64,
    /// In which way they spread.
    pub distribution: JitterDistribution,
    /// Packets without delay.
    pub reorder: Option<Reorder>,
    /// Copied packets: the copy has a delay of its own.
    pub duplicate: Option<Duplicate>,
    /// Packets delayed at the same time at most; others are lost. 1000 in `tc`.
    pub limit: usize,
}

impl Default for NetemConfig {
    /// No delay, and room for 1000 packets.
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            correlation: 0.0,
            distribution: JitterDistribution::Uniform,
            reorder: None,
            duplicate: None,
            limit: 1000,
        }
    }
}

impl NetemConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the first parameter that makes none.
    pub fn check(&self) -> Result<(), NetemError> {
        let reorder = self.reorder.map(|reorder| [reorder.probability, reorder.correlation]);
        let duplicate = self.duplicate.map(|duplicate| [duplicate.probability, duplicate.correlation]);
        let pairs = [reorder, duplicate].into_iter().flatten().flatten();
        let shares = [self.correlation].into_iter().chain(pairs);
        if let Some(share) = shares.into_iter().find(|share| !(0.0..=1.0).contains(share)) {
            return Err(NetemError::Probability(share));
        }
        if self.jitter.as_nanos() > i32::MAX as u64 {
            return Err(NetemError::Jitter(self.jitter));
        }
        if self.reorder.is_some_and(|reorder| reorder.gap == 0 || self.delay.is_zero()) {
            return Err(NetemError::Reorder);
        }
        Ok(())
    }
}

/// A [`NetemConfig`] that makes no sense.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
pub enum NetemError {
    /// A probability or correlation is not between 0 and 1.
    #[error("{0} is not between 0 and 1")]
    Probability(f64),
    /// The kernel keeps jitter in 32 bits of nanoseconds.
    #[error("a jitter of {0} is more than 2147 ms")]
    Jitter(Duration),
    /// Reordering without a delay to be spared, or with a gap of 0.
    #[error("reordering needs a delay, and a gap of 1 or more")]
    Reorder,
}

/// Draws delays, one for each packet, in the order of their arrival.
#[derive(Clone, Debug)]
pub struct Netem {
    latency: i64,
    jitter: i64,
    table: Option<Table>,
    delays: CorrelatedRandom,
    reordering: Option<Reordering>,
    duplication: Option<CorrelatedEvent>,
    random: RandomStream,
}

#[derive(Clone, Debug)]
struct Reordering {
    probability: u32,
    draws: CorrelatedRandom,
    gap: u32,
    /// Packets delayed since the last that was not.
    counter: u32,
}

impl Netem {
    /// A source of delays.
    ///
    /// # Errors
    /// The configuration makes no sense.
    pub fn new(config: &NetemConfig, mut random: RandomStream) -> Result<Self, NetemError> {
        config.check()?;
        let delays = CorrelatedRandom::start(fraction(config.correlation), &mut random);
        let reordering = config.reorder.map(|reorder| Reordering {
            probability: fraction(reorder.probability),
            draws: CorrelatedRandom::start(fraction(reorder.correlation), &mut random),
            gap: reorder.gap,
            counter: 0,
        });
        let duplication = config
            .duplicate
            .map(|duplicate| CorrelatedEvent::new(duplicate.probability, duplicate.correlation, &mut random));
        Ok(Self {
            latency: i64::try_from(config.delay.as_nanos()).unwrap_or(i64::MAX),
            jitter: config.jitter.as_nanos() as i64,
            table: Table::of(config.distribution),
            delays,
            reordering,
            duplication,
            random,
        })
    }

    /// `true` if the next packet is copied.
    pub fn duplicates(&mut self) -> bool {
        self.duplication.as_mut().is_some_and(|event| event.draw(&mut self.random))
    }

    /// Delay of the next packet. A negative draw is no delay.
    pub fn delay(&mut self) -> Duration {
        if let Some(reordering) = &mut self.reordering {
            // As in the kernel, nothing is drawn while the gap lasts.
            let is_due = reordering.counter >= reordering.gap - 1;
            if is_due && reordering.probability >= reordering.draws.next(&mut self.random) {
                reordering.counter = 0;
                return Duration::ZERO;
            }
            reordering.counter += 1;
        }
        Duration::from_nanos(u64::try_from(self.draw()).unwrap_or(0))
    }

    /// `tabledist`.
    fn draw(&mut self) -> i64 {
        if self.jitter == 0 {
            return self.latency;
        }
        let random = self.delays.next(&mut self.random);
        match &self.table {
            None => i64::from(random) % (2 * self.jitter) + self.latency - self.jitter,
            Some(table) => {
                let value = table.pick(random);
                let part = self.jitter % SCALE * value;
                let rounded = if part >= 0 { part + SCALE / 2 } else { part - SCALE / 2 };
                rounded / SCALE + self.jitter / SCALE * value + self.latency
            }
        }
    }
}

/// An event of a packet with a probability, and a correlation with the event of the packet before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CorrelatedEvent {
    probability: u32,
    draws: CorrelatedRandom,
}

impl CorrelatedEvent {
    pub(crate) fn new(probability: f64, correlation: f64, random: &mut RandomStream) -> Self {
        Self {
            probability: fraction(probability),
            draws: CorrelatedRandom::start(fraction(correlation), random),
        }
    }

    /// `true` if it happens to the next packet. As in the kernel, nothing is drawn for a probability of 0.
    pub(crate) fn draw(&mut self, random: &mut RandomStream) -> bool {
        self.probability > 0 && self.probability >= self.draws.next(random)
    }
}

/// `get_crandom`: numbers of 32 bits, each of which leans on the one before.
#[derive(Clone, Copy, Debug)]
struct CorrelatedRandom {
    rho: u32,
    last: u32,
}

impl CorrelatedRandom {
    /// `init_crandom`: the number before the first is random. From 0, a strong correlation would hold the
    /// first numbers near 0, and the first packets would be reordered in every run. Without a correlation
    /// nothing is drawn: it is not used.
    fn start(rho: u32, random: &mut RandomStream) -> Self {
        let last = if rho == 0 { 0 } else { (random.next_u64() >> 32) as u32 };
        Self { rho, last }
    }

    fn next(&mut self, random: &mut RandomStream) -> u32 {
        self.lean((random.next_u64() >> 32) as u32)
    }

    fn lean(&mut self, fresh: u32) -> u32 {
        if self.rho == 0 {
            return fresh;
        }
        let rho = u64::from(self.rho) + 1;
        let weighted = u64::from(fresh) * ((1 << 32) - rho) + u64::from(self.last) * rho;
        self.last = (weighted >> 32) as u32;
        self.last
    }
}

/// A share as NetEm has it, of 2^32 - 1.
fn fraction(share: f64) -> u32 {
    libm::rint(share * f64::from(u32::MAX)) as u32
}
