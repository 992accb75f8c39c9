//! The end that sends the data (RFC 4341, Section 5).

use whimbrel_control::window::CongestionCause;
use whimbrel_control::window::rto::{RtoConfig, RttEstimator};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::option::{Elapsed, FeatureNumber};
use whimbrel_wire::{DccpOption, Ecn, PacketType, SeqNo};

use super::ack_ratio::AckRatio;
use super::flight::{AckOutcome, Flight};
use super::reordering::{Reduction, Reordering};
use super::window::CongestionWindow;
use super::{Ccid2, DEFAULT_RTT, DELAYED_ACK};
use crate::ack_vector::PacketArrival;
use crate::ccid::drop_reaction::{DropPolicy, DropReaction};
use crate::ccid::{
    FeatureRequest, Feedback, HalfConnection, HcSender, PathFollower, ReceivedPacket, Resume, SenderMarks,
    SentPacket,
};
use crate::{SendVerdict, SenderSnapshot};

/// The transmit timeout of RFC 6298, without its lower bound of a second, which DCCP omits (RFC 4341, Section
/// 5). In place of the clock granularity is the delay that the peer may add to a round trip: the delay of its
/// acknowledgements, which Elapsed Time options remove from the samples.
const TIMEOUT: RtoConfig = RtoConfig {
    minimum: DELAYED_ACK,
    maximum: Duration::from_secs(64),
    granularity: Duration::from_millis(250),
    ..RtoConfig::RFC6298
};

/// Upper bound on the packets per acknowledgement of large windows: otherwise Ack Vectors would cover two
/// windows.
const MAX_UNACKNOWLEDGED: u32 = 128;

/// Initial value of the feature Sequence Window (RFC 4340, Section 7.5.2).
const INITIAL_SEQUENCE_WINDOW: u64 = 100;

/// The end that sends the data.
#[derive(Debug)]
pub struct Sender {
    flight: Flight,
    window: CongestionWindow,
    reordering: Reordering,
    round_trip: RttEstimator,
    /// `true` if the round-trip time is the handshake's, which the first sample of data replaces.
    is_preliminary: bool,
    ack_ratio: AckRatio,
    /// Time from which a new Ack Ratio may be requested.
    ratio_settles: Instant,
    packet_size: usize,
    /// The last packet sent.
    last: Option<SeqNo>,
    /// The last packet sent with data.
    last_data: Option<SeqNo>,
    /// Expiration of the transmit timer, while data is in flight.
    deadline: Option<Instant>,
    /// Time at which the oldest packet in flight, which others have overtaken, is lost.
    late: Option<Instant>,
    /// The last packet sent when congestion was last detected. Losses and marks up to it belong to the same
    /// congestion event.
    recovery: Option<SeqNo>,
    /// The last packet sent when the window was full: acknowledgements up to it show that the path carries
    /// that much.
    full: Option<SeqNo>,
    /// The last packet sent when the round-trip time was last measured, once per window of data.
    measured: Option<SeqNo>,
    /// Time before which the window does not grow, as the receiver is slow (RFC 4340, Section 11.6).
    held_until: Instant,
    /// The most packets that one acknowledgement may release, and the number released.
    max_burst: Option<u32>,
    burst: u32,
    /// Reaction to Drop Codes.
    drop_policy: DropPolicy,
    /// `true` if the receiver sent Ack Vectors since this end last acknowledged a packet; number of data
    /// packets that this end has sent since.
    owes_ack: bool,
    data_since_ack: u32,
    /// See [`INITIAL_SEQUENCE_WINDOW`].
    sequence_window: u64,
    lost: u64,
    marked: u64,
}

/// Summary of an acknowledgement.
#[derive(Default)]
struct AckSummary {
    /// Number of newly acknowledged data packets, marked or not.
    arrived: u32,
    /// Number of those that the window grows by.
    growth: u32,
    /// Number of packets newly reported as marked.
    marked: u32,
    /// Number of packets newly taken for lost.
    lost: u32,
    /// The most severe congestion signal for packets sent after the last congestion event.
    congestion: Option<CongestionCause>,
    /// Round-trip time sample, for the window law.
    rtt: Option<Duration>,
}

impl Sender {
    /// Creates the sender of a new half-connection.
    pub fn new(half: &HalfConnection, config: &Ccid2) -> Self {
        let now = half.now;
        let mut round_trip = RttEstimator::new(TIMEOUT);
        if let Some(rtt) = half.rtt {
            round_trip.on_sample(rtt);
        }
        Self {
            flight: Flight::default(),
            window: CongestionWindow::new(now, half.packet_size, &config.law),
            reordering: Reordering::default(),
            round_trip,
            is_preliminary: half.rtt.is_some(),
            ack_ratio: AckRatio::new(),
            ratio_settles: now,
            packet_size: half.packet_size,
            last: None,
            last_data: None,
            deadline: None,
            late: None,
            recovery: None,
            full: None,
            measured: None,
            held_until: Instant::ZERO,
            max_burst: config.max_burst,
            burst: 0,
            drop_policy: config.drop_policy,
            owes_ack: false,
            data_since_ack: 0,
            sequence_window: INITIAL_SEQUENCE_WINDOW,
            lost: 0,
            marked: 0,
        }
    }

    /// The number of data packets that may be in the network. RFC 4340, Section 7.5.2 forbids more than
    /// Sequence Window packets per round-trip time.
    fn allowance(&self) -> u32 {
        self.window.packets().min(u32::try_from(self.sequence_window).unwrap_or(u32::MAX))
    }

    fn rtt_or_default(&self) -> Duration {
        self.round_trip.smoothed().unwrap_or(DEFAULT_RTT)
    }

    /// A window per round-trip time, once there is one.
    fn rate(&self) -> Option<DataRate> {
        let window = ByteCount::new(u64::from(self.window.packets()) * self.packet_size as u64);
        self.round_trip.smoothed().map(|rtt| window / rtt)
    }

    /// `true` if `sequence` was sent after congestion was last detected.
    fn is_fresh(&self, sequence: SeqNo) -> bool {
        self.recovery.is_none_or(|recovery| sequence.is_after(recovery))
    }

    fn on_arrival(
        &mut self,
        now: Instant,
        sequence: SeqNo,
        outcome: PacketArrival,
        feedback: &Feedback<'_>,
        summary: &mut AckSummary,
    ) {
        let is_overtaken = self.flight.is_below_highest(sequence);
        let is_first = match self.flight.on_arrival(sequence) {
            AckOutcome::First(sent) => {
                self.reordering.on_arrival(now, sent.at, is_overtaken);
                // Packets without data are acknowledged whenever the peer has something to send: no sample.
                if !sent.is_data {
                    return;
                }
                if sequence == feedback.ack {
                    summary.rtt = self.measure(now, sent.at, feedback);
                }
                summary.arrived += 1;
                true
            }
            // Its number was acknowledged before the vector arrived.
            AckOutcome::Repeated => false,
            AckOutcome::Unknown => {
                if !self.reordering.on_late(now, sequence) {
                    return;
                }
                self.lost -= 1;
                summary.arrived += 1;
                false
            }
        };
        match outcome {
            PacketArrival::Marked => {
                self.marked += 1;
                summary.marked += 1;
                self.reordering.on_mark();
                self.congested(sequence, CongestionCause::Mark, summary);
            }
            PacketArrival::Received => {
                // The window grows only if it was full and without congestion (Sections 5 and 5.1).
                let was_full = self.full.is_some_and(|full| !sequence.is_after(full));
                summary.growth += u32::from(is_first && was_full && self.is_fresh(sequence));
            }
        }
    }

    fn congested(&mut self, sequence: SeqNo, cause: CongestionCause, summary: &mut AckSummary) {
        // A scalable law limits its responses to marks itself.
        let counts = self.is_fresh(sequence) || (cause == CongestionCause::Mark && self.window.is_scalable());
        if counts && summary.congestion != Some(CongestionCause::Loss) {
            summary.congestion = Some(cause);
        }
    }

    /// Takes a round-trip time sample from packet `feedback.ack`. At most one per window of data counts for
    /// the transmit timer (Section 5).
    fn measure(&mut self, now: Instant, sent: Instant, feedback: &Feedback<'_>) -> Option<Duration> {
        let counts = self.measured.is_none_or(|measured| feedback.ack.is_after(measured));
        if counts {
            self.measured = self.last;
        }
        let elapsed = feedback.options.iter().find_map(|option| match option {
            DccpOption::ElapsedTime(elapsed) => Some(*elapsed),
            _ => None,
        });
        if !elapsed.is_none_or(Elapsed::is_exact) {
            return None;
        }
        let total = now - sent;
        let elapsed = Duration::from_nanos(elapsed.map_or(0, Elapsed::nanos));
        // Ignores an Elapsed Time longer than the total time.
        let sample = if elapsed < total { total - elapsed } else { total };
        if counts {
            if core::mem::take(&mut self.is_preliminary) {
                self.round_trip = RttEstimator::new(TIMEOUT);
            }
            self.round_trip.on_sample(sample);
        }
        self.reordering.on_rtt(now, sample);
        Some(sample)
    }

    /// Processes packets dropped by the receiving host rather than by the network (Section 5.2; RFC 4340,
    /// Section 11.7).
    fn read_data_dropped(&mut self, feedback: &Feedback<'_>, summary: &mut AckSummary) {
        for packet in feedback.data_dropped {
            match (self.drop_policy)(packet.code) {
                DropReaction::Ignore => {}
                DropReaction::SlowDown => {
                    self.window.shrink_by_one();
                    // RFC 4340, Section 11.7.1: no growth may offset it.
                    summary.growth = 0;
                }
                DropReaction::AsMarked => {
                    summary.marked += 1;
                    self.congested(packet.sequence, CongestionCause::Mark, summary);
                }
            }
            self.window.leave_slow_start();
        }
    }

    /// Updates the window from the summary of an acknowledgement.
    fn react(&mut self, now: Instant, summary: &AckSummary) {
        let cause = summary.congestion;
        if let Some(cause) = cause {
            if let (CongestionCause::Loss, Some(last)) = (cause, self.last) {
                self.reordering.on_reduction(self.reduction(), last, summary.lost);
            }
            self.window.halve(now, cause);
        }
        // Under a scalable law the data without marks open the window, regardless of the marks of others.
        if cause.is_some() && !(cause == Some(CongestionCause::Mark) && self.window.is_scalable()) {
            self.recovery = self.last;
        } else if summary.growth > 0 && now >= self.held_until {
            let pipe = self.flight.pipe();
            self.window.grow(now, summary.growth, pipe, self.round_trip.smoothed());
        }
    }

    /// After a timeout, a packet sent after all data in flight has arrived: the path carries packets again,
    /// and the data was lost. Ends the backoff of the timer, as RFC 6069 does for TCP and ICMP.
    fn end_backoff(&mut self, now: Instant, ack: SeqNo) {
        let is_later = self.last_data.is_some_and(|last| ack.is_after(last));
        if is_later && self.round_trip.backoffs() > 0 && self.flight.pipe() > 0 {
            self.lose_all(now);
            (self.recovery, self.measured, self.deadline) = (self.last, self.last, None);
        }
    }

    /// Takes packets for lost, and reacts to them and to the rest of an acknowledgement.
    fn conclude(&mut self, now: Instant, mut summary: AckSummary) {
        let patience = self.reordering.patience();
        let sent_by = patience.map_or(Instant::FAR_FUTURE, |patience| now.saturating_sub(patience));
        while let Some(sequence) = self.flight.take_lost(sent_by) {
            summary.lost += 1;
            self.reordering.on_lost(now, sequence);
            self.congested(sequence, CongestionCause::Loss, &mut summary);
        }
        self.lost += u64::from(summary.lost);
        self.late = patience.and_then(|patience| Some(self.flight.suspect()? + patience));
        self.window.on_delivery(now, summary.arrived, summary.marked, summary.rtt);
        self.react(now, &summary);
        self.burst = 0;
        if summary.arrived > 0 || summary.lost > 0 {
            self.set_timer(now);
        }
    }

    /// The state before a reduction.
    fn reduction(&self) -> Reduction {
        Reduction { window: self.window.saved(), recovery: self.recovery }
    }

    /// Returns to the state before the last reduction if all packets for which it was made have arrived.
    fn undo(&mut self) {
        if let Some(before) = self.reordering.take_undo() {
            self.window.restore(before.window);
            self.recovery = before.recovery;
        }
    }

    /// Takes all data in flight for lost. Returns their number.
    fn lose_all(&mut self, now: Instant) -> u32 {
        let mut lost = 0;
        self.flight.clear(|sequence| {
            lost += 1;
            self.reordering.on_lost(now, sequence);
        });
        self.lost += u64::from(lost);
        self.late = None;
        lost
    }

    fn set_timer(&mut self, now: Instant) {
        self.deadline = (self.flight.pipe() > 0).then(|| now + self.round_trip.rto());
    }
}

impl HcSender for Sender {
    fn poll_send(&mut self, _now: Instant, _size: usize) -> SendVerdict {
        let pipe = self.flight.pipe();
        let is_burst = self.max_burst.is_some_and(|max| self.burst >= max) && pipe > 0;
        if pipe < self.allowance() && !is_burst { SendVerdict::Now } else { SendVerdict::Blocked }
    }

    fn on_sent(&mut self, now: Instant, packet: SentPacket, marks: SenderMarks<'_>) {
        *marks.ccval = 0;
        let is_data = packet.packet_type.carries_data();
        if is_data {
            let (pipe, timeout) = (self.flight.pipe(), self.round_trip.rto());
            self.window.on_sent(now, pipe, packet.more_queued, timeout);
            self.burst += 1;
            self.last_data = Some(packet.sequence);
        }
        self.flight.push(packet.sequence, now, is_data);
        self.last = Some(packet.sequence);
        if is_data && self.flight.pipe() >= self.window.packets() {
            self.full = Some(packet.sequence);
        }
        if packet.packet_type.has_ack() {
            self.owes_ack = false;
            self.data_since_ack = 0;
        } else if is_data {
            self.data_since_ack += 1;
        }
        if self.deadline.is_none() {
            self.set_timer(now);
        }
    }

    fn needs_ack_of_ack(&self, _now: Instant) -> bool {
        // RFC 4341, Section 6.2: at least once per window, which includes the next packet.
        self.owes_ack && self.data_since_ack + 1 >= self.window.packets().min(MAX_UNACKNOWLEDGED)
    }

    fn on_received(&mut self, _now: Instant, packet: &ReceivedPacket<'_>) {
        let is_marked = packet.ecn == Ecn::Ce && !packet.packet_type.carries_data();
        self.ack_ratio.on_packet(packet.sequence, packet.ndp_count, is_marked);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let mut summary = AckSummary::default();
        for packet in feedback.ack_vector {
            self.on_arrival(now, packet.sequence, packet.outcome, feedback, &mut summary);
        }
        if feedback.options.iter().any(|option| matches!(option, DccpOption::AckVector { .. })) {
            self.owes_ack = true;
        } else if matches!(feedback.packet_type, PacketType::Ack | PacketType::DataAck) {
            // A conforming receiver does not send this, but the number acknowledges that packet.
            self.on_arrival(now, feedback.ack, PacketArrival::Received, feedback, &mut summary);
        }
        self.undo();
        self.read_data_dropped(feedback, &mut summary);
        self.conclude(now, summary);
        if let Some(last) = self.last {
            self.ack_ratio.on_ack(feedback.ack, last, self.window.packets());
        }
        self.end_backoff(now, feedback.ack);
    }

    fn on_slow_receiver(&mut self, now: Instant) {
        // Section 5.2, and RFC 4340, Section 11.6.
        self.window.leave_slow_start();
        self.held_until = now + self.rtt_or_default();
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.late.is_some_and(|late| late <= now) {
            self.conclude(now, AckSummary::default());
        }
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        let before = self.reduction();
        let lost = self.lose_all(now);
        if let Some(last) = self.last {
            self.reordering.on_reduction(before, last, lost);
        }
        self.window.collapse(now);
        self.round_trip.back_off();
        (self.recovery, self.measured, self.deadline) = (self.last, self.last, None);
        self.burst = 0;
        if let Some(last) = self.last {
            self.ack_ratio.on_ack(last, last, self.window.packets());
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.late).min()
    }

    fn poll_feature_request(&mut self, now: Instant) -> Option<FeatureRequest> {
        // RFC 4341, Section 6.1.2: at most once per round-trip time.
        if now < self.ratio_settles {
            return None;
        }
        let value = self.ack_ratio.take_request()?;
        self.ratio_settles = now + self.rtt_or_default();
        Some(FeatureRequest { feature: FeatureNumber::AckRatio, value })
    }

    fn on_feature(&mut self, _now: Instant, feature: FeatureNumber, value: u64) {
        match feature {
            FeatureNumber::AckRatio => {
                self.ack_ratio.set_in_force(value);
                self.window.set_ack_ratio(value);
            }
            FeatureNumber::SequenceWindow => self.sequence_window = value,
            _ => {}
        }
    }

    fn rtt(&self) -> Option<Duration> {
        self.round_trip.smoothed()
    }

    fn path_follower(&mut self) -> Option<&mut dyn PathFollower> {
        Some(self)
    }

    fn snapshot(&self) -> SenderSnapshot {
        SenderSnapshot {
            allowed_rate: self.rate(),
            rtt: self.round_trip.smoothed(),
            cwnd: Some(self.window.packets()),
            ssthresh: self.window.threshold(),
            pipe: Some(self.flight.pipe()),
            ack_ratio: Some(self.ack_ratio.in_force()),
            lost: self.lost,
            marked: self.marked,
            ..SenderSnapshot::default()
        }
    }
}

impl PathFollower for Sender {
    fn on_packet_size(&mut self, _now: Instant, packet_size: usize) {
        self.packet_size = packet_size;
    }

    fn leave(&self, _now: Instant) -> Resume {
        Resume { rate: self.rate(), window: Some(self.window.packets()), loss_interval: None }
    }

    fn resume(&mut self, _now: Instant, left: &Resume) {
        if let Some(window) = left.window {
            self.window.resume(window);
        }
    }
}
