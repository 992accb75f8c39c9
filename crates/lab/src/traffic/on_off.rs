//! Bursts at a constant rate with exponentially distributed lengths and pauses.

use whimbrel_netsim::random::RandomStream;
use whimbrel_units::{Duration, Instant};

use super::Emission;

/// A source that alternates between bursts and pauses, like ns-2's `Traffic/Exponential`: it begins
/// with a pause, and a burst has a whole number of packets, at least one.
#[derive(Debug)]
pub struct OnOff {
    interval: Duration,
    size: u32,
    /// The mean length of a burst, in packets.
    mean_burst: f64,
    mean_idle: Duration,
    random: RandomStream,
    next: Instant,
    left_in_burst: u64,
    emitted: u64,
}

impl OnOff {
    /// From `start` on; datagrams of `size` bytes, `interval` apart within a burst.
    pub fn new(
        start: Instant,
        interval: Duration,
        size: u32,
        mean_burst: Duration,
        mean_idle: Duration,
        random: RandomStream,
    ) -> Self {
        let mean_burst = mean_burst / interval;
        let mut source =
            Self { interval, size, mean_burst, mean_idle, random, next: start, left_in_burst: 0, emitted: 0 };
        source.pause();
        source
    }

    fn pause(&mut self) {
        self.left_in_burst = (self.random.exponential(self.mean_burst) + 0.5).max(1.0) as u64;
        self.next += self.random.exponential_duration(self.mean_idle);
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    pub(super) fn emit(&mut self) -> Emission {
        let tag = self.emitted;
        self.emitted += 1;
        self.next += self.interval;
        self.left_in_burst -= 1;
        if self.left_in_burst == 0 {
            self.pause();
        }
        Emission { size: self.size, tag, deadline: None }
    }
}
