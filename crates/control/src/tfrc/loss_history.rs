//! From arrivals to loss intervals: the receiver's record of a stream.
//!
//! [`LossHistory`] joins loss detection to the loss intervals by deciding which losses belong to one
//! loss event. RFC 5348 has the receiver interpolate when a lost packet would have arrived and
//! compare with the round-trip time that the sender told it (Section 5.2); RFC 4342 has it compare
//! window counters, quarters of a round-trip time that the sender stamps on its packets (Section
//! 10.2). Both rules are here, as [`EventRule`]; who has a third drives [`LossDetector`] and
//! [`LossIntervals`] directly.

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};

use super::LossEventRate;
use super::loss_detection::{ArrivedPacket, Gap, LossDetector, LossObserver, NDUPACK, Reception, Settled};
use super::loss_intervals::{LateArrivalEffect, LossInterval, LossIntervals};
use super::lost_set::LostSet;
use crate::loss_differentiation::{LossClass, LossDifferentiation, LossGap};

#[cfg(test)]
mod tests;

/// The most packets of one hole that a classifier is asked about one by one: a longer hole is an outage, or a liar's, and
/// its rest congestion.
pub(crate) const ASKED_SINGLY: u64 = 4096;

/// When two losses belong to the same loss event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventRule {
    /// If they would have arrived within this round-trip time (RFC 5348, Section 5.2).
    RoundTrip(Duration),
    /// If no packet between them has a window counter more than four ahead of the last packet
    /// before the first of them (RFC 4342, Section 10.2).
    WindowCounter,
}

/// How a [`LossHistory`] works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryConfig {
    /// The sequence number of the stream's first packet. Where it is not known, packets lost before
    /// the first arrival go unnoticed.
    pub first: Option<u64>,
    /// History discounting, optional in RFC 5348, Section 5.5.
    pub discounting: bool,
    /// Whether a packet that arrives after it was declared lost takes the loss back, which RFC
    /// 5348, Section 5.1, allows.
    pub forgive_late: bool,
    /// TFRC-SP: in loss intervals of at most two round-trip times each loss counts (RFC 4828, Section 4.4).
    pub count_short_losses: bool,
    /// How many arrivals above a hole declare it lost: three (RFC 5348, Section 5.1), or one where packets come in order,
    /// after somebody waited for the missing ones.
    pub loss_threshold: usize,
}

impl EventRule {
    /// Whether an interval is at most two round-trip times long that began at `began`, when the window
    /// counter had counted `quarters_before` quarters, if at `now` it has counted `quarters`.
    ///
    /// By the counter, some longer ones look short: it cannot be seen to advance by more than 15 between
    /// arrivals, and a sender raises it by five at most (RFC 5622, Section 8.4).
    fn is_short(self, began: Instant, quarters_before: u64, now: Instant, quarters: u64) -> bool {
        match self {
            Self::RoundTrip(rtt) => now - began <= rtt * 2,
            Self::WindowCounter => quarters - quarters_before <= 8,
        }
    }
}

impl Default for HistoryConfig {
    /// Unknown first packet, with discounting, forgiving; TFRC.
    fn default() -> Self {
        Self {
            first: None,
            discounting: true,
            forgive_late: true,
            count_short_losses: false,
            loss_threshold: NDUPACK,
        }
    }
}

/// What was before the first loss, for the length that the first loss interval is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BeforeFirstLoss {
    /// Nothing: the first data packet is the one lost or marked, and the interval is null.
    Nothing,
    /// At least one data packet arrived.
    Data,
}

/// What an arrival meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What it was to the record of receptions.
    pub reception: Reception,
    /// It brought a new loss event to light.
    pub new_event: bool,
    /// It undid a loss event.
    pub event_undone: bool,
}

/// Packets found lost or marked, for statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossCounts {
    /// Packets found lost, wireless losses included; a late arrival is not taken off.
    pub lost: u64,
    /// Of these, how many a loss differentiation took for wireless losses.
    pub wireless: u64,
    /// Packets that arrived marked.
    pub marked: u64,
}

/// The record of what arrived and what did not.
#[derive(Clone, Debug)]
pub struct LossHistory {
    detector: LossDetector,
    events: Events,
    config: HistoryConfig,
    started: bool,
}

impl LossHistory {
    /// A record of a stream of which nothing has arrived yet.
    pub fn new(config: HistoryConfig) -> Self {
        Self {
            detector: LossDetector::with_threshold(config.first, config.loss_threshold),
            events: Events {
                intervals: LossIntervals::new(config.first.unwrap_or(0), config.discounting),
                data_received: false,
                quarters: 0,
                counter_passed: false,
                wireless: LostSet::default(),
                counts: LossCounts::default(),
            },
            config,
            started: config.first.is_some(),
        }
    }

    /// Accounts for an arrival.
    ///
    /// `rule` says which losses belong together. `differentiation` may take losses for wireless
    /// ones, which then count as received; its [`on_arrival`](LossDifferentiation::on_arrival) is
    /// for the caller to call first. `first_interval` gives the length of the loss interval before
    /// the first loss (see [`first_loss_interval`](super::first_loss_interval)); it is called once
    /// in a stream's life, unless that loss turns out to be none.
    #[inline]
    pub fn on_arrival(
        &mut self,
        arrival: &ArrivedPacket,
        rule: EventRule,
        differentiation: Option<&mut (dyn LossDifferentiation + 'static)>,
        first_interval: impl FnMut(BeforeFirstLoss) -> f64,
    ) -> Outcome {
        if !self.started {
            self.started = true;
            self.events.intervals = LossIntervals::new(arrival.sequence, self.config.discounting);
        }
        let events = &mut self.events;
        let count_short_losses = self.config.count_short_losses;
        let mut recorder =
            Recorder { events, rule, count_short_losses, differentiation, first_interval, new_event: false };
        let reception = self.detector.on_arrival(arrival, &mut recorder);
        let new_event = recorder.new_event;
        let event_undone = reception == Reception::Late && self.on_late(arrival);
        self.events.intervals.extend_to(self.detector.greatest());
        if count_short_losses {
            self.events.judge_length(rule, arrival.at);
        }
        Outcome { reception, new_event, event_undone }
    }

    fn on_late(&mut self, arrival: &ArrivedPacket) -> bool {
        // A marked packet is as good as lost: nothing changes.
        if !self.config.forgive_late || arrival.marked {
            return false;
        }
        if self.events.wireless.remove(arrival.sequence, self.detector.first_open()) {
            // It never counted as lost.
            return false;
        }
        let effect = self.events.intervals.on_late_arrival(arrival.sequence, arrival.carries_data);
        if effect == (LateArrivalEffect::Event { latest: true }) {
            // The event before is the latest again, and one was found after it, so that its
            // round-trip time is over.
            self.events.counter_passed = true;
        }
        matches!(effect, LateArrivalEffect::Event { .. })
    }

    /// The loss intervals, the open one first: at most nine. A single one where there was no loss.
    pub fn intervals(&self) -> &[LossInterval] {
        self.events.intervals.intervals()
    }

    /// I_mean: the average loss interval in packets, if there was a loss.
    pub fn average_interval(&self) -> Option<f64> {
        self.events.intervals.average()
    }

    /// p (RFC 5348, Section 5).
    pub fn loss_event_rate(&self) -> LossEventRate {
        self.events.intervals.loss_event_rate()
    }

    /// See [`LossIntervals::fit`].
    pub fn fit(&mut self, length: f64, count: usize) {
        self.events.intervals.fit(length, count);
    }

    /// The highest sequence number that arrived.
    pub fn greatest(&self) -> u64 {
        self.detector.greatest()
    }

    /// See [`LossDetector::first_open`].
    pub fn first_open(&self) -> u64 {
        self.detector.first_open()
    }

    /// What was found lost so far.
    pub fn counts(&self) -> LossCounts {
        self.events.counts
    }
}

/// What is made of the settled packets.
#[derive(Clone, Debug)]
struct Events {
    intervals: LossIntervals,
    /// Whether a data packet is among the packets settled.
    data_received: bool,
    /// How far the window counter has come by the last data packet settled, without its modulus: zero,
    /// where a sender starts, before.
    quarters: u64,
    /// Whether a packet settled since the latest event began has a window counter more than four
    /// ahead of the last one before the event.
    counter_passed: bool,
    /// The losses that were taken for wireless ones.
    wireless: LostSet,
    counts: LossCounts,
}

/// Sorts what the detector finds into loss events, for the time of one arrival.
struct Recorder<'a, F> {
    events: &'a mut Events,
    rule: EventRule,
    count_short_losses: bool,
    differentiation: Option<&'a mut (dyn LossDifferentiation + 'static)>,
    first_interval: F,
    new_event: bool,
}

impl<F: FnMut(BeforeFirstLoss) -> f64> LossObserver for Recorder<'_, F> {
    fn classify(&mut self, gap: &LossGap) -> LossClass {
        match &mut self.differentiation {
            Some(algorithm) => algorithm.classify(gap),
            None => LossClass::Congestion,
        }
    }

    #[inline]
    fn on_settled(&mut self, settled: &Settled) {
        let next = settled.arrival.sequence.saturating_add(1);
        self.events.wireless.advance(settled.first_lost, next);
        if settled.lost > 0 {
            self.on_lost(settled);
        }
        if settled.empty > 0 {
            self.events.intervals.exclude(settled.empty);
        }
        let arrival = &settled.arrival;
        if !arrival.carries_data {
            self.events.intervals.exclude(1);
            return;
        }
        if arrival.marked {
            self.events.counts.marked += 1;
            self.on_congestion(arrival.sequence, 1, &Gap::at(arrival.sequence, arrival.at));
        }
        self.events.data_received = true;
        self.events.pass_counter(arrival.window_counter);
    }
}

impl<F: FnMut(BeforeFirstLoss) -> f64> Recorder<'_, F> {
    fn on_lost(&mut self, settled: &Settled) {
        let (first, end) = (settled.first_lost, settled.first_lost + settled.lost);
        self.events.counts.lost += settled.lost;
        let Some(algorithm) = &mut self.differentiation else {
            return self.on_congestion(first, settled.lost, &settled.gap);
        };
        // Runs of congestion losses, wireless ones left out.
        let mut runs: SmallVec<[(u64, u64); 4]> = SmallVec::new();
        let asked_end = end.min(first.saturating_add(ASKED_SINGLY));
        for sequence in first..asked_end {
            match (algorithm.final_class(sequence, settled.gap.class), runs.last_mut()) {
                (LossClass::Wireless, _) => {
                    self.events.wireless.insert(sequence, 1, settled.arrival.sequence.saturating_add(1));
                    self.events.counts.wireless += 1;
                }
                (LossClass::Congestion, Some(run)) if run.1 == sequence => run.1 += 1,
                (LossClass::Congestion, _) => runs.push((sequence, sequence + 1)),
            }
        }
        if asked_end < end {
            runs.push((asked_end, end));
        }
        for (first, end) in runs {
            self.on_congestion(first, end - first, &settled.gap);
        }
    }

    /// `count` packets in a row are lost to congestion, or one is marked.
    fn on_congestion(&mut self, first: u64, count: u64, gap: &Gap) {
        match self.rule {
            EventRule::RoundTrip(rtt) => self.sort_by_time(first, count, gap, rtt),
            EventRule::WindowCounter => {
                if self.events.intervals.latest_event().is_none() || self.events.counter_passed {
                    self.begin(first, gap);
                }
                self.events.intervals.join(first + count - 1, count);
            }
        }
    }

    /// RFC 5348, Section 5.2: S_new is in the same event if T_old + R >= T_new, where S_old began
    /// the event. An [outage](Gap::is_outage) begins one event at most.
    fn sort_by_time(&mut self, first: u64, count: u64, gap: &Gap, rtt: Duration) {
        let is_outage = gap.is_outage(rtt);
        let end = first + count;
        let mut sequence = first;
        while sequence < end {
            let joins = |event: &LossInterval| {
                let began_here = event.first >= gap.first();
                is_outage && began_here || event.began + rtt >= gap.arrival_time(sequence)
            };
            if !self.events.intervals.latest_event().is_some_and(joins) {
                self.begin(sequence, gap);
            }
            let open = &self.events.intervals.intervals()[0];
            let next = if is_outage && open.first >= gap.first() {
                end
            } else {
                gap.first_later_than(open.began + rtt).clamp(sequence + 1, end)
            };
            self.events.intervals.join(next - 1, next - sequence);
            sequence = next;
        }
    }

    fn begin(&mut self, first: u64, gap: &Gap) {
        let before = if self.events.data_received { BeforeFirstLoss::Data } else { BeforeFirstLoss::Nothing };
        let (began, quarters) = (gap.arrival_time(first), self.events.quarters);
        if self.count_short_losses {
            self.events.judge_length(self.rule, began);
        }
        let first_interval = || (self.first_interval)(before);
        self.events.intervals.begin(first, began, quarters, first_interval);
        self.events.counter_passed = false;
        self.new_event = true;
    }
}

impl Events {
    /// RFC 4342, Section 10.2: a packet S between two losses with C(S) more than four ahead of
    /// C(X_prev) separates them.
    #[inline]
    fn pass_counter(&mut self, counter: u8) {
        self.quarters += u64::from(counter.wrapping_sub(self.quarters as u8) % 16);
        if let Some(event) = self.intervals.latest_event() {
            self.counter_passed |= counter.wrapping_sub(event.quarters_before as u8) % 16 > 4;
        }
    }

    /// Says whether the open interval, seen at `now`, is a short one.
    fn judge_length(&mut self, rule: EventRule, now: Instant) {
        let open = &self.intervals.intervals()[0];
        let short = rule.is_short(open.began, open.quarters_before, now, self.quarters);
        self.intervals.set_open_is_short(short);
    }
}
