//! How late packets come that have been overtaken, and the D_max that would have kept them.
//!
//! The *Late Time* of RFC 4737, Section 4.3: the time from the arrival of the earliest packet that overtook a packet to the packet's own
//! arrival. A [`ReorderBuffer`](super::ReorderBuffer) with a D_max of that time or more loses nothing to reordering, so that
//! the distribution of late times is what a fixed D_max is chosen from, and its recent maximum is what an adaptive D_max follows.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

mod histogram;

#[cfg(test)]
mod tests;

use histogram::Histogram;

/// Open holes that are remembered. A packet missing from an older hole counts with the late time of the oldest one remembered, a
/// lower bound.
const MAX_HOLES: usize = 256;
/// An adaptive D_max looks back over one to two of these periods: long enough to see what a periodic handover or a link-layer
/// retransmission does, short enough to follow a route that has changed. [`MIN_RTT_PERIOD`](super::MIN_RTT_PERIOD) is the same.
pub const LATENESS_PERIOD: Duration = Duration::from_secs(10);
/// An adaptive D_max is longer than the longest late time by one part in so many: the next maximum may be longer than the last.
const MARGIN_PARTS: u64 = 4;

/// Late times of one stream.
///
/// Feed it every packet once, in the order of arrival; copies of packets that have arrived are for the caller to leave out. An arrival
/// in order costs a comparison, and memory is only used once something is missing.
#[derive(Clone, Debug, Default)]
pub struct LatenessMeter {
    /// The greatest sequence number that arrived, plus one.
    next: u64,
    /// The packets that made a hole on their arrival: number and time, both rising.
    holes: VecDeque<(u64, Instant)>,
    /// Late times so far; `None` as long as no packet was overtaken.
    late_times: Option<Box<Histogram>>,
    recent: RecentMaximum,
}

/// The distribution of late times so far. Quantiles are upper bounds of buckets that are 1/8 of their value wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LatenessSummary {
    /// Packets that arrived behind one with a higher number (Type-P-Reordered, RFC 4737, Section 3.4).
    pub overtaken: u64,
    /// The late time that half of these do not exceed.
    pub median: Duration,
    /// The late time that 95 % of these do not exceed.
    pub p95: Duration,
    /// The late time that 99 % of these do not exceed.
    pub p99: Duration,
    /// The longest late time, exactly.
    pub maximum: Duration,
}

impl LatenessMeter {
    /// A stream of which nothing has arrived yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accounts for the arrival of packet `sequence`. Returns its late time if it was overtaken.
    #[inline]
    pub fn on_packet(&mut self, now: Instant, sequence: u64) -> Option<Duration> {
        if sequence < self.next {
            return self.on_overtaken(now, sequence);
        }
        // A packet that follows its predecessor overtakes nothing that an earlier arrival had not overtaken.
        if sequence > self.next && self.next > 0 {
            if self.holes.len() == MAX_HOLES {
                self.holes.pop_front();
            }
            self.holes.push_back((sequence, now));
        }
        self.next = sequence.saturating_add(1);
        None
    }

    fn on_overtaken(&mut self, now: Instant, sequence: u64) -> Option<Duration> {
        let overtaker = self.holes.partition_point(|(behind, _)| *behind <= sequence);
        let (_, since) = self.holes.get(overtaker)?;
        let late_time = now.saturating_since(*since);
        self.late_times.get_or_insert_default().record(late_time);
        self.recent.record(now, late_time);
        Some(late_time)
    }

    /// The sequence number after the greatest that arrived; 0 before the first.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// The distribution of all late times so far.
    pub fn summary(&self) -> LatenessSummary {
        let Some(late_times) = &self.late_times else { return LatenessSummary::default() };
        LatenessSummary {
            overtaken: late_times.count(),
            median: late_times.quantile(0.5),
            p95: late_times.quantile(0.95),
            p99: late_times.quantile(0.99),
            maximum: late_times.maximum(),
        }
    }

    /// An adaptive D_max: the longest late time of the last one to two [`LATENESS_PERIOD`]s and a quarter more, between
    /// `floor` and `ceiling`. `None` until the stream has been watched for one period: no late time is known to be rare before.
    pub fn delay(&mut self, now: Instant, floor: Duration, ceiling: Duration) -> Option<Duration> {
        let longest = self.recent.maximum(now)?;
        let with_margin = longest + longest / MARGIN_PARTS;
        Some(with_margin.max(floor).min(ceiling))
    }
}

/// The maximum over the present period and the one before.
#[derive(Clone, Copy, Debug, Default)]
struct RecentMaximum {
    began: Option<Instant>,
    present: Duration,
    previous: Option<Duration>,
}

impl RecentMaximum {
    fn record(&mut self, now: Instant, late_time: Duration) {
        self.pass(now);
        self.present = self.present.max(late_time);
    }
    /// The maximum, once a whole period has passed.
    fn maximum(&mut self, now: Instant) -> Option<Duration> {
        self.pass(now);
        self.previous.map(|previous| previous.max(self.present))
    }
    fn pass(&mut self, now: Instant) {
        let began = *self.began.get_or_insert(now);
        let passed = now.saturating_since(began);
        if passed < LATENESS_PERIOD {
            return;
        }
        // After a pause of more than a period, nothing was late in the last one.
        let is_last = passed < LATENESS_PERIOD * 2;
        self.previous = Some(if is_last { self.present } else { Duration::ZERO });
        self.present = Duration::ZERO;
        self.began = Some(if is_last { began + LATENESS_PERIOD } else { now });
    }
}
