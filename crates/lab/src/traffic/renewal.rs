//! Datagrams at random intervals.

use whimbrel_netsim::random::RandomStream;
use whimbrel_units::{Duration, Instant};

use super::Emission;

/// Distribution of the intervals between datagrams.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Intervals {
    /// Uniform around `mean`, shorter or longer by at most `jitter`.
    Uniform { mean: Duration, jitter: Duration },
    /// Exponential with this mean.
    Exponential { mean: Duration },
}

/// A renewal process: datagrams of one size at independent intervals of one distribution.
#[derive(Debug)]
pub struct Renewal {
    intervals: Intervals,
    size: u32,
    random: RandomStream,
    next: Instant,
    emitted: u64,
}

impl Renewal {
    /// A constant rate with jitter: from `start` on, datagrams of `size` bytes, at intervals that are uniform
    /// between `interval` - `jitter` and `interval` + `jitter`, as with ns-2's `random_`. The jitter is not
    /// above the interval.
    pub fn jittered(
        start: Instant,
        interval: Duration,
        jitter: Duration,
        size: u32,
        random: RandomStream,
    ) -> Self {
        let intervals = Intervals::Uniform { mean: interval, jitter };
        Self { intervals, size, random, next: start, emitted: 0 }
    }

    /// A Poisson process: datagrams of `size` bytes at exponential intervals. The first follows after one.
    pub fn poisson(start: Instant, mean: Duration, size: u32, random: RandomStream) -> Self {
        let intervals = Intervals::Exponential { mean };
        let mut process = Self { intervals, size, random, next: start, emitted: 0 };
        process.advance();
        process
    }

    fn advance(&mut self) {
        self.next += match self.intervals {
            Intervals::Uniform { mean, jitter } => {
                mean.saturating_sub(jitter) + (jitter * 2).mul_f64(self.random.uniform())
            }
            Intervals::Exponential { mean } => self.random.exponential_duration(mean),
        };
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    pub(super) fn emit(&mut self) -> Emission {
        let tag = self.emitted;
        self.emitted += 1;
        self.advance();
        Emission { size: self.size, tag, deadline: None }
    }
}
