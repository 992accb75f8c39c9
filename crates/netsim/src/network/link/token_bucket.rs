//! A token bucket: packets leave at the peak rate while there are tokens, and at the rate of the tokens
//! afterwards.

use std::collections::VecDeque;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

/// A token bucket, as of `tc qdisc ... tbf rate RATE burst BURST peakrate PEAK`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TokenBucketConfig {
    /// Rate at which tokens arrive.
    pub rate: DataRate,
    /// The most tokens, in bytes. A longer packet leaves when the bucket is full.
    pub burst: ByteCount,
    /// Rate at which packets leave while there are tokens; [`DataRate::INFINITE`] for at once.
    pub peak: DataRate,
}

/// The state after a packet.
#[derive(Clone, Copy, Debug)]
struct Planned {
    departure: Instant,
    full_at: Instant,
}

/// A token bucket at work. Its filling is kept as the time at which it will be full.
#[derive(Clone, Debug)]
pub(super) struct TokenBucket {
    config: TokenBucketConfig,
    /// Of the last packet that had departed when one was accepted.
    full_at: Instant,
    /// Of those accepted after it, in the order of departure.
    planned: VecDeque<Planned>,
}

impl TokenBucket {
    pub(super) const fn new(config: TokenBucketConfig) -> Self {
        Self { config, full_at: Instant::ZERO, planned: VecDeque::new() }
    }

    pub(super) fn departure(&mut self, now: Instant, start: Instant, size: u32) -> Instant {
        self.settle(now);
        let tokens = |size: u64| ByteCount::new(size) / self.config.rate;
        let (size, burst) = (u64::from(size), self.config.burst.as_u64());
        let full_at = self.planned.back().map_or(self.full_at, |last| last.full_at);
        // The bucket may lack what the packet leaves in it.
        let spare: Duration = tokens(burst - size.min(burst));
        let leave = start.max(full_at.saturating_sub(spare));
        let departure = leave + ByteCount::new(size) / self.config.peak;
        self.planned.push_back(Planned { departure, full_at: full_at.max(leave) + tokens(size) });
        departure
    }

    /// Forgets what was planned after `time`.
    pub(super) fn restart(&mut self, time: Instant) {
        self.settle(time);
        self.planned.clear();
    }

    fn settle(&mut self, now: Instant) {
        while let Some(first) = self.planned.front().filter(|first| first.departure <= now) {
            self.full_at = first.full_at;
            self.planned.pop_front();
        }
    }
}
