//! The HC-sender: paces data packets, reads feedback.

use whimbrel_control::capacity::Estimate;
use whimbrel_control::freeze::{FreezingSender, Marking, PlainRate, ProbeEnd, SenderState, Signs};
use whimbrel_control::tfrc::loss_intervals::INTERVALS;
use whimbrel_control::tfrc::send_rate::SendRateConfig;
use whimbrel_control::tfrc::window_counter::WindowCounter;
use whimbrel_control::tfrc::{
    self, BoundReport, DelayBound, LossEventRate, SegmentSize, SenderConfig, SmallPackets,
};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::option::tfrc::{EcnCounts, ProbeRule, RttEstimate, probing, restoring};
use whimbrel_wire::option::{FeatureNumber, timing};
use whimbrel_wire::{DccpOption, Options, PacketType, SeqNo};

use super::loss_record::LossRecord;
use super::sent_packets::{SentPackets, SentRecord};
use super::small_packets::{drop_counts, header_size, nominal_segment_size};
use super::{TfrcConfig, Variant};
use crate::ack_vector::PacketArrival;
use crate::ccid::drop_reaction::{DropPolicy, DropReaction};
use crate::ccid::{
    Feedback, Freezing, HalfConnection, HcSender, PathFollower, Resume, SenderMarks, SentPacket,
};
use crate::{SendVerdict, SenderSnapshot};

mod feedback_options;

use feedback_options::FeedbackOptions;

#[cfg(test)]
mod tests;

/// The round-trip time to assume without a measurement (RFC 4340, Section 3.4).
const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// Number of round-trip times for which the sender of small packets stores transmission times: a loss
/// interval is reported within about one of them, if no report is lost.
const REMEMBERED_ROUND_TRIPS: u64 = 8;

/// The sending end of a half-connection under a CCID based on TFRC.
#[derive(Debug)]
pub struct Sender {
    small_packets: Option<SmallPackets>,
    drop_policy: DropPolicy,
    tfrc: FreezingSender,
    /// The bound of the rate by the queueing delay and by marks, if the variant has one.
    bound: Option<Box<DelayBound>>,
    /// The first packet since the rate was last restored, and the number of that restoration.
    restored: (u64, SeqNo),
    /// Number of losses that are only a mark requested by this end.
    settled: u64,
    counter: WindowCounter,
    sent: SentPackets,
    losses: LossRecord,
    /// The greatest Acknowledgement Number so far.
    acknowledged: SeqNo,
    /// The Acknowledgement Number of the last feedback.
    reported: SeqNo,
    /// `true` if the Send RTT Estimate feature is on (RFC 6323).
    sends_rtt: bool,
    /// `true` if the Send Timestamps feature is on.
    sends_timestamps: bool,
    /// Time since which the receiver waits for an acknowledgement of its Ack Vectors or Data Dropped.
    owes_ack_since: Option<Instant>,
    /// Number of packets that Ack Vectors report as marked.
    marked: u64,
    /// Number of packets that ECN Counts report as marked. They are not among the losses.
    counted_marks: u64,
    /// The largest application datagram if the path sets no limit.
    max_datagram: usize,
    /// `true` if the rate is limited to the capacity of the local link.
    has_link_cap: bool,
}

impl Sender {
    /// Creates the sender of a variant for a new half-connection.
    pub fn new(half: &HalfConnection, variant: Variant, tfrc: &TfrcConfig) -> Self {
        let expected = ByteCount::new(half.packet_size as u64);
        let config = SenderConfig {
            segment_size: SegmentSize::Average { expected },
            oscillation_damping: tfrc.oscillation_damping,
            follow_fades: tfrc.follow_fades,
            small_packets: variant.small_packets,
            rate: SendRateConfig {
                faster_restart: tfrc.faster_restart,
                initial_window: tfrc.initial_window,
                least_loss_event_rate: tfrc.least_loss_event_rate,
                retransmit_timeout: tfrc.retransmit_timeout,
                ..SendRateConfig::default()
            },
            ..SenderConfig::default()
        };
        let mut law = FreezingSender::new(half.now, config, half.freeze);
        if let Some(rtt) = half.rtt {
            law.tfrc_mut().on_round_trip_sample(half.now, rtt);
        }
        Self {
            small_packets: variant.small_packets,
            drop_policy: variant.drop_policy,
            tfrc: law,
            bound: variant.delay_aware.map(|law| Box::new(DelayBound::new(law))),
            restored: (0, half.next_sequence),
            settled: 0,
            counter: WindowCounter::default(),
            sent: SentPackets::new(half.next_sequence),
            losses: LossRecord::new(half.next_sequence),
            acknowledged: half.next_sequence.previous(),
            reported: half.next_sequence.previous(),
            sends_rtt: false,
            sends_timestamps: false,
            owes_ack_since: None,
            marked: 0,
            counted_marks: 0,
            max_datagram: half.max_datagram,
            has_link_cap: tfrc.link_cap,
        }
    }

    fn rtt_or_default(&self) -> Duration {
        self.tfrc.tfrc().rtt().unwrap_or(DEFAULT_RTT)
    }

    /// p, if the packet reports it; whether there is a new loss event; and the effect on a freeze.
    fn loss_event_rate(
        &mut self,
        feedback: &Feedback<'_>,
        reported: Option<LossEventRate>,
    ) -> Option<(LossEventRate, bool, Signs)> {
        let Some(new_event) = self.losses.update(feedback.ack, feedback.options) else {
            return reported.map(|reported| (reported, false, Signs::default()));
        };
        self.count_losses(feedback);
        let computed = self.losses.loss_event_rate();
        // The receiver may have discounted its history. It rounds 1/p up to a whole packet, so that the same
        // p can appear lower in a report.
        let rate = match reported {
            Some(reported)
                if reported.to_inverse() != computed.to_inverse()
                    && !reported.is_zero()
                    // The receiver does not know of the losses that Data Dropped adds.
                    && (reported > computed || !self.losses.has_cuts())
                    && !self.losses.has_outage()
                    && reported.as_f64() * self.losses.longest().ceil() >= 1.0 =>
            {
                reported
            }
            _ => computed,
        };
        // From a report, which is rounded, to the value computed, which is not, p may rise by less than a
        // packet per loss interval. Nothing was lost; the law would take it for a loss in a data-limited
        // interval and halve X_recv.
        let last = self.tfrc.tfrc().loss_event_rate();
        let is_rounding = !new_event && rate > last && rate.to_inverse() == last.to_inverse();
        let rate = if is_rounding { last } else { rate };
        let (restoration, first) = self.restored;
        let is_known = restoration == self.tfrc.restorations();
        let lost = self.losses.newest_loss().is_some_and(|lost| is_known && !lost.is_before(first));
        let plain_rate = Some(PlainRate { rate: computed, intervals: self.losses.closed_intervals() });
        Some((rate, new_event, Signs { plain_rate, loss: Some(lost), ..Signs::default() }))
    }

    /// Processes Data Dropped: the number of packets for which the receiving host had no room, and whether
    /// others make a new loss event.
    fn read_data_dropped(&mut self, now: Instant, feedback: &Feedback<'_>) -> (u32, bool) {
        let (mut slow_downs, mut new_event) = (0, false);
        let rtt = self.rtt_or_default();
        for packet in feedback.data_dropped {
            match (self.drop_policy)(packet.code) {
                DropReaction::Ignore => {}
                DropReaction::SlowDown => slow_downs += 1,
                DropReaction::AsMarked => {
                    // A packet acknowledged before was sent at least that long ago.
                    let sent = self.sent.get(packet.sequence).map_or(now.saturating_sub(rtt), |sent| sent.at);
                    new_event |= self.losses.on_dropped(packet.sequence, sent, rtt);
                }
            }
        }
        (slow_downs, new_event)
    }

    /// Processes the options that make an acknowledgement feedback.
    fn read_feedback(&mut self, now: Instant, feedback: &Feedback<'_>, dropped_event: bool) {
        if feedback.packet_type == PacketType::Data {
            return;
        }
        let read = FeedbackOptions::read(feedback.options);
        // The newer acknowledgement has the information of an older one, unless it was no report: the answer
        // to a probe, or a forgery, which would suppress the reports of a whole round-trip time.
        let is_report = read.receive_rate.is_some() && !feedback.ack.is_before(self.reported);
        if feedback.ack.is_before(self.acknowledged) && !is_report {
            return;
        }
        self.acknowledged = self.acknowledged.max(feedback.ack);
        if read.has_state {
            self.owes_ack_since.get_or_insert(now);
        }
        let keep = match self.small_packets {
            None => Instant::FAR_FUTURE,
            Some(_) => now.saturating_sub(self.rtt_or_default() * REMEMBERED_ROUND_TRIPS),
        };
        let sent = self.sent.acknowledge(feedback.ack, keep);
        if let Some(counter) = sent.and_then(|sent| sent.counter) {
            self.counter.on_ack(now, counter);
        }
        if let Some(sent) = sent {
            self.tfrc.on_proof(now, sent.at);
        }
        let Some(reported) = read.receive_rate else { return };
        // Drop Counts would no longer fit the intervals of small packets.
        if self.small_packets.is_none() && self.tfrc.ends_silence(now) {
            self.losses.on_outage(self.reported.next(), feedback.ack);
        }
        let covered = feedback.ack.distance_from(self.reported).unsigned_abs();
        self.reported = feedback.ack;
        let Some((loss_event_rate, new_event, signs)) = self.loss_event_rate(feedback, read.loss_event_rate)
        else {
            return;
        };
        // Without the packet's transmission time, the sample comes from the Timestamp Echo, if any.
        let away = feedback
            .timestamp_rtt
            .or(self.tfrc.tfrc().rtt())
            .map(|rtt| now.saturating_sub(rtt + read.elapsed));
        let Some(last_data_sent) = sent.map(|sent| sent.at).or(away) else { return };
        // No time is left for the network, so there is no sample; a first one would be a round-trip time of
        // zero.
        let delay = if read.elapsed_is_saturated { now - last_data_sent } else { read.elapsed };
        if read.elapsed_is_saturated && self.tfrc.tfrc().rtt().is_none() {
            return;
        }
        let was_settling = self.tfrc.state() == SenderState::Settling;
        let feedback = tfrc::Feedback {
            last_data_sent,
            delay,
            receive_rate: reported,
            loss_event_rate,
            new_loss_event: new_event || dropped_event,
        };
        let signs = Signs { unfrozen: read.unfrozen, packets: Some(covered), ..signs };
        self.tfrc.on_feedback(now, &feedback, signs);
        // Without the packet's transmission time there is no sample of the delay.
        let sample =
            sent.filter(|_| !read.elapsed_is_saturated).map(|sent| (now - sent.at).saturating_sub(delay));
        self.bound_rate(now, &feedback, sample, read.ecn_counts);
        self.settled += u64::from(was_settling && self.tfrc.state() == SenderState::Normal);
    }

    /// Bounds the rate by the queueing delay and by marks, if the variant does, after a report.
    fn bound_rate(
        &mut self,
        now: Instant,
        feedback: &tfrc::Feedback,
        sample: Option<Duration>,
        counts: Option<EcnCounts>,
    ) {
        let Some(bound) = &mut self.bound else { return };
        let counts = counts.unwrap_or_default();
        self.counted_marks += u64::from(counts.marked);
        let report = BoundReport {
            now,
            last_data_sent: feedback.last_data_sent,
            sample,
            receive_rate: feedback.receive_rate,
            marked: counts.share(),
            restorations: self.tfrc.restorations(),
            is_restoring: matches!(self.tfrc.state(), SenderState::Frozen | SenderState::Restoring),
        };
        bound.on_report(self.tfrc.tfrc_mut(), &report);
    }

    /// Adds the freeze options to a packet with data (`papers/freeze`, Section 4.3). The receiver reads them
    /// on packets with data only, as no others affect the rate.
    fn mark_freezing(&mut self, sequence: SeqNo, options: &mut Options) {
        if self.restored.0 != self.tfrc.restorations() {
            self.restored = (self.tfrc.restorations(), sequence);
        }
        let micros = self.tfrc.tfrc().rtt().map_or(0, |rtt| rtt.as_micros());
        let rtt_micros = u32::try_from(micros).unwrap_or(u32::MAX);
        let rule = |end| match end {
            ProbeEnd::Loss => ProbeRule::Loss,
            ProbeEnd::LossOneInterval => ProbeRule::LossOneInterval,
            ProbeEnd::ReceiveRate => ProbeRule::ReceiveRate { rtt_micros },
        };
        match self.tfrc.marking() {
            Marking::None => {}
            Marking::Restoring(end) => options.push(restoring(rule(end))),
            Marking::Probing(end) => {
                self.losses.expect_fit(if end == ProbeEnd::LossOneInterval { 1 } else { INTERVALS });
                options.push(probing(rule(end)));
            }
            Marking::Settle => {
                self.losses.expect_fit(INTERVALS);
                options.push(probing(ProbeRule::Settle { rtt_micros }));
            }
        }
    }

    /// The part of TFRC-SP in processing a report of loss intervals.
    fn count_losses(&mut self, feedback: &Feedback<'_>) {
        if self.small_packets.is_some() {
            let (rtt, sent) = (self.rtt_or_default(), &self.sent);
            let sent = |sequence| sent.get(sequence).map(|sent| sent.at);
            self.losses.count_losses(drop_counts(feedback.options), sent, rtt);
        }
    }
}

impl HcSender for Sender {
    fn poll_send(&mut self, now: Instant, _size: usize) -> SendVerdict {
        match self.tfrc.next_send_time() {
            None => SendVerdict::Blocked,
            Some(at) if at <= now => SendVerdict::Now,
            Some(at) => SendVerdict::At(at),
        }
    }

    fn on_sent(&mut self, now: Instant, packet: SentPacket, marks: SenderMarks<'_>) {
        let is_data = matches!(packet.packet_type, PacketType::Data | PacketType::DataAck);
        let counter = is_data.then(|| self.counter.stamp(now, self.rtt_or_default()));
        self.sent.push(packet.sequence, SentRecord { at: now, counter });
        if let Some(counter) = counter {
            *marks.ccval = counter;
            self.tfrc.on_sent(now, ByteCount::new(packet.payload as u64));
            self.mark_freezing(packet.sequence, marks.options);
        }
        if matches!(packet.packet_type, PacketType::Ack | PacketType::DataAck) {
            self.owes_ack_since = None;
        }
        // RFC 6323, Section 3.3.
        if self.sends_rtt && (is_data || matches!(packet.packet_type, PacketType::Sync | PacketType::SyncAck))
        {
            let rtt = self
                .tfrc
                .tfrc()
                .rtt()
                .map_or(RttEstimate::None, |rtt| RttEstimate::from_nanos(rtt.as_nanos()));
            marks.options.push(rtt.to_option());
        }
        if self.sends_timestamps && is_data {
            marks.options.push(DccpOption::Timestamp(timing::timestamp_from_nanos(now.as_nanos())));
        }
    }

    fn marks_len(&self, packet_type: PacketType) -> usize {
        // The longest forms of RTT Estimate, and of Restoring and Probing; Timestamp has only one.
        const RTT_ESTIMATE_LEN: usize = 5;
        const FREEZING_LEN: usize = 6;
        const TIMESTAMP_LEN: usize = 6;
        let is_data = matches!(packet_type, PacketType::Data | PacketType::DataAck);
        let sends_rtt = is_data || matches!(packet_type, PacketType::Sync | PacketType::SyncAck);
        let len = |is_written: bool, len: usize| if is_written { len } else { 0 };
        len(self.sends_rtt && sends_rtt, RTT_ESTIMATE_LEN)
            + len(is_data && self.tfrc.marking() != Marking::None, FREEZING_LEN)
            + len(is_data && self.sends_timestamps, TIMESTAMP_LEN)
    }

    fn needs_ack_of_ack(&self, now: Instant) -> bool {
        // RFC 4342, Section 6.3: about once per round-trip time.
        self.owes_ack_since.is_some_and(|since| now - since >= self.rtt_or_default())
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.marked +=
            feedback.ack_vector.iter().filter(|packet| packet.outcome == PacketArrival::Marked).count()
                as u64;
        let (slow_downs, dropped_event) = self.read_data_dropped(now, feedback);
        self.read_feedback(now, feedback, dropped_event);
        if slow_downs > 0 {
            self.tfrc.tfrc_mut().on_receive_buffer_drops(now, DEFAULT_RTT, slow_downs);
        }
    }

    fn on_slow_receiver(&mut self, now: Instant) {
        self.tfrc.tfrc_mut().on_slow_receiver(now, DEFAULT_RTT);
    }

    fn handle_timeout(&mut self, now: Instant) {
        let reductions = self.tfrc.tfrc().nofeedback_reductions();
        self.tfrc.on_nofeedback_timeout(now);
        if let Some(bound) = &mut self.bound
            && self.tfrc.tfrc().nofeedback_reductions() > reductions
        {
            bound.on_nofeedback(self.tfrc.tfrc_mut());
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tfrc.tfrc().nofeedback_deadline()
    }

    fn on_feature(&mut self, _now: Instant, feature: FeatureNumber, value: u64) {
        match feature {
            FeatureNumber::SendRttEstimate => self.sends_rtt = value == 1,
            FeatureNumber::Freezing => self.tfrc.set_assisted(value == 1),
            FeatureNumber::SendTimestamps => self.sends_timestamps = value == 1,
            FeatureNumber::AllowShortSequenceNumbers => {
                self.tfrc.tfrc_mut().set_header_size(header_size(value == 1));
            }
            _ => {}
        }
    }

    fn rtt(&self) -> Option<Duration> {
        self.tfrc.tfrc().rtt()
    }

    fn freezing(&mut self) -> Option<&mut dyn Freezing> {
        Some(self)
    }

    fn path_follower(&mut self) -> Option<&mut dyn PathFollower> {
        Some(self)
    }

    fn snapshot(&self) -> SenderSnapshot {
        let tfrc = self.tfrc.tfrc().snapshot();
        SenderSnapshot {
            allowed_rate: Some(tfrc.allowed_rate),
            rtt: tfrc.rtt,
            loss_event_rate: Some(tfrc.loss_event_rate.as_f64()),
            receive_rate: Some(tfrc.receive_rate),
            lost: self.losses.losses().saturating_sub(self.marked + self.settled),
            marked: self.marked + self.counted_marks,
            freeze: Some(self.tfrc.state()),
            ..SenderSnapshot::default()
        }
    }
}

impl Freezing for Sender {
    fn on_freeze(&mut self, now: Instant) {
        self.tfrc.freeze(now);
    }

    fn on_unfreeze(&mut self, now: Instant) {
        self.tfrc.unfreeze(now);
    }

    fn on_probe(&mut self, now: Instant) -> bool {
        self.tfrc.probe(now)
    }
}

impl PathFollower for Sender {
    fn on_packet_size(&mut self, now: Instant, packet_size: usize) {
        let size = match self.small_packets {
            None => ByteCount::new(packet_size as u64),
            Some(small) => nominal_segment_size(small, packet_size, self.max_datagram),
        };
        self.tfrc.tfrc_mut().expect_segment_size(now, size);
    }

    fn on_path_change(&mut self, _now: Instant) {
        if let Some(bound) = &mut self.bound {
            bound.on_path_change(self.tfrc.tfrc_mut());
        }
    }

    fn on_link_estimate(&mut self, now: Instant, estimate: Option<Estimate>) {
        if self.has_link_cap {
            let cap = estimate.map_or(DataRate::INFINITE, |estimate| estimate.capacity);
            self.tfrc.tfrc_mut().set_max_rate(cap);
        }
        self.tfrc.set_link_estimate(now, estimate);
    }

    fn leave(&self, _now: Instant) -> Resume {
        Resume { rate: Some(self.tfrc.tfrc().snapshot().allowed_rate), ..Resume::default() }
    }

    fn resume(&mut self, _now: Instant, left: &Resume) {
        if let Some(rate) = left.rate.filter(|_| self.tfrc.tfrc().rtt().is_some()) {
            self.tfrc.tfrc_mut().begin_at(rate / 2.0);
        }
    }
}
