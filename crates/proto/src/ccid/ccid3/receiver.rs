//! The HC-receiver: detects loss events, measures, and sends feedback.

use whimbrel_control::freeze::{ReceiverAction, ReceiverMachine};
use whimbrel_control::loss_detection::{ArrivedPacket, NDUPACK, Reception};
use whimbrel_control::loss_differentiation::{LossClass, OptionalDifferentiation, PacketArrival};
use whimbrel_control::tfrc::loss_history::{EventRule, HistoryConfig, LossHistory, Outcome};
use whimbrel_control::tfrc::loss_intervals as tfrc_intervals;
use whimbrel_control::tfrc::receive_rate::ReceiveRateMeter;
use whimbrel_control::tfrc::{LossEventRate, RetransmitTimeout, interval_before_first_loss};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::option::tfrc::{self, LossInterval, TfrcOption};
use whimbrel_wire::option::{Elapsed, FeatureNumber};
use whimbrel_wire::{DccpOption, Ecn, Options, PacketType, Reset, ResetCode, SeqNo};

use super::Variant;
use super::receiver_rtt::ReceiverRtt;
use super::window_counter::ahead;
use crate::ReceiverSnapshot;
use crate::ccid::{Ccid, HalfConnection, HcReceiver, ReceivedPacket, ccid4};
use crate::event::LossVerdict;

mod classification;
mod handover;
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
    /// `true` once a packet has arrived.
    started: bool,
    history_config: HistoryConfig,
    history: LossHistory,
    meter: Option<ReceiveRateMeter>,
    rtt: ReceiverRtt,
    /// `true` if packets are resequenced, so that one missing before a packet processed in order is lost.
    is_ordered: bool,
    /// The packet with the greatest number, unwrapped, and its arrival time.
    greatest: (u64, Instant),
    /// Since the newest data packet, numbers have been skipped that may have been data.
    data_may_be_missing: bool,
    /// Arrival time of the latest of the packets processed in order.
    latest: Instant,
    /// The window counter of the newest data packet.
    counter: u8,
    /// last_counter: the window counter when the last feedback was sent.
    reported_counter: u8,
    /// p_prev.
    previous_rate: LossEventRate,
    /// X_recv as last reported.
    receive_rate: DataRate,
    /// R_(m-1): the round-trip time when the last feedback was sent, if known.
    measured_over: Option<Duration>,
    feedback_due: bool,
    data_since_feedback: bool,
    /// Time at which feedback is due. If not set, the next data packet triggers feedback.
    feedback_deadline: Option<Instant>,
    /// `true` if the timer alone triggers feedback.
    reports_by_clock: bool,
    /// `true` if the Send Loss Event Rate feature is on.
    sends_loss_event_rate: bool,
    /// Handling of the sender's handovers, if agreed (the feature Freezing).
    freezing: Option<ReceiverMachine>,
    /// A protocol violation of the sender.
    violation: Option<Reset>,
    /// The average loss interval when this path was last in use: it replaces the interval before the first loss, which
    /// otherwise derives from the rate until then.
    remembered_interval: Option<f64>,
}

impl Receiver {
    /// Creates CCID 3's receiver for a new half-connection.
    pub fn new(half: &HalfConnection<'_>) -> Self {
        Self::with_variant(half, Variant::TFRC)
    }

    /// Creates the receiver of a variant.
    pub fn with_variant(half: &HalfConnection<'_>, variant: Variant) -> Self {
        let differentiation = half.config.tfrc.differentiation.map(|differentiation| differentiation.build());
        Self::with_differentiation(half, variant, differentiation)
    }

    /// Creates a receiver that classifies losses by `differentiation`, whatever the configuration is.
    pub fn with_differentiation(
        half: &HalfConnection<'_>,
        variant: Variant,
        differentiation: OptionalDifferentiation,
    ) -> Self {
        let numbers = Unwrapper::new(half.next_sequence);
        let first = numbers.last();
        let is_ordered = half.config.detects_in_order();
        let history_config = HistoryConfig {
            count_short_losses: variant.small_packets.is_some(),
            discounting: half.config.tfrc.history_discounting,
            forgive_late: half.config.tfrc.forgive_late,
            loss_threshold: half.config.loss_threshold(),
            ..HistoryConfig::default()
        };
        Self {
            variant,
            classification: Classification::new(differentiation, half.config.tfrc.differentiation),
            numbers,
            started: false,
            history: LossHistory::new(HistoryConfig { first: Some(first), ..history_config }),
            history_config,
            is_ordered,
            meter: None,
            rtt: ReceiverRtt::new(half.rtt),
            greatest: (first - 1, half.now),
            data_may_be_missing: false,
            latest: half.now,
            counter: 0,
            reported_counter: 0,
            previous_rate: LossEventRate::ZERO,
            receive_rate: DataRate::ZERO,
            measured_over: None,
            feedback_due: false,
            data_since_feedback: false,
            feedback_deadline: None,
            reports_by_clock: half.config.tfrc.feedback_timer,
            sends_loss_event_rate: false,
            freezing: None,
            violation: None,
            remembered_interval: None,
        }
    }

    /// Unwraps the sequence number of a packet. The first packet may be older than the number expected: it is the one
    /// that completed the handshake, and may carry data.
    fn enter(&mut self, now: Instant, packet: &ReceivedPacket<'_>) -> u64 {
        let sequence = self.numbers.unwrap(packet.sequence);
        if !core::mem::replace(&mut self.started, true) && sequence <= self.greatest.0 {
            self.history = LossHistory::new(HistoryConfig { first: Some(sequence), ..self.history_config });
            self.greatest = (sequence - 1, now);
        }
        self.rtt.on_hint(packet.rtt_hint);
        for option in packet.options {
            if let DccpOption::CcidSpecific { kind: tfrc::RTT_ESTIMATE, .. } = option {
                self.read_rtt_estimate(now, option);
            }
        }
        sequence
    }

    fn read_rtt_estimate(&mut self, now: Instant, option: &DccpOption) {
        if let Some(TfrcOption::RttEstimate(estimate)) = TfrcOption::parse(option) {
            self.rtt.on_option(now, estimate);
        } else if self.rtt.is_reported() {
            self.violation = Some(invalid_estimate(option));
        }
    }

    /// RFC 4342, Section 10.2, or RFC 6323, Section 2.2.2.
    fn event_rule(&self) -> EventRule {
        if self.rtt.is_reported() { EventRule::RoundTrip(self.rtt.value()) } else { EventRule::WindowCounter }
    }

    /// Records an arrival, and returns its outcome.
    fn record(&mut self, now: Instant, arrival: &ArrivedPacket) -> Outcome {
        let (rule, meter, rtt) = (self.event_rule(), self.meter.as_ref(), self.rtt.value());
        let small = self.variant.small_packets.as_ref();
        let remembered = self.remembered_interval;
        // The Loss Intervals option holds whole packets only.
        let first_interval = |before| {
            if let Some(interval) = remembered {
                return interval;
            }
            let timeout = RetransmitTimeout::FourRoundTrips;
            interval_before_first_loss(before, meter, now, rtt, timeout, small).round()
        };
        self.history.on_arrival(arrival, rule, self.classification.algorithm(), first_interval)
    }

    /// Processes the part of a packet that depends on the order of sequence numbers: the loss history and everything
    /// derived from it. The packet arrived at `arrived`, and is processed at `now`.
    fn process_in_order(
        &mut self,
        now: Instant,
        arrived: Instant,
        packet: &ReceivedPacket<'_>,
    ) -> OrderedArrival {
        let sequence = self.numbers.near(packet.sequence);
        // A packet that overtook one before it in order cannot be released before that one arrived.
        self.latest = self.latest.max(arrived);
        let mut arrival = ArrivedPacket {
            sequence,
            at: self.latest,
            // Data that the application never receives count as lost: a late packet revokes no loss.
            marked: packet.ecn == Ecn::Ce || packet.discarded,
            carries_data: carries_data(packet),
            empty_before: packet.ndp_count.unwrap_or(0),
            window_counter: packet.ccval,
        };
        let action = self.process_freezing(&arrival, packet.options);
        arrival.marked |= action == ReceiverAction::MarkAndFitHistory;
        let is_corrupt = arrival.carries_data && packet.corrupt;
        let size = ByteCount::new(packet.payload as u64);
        let sent = self.read_clock(arrived, packet.options);
        let shown = PacketArrival { at: arrived, sequence, size, sent };
        self.classification.on_arrival(shown, &arrival, is_corrupt);
        let outcome = self.record(now, &arrival);
        let found = match &mut self.freezing {
            Some(freezing) if outcome.new_event => freezing.on_loss(),
            _ => ReceiverAction::None,
        };
        OrderedArrival { outcome, action, found }
    }

    /// Processes the part of a packet that depends on its arrival: the greatest number, the window counter, X_recv, and
    /// the feedback timer. `is_adjacent`: no packet is missing right before it.
    fn measure_arrival(
        &mut self,
        now: Instant,
        packet: &ReceivedPacket<'_>,
        sequence: u64,
        is_adjacent: bool,
    ) {
        let is_data = carries_data(packet);
        if sequence > self.greatest.0 {
            let arrived = packet.arrived.unwrap_or(now);
            let before = sequence.saturating_sub(1 + packet.ndp_count.unwrap_or(0));
            self.data_may_be_missing |= before > self.greatest.0;
            self.greatest = (sequence, arrived);
            if is_data {
                self.counter = packet.ccval;
                // A data packet is also not adjacent to the one before it if a packet without data came in between and data
                // before that are lost: after an outage their time would pass for a round-trip time.
                let is_missing = core::mem::take(&mut self.data_may_be_missing);
                self.rtt.on_counter(arrived, packet.ccval, is_adjacent && !is_missing);
            }
        }
        if !is_data {
            return;
        }
        let meter = self.meter.get_or_insert_with(|| ReceiveRateMeter::new(now));
        let has_expired = self.feedback_deadline.is_none_or(|deadline| deadline <= now);
        let is_silence_over = has_expired && !self.data_since_feedback;
        if let Some(time) = self.measured_over.filter(|_| is_silence_over) {
            meter.on_silence(now, time);
        }
        meter.on_data(ByteCount::new(packet.payload as u64));
        self.data_since_feedback = true;
        // RFC 4342, Section 10.3: a round-trip time has passed if the counter has advanced by four.
        let by_counter = !self.rtt.is_reported() && ahead(self.counter, self.reported_counter) >= 4;
        self.feedback_due |= by_counter || self.feedback_deadline.is_none();
    }

    /// Updates the feedback state after a packet was processed in order.
    fn conclude(&mut self, now: Instant, packet: &ReceivedPacket<'_>, ordered: OrderedArrival) {
        let is_urgent = self.is_urgent(ordered.outcome);
        let Some(meter) = &mut self.meter else { return };
        self.feedback_due |= is_urgent;
        if !carries_data(packet) {
            return;
        }
        if ordered.action == ReceiverAction::BeginMeasuring {
            meter.begin(now);
        }
        if ordered.action == ReceiverAction::MarkAndFitHistory || ordered.found == ReceiverAction::FitHistory
        {
            self.fit_history(now);
        }
    }

    /// `true` if p must be reported immediately: because it rose (RFC 4342, Section 10.3), or because a loss event was
    /// revoked (RFC 5348, Section 6).
    fn is_urgent(&mut self, outcome: Outcome) -> bool {
        if !outcome.new_event {
            return outcome.event_undone;
        }
        let rate = self.history.loss_event_rate();
        let previous = core::mem::replace(&mut self.previous_rate, rate);
        outcome.event_undone || rate > previous
    }

    /// Transmission time of the packet, if it has a Timestamp. A Timestamp Echo on the same packet measures the reverse
    /// path.
    fn read_clock(&mut self, arrived: Instant, options: &[DccpOption]) -> Option<Instant> {
        let sent = options.iter().find_map(|option| match option {
            DccpOption::Timestamp(value) => self.classification.read_clock(*value),
            _ => None,
        })?;
        for option in options {
            if let DccpOption::TimestampEcho { timestamp, elapsed } = option {
                self.classification.read_echo(arrived, sent, *timestamp, *elapsed);
            }
        }
        Some(sent)
    }

    /// X_recv for feedback that is sent now (RFC 5348, Section 6.2).
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

    /// The loss intervals to report: of the synthetic ones only the newest, which has the position of the one that it
    /// replaces.
    fn reported_intervals(&self) -> &[tfrc_intervals::LossInterval] {
        let intervals = self.history.intervals();
        let made_up = intervals.iter().skip(1).position(|interval| interval.lossy_end == interval.first);
        &intervals[..made_up.map_or(intervals.len(), |position| position + 2)]
    }

    /// Adds the Loss Intervals options to a packet that acknowledges the greatest number.
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
            let lossless_length = saturate(interval_end - interval.lossy_end, LossInterval::MAX_LENGTH);
            let loss_length = saturate(interval.lossy_end - interval.first, LossInterval::MAX_LOSS_LENGTH);
            // If the other lengths are too long for their fields, this one still must not exceed their sum (RFC 4342,
            // Section 6.1.1), or the report is invalid. The interval before the first loss may.
            let most = if loss_length > 0 { lossless_length + loss_length } else { LossInterval::MAX_LENGTH };
            let data_length = saturate(data_length, most.min(LossInterval::MAX_LENGTH));
            LossInterval { lossless_length, nonce: false, loss_length, data_length }
        });
        options.extend(tfrc::loss_intervals(skip as u8, reported));
    }
}

impl HcReceiver for Receiver {
    fn ccid(&self) -> Ccid {
        self.variant.ccid
    }

    fn on_received(&mut self, now: Instant, packet: ReceivedPacket<'_>) {
        let sequence = self.enter(now, &packet);
        let ordered = self.process_in_order(now, packet.arrived.unwrap_or(now), &packet);
        if ordered.outcome.reception != Reception::Duplicate {
            let is_adjacent = self.history.first_open() == sequence + 1;
            self.measure_arrival(now, &packet, sequence, is_adjacent);
            self.conclude(now, &packet, ordered);
        }
    }

    fn on_arrival(&mut self, now: Instant, packet: &ReceivedPacket<'_>) {
        let sequence = self.enter(now, packet);
        let before = sequence.saturating_sub(1 + packet.ndp_count.unwrap_or(0));
        let is_adjacent = before <= self.greatest.0;
        self.measure_arrival(now, packet, sequence, is_adjacent);
    }

    fn on_received_in_order(&mut self, now: Instant, arrived: Instant, packet: &ReceivedPacket<'_>) {
        let ordered = self.process_in_order(now, packet.arrived.unwrap_or(arrived), packet);
        if ordered.outcome.reception != Reception::Duplicate {
            self.conclude(now, packet, ordered);
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
            // The connection acknowledges a packet that was not passed here, because it affected only the sequence
            // numbers.
            self.greatest = (acknowledged, now);
            if !self.is_ordered {
                self.record(
                    now,
                    &ArrivedPacket { carries_data: false, ..ArrivedPacket::new(now, acknowledged) },
                );
            }
        }
        self.receive_rate = self.measure(now);
        self.previous_rate = self.history.loss_event_rate();
        self.reported_counter = self.counter;
        self.data_since_feedback = false;
        let round_trips = if self.rtt.is_reported() { 1 } else { 2 };
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
            self.feedback_due |= self.data_since_feedback && self.reports_by_clock;
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.feedback_deadline
    }

    fn on_feature(&mut self, _now: Instant, feature: FeatureNumber, value: u64) {
        match feature {
            FeatureNumber::SendLossEventRate => self.sends_loss_event_rate = value == 1,
            FeatureNumber::SendRttEstimate => self.rtt.set_reported(value == 1),
            FeatureNumber::Freezing => self.freezing = (value == 1).then(ReceiverMachine::default),
            _ => {}
        }
    }

    fn take_violation(&mut self) -> Option<Reset> {
        self.violation.take()
    }

    fn on_loss_cause(&mut self, sequence: SeqNo, cause: LossClass) {
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

/// Result of processing a packet in order.
#[derive(Clone, Copy, Debug)]
struct OrderedArrival {
    outcome: Outcome,
    /// The action that the sender's handover options require.
    action: ReceiverAction,
    /// The action that a loss event requires.
    found: ReceiverAction,
}

fn carries_data(packet: &ReceivedPacket<'_>) -> bool {
    matches!(packet.packet_type, PacketType::Data | PacketType::DataAck)
}

/// RFC 6323, Section 3.3: the Reset carries the option's first three bytes, of which the second is its length, unlike
/// the Option Errors of RFC 4340, Section 5.6.
fn invalid_estimate(option: &DccpOption) -> Reset {
    // Data 1 is the type, Data 2 the first byte of the data.
    let [kind, first, _] = Reset::option_error(option).data;
    Reset::with_data(ResetCode::OptionError, [kind, option.encoded_len() as u8, first])
}

fn saturate(length: u64, most: u32) -> u32 {
    u32::try_from(length).unwrap_or(most).min(most)
}
