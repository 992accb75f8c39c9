//! The receiver's loss history: from arrivals to loss intervals.
//!
//! [`LossHistory`] connects loss detection to the loss intervals by assigning losses to loss events. In RFC
//! 5348 the receiver interpolates the arrival time of a lost packet and compares it with the round-trip time
//! signalled by the sender (Section 5.2); in RFC 4342 it compares window counters, which the sender advances
//! every quarter of a round-trip time (Section 10.2). Both rules are implemented, as [`EventRule`];
//! [`LossDetector`] and [`LossIntervals`] can be used directly with another rule.

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};

use super::LossEventRate;
use super::loss_intervals::{INTERVALS, LateArrivalEffect, LossInterval, LossIntervals};
use crate::loss_detection::{
    ArrivedPacket, Gap, LossClass, LossDetector, LossGap, LossObserver, LostSet, MAX_CLASSIFIED_SINGLY,
    NDUPACK, OUTAGE, Reception, Settled,
};
use crate::loss_differentiation::LossDifferentiation;

#[cfg(test)]
mod tests;

// An outage is as many packets as the history has intervals.
const _: () = assert!(OUTAGE == INTERVALS as u64);

/// Rule that assigns two losses to the same loss event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventRule {
    /// The losses would have arrived within this round-trip time (RFC 5348, Section 5.2).
    RoundTrip(Duration),
    /// No packet between the losses has a window counter more than four ahead of the last packet before the
    /// first of them (RFC 4342, Section 10.2).
    WindowCounter,
}

/// Configuration of a [`LossHistory`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryConfig {
    /// Sequence number of the first packet of the stream. If it is not known, losses before the first arrival
    /// are not detected.
    pub first: Option<u64>,
    /// History discounting, optional in RFC 5348, Section 5.5.
    pub discounting: bool,
    /// `true` if a packet that arrives after it was declared lost revokes the loss, which RFC 5348, Section
    /// 5.1, allows.
    pub forgive_late: bool,
    /// TFRC-SP: in loss intervals of at most two round-trip times every loss counts (RFC 4828, Section 4.4).
    pub count_short_losses: bool,
    /// `true` if [events](LossIntervals::merge_late) that a far too short round-trip time had separated
    /// become one.
    pub follow_fades: bool,
    /// Number of arrivals above a hole that declare it lost: three (RFC 5348, Section 5.1), or one if a
    /// reorder buffer has already waited for the missing packets.
    pub loss_threshold: usize,
}

impl EventRule {
    /// `true` if an interval is at most two round-trip times long that began at `began`, when the window
    /// counter had counted `quarters_before` quarters, if at `now` it has counted `quarters`.
    ///
    /// By the counter, some longer intervals appear short: an advance by more than 15 between arrivals cannot
    /// be detected, and a sender raises it by at most five (RFC 5622, Section 8.4).
    fn is_short(self, began: Instant, quarters_before: u64, now: Instant, quarters: u64) -> bool {
        match self {
            Self::RoundTrip(rtt) => now - began <= rtt * 2,
            Self::WindowCounter => quarters - quarters_before <= 8,
        }
    }
}

impl Default for HistoryConfig {
    /// Unknown first packet, discounting, late arrivals revoke losses, events stay as they are; TFRC.
    fn default() -> Self {
        Self {
            first: None,
            discounting: true,
            forgive_late: true,
            count_short_losses: false,
            follow_fades: false,
            loss_threshold: NDUPACK,
        }
    }
}

/// Data received before the first loss, which determines the length of the first loss interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BeforeFirstLoss {
    /// None: the first data packet is the one lost or marked, and the interval is null.
    Nothing,
    /// At least one data packet arrived.
    Data,
}

/// Consequences of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Classification of the arrival.
    pub reception: Reception,
    /// `true` if it revealed a new loss event.
    pub new_event: bool,
    /// `true` if it revoked a loss event, or showed that several were one.
    pub event_undone: bool,
}

/// Counters of lost and marked packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossCounts {
    /// Packets declared lost, wireless losses included; late arrivals are not subtracted.
    pub lost: u64,
    /// Number of these classified as wireless losses.
    pub wireless: u64,
    /// Packets received with a mark.
    pub marked: u64,
}

/// Record of received and lost packets.
#[derive(Clone, Debug)]
pub struct LossHistory {
    detector: LossDetector,
    events: Events,
    config: HistoryConfig,
    started: bool,
}

impl LossHistory {
    /// A history of a stream without arrivals.
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

    /// Processes an arrival.
    ///
    /// `rule` assigns losses to loss events. `differentiation` may classify losses as wireless, which then
    /// count as received; callers must call its [`on_arrival`](LossDifferentiation::on_arrival) before.
    /// `first_interval` returns the length of the loss interval before the first loss (see
    /// [`first_loss_interval`](super::first_loss_interval)); it is called once per stream, unless that loss
    /// is revoked.
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
        let mut event_undone = reception == Reception::Late && self.on_late(arrival);
        if let EventRule::RoundTrip(rtt) = rule
            && self.config.follow_fades
        {
            event_undone |= self.events.intervals.merge_late(arrival.at, rtt);
        }
        self.events.intervals.extend_to(self.detector.greatest());
        if count_short_losses {
            self.events.update_short_flag(rule, arrival.at);
        }
        Outcome { reception, new_event, event_undone }
    }

    fn on_late(&mut self, arrival: &ArrivedPacket) -> bool {
        // A mark is equivalent to a loss: the loss event remains.
        if !self.config.forgive_late || arrival.marked {
            return false;
        }
        if self.events.wireless.remove(arrival.sequence, self.detector.first_open()) {
            // A wireless loss never counted as lost.
            return false;
        }
        let effect = self.events.intervals.on_late_arrival(arrival.sequence, arrival.carries_data);
        if effect == (LateArrivalEffect::Event { latest: true }) {
            // The previous event is the latest again, and another one was found after it, so that its
            // round-trip time has passed.
            self.events.counter_passed = true;
        }
        matches!(effect, LateArrivalEffect::Event { .. })
    }

    /// The loss intervals, the open one first: at most nine. A single one without a loss.
    pub fn intervals(&self) -> &[LossInterval] {
        self.events.intervals.intervals()
    }

    /// I_mean: the average loss interval in packets; `None` without a loss.
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

    /// Counters of losses so far.
    pub fn counts(&self) -> LossCounts {
        self.events.counts
    }
}

/// Loss events derived from settled packets.
#[derive(Clone, Debug)]
struct Events {
    intervals: LossIntervals,
    /// `true` if a data packet has been settled.
    data_received: bool,
    /// Unwrapped window counter of the last settled data packet; zero, the initial value of a sender, before.
    quarters: u64,
    /// `true` if a packet settled since the latest event began has a window counter more than four ahead of
    /// the last one before the event.
    counter_passed: bool,
    /// Losses classified as wireless.
    wireless: LostSet,
    counts: LossCounts,
}

/// Observer that records the results of the detector for one arrival.
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
        // Runs of congestion losses, without wireless ones.
        let mut runs: SmallVec<[(u64, u64); 4]> = SmallVec::new();
        let classified_end = end.min(first.saturating_add(MAX_CLASSIFIED_SINGLY));
        for sequence in first..classified_end {
            match (algorithm.final_class(sequence, settled.gap.class), runs.last_mut()) {
                (LossClass::Wireless, _) => {
                    self.events.wireless.insert(sequence, 1, settled.arrival.sequence.saturating_add(1));
                    self.events.counts.wireless += 1;
                }
                (LossClass::Congestion, Some(run)) if run.1 == sequence => run.1 += 1,
                (LossClass::Congestion, _) => runs.push((sequence, sequence + 1)),
            }
        }
        if classified_end < end {
            runs.push((classified_end, end));
        }
        for (first, end) in runs {
            self.on_congestion(first, end - first, &settled.gap);
        }
    }

    /// Records that `count` packets in a row are lost to congestion, or that one is marked.
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

    /// RFC 5348, Section 5.2: S_new is in the same event if T_old + R >= T_new, where S_old began the event.
    /// An [outage](Gap::is_outage) begins at most one event.
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
            self.events.update_short_flag(self.rule, began);
        }
        let first_interval = || (self.first_interval)(before);
        self.events.intervals.begin(first, began, quarters, first_interval);
        if let EventRule::RoundTrip(rtt) = self.rule {
            self.events.intervals.set_rtt(rtt);
        }
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

    /// Records if the open interval, as of `now`, is a short one.
    fn update_short_flag(&mut self, rule: EventRule, now: Instant) {
        let open = &self.intervals.intervals()[0];
        let short = rule.is_short(open.began, open.quarters_before, now, self.quarters);
        self.intervals.set_open_is_short(short);
    }
}
