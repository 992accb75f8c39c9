//! The loss intervals, and the loss event rate that they average to.
//!
//! A loss event is the loss of one or more packets within a round-trip time. From its first packet
//! to the next event's first packet is a *loss interval*; its length is counted in packets. p is the
//! inverse of a weighted average over the last eight (RFC 5348, Section 5.4). The interval that is
//! still open, I_0, takes part only if that raises the average. With history discounting, a long
//! open interval also takes weight from its predecessors (Section 5.5).

use whimbrel_units::Instant;

use super::LossEventRate;

#[cfg(test)]
mod tests;

/// n: how many loss intervals are averaged (RFC 5348, Section 5.4). RFC 4342 calls it NINTERVAL.
pub const INTERVALS: usize = 8;

/// The most intervals that are remembered: the open one and n closed ones.
pub const HISTORY: usize = INTERVALS + 1;

/// w_0 to w_7 (RFC 5348, Section 5.4).
pub const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The sum of the weights that p is computed with from the open and `closed` closed intervals: w_0 to w_(k-1), for the k
/// closed intervals that take part (RFC 5348, Section 5.4). It is the same whether the open interval takes part or not.
pub fn weight_sum(closed: usize) -> f64 {
    WEIGHTS[..closed.min(INTERVALS)].iter().sum()
}

/// The least that history discounting leaves of an old interval's weight (RFC 5348, Section 5.5).
pub const DISCOUNT_THRESHOLD: f64 = 0.25;

/// p from the lengths of the loss intervals, the open one first, without discounting (RFC 5348,
/// Section 5.4). This is how the sender computes it from what a receiver reports (RFC 4342,
/// Section 5).
///
/// Lengths after the ninth do not matter. A single interval is the one before the first loss, so
/// that no loss has been seen.
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

/// What a loss interval of at most two round-trip times counts for in TFRC-SP: N/K, where it has N data
/// packets, K of them lost or marked; at least one (RFC 4828, Section 4.4).
pub fn short_length(data_length: f64, losses: u64) -> f64 {
    (data_length / losses.max(1) as f64).max(1.0)
}

/// One loss interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossInterval {
    /// Its first packet: the first lost or marked one of its loss event. For the very first
    /// interval, which no loss began, the first packet of all.
    pub first: u64,
    /// One past its last lost or marked packet: `first` where it has none. What follows is its
    /// lossless part.
    pub lossy_end: u64,
    /// One past its last packet.
    pub end: u64,
    /// How many of its packets are known to have carried no data.
    pub empty: u64,
    /// How many of its packets were lost or marked.
    pub losses: u64,
    /// When its first packet arrived or would have.
    pub began: Instant,
    /// Quarters of round-trip times that the window counter had counted, from the stream's start to the
    /// last packet received before the interval.
    pub quarters_before: u64,
    /// Its length in data packets, fixed when the next interval began.
    fixed_length: Option<f64>,
    /// Whether it is at most two round-trip times long, where that matters (RFC 4828, Section 3).
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
            fixed_length: None,
            short: false,
            discount: 1.0,
        }
    }

    /// Its length as it counts in the average, in packets: the [`data_length`](Self::data_length), and in
    /// TFRC-SP, where the interval is short, that for each of its losses (RFC 4828, Section 4.4).
    pub fn length(&self) -> f64 {
        if self.short { short_length(self.data_length(), self.losses) } else { self.data_length() }
    }

    /// Its length in packets with data, at least one (RFC 4342, Section 6.1.1). For the very first
    /// interval it is made up once the first loss occurs (RFC 5348, Section 6.3.1).
    pub fn data_length(&self) -> f64 {
        self.fixed_length.unwrap_or_else(|| self.data_packets() as f64)
    }

    fn data_packets(&self) -> u64 {
        (self.end - self.first).saturating_sub(self.empty).max(1)
    }
}

/// What a late arrival changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LateArrivalEffect {
    /// Nothing: its interval is no longer remembered, or it did not count as lost.
    Nothing,
    /// Its loss event has other losses left.
    Loss,
    /// It was the only loss of its event: the event never was.
    Event {
        /// Whether it was the latest event.
        latest: bool,
    },
}

/// The record of loss intervals.
#[derive(Clone, Debug)]
pub struct LossIntervals {
    /// The open interval first.
    intervals: [LossInterval; HISTORY],
    len: usize,
    discounting: bool,
    /// Whether a loss event began since the latest arrival was accounted for.
    just_begun: bool,
    sums: Sums,
}

impl LossIntervals {
    /// A record of packets numbered from `first`, with or without history discounting.
    pub fn new(first: u64, discounting: bool) -> Self {
        Self {
            intervals: [LossInterval::new(first, Instant::ZERO, 0); HISTORY],
            len: 1,
            discounting,
            just_begun: false,
            sums: Sums::default(),
        }
    }

    /// The intervals, the open one first; a single one where there was no loss yet.
    pub fn intervals(&self) -> &[LossInterval] {
        &self.intervals[..self.len]
    }

    /// The interval of the latest loss event, if there was one.
    pub fn latest_event(&self) -> Option<&LossInterval> {
        (self.len > 1).then(|| &self.intervals[0])
    }

    /// `greatest` is the highest sequence number now known to be received.
    #[inline]
    pub fn extend_to(&mut self, greatest: u64) {
        self.just_begun = false;
        let open = &mut self.intervals[0];
        open.end = open.end.max(greatest.saturating_add(1));
    }

    /// `count` packets of the open interval carried no data.
    pub fn exclude(&mut self, count: u64) {
        self.intervals[0].empty += count;
    }

    /// A loss event begins with packet `first`; its losses are still to be [joined](Self::join).
    /// `first_interval` gives the length of the interval before the first event of all.
    pub fn begin(
        &mut self,
        first: u64,
        began: Instant,
        quarters_before: u64,
        first_interval: impl FnOnce() -> f64,
    ) {
        // RFC 5348, Section 5.5, updates DF on packet arrivals and resets it to 1 with each loss event. One arrival can prove
        // several events; the open interval then already reaches up to that arrival, and its length would discount the
        // older ones again with each of them.
        let discount = if self.just_begun { 1.0 } else { self.discount() };
        self.just_begun = true;
        let no_loss_yet = self.len == 1;
        let open = &mut self.intervals[0];
        let end = open.end;
        open.end = first.max(open.first);
        open.fixed_length =
            Some(if no_loss_yet { first_interval().max(1.0) } else { open.data_packets() as f64 });
        for closed in &mut self.intervals[1..self.len] {
            closed.discount *= discount;
        }
        self.intervals.copy_within(0..HISTORY - 1, 1);
        self.len = (self.len + 1).min(HISTORY);
        self.intervals[0] = LossInterval::new(first, began, quarters_before);
        self.intervals[0].end = end.max(first);
        self.sum_up();
    }

    /// `count` packets, the last of them `last`, were lost or marked within the latest loss event.
    pub fn join(&mut self, last: u64, count: u64) {
        let open = &mut self.intervals[0];
        open.lossy_end = open.lossy_end.max(last.saturating_add(1));
        open.end = open.end.max(open.lossy_end);
        open.losses += count;
    }

    /// A packet that had been [joined](Self::join) as lost arrived after all (RFC 5348, Section
    /// 5.1). An event with no loss left is undone, and its interval becomes part of the one before.
    ///
    /// The first packet of an event that has other losses left still counts as its beginning; the
    /// error is less than a round-trip time of packets.
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
        // The oldest interval remembered has nothing left to become part of.
        if self.intervals[index].losses > 0 || index + 1 == self.len {
            return LateArrivalEffect::Loss;
        }
        self.merge(index);
        LateArrivalEffect::Event { latest: index == 0 }
    }

    fn merge(&mut self, index: usize) {
        let newer = self.intervals[index];
        let older = &mut self.intervals[index + 1];
        older.end = newer.end;
        older.empty += newer.empty;
        // The length made up for the interval before the first loss stands as it is.
        let before_first_loss = older.losses == 0;
        older.fixed_length = match (index, before_first_loss) {
            (0, _) => None,
            (_, true) => older.fixed_length,
            (_, false) => Some(older.data_length() + newer.data_length()),
        };
        // Of two short intervals, the whole may be longer than that; the more careful is assumed. Whether
        // the open one is, will be said anew.
        older.short &= newer.short && index > 0;
        self.intervals.copy_within(index + 1..self.len, index);
        self.len -= 1;
        self.sum_up();
    }

    /// Makes the record up: the latest loss event stays, and before it lie `count` intervals of `length` packets each, from one to
    /// n (papers/freeze, Section 4.6, has n). The newest of them takes the place of what was before the event; as nothing was lost
    /// in them, they look like the interval before a first loss. Without a loss event, nothing happens.
    pub fn fit(&mut self, length: f64, count: usize) {
        if self.len < 2 {
            return;
        }
        let closed = &mut self.intervals[1];
        *closed = LossInterval {
            end: closed.end,
            fixed_length: Some(length.max(1.0)),
            ..LossInterval::new(closed.first, closed.began, closed.quarters_before)
        };
        let before = LossInterval { end: closed.first, ..*closed };
        self.intervals[2..].fill(before);
        self.len = 1 + count.clamp(1, INTERVALS);
        self.sum_up();
    }

    /// Says whether the open interval is at most two round-trip times long. TFRC-SP then leaves it
    /// out of the average, and counts each of its losses should it end so (RFC 4828, Section 3).
    /// TFRC itself has no use for it. Of the interval before the first loss, there is nothing to say.
    pub fn set_open_is_short(&mut self, short: bool) {
        self.intervals[0].short = short && self.len > 1;
    }

    /// I_mean: the average loss interval in packets, if there was a loss.
    pub fn average(&self) -> Option<f64> {
        (self.len > 1).then(|| {
            let open = if self.intervals[0].short { 0.0 } else { self.intervals[0].length() };
            self.sums.average(open, self.discount())
        })
    }

    /// p: zero where there was no loss.
    pub fn loss_event_rate(&self) -> LossEventRate {
        self.average().map_or(LossEventRate::ZERO, LossEventRate::from_average_interval)
    }

    /// DF: what the weights of the closed intervals are multiplied by, because the open one is
    /// longer than twice their average (RFC 5348, Section 5.5).
    fn discount(&self) -> f64 {
        // What does not take part in the average takes no weight from others.
        if !self.discounting || self.len == 1 || self.intervals[0].short {
            return 1.0;
        }
        let ratio = 2.0 * self.sums.closed_average() / self.intervals[0].length();
        ratio.clamp(DISCOUNT_THRESHOLD, 1.0)
    }

    fn sum_up(&mut self) {
        let closed = &self.intervals[1..self.len];
        let mut sums = Sums::default();
        for (i, interval) in closed.iter().enumerate() {
            sums.add(i, closed.len(), interval.length(), interval.discount);
        }
        self.sums = sums;
    }
}

/// The sums over the closed intervals, which change only with an event: what they weigh by
/// themselves, and what they weigh behind the open interval, where the oldest has no place.
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
