//! Short transfers, one after the other.

use whimbrel_netsim::random::RandomStream;
use whimbrel_units::{Duration, Instant};

use super::Emission;

/// Transfers of equally distributed sizes, whose starts are exponentially distributed times apart (RFC 8868,
/// Section 5.1).
#[derive(Debug)]
pub struct Downloads {
    least: u32,
    most: u32,
    mean_idle: Duration,
    random: RandomStream,
    next: Instant,
    emitted: u64,
}

impl Downloads {
    /// From `start` on, of `least` to `most` bytes; `begins_idle` if a pause precedes the first.
    pub fn new(
        start: Instant,
        least: u32,
        most: u32,
        mean_idle: Duration,
        begins_idle: bool,
        random: RandomStream,
    ) -> Self {
        let mut downloads = Self { least, most, mean_idle, random, next: start, emitted: 0 };
        if begins_idle {
            downloads.pause();
        }
        downloads
    }

    fn pause(&mut self) {
        self.next += self.random.exponential_duration(self.mean_idle);
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    pub(super) fn emit(&mut self) -> Emission {
        let tag = self.emitted;
        self.emitted += 1;
        let choices = u64::from(self.most - self.least) + 1;
        let size = self.least + self.random.below(choices) as u32;
        self.pause();
        Emission { size, tag, deadline: None }
    }
}
