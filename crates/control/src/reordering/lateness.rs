//! Distribution of late times, and the D_max that would have avoided losses by reordering.
//!
//! The *Late Time* of RFC 4737, Section 4.3: the time from the arrival of the earliest packet with a higher
//! sequence number to the packet's own arrival. A [`ReorderBuffer`](super::ReorderBuffer) with a D_max of at
//! least that time loses no packet to reordering, so that a fixed D_max is chosen from the distribution of
//! late times, and an adaptive D_max follows their recent maximum.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

mod histogram;

#[cfg(test)]
mod tests;

use histogram::Histogram;

/// Maximum number of open holes kept. A packet missing from an older hole counts with the late time of the
/// oldest hole kept, a lower bound.
const MAX_HOLES: usize = 256;
/// An adaptive D_max covers one to two of these periods: long enough for the effect of a periodic handover or
/// of link-layer retransmissions, short enough to follow a change of route.
/// [`MIN_RTT_PERIOD`](super::MIN_RTT_PERIOD) is the same.
pub const LATENESS_PERIOD: Duration = Duration::from_secs(10);
/// Divisor for the margin of an adaptive D_max above the longest late time: the next maximum may be longer.
const MARGIN_PARTS: u64 = 4;

/// Late times of one stream.
///
/// Every packet must be given once, in order of arrival; callers must leave out duplicates. An arrival in
/// order costs a comparison, and memory is only used once a packet is missing.
#[derive(Clone, Debug, Default)]
pub struct LatenessMeter {
    /// The greatest sequence number received, plus one.
    next: u64,
    /// Packets that opened a hole on arrival: sequence number and time, both ascending.
    holes: VecDeque<(u64, Instant)>,
    /// Late times so far; `None` until a packet is reordered.
    late_times: Option<Box<Histogram>>,
    recent: RecentMaximum,
}

/// The distribution of late times so far. Quantiles are upper bounds of buckets that are 1/8 of their value
/// wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LatenessSummary {
    /// Packets that arrived after one with a higher sequence number (Type-P-Reordered, RFC 4737, Section
    /// 3.4).
    pub overtaken: u64,
    /// Median late time.
    pub median: Duration,
    /// 95th percentile of the late times.
    pub p95: Duration,
    /// 99th percentile of the late times.
    pub p99: Duration,
    /// The exact maximum of the late times.
    pub maximum: Duration,
}

impl LatenessMeter {
    /// A meter without arrivals.
    pub fn new() -> Self {
        Self::default()
    }

    /// Processes the arrival of packet `sequence`. Returns its late time if it was reordered.
    #[inline]
    pub fn on_packet(&mut self, now: Instant, sequence: u64) -> Option<Duration> {
        if sequence < self.next {
            return self.on_overtaken(now, sequence);
        }
        // A packet directly behind its predecessor overtakes no packet that an earlier arrival had not
        // overtaken.
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

    /// The greatest sequence number received plus one; 0 before the first arrival.
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

    /// An adaptive D_max: the longest late time of the last one to two [`LATENESS_PERIOD`]s plus a quarter,
    /// between `floor` and `ceiling`. `None` until one period has been observed: before, rare late times
    /// cannot be excluded.
    pub fn delay(&mut self, now: Instant, floor: Duration, ceiling: Duration) -> Option<Duration> {
        let longest = self.recent.maximum(now)?;
        let with_margin = longest + longest / MARGIN_PARTS;
        Some(with_margin.max(floor).min(ceiling))
    }
}

/// The maximum over the current and the previous period.
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

    /// The maximum; `None` until a whole period has passed.
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
        // After a pause of more than a period, the previous one has no late packets.
        let is_last = passed < LATENESS_PERIOD * 2;
        self.previous = Some(if is_last { self.present } else { Duration::ZERO });
        self.present = Duration::ZERO;
        self.began = Some(if is_last { began + LATENESS_PERIOD } else { now });
    }
}
