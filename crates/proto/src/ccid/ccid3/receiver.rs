//! The HC-receiver: finds loss events, measures, and reports.

use whimbrel_control::freeze::{Marking, ReceiverAction, ReceiverMachine, equivalent_interval};
use whimbrel_control::loss_differentiation::{LossCause, OptionalDifferentiation, PacketArrival};
use whimbrel_control::tfrc::loss_detection::{Arrival, NDUPACK, Reception};
use whimbrel_control::tfrc::loss_history::{EventRule, HistoryConfig, LossHistory, Outcome};
use whimbrel_control::tfrc::loss_intervals as tfrc_intervals;
use whimbrel_control::tfrc::receive_rate::ReceiveRateMeter;
use whimbrel_control::tfrc::{LossEventRate, RetransmitTimeout, interval_before_first_loss};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::option::tfrc::{self, LossInterval, ProbeRule, TfrcOption};
use whimbrel_wire::option::{Elapsed, FeatureNumber};
use whimbrel_wire::{DccpOption, Ecn, Options, PacketType, Reset, ResetCode, SeqNo};

use super::Variant;
use super::receiver_rtt::ReceiverRtt;
use super::window_counter::ahead;
use crate::ReceiverSnapshot;
use crate::ccid::{Ccid, HalfConnection, HcReceiver, ReceivedPacket, ccid4};
use crate::event::LossVerdict;

mod classification;
mod unwrapper;

use classification::Classification;
use unwrapper::Unwrapper;

#[cfg(test)]
mod tests;

/// The receiving end of a half-connection under CCID 3, or another [`Variant`].
#[derive(Debug)]
pub struct Receiver {
    variant: Variant,
    classification: Classification,
    numbers: Unwrapper,
    /// Whether anything arrived.
    started: bool,
    history: LossHistory,
    meter: Option<ReceiveRateMeter>,
    rtt: ReceiverRtt,
    /// The packet with the greatest number, unwrapped, and when it arrived.
    greatest: (u64, Instant),
    /// The window counter of the newest data packet.
    counter: u8,
    /// last_counter: the same when the last feedback was sent.
    reported_counter: u8,
    /// p_prev.
    previous_rate: LossEventRate,
    /// X_recv as last reported.
    receive_rate: DataRate,
    /// R_(m-1): the round-trip time when the last feedback was sent, if there was one.
    measured_over: Option<Duration>,
    feedback_due: bool,
    data_since_feedback: bool,
    /// When feedback is due by the clock. Where this is not set, the next data packet is answered at once.
    feedback_deadline: Option<Instant>,
    /// Whether the Send Loss Event Rate feature is on.
    sends_loss_event_rate: bool,
    /// What to do about the sender's handovers, where it knows of them (the feature Freezing).
    freezing: Option<ReceiverMachine>,
    /// What the sender did wrong.
    violation: Option<Reset>,
    /// The average loss interval when this path was last in use: what stands for the interval before the first
    /// loss, rather than the rate until then.
    remembered_interval: Option<f64>,
}

impl Receiver {
    /// CCID 3's receiver of a half-connection that begins.
    pub fn new(half: &HalfConnection<'_>) -> Self {
        Self::with_variant(half, Variant::TFRC)
    }

    /// The same under that variant.
    pub fn with_variant(half: &HalfConnection<'_>, variant: Variant) -> Self {
        let differentiation = half.config.tfrc.differentiation.map(|differentiation| differentiation.build());
        Self::with_differentiation(half, variant, differentiation)
    }

    /// The same, which tells losses apart by `differentiation`, whatever the configuration says.
    pub fn with_differentiation(
        half: &HalfConnection<'_>,
        variant: Variant,
        differentiation: OptionalDifferentiation,
    ) -> Self {
        let numbers = Unwrapper::new(half.next_sequence);
        let first = numbers.last();
        Self {
            variant,
            classification: Classification::new(differentiation, half.config.tfrc.differentiation),
            numbers,
            started: false,
            history: new_history(&variant, first),
            meter: None,
            rtt: ReceiverRtt::new(half.rtt),
            greatest: (first - 1, half.now),
            counter: 0,
            reported_counter: 0,
            previous_rate: LossEventRate::ZERO,
            receive_rate: DataRate::ZERO,
            measured_over: None,
            feedback_due: false,
            data_since_feedback: false,
            feedback_deadline: None,
            sends_loss_event_rate: false,
            freezing: None,
            violation: None,
            remembered_interval: None,
        }
    }

    /// The first packet of all may be older than the number that was expected: it is the one that
    /// completed the handshake, and may carry data.
    fn begin_with(&mut self, sequence: u64) {
        if !core::mem::replace(&mut self.started, true) && sequence <= self.greatest.0 {
            self.history = new_history(&self.variant, sequence);
        }
    }

    /// RFC 4342, Section 10.2, or RFC 6323, Section 2.2.2.
    fn event_rule(&self) -> EventRule {
        if self.rtt.is_told() { EventRule::RoundTrip(self.rtt.value()) } else { EventRule::WindowCounter }
    }

    /// Puts an arrival on record, and tells what changed.
    fn record(&mut self, arrival: &Arrival) -> Outcome {
        let (rule, meter, rtt, now) = (self.event_rule(), self.meter.as_ref(), self.rtt.value(), arrival.at);
        let small = self.variant.small_packets.as_ref();
        let remembered = self.remembered_interval;
        // The Loss Intervals option has room for whole packets only.
        let first_interval = |before| {
            if let Some(interval) = remembered {
                return interval;
            }
            let timeout = RetransmitTimeout::FourRoundTrips;
            interval_before_first_loss(before, meter, now, rtt, timeout, small).round()
        };
        let outcome = self.history.on_arrival(arrival, rule, self.classification.algorithm(), first_interval);
        if outcome.reception == Reception::Newest {
            self.greatest = (arrival.sequence, now);
            if arrival.carries_data {
                self.counter = arrival.window_counter;
                let adjacent = self.history.first_open() == arrival.sequence + 1;
                self.rtt.on_counter(now, arrival.window_counter, adjacent);
            }
        }
        outcome
    }

    /// Whether p must be reported at once: because it rose (RFC 4342, Section 10.3), or because a
    /// loss event was undone (RFC 5348, Section 6).
    fn is_urgent(&mut self, outcome: Outcome) -> bool {
        if !outcome.new_event {
            return outcome.event_undone;
        }
        let rate = self.history.loss_event_rate();
        let previous = core::mem::replace(&mut self.previous_rate, rate);
        outcome.event_undone || rate > previous
    }

    /// Reads the options that matter: the sender's round-trip time and clock.
    fn read_options(&mut self, now: Instant, packet: &ReceivedPacket<'_>) -> Option<Instant> {
        let mut sent = None;
        for option in packet.options {
            match option {
                DccpOption::Timestamp(value) => sent = self.classification.read_clock(*value),
                DccpOption::CcidSpecific { kind: tfrc::RTT_ESTIMATE, .. } => {
                    if let Some(TfrcOption::RttEstimate(estimate)) = TfrcOption::parse(option) {
                        self.rtt.on_option(now, estimate);
                    } else if self.rtt.is_told() {
                        self.violation = Some(invalid_estimate(option));
                    }
                }
                _ => {}
            }
        }
        sent
    }

    /// What the sender says of a handover.
    fn heed_freezing(&mut self, arrival: &Arrival, options: &[DccpOption]) -> ReceiverAction {
        // What is older than the newest packet says what was.
        let is_newest = arrival.sequence > self.greatest.0 || !self.started;
        match &mut self.freezing {
            Some(freezing) if arrival.carries_data && is_newest => {
                let action = freezing.on_packet(arrival.at, marking(options));
                if action == ReceiverAction::BeginMeasuring {
                    self.rtt.on_pause();
                }
                if let Some(rtt) = told_rtt(options) {
                    self.rtt.on_restart(rtt);
                    // Over the old path's, X_recv would take in time before the restart.
                    self.measured_over = self.measured_over.map(|_| rtt);
                }
                action
            }
            _ => ReceiverAction::None,
        }
    }

    /// Makes up the history that fits X_recv (`papers/freeze`, Section 4.6).
    fn fit_history(&mut self, now: Instant) {
        let (rtt, Some(meter)) = (self.rtt.value(), &self.meter) else { return };
        let segments = self.variant.small_packets.map_or(1.0, |small| small.segments(meter.mean_size()));
        let rate = meter.measure(now, rtt).packets_per_second * segments;
        let timeout = RetransmitTimeout::FourRoundTrips.in_round_trips(rtt);
        self.history.fit(equivalent_interval(rate, rtt, timeout).round());
        self.feedback_due = true;
    }

    /// X_recv for a feedback that is sent now (RFC 5348, Section 6.2).
    fn measure(&mut self, now: Instant) -> DataRate {
        let rtt = self.rtt.value();
        let Some(meter) = &mut self.meter else { return DataRate::ZERO };
        match self.measured_over.replace(rtt) {
            Some(time) => meter.on_feedback(now, time).data,
            None => {
                meter.begin(now);
                DataRate::ZERO
            }
        }
    }

    /// The loss intervals to report: of those made up only the newest, which has the place of what it replaces.
    fn reported_intervals(&self) -> &[tfrc_intervals::LossInterval] {
        let intervals = self.history.intervals();
        let made_up = intervals.iter().skip(1).position(|interval| interval.lossy_end == interval.first);
        &intervals[..made_up.map_or(intervals.len(), |position| position + 2)]
    }

    /// The Loss Intervals options, for a packet that acknowledges the greatest number.
    fn write_loss_intervals(&self, options: &mut Options) {
        let end = self.greatest.0 + 1;
        let skip = (end - self.history.first_open().min(end)).min(NDUPACK as u64);
        let end = end - skip;
        let intervals = self.reported_intervals();
        let seen_loss = intervals.len() > 1;
        let reported = intervals.iter().enumerate().map(|(i, interval)| {
            let is_open = i == 0;
            let interval_end = if is_open { end } else { interval.end };
            let data_length = match (is_open, seen_loss) {
                (true, false) => 0,
                (true, true) => (end - interval.first).saturating_sub(interval.empty).max(1),
                (false, _) => interval.data_length() as u64,
            };
            LossInterval {
                lossless_length: saturate(interval_end - interval.lossy_end),
                nonce: false,
                loss_length: saturate(interval.lossy_end - interval.first),
                data_length: saturate(data_length),
            }
        });
        options.extend(tfrc::loss_intervals(skip as u8, reported));
    }
}

impl HcReceiver for Receiver {
    fn ccid(&self) -> Ccid {
        self.variant.ccid
    }

    fn on_received(&mut self, now: Instant, packet: ReceivedPacket<'_>) {
        let is_data = matches!(packet.packet_type, PacketType::Data | PacketType::DataAck);
        let sequence = self.numbers.unwrap(packet.sequence);
        self.begin_with(sequence);
        self.rtt.on_hint(packet.rtt_hint);
        let sent = if packet.options.is_empty() { None } else { self.read_options(now, &packet) };
        let size = ByteCount::new(packet.payload as u64);
        let mut arrival = Arrival {
            sequence,
            at: now,
            marked: packet.ecn == Ecn::Ce,
            carries_data: is_data,
            empty_before: packet.ndp_count.unwrap_or(0),
            window_counter: packet.ccval,
        };
        let action = self.heed_freezing(&arrival, packet.options);
        arrival.marked |= action == ReceiverAction::MarkAndFitHistory;
        let is_corrupt = is_data && packet.corrupt;
        self.classification.on_arrival(PacketArrival { at: now, sequence, size, sent }, &arrival, is_corrupt);
        let outcome = self.record(&arrival);
        if outcome.reception == Reception::Duplicate {
            return;
        }
        let found = match &mut self.freezing {
            Some(freezing) if outcome.new_event => freezing.on_loss(),
            _ => ReceiverAction::None,
        };
        let urgent = self.is_urgent(outcome);
        self.feedback_due |= urgent && self.meter.is_some();
        if !is_data {
            return;
        }
        let meter = self.meter.get_or_insert_with(|| ReceiveRateMeter::new(now));
        meter.on_data(size);
        if action == ReceiverAction::BeginMeasuring {
            meter.begin(now);
        }
        self.data_since_feedback = true;
        // RFC 4342, Section 10.3: a round-trip time has passed if the counter has advanced by four.
        let by_counter = !self.rtt.is_told() && ahead(self.counter, self.reported_counter) >= 4;
        self.feedback_due |= urgent || by_counter || self.feedback_deadline.is_none();
        if action == ReceiverAction::MarkAndFitHistory || found == ReceiverAction::FitHistory {
            self.fit_history(now);
        }
    }

    fn feedback_due(&self, _now: Instant) -> bool {
        self.feedback_due
    }

    fn write_feedback(&mut self, now: Instant, ack: SeqNo, options: &mut Options) {
        if !self.feedback_due {
            return;
        }
        self.feedback_due = false;
        let acknowledged = self.numbers.near(ack);
        if acknowledged > self.greatest.0 {
            // The connection acknowledges a packet that it did not show here, because it took part
            // in nothing but the sequence numbers.
            self.record(&Arrival { carries_data: false, ..Arrival::new(now, acknowledged) });
        }
        self.receive_rate = self.measure(now);
        self.previous_rate = self.history.loss_event_rate();
        self.reported_counter = self.counter;
        self.data_since_feedback = false;
        let round_trips = if self.rtt.is_told() { 1 } else { 2 };
        self.feedback_deadline = Some(now + self.rtt.value().max(Duration::from_nanos(1)) * round_trips);

        let held = now - self.greatest.1;
        options.push(DccpOption::ElapsedTime(Elapsed::from_nanos(held.as_nanos())));
        options.push(tfrc::receive_rate(self.receive_rate.as_bytes_per_second() as u32));
        self.write_loss_intervals(options);
        if self.variant.small_packets.is_some() {
            options.extend(ccid4::dropped_packets(self.reported_intervals()));
        }
        if self.sends_loss_event_rate {
            options.push(tfrc::loss_event_rate(self.previous_rate.to_inverse()));
        }
        let rtt = self.rtt.value();
        if self.freezing.as_mut().is_some_and(|freezing| freezing.on_feedback(now, rtt)) {
            options.push(tfrc::unfrozen());
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.feedback_deadline.is_some_and(|deadline| deadline <= now) {
            self.feedback_deadline = None;
            self.feedback_due |= self.data_since_feedback;
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.feedback_deadline
    }

    fn on_feature(&mut self, _now: Instant, feature: u8, value: u64) {
        match FeatureNumber::from(feature) {
            FeatureNumber::SendLossEventRate => self.sends_loss_event_rate = value == 1,
            FeatureNumber::SendRttEstimate => self.rtt.set_told(value == 1),
            FeatureNumber::Freezing => self.freezing = (value == 1).then(ReceiverMachine::default),
            _ => {}
        }
    }

    fn take_violation(&mut self) -> Option<Reset> {
        self.violation.take()
    }

    fn on_loss_cause(&mut self, sequence: SeqNo, cause: LossCause) {
        self.classification.inform(self.numbers.near(sequence), cause);
    }

    fn on_path_change(&mut self) {
        self.classification.on_path_change();
    }

    fn resume(&mut self, left: &ReceiverSnapshot) {
        self.remembered_interval = left.loss_event_rate.filter(|p| *p > 0.0).map(|p| (1.0 / p).round());
    }

    fn has_verdicts(&self) -> bool {
        self.classification.has_verdicts()
    }

    fn take_verdict(&mut self) -> Option<LossVerdict> {
        self.classification.take_verdict()
    }

    fn snapshot(&self) -> ReceiverSnapshot {
        let counts = self.history.counts();
        ReceiverSnapshot {
            loss_event_rate: Some(self.history.loss_event_rate().as_f64()),
            receive_rate: Some(self.receive_rate),
            rtt: self.rtt.known(),
            lost: counts.lost,
            lost_wireless: counts.wireless,
            marked: counts.marked,
            freeze: self.freezing.map(|freezing| freezing.state()),
        }
    }
}

/// What a packet's options say of the sender's handover.
fn marking(options: &[DccpOption]) -> Marking {
    let by_rate = |rule| matches!(rule, ProbeRule::ReceiveRate { .. });
    let said = options.iter().find_map(|option| match TfrcOption::parse(option) {
        Some(TfrcOption::Restoring(rule)) => Some(Marking::Restoring { by_rate: by_rate(rule) }),
        Some(TfrcOption::Probing(ProbeRule::Settle { .. })) => Some(Marking::Settle),
        Some(TfrcOption::Probing(rule)) => Some(Marking::Probing { by_rate: by_rate(rule) }),
        _ => None,
    });
    said.unwrap_or_default()
}

/// The round-trip time that the sender says while it restarts, if it does.
fn told_rtt(options: &[DccpOption]) -> Option<Duration> {
    options.iter().find_map(|option| match TfrcOption::parse(option)? {
        TfrcOption::Restoring(rule) | TfrcOption::Probing(rule) => {
            rule.rtt_micros().map(|micros| Duration::from_micros(u64::from(micros)))
        }
        _ => None,
    })
}

/// RFC 6323, Section 3.3: the Reset carries the option's first three bytes, of which the second is its length, unlike
/// what RFC 4340, Section 5.6, has for Option Errors.
fn invalid_estimate(option: &DccpOption) -> Reset {
    // Data 1 is the type, Data 2 the first byte of the data.
    let [kind, first, _] = Reset::option_error(option).data;
    Reset::with_data(ResetCode::OptionError, [kind, option.encoded_len() as u8, first])
}

fn new_history(variant: &Variant, first: u64) -> LossHistory {
    let count_short_losses = variant.small_packets.is_some();
    LossHistory::new(HistoryConfig { first: Some(first), count_short_losses, ..HistoryConfig::default() })
}

fn saturate(length: u64) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
