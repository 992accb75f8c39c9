//! The HC-receiver: translates packets and options for [`TfrcReceiver`], which detects loss events, measures,
//! and decides when feedback is due.

use whimbrel_control::freeze::{FreezingReceiver, HandoverMarks, Marking, ProbeEnd};
use whimbrel_control::loss_detection::ArrivedPacket;
use whimbrel_control::loss_differentiation::{LossClass, OptionalDifferentiation, PacketArrival};
use whimbrel_control::tfrc::loss_history::HistoryConfig;
use whimbrel_control::tfrc::{
    MAX_LENGTH, MAX_LOSS_LENGTH, ReceiverConfig, RetransmitTimeout, RttSource, TfrcPacket, TfrcReceiver,
};
use whimbrel_units::{ByteCount, Duration, Instant};
use whimbrel_wire::option::tfrc::{self, LossInterval, ProbeRule, TfrcOption};
use whimbrel_wire::option::{Elapsed, FeatureNumber};
use whimbrel_wire::{DccpOption, Ecn, Options, PacketType, Reset, ResetCode, SeqNo};

use super::small_packets::dropped_packets;
use super::{TfrcConfig, Variant};
use crate::ReceiverSnapshot;
use crate::ccid::{
    HalfConnection, HcReceiver, LossClassifier, OrderedReceiver, PathFollower, ReceivedPacket, Resume,
};
use crate::event::LossVerdict;

mod classification;
mod marks;
mod unwrapper;

use classification::Classification;
use marks::MarkCounter;
use unwrapper::Unwrapper;

#[cfg(test)]
mod tests;

// The law saturates at the limits of the option's fields.
const _: () =
    assert!(MAX_LENGTH == LossInterval::MAX_LENGTH && MAX_LOSS_LENGTH == LossInterval::MAX_LOSS_LENGTH);

/// The receiving end of a half-connection under a CCID based on TFRC.
#[derive(Debug)]
pub struct Receiver {
    /// `true` if the variant is TFRC-SP.
    counts_small: bool,
    law: FreezingReceiver,
    classification: Classification,
    numbers: Unwrapper,
    /// Counts marks, if they are reported and no loss events.
    marks: Option<MarkCounter>,
    /// `true` if the Send Loss Event Rate feature is on.
    sends_loss_event_rate: bool,
    /// A protocol violation of the sender.
    violation: Option<Reset>,
}

impl Receiver {
    /// Creates the receiver of a variant for a new half-connection.
    pub fn new(half: &HalfConnection, variant: Variant, tfrc: &TfrcConfig) -> Self {
        let differentiation = tfrc.differentiation.map(|differentiation| differentiation.build());
        Self::with_differentiation(half, variant, tfrc, differentiation)
    }

    /// Creates a receiver that classifies losses by `differentiation`, regardless of the configuration.
    pub fn with_differentiation(
        half: &HalfConnection,
        variant: Variant,
        tfrc: &TfrcConfig,
        differentiation: OptionalDifferentiation,
    ) -> Self {
        let numbers = Unwrapper::new(half.next_sequence);
        let config = ReceiverConfig {
            history: HistoryConfig {
                first: Some(numbers.last()),
                discounting: tfrc.history_discounting,
                forgive_late: tfrc.forgive_late,
                follow_fades: tfrc.follow_fades,
                loss_threshold: half.loss_threshold,
                ..HistoryConfig::default()
            },
            retransmit_timeout: RetransmitTimeout::FourRoundTrips,
            small_packets: variant.small_packets,
            rtt: RttSource::WindowCounter,
            feedback_timer: tfrc.feedback_timer,
            // The Loss Intervals option holds whole packets only.
            whole_intervals: true,
            is_ordered: half.is_ordered,
        };
        Self {
            counts_small: variant.small_packets.is_some(),
            law: FreezingReceiver::new(TfrcReceiver::new(half.now, config, half.rtt)),
            classification: Classification::new(differentiation, tfrc.differentiation),
            numbers,
            marks: variant.delay_aware.map(|_| MarkCounter::default()),
            sends_loss_event_rate: false,
            violation: None,
        }
    }

    /// Unwraps the sequence number of a packet that has just arrived, and reads its round-trip times.
    fn enter(&mut self, now: Instant, packet: &ReceivedPacket<'_>) -> u64 {
        let sequence = self.numbers.unwrap(packet.sequence);
        if let Some(marks) = &mut self.marks {
            marks.on_received(packet);
        }
        self.law.tfrc_mut().rtt_mut().on_hint(packet.rtt_hint);
        for option in packet.options {
            if let DccpOption::CcidSpecific { kind: tfrc::RTT_ESTIMATE, .. } = option {
                self.read_rtt_estimate(now, option);
            }
        }
        sequence
    }

    fn read_rtt_estimate(&mut self, now: Instant, option: &DccpOption) {
        let rtt = self.law.tfrc_mut().rtt_mut();
        if let Some(TfrcOption::RttEstimate(estimate)) = TfrcOption::parse(option) {
            rtt.on_report(now, estimate.nanos().map(Duration::from_nanos));
        } else if rtt.is_reported() {
            self.violation = Some(invalid_estimate(option));
        }
    }

    /// Shows a packet to the classifier, in order of sequence numbers.
    fn classify(&mut self, packet: &ReceivedPacket<'_>, arrival: &ArrivedPacket) {
        let is_corrupt = arrival.carries_data && packet.corrupt;
        let size = ByteCount::new(packet.payload as u64);
        let sent = self.read_clock(arrival.at, packet.options);
        let shown = PacketArrival { at: arrival.at, sequence: arrival.sequence, size, sent };
        // A classifier that only evaluates has a loss detector of its own, which goes by the times in order.
        let at = self.law.tfrc_mut().time_in_order(arrival.at);
        self.classification.on_arrival(shown, &ArrivedPacket { at, ..*arrival }, is_corrupt);
    }

    /// Transmission time of the packet, if it has a Timestamp. A Timestamp Echo on the same packet measures
    /// the reverse path.
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

    /// The sender's handover state, from a packet's options, if that was agreed.
    fn marks(&self, options: &[DccpOption]) -> HandoverMarks {
        if self.law.state().is_some() { read_marks(options) } else { HandoverMarks::default() }
    }

    /// A packet in the terms of the law.
    fn translate(&self, packet: &ReceivedPacket<'_>, sequence: u64, at: Instant) -> TfrcPacket {
        TfrcPacket {
            arrival: ArrivedPacket {
                sequence,
                at,
                // Data that the application never receives count as lost: a late packet revokes no loss.
                marked: packet.ecn == Ecn::Ce && self.marks.is_none() || packet.discarded,
                carries_data: matches!(packet.packet_type, PacketType::Data | PacketType::DataAck),
                empty_before: packet.ndp_count.unwrap_or(0),
                window_counter: packet.ccval,
            },
            size: ByteCount::new(packet.payload as u64),
            // Reports acknowledge sequence numbers, and round-trip times are averaged.
            sent: None,
            sender_rtt: None,
        }
    }

    /// Adds the options about loss intervals to a packet that acknowledges the greatest number.
    fn write_loss_intervals(&self, options: &mut Options) {
        let report = self.law.tfrc().interval_report();
        let intervals = report.lengths().map(|lengths| LossInterval {
            lossless_length: lengths.lossless,
            nonce: false,
            loss_length: lengths.loss,
            data_length: lengths.data,
        });
        options.extend(tfrc::loss_intervals(report.skip_length as u8, intervals));
        if self.counts_small {
            options.extend(dropped_packets(report));
        }
    }
}

impl HcReceiver for Receiver {
    fn on_received(&mut self, now: Instant, packet: ReceivedPacket<'_>) {
        let sequence = self.enter(now, &packet);
        let packet_in = self.translate(&packet, sequence, packet.arrived.unwrap_or(now));
        self.classify(&packet, &packet_in.arrival);
        let marks = self.marks(packet.options);
        self.law.on_packet(now, &packet_in, marks, self.classification.algorithm());
    }

    fn feedback_due(&self, _now: Instant) -> bool {
        self.law.tfrc().feedback_due()
    }

    fn write_feedback(&mut self, now: Instant, ack: SeqNo, options: &mut Options) {
        if !self.law.tfrc().feedback_due() {
            return;
        }
        let acknowledged = self.numbers.near(ack);
        self.law.tfrc_mut().extend_to(now, acknowledged, self.classification.algorithm());
        let Some((report, unfrozen)) = self.law.poll_feedback(now) else { return };
        options.push(DccpOption::ElapsedTime(Elapsed::from_nanos(report.delay.as_nanos())));
        options.push(tfrc::receive_rate(report.receive_rate.as_bytes_per_second() as u32));
        self.write_loss_intervals(options);
        if self.sends_loss_event_rate {
            options.push(tfrc::loss_event_rate(report.loss_event_rate.to_inverse()));
        }
        if unfrozen {
            options.push(tfrc::unfrozen());
        }
        if let Some(marks) = &mut self.marks {
            options.push(marks.take().to_option());
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.law.tfrc_mut().handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.law.tfrc().poll_timeout()
    }

    fn on_feature(&mut self, _now: Instant, feature: FeatureNumber, value: u64) {
        match feature {
            FeatureNumber::SendLossEventRate => self.sends_loss_event_rate = value == 1,
            FeatureNumber::SendRttEstimate => {
                let source = if value == 1 { RttSource::Average } else { RttSource::WindowCounter };
                self.law.tfrc_mut().rtt_mut().set_source(source);
            }
            FeatureNumber::Freezing => self.law.set_assisted(value == 1),
            _ => {}
        }
    }

    fn take_violation(&mut self) -> Option<Reset> {
        self.violation.take()
    }

    fn snapshot(&self) -> ReceiverSnapshot {
        let tfrc = self.law.tfrc();
        let counts = tfrc.counts();
        ReceiverSnapshot {
            loss_event_rate: Some(tfrc.loss_event_rate().as_f64()),
            receive_rate: Some(tfrc.receive_rate()),
            rtt: tfrc.rtt().known(),
            lost: counts.lost,
            lost_wireless: counts.wireless,
            marked: counts.marked + self.marks.as_ref().map_or(0, MarkCounter::total),
            freeze: self.law.state(),
        }
    }

    fn ordered(&mut self) -> Option<&mut dyn OrderedReceiver> {
        Some(self)
    }

    fn path_follower(&mut self) -> Option<&mut dyn PathFollower> {
        Some(self)
    }

    fn classifier(&self) -> Option<&dyn LossClassifier> {
        Some(self)
    }

    fn classifier_mut(&mut self) -> Option<&mut dyn LossClassifier> {
        Some(self)
    }
}

impl OrderedReceiver for Receiver {
    fn on_arrival(&mut self, now: Instant, packet: &ReceivedPacket<'_>) {
        let sequence = self.enter(now, packet);
        let packet_in = self.translate(packet, sequence, packet.arrived.unwrap_or(now));
        self.law.tfrc_mut().on_arrival(now, &packet_in);
    }

    fn on_received_in_order(&mut self, now: Instant, arrived: Instant, packet: &ReceivedPacket<'_>) {
        let sequence = self.numbers.near(packet.sequence);
        let arrival = self.translate(packet, sequence, packet.arrived.unwrap_or(arrived)).arrival;
        self.classify(packet, &arrival);
        let marks = self.marks(packet.options);
        self.law.on_packet_in_order(now, &arrival, marks, self.classification.algorithm());
    }
}

impl PathFollower for Receiver {
    fn on_path_change(&mut self, _now: Instant) {
        self.classification.on_path_change();
    }

    fn leave(&self, _now: Instant) -> Resume {
        let p = self.law.tfrc().loss_event_rate().as_f64();
        Resume { loss_interval: (p > 0.0).then(|| (1.0 / p).round()), ..Resume::default() }
    }

    fn resume(&mut self, _now: Instant, left: &Resume) {
        if let Some(interval) = left.loss_interval {
            self.law.tfrc_mut().remember(interval);
        }
    }
}

impl LossClassifier for Receiver {
    fn on_loss_cause(&mut self, sequence: SeqNo, cause: LossClass) {
        self.classification.inform(self.numbers.near(sequence), cause);
    }

    fn has_verdicts(&self) -> bool {
        self.classification.has_verdicts()
    }

    fn take_verdict(&mut self) -> Option<LossVerdict> {
        self.classification.take_verdict()
    }
}

/// The sender's handover state, from a packet's options.
fn read_marks(options: &[DccpOption]) -> HandoverMarks {
    let end = |rule| match rule {
        ProbeRule::Loss => ProbeEnd::Loss,
        ProbeRule::LossOneInterval => ProbeEnd::LossOneInterval,
        ProbeRule::ReceiveRate { .. } | ProbeRule::Settle { .. } => ProbeEnd::ReceiveRate,
    };
    let mut marks = HandoverMarks::default();
    for option in options {
        let (rule, marking) = match TfrcOption::parse(option) {
            Some(TfrcOption::Restoring(rule)) => (rule, Marking::Restoring(end(rule))),
            Some(TfrcOption::Probing(rule @ ProbeRule::Settle { .. })) => (rule, Marking::Settle),
            Some(TfrcOption::Probing(rule)) => (rule, Marking::Probing(end(rule))),
            _ => continue,
        };
        // The first of each counts.
        if marks.marking == Marking::None {
            marks.marking = marking;
        }
        marks.rtt = marks.rtt.or(rule.rtt_micros().map(|micros| Duration::from_micros(micros.into())));
    }
    marks
}

/// RFC 6323, Section 3.3: the Reset carries the option's first three bytes, of which the second is its
/// length, unlike the Option Errors of RFC 4340, Section 5.6.
fn invalid_estimate(option: &DccpOption) -> Reset {
    // Data 1 is the type, Data 2 the first byte of the data.
    let [kind, first, _] = Reset::option_error(option).data;
    Reset::with_data(ResetCode::OptionError, [kind, option.encoded_len() as u8, first])
}
