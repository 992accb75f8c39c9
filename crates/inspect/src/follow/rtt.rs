//! Round-trip times between the capture point and one end.

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

/// Maximum number of Timestamps kept until they are echoed.
const MOST: usize = 64;

/// Minimum, mean and maximum of some times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spread {
    sum: Duration,
    pub(crate) count: u64,
    pub(crate) least: Duration,
    pub(crate) greatest: Duration,
}

impl Spread {
    pub(crate) fn add(&mut self, time: Duration) {
        self.least = if self.count == 0 || time < self.least { time } else { self.least };
        self.greatest = if time > self.greatest { time } else { self.greatest };
        self.sum += time;
        self.count += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.least = if self.count == 0 || other.least < self.least { other.least } else { self.least };
        self.greatest = if other.greatest > self.greatest { other.greatest } else { self.greatest };
        self.sum += other.sum;
        self.count += other.count;
    }

    /// The mean; `None` without samples.
    pub(crate) fn mean(&self) -> Option<Duration> {
        self.sum.as_nanos().checked_div(self.count).map(Duration::from_nanos)
    }
}

/// Timestamps of one end that have not been echoed yet (RFC 4340, Section 13).
#[derive(Clone, Debug, Default)]
pub(crate) struct Timestamps(VecDeque<(u32, Instant)>);

impl Timestamps {
    /// Processes a Timestamp.
    pub(crate) fn push(&mut self, value: u32, at: Instant) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((value, at));
    }

    /// Processes an echo, which the other end delayed by `elapsed`: returns the round-trip time from the
    /// capture point.
    pub(crate) fn echo(&mut self, value: u32, elapsed: Duration, at: Instant) -> Option<Duration> {
        let index = self.0.iter().position(|(sent, _)| *sent == value)?;
        let (_, sent) = self.0[index];
        self.0.drain(..=index);
        Some(without(at.saturating_since(sent), elapsed))
    }
}

/// A round-trip time without the delay at the other end.
pub(crate) fn without(round_trip: Duration, elapsed: Duration) -> Duration {
    round_trip.saturating_sub(elapsed)
}
