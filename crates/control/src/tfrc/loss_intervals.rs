//! Loss intervals and the loss event rate computed from them.
//!
//! A loss event is the loss of one or more packets within a round-trip time. A *loss interval* extends from
//! the first packet of an event to the first packet of the next; its length is counted in packets. p is the
//! inverse of a weighted average over the last eight (RFC 5348, Section 5.4). The open interval, I_0, is
//! included only if that raises the average. With history discounting, a long open interval also reduces the
//! weights of its predecessors (Section 5.5).

use alloc::vec;
use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::LossEventRate;
use super::round_trip::is_much_shorter;

#[cfg(test)]
mod tests;

/// n: number of loss intervals averaged (RFC 5348, Section 5.4). RFC 4342 calls it NINTERVAL.
pub const INTERVALS: usize = 8;

/// Maximum number of intervals kept: the open one and n closed ones.
pub const HISTORY: usize = INTERVALS + 1;

/// w_0 to w_7 (RFC 5348, Section 5.4).
pub const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// Sum of the weights used to compute p from the open and `closed` closed intervals: w_0 to w_(k-1), for the
/// k closed intervals used (RFC 5348, Section 5.4). It does not depend on the open interval.
pub fn weight_sum(closed: usize) -> f64 {
    WEIGHTS[..closed.min(INTERVALS)].iter().sum()
}

/// Minimum discount factor of the weight of an old interval (RFC 5348, Section 5.5).
pub const DISCOUNT_THRESHOLD: f64 = 0.25;

/// p from the lengths of the loss intervals, the open one first, without discounting (RFC 5348, Section 5.4),
/// as computed by the sender from a receiver's report (RFC 4342, Section 5).
///
/// Lengths after the ninth are ignored. A single interval is the one before the first loss, so that p is
/// zero.
pub fn loss_event_rate(lengths: &[f64]) -> LossEventRate {
    let Some((open, closed)) = lengths.split_first().filter(|(_, closed)| !closed.is_empty()) else {
        return LossEventRate::ZERO;
    };
    let closed = &closed[..closed.len().min(INTERVALS)];
    let mut sums = Sums::default();
    for (i, &length) in closed.iter().enumerate() {
        sums.add(i, closed.len(), length, 1.0);
    }
    LossEventRate::from_average_interval(sums.average(*open, 1.0))
}

/// Effective length in TFRC-SP of a loss interval of at most two round-trip times: N/K for N data packets, K
/// of them lost or marked; at least one (RFC 4828, Section 4.4).
pub fn short_length(data_length: f64, losses: u64) -> f64 {
    (data_length / losses.max(1) as f64).max(1.0)
}

/// One loss interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossInterval {
    /// The first packet: the first lost or marked one of its loss event. For the very first interval, which
    /// was not started by a loss, the first packet of the stream.
    pub first: u64,
    /// One past the last lost or marked packet: `first` if there is none. The lossless part follows.
    pub lossy_end: u64,
    /// One past the last packet.
    pub end: u64,
    /// Number of packets known to have carried no data.
    pub empty: u64,
    /// Number of packets lost or marked.
    pub losses: u64,
    /// Arrival time, real or interpolated, of the first packet.
    pub began: Instant,
    /// Quarters of round-trip times counted by the window counter from the start of the stream to the last
    /// packet received before the interval.
    pub quarters_before: u64,
    /// The round-trip time by which its losses are one event; zero where another rule decides.
    rtt: Duration,
    /// Length in data packets, fixed when the next interval began.
    fixed_length: Option<f64>,
    /// `true` if it is at most two round-trip times long, where this is used (RFC 4828, Section 3).
    short: bool,
    /// DF_i.
    discount: f64,
}

impl LossInterval {
    fn new(first: u64, began: Instant, quarters_before: u64) -> Self {
        Self {
            first,
            lossy_end: first,
            end: first,
            empty: 0,
            losses: 0,
            began,
            quarters_before,
            rtt: Duration::ZERO,
            fixed_length: None,
            short: false,
            discount: 1.0,
        }
    }

    /// Length used in the average, in packets: the [`data_length`](Self::data_length), and for short
    /// intervals in TFRC-SP, the length per loss (RFC 4828, Section 4.4).
    pub fn length(&self) -> f64 {
        if self.short { short_length(self.data_length(), self.losses) } else { self.data_length() }
    }

    /// Length in data packets, at least one (RFC 4342, Section 6.1.1). For the very first interval it is
    /// synthetic once the first loss occurs (RFC 5348, Section 6.3.1).
    pub fn data_length(&self) -> f64 {
        self.fixed_length.unwrap_or_else(|| self.data_packets() as f64)
    }

    fn data_packets(&self) -> u64 {
        (self.end - self.first).saturating_sub(self.empty).max(1)
    }
}

/// Effect of a late arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LateArrivalEffect {
    /// None: the interval is no longer kept, or the packet did not count as lost.
    Nothing,
    /// The loss event has other losses left.
    Loss,
    /// The packet was the only loss of its event, which is revoked.
    Event {
        /// `true` if it was the latest event.
        latest: bool,
    },
}

/// The record of loss intervals.
#[derive(Clone, Debug)]
pub struct LossIntervals {
    /// Intervals, the open one first. Room for all is allocated at the first loss.
    intervals: Vec<LossInterval>,
    discounting: bool,
    /// `true` if a loss event began since the latest arrival was processed.
    just_begun: bool,
    sums: Sums,
}

impl LossIntervals {
    /// A record of packets numbered from `first`, with or without history discounting.
    pub fn new(first: u64, discounting: bool) -> Self {
        Self {
            intervals: vec![LossInterval::new(first, Instant::ZERO, 0)],
            discounting,
            just_begun: false,
            sums: Sums::default(),
        }
    }

    /// The intervals, the open one first; a single one without a loss.
    pub fn intervals(&self) -> &[LossInterval] {
        &self.intervals
    }

    fn has_loss(&self) -> bool {
        self.intervals.len() > 1
    }

    /// The interval of the latest loss event; `None` without a loss.
    pub fn latest_event(&self) -> Option<&LossInterval> {
        self.has_loss().then(|| &self.intervals[0])
    }

    /// Extends the open interval to `greatest`, the highest sequence number known to be received.
    #[inline]
    pub fn extend_to(&mut self, greatest: u64) {
        self.just_begun = false;
        let open = &mut self.intervals[0];
        open.end = open.end.max(greatest.saturating_add(1));
    }

    /// Excludes `count` packets of the open interval, which carried no data.
    pub fn exclude(&mut self, count: u64) {
        self.intervals[0].empty += count;
    }

    /// Starts a loss event at packet `first`; its losses must be [joined](Self::join) afterwards.
    /// `first_interval` returns the length of the interval before the very first event.
    pub fn begin(
        &mut self,
        first: u64,
        began: Instant,
        quarters_before: u64,
        first_interval: impl FnOnce() -> f64,
    ) {
        // RFC 5348, Section 5.5, updates DF on packet arrivals and resets it to 1 with each loss event.
        // One arrival can reveal several events; the open interval then already extends to that arrival, and
        // its length would discount the older ones again with each of them.
        let discount = if self.just_begun { 1.0 } else { self.discount() };
        self.just_begun = true;
        let no_loss_yet = !self.has_loss();
        let open = &mut self.intervals[0];
        let end = open.end;
        open.end = first.max(open.first);
        open.fixed_length =
            Some(if no_loss_yet { first_interval().max(1.0) } else { open.data_packets() as f64 });
        for closed in &mut self.intervals[1..] {
            closed.discount *= discount;
        }
        self.intervals.truncate(HISTORY - 1);
        self.intervals.reserve_exact(HISTORY - self.intervals.len());
        let open = LossInterval { end: end.max(first), ..LossInterval::new(first, began, quarters_before) };
        self.intervals.insert(0, open);
        self.sum_up();
    }

    /// Adds `count` packets, the last of them `last`, that were lost or marked to the latest loss event.
    pub fn join(&mut self, last: u64, count: u64) {
        let open = &mut self.intervals[0];
        open.lossy_end = open.lossy_end.max(last.saturating_add(1));
        open.end = open.end.max(open.lossy_end);
        open.losses += count;
    }

    /// Processes the late arrival of a packet that had been [joined](Self::join) as lost (RFC 5348, Section
    /// 5.1). An event without any other loss is revoked, and its interval becomes part of the previous one.
    ///
    /// The first packet of an event that has other losses left still counts as its beginning; the error is
    /// less than a round-trip time of packets.
    pub fn on_late_arrival(&mut self, sequence: u64, carries_data: bool) -> LateArrivalEffect {
        let found = self.intervals().iter().position(|interval| interval.first <= sequence);
        let Some(index) = found else { return LateArrivalEffect::Nothing };
        let interval = &mut self.intervals[index];
        if interval.losses == 0 || sequence >= interval.lossy_end {
            return LateArrivalEffect::Nothing;
        }
        interval.losses -= 1;
        if !carries_data {
            interval.empty += 1;
            if let Some(length) = &mut interval.fixed_length {
                *length = (*length - 1.0).max(1.0);
            }
        }
        if !carries_data || interval.short {
            self.sum_up();
        }
        // The oldest interval kept has no predecessor.
        if self.intervals[index].losses > 0 || index + 1 == self.intervals.len() {
            return LateArrivalEffect::Loss;
        }
        self.merge(index);
        LateArrivalEffect::Event { latest: index == 0 }
    }

    fn merge(&mut self, index: usize) {
        let newer = self.intervals[index];
        let older = &mut self.intervals[index + 1];
        older.end = newer.end;
        if newer.losses > 0 {
            older.lossy_end = newer.lossy_end;
            older.losses += newer.losses;
        }
        older.empty += newer.empty;
        // The synthetic length of the interval before the first loss is kept.
        let before_first_loss = older.losses == 0;
        older.fixed_length = match (index, before_first_loss) {
            (0, _) => None,
            (_, true) => older.fixed_length,
            (_, false) => Some(older.data_length() + newer.data_length()),
        };
        // The union of two short intervals may be longer; the conservative choice is assumed. The open one
        // is set again by set_open_is_short.
        older.short &= newer.short && index > 0;
        self.intervals.remove(index);
        self.sum_up();
    }

    /// Sets the round-trip time by which losses belong to the latest event.
    pub fn set_rtt(&mut self, rtt: Duration) {
        self.intervals[0].rtt = rtt;
    }

    /// Makes one of loss events that a far too short round-trip time had separated. Returns `true` if there
    /// were any.
    ///
    /// A loss event is the losses of a round-trip time (RFC 5348, Section 5.2). When the rate of a path falls
    /// to a fraction, its queue fills at once, and the round-trip time is known only a round trip later;
    /// until then, each tenth or twentieth of it is an event, and the history has no other. The events of two
    /// round-trip times are looked at, as averages follow late.
    pub fn merge_late(&mut self, now: Instant, rtt: Duration) -> bool {
        let before = self.intervals.len();
        for newer in (0..before - 1).rev() {
            let (older, newer_began) = (&self.intervals[newer + 1], self.intervals[newer].began);
            let is_new = older.losses > 0 && !older.rtt.is_zero() && older.began + rtt * 2 >= now;
            if is_new && is_much_shorter(older.rtt, rtt) && older.began + rtt >= newer_began {
                self.merge(newer);
            }
        }
        self.intervals.len() < before
    }

    /// Replaces the record by a synthetic one: the latest loss event remains, and before it are `count`
    /// intervals of `length` packets each, from one to n (papers/freeze, Section 4.6, has n). The newest of
    /// them covers the packets before the event; as they contain no losses, they are equivalent to the
    /// interval before a first loss. No effect without a loss event.
    pub fn fit(&mut self, length: f64, count: usize) {
        if !self.has_loss() {
            return;
        }
        let closed = &mut self.intervals[1];
        *closed = LossInterval {
            end: closed.end,
            fixed_length: Some(length.max(1.0)),
            ..LossInterval::new(closed.first, closed.began, closed.quarters_before)
        };
        let before = LossInterval { end: closed.first, ..*closed };
        self.intervals.truncate(2);
        self.intervals.resize(1 + count.clamp(1, INTERVALS), before);
        self.sum_up();
    }

    /// Sets if the open interval is at most two round-trip times long. TFRC-SP then excludes it from the
    /// average, and counts each of its losses if it ends this way (RFC 4828, Section 3). TFRC does not use
    /// it. Not applicable to the interval before the first loss.
    pub fn set_open_is_short(&mut self, short: bool) {
        self.intervals[0].short = short && self.has_loss();
    }

    /// I_mean: the average loss interval in packets; `None` without a loss.
    pub fn average(&self) -> Option<f64> {
        self.has_loss().then(|| {
            let open = if self.intervals[0].short { 0.0 } else { self.intervals[0].length() };
            self.sums.average(open, self.discount())
        })
    }

    /// p; zero without a loss.
    pub fn loss_event_rate(&self) -> LossEventRate {
        self.average().map_or(LossEventRate::ZERO, LossEventRate::from_average_interval)
    }

    /// DF: factor for the weights of the closed intervals, if the open one is longer than twice their average
    /// (RFC 5348, Section 5.5).
    fn discount(&self) -> f64 {
        // An interval that is not part of the average does not reduce the weights of others.
        if !self.discounting || !self.has_loss() || self.intervals[0].short {
            return 1.0;
        }
        let ratio = 2.0 * self.sums.closed_average() / self.intervals[0].length();
        ratio.clamp(DISCOUNT_THRESHOLD, 1.0)
    }

    fn sum_up(&mut self) {
        let closed = &self.intervals[1..];
        let mut sums = Sums::default();
        for (i, interval) in closed.iter().enumerate() {
            sums.add(i, closed.len(), interval.length(), interval.discount);
        }
        self.sums = sums;
    }
}

/// Sums over the closed intervals, which change only with an event: alone, and behind the open interval,
/// where the oldest is excluded.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Sums {
    /// I_tot1 and W_tot1.
    alone: (f64, f64),
    /// I_tot0 and W_tot0 without the open interval's part, and without DF.
    behind_open: (f64, f64),
}

impl Sums {
    /// Adds the `i`-th of `closed` closed intervals.
    fn add(&mut self, i: usize, closed: usize, length: f64, discount: f64) {
        self.alone.0 += length * WEIGHTS[i] * discount;
        self.alone.1 += WEIGHTS[i] * discount;
        if i + 1 < closed {
            self.behind_open.0 += length * WEIGHTS[i + 1] * discount;
            self.behind_open.1 += WEIGHTS[i + 1] * discount;
        }
    }

    fn closed_average(&self) -> f64 {
        self.alone.0 / self.alone.1
    }

    fn average(&self, open: f64, discount: f64) -> f64 {
        let with_open = (open * WEIGHTS[0] + discount * self.behind_open.0)
            / (WEIGHTS[0] + discount * self.behind_open.1);
        f64::max(with_open, self.closed_average())
    }
}
