//! The HC-sender: paces data packets, reads feedback.

use whimbrel_control::tfrc::{self, LossEventRate, SegmentSize, SenderConfig, TfrcSender};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::option::data_dropped::{self, DropCode};
use whimbrel_wire::option::tfrc::{RttEstimate, TfrcOption};
use whimbrel_wire::option::{Elapsed, FeatureNumber};
use whimbrel_wire::{DccpOption, PacketType, SeqNo};

use super::loss_record::LossRecord;
use super::sent_packets::{Sent, SentPackets};
use super::window_counter::WindowCounter;
use crate::ccid::{Ccid, Feedback, HalfConnection, HcSender, SenderMarks, SentPacket};
use crate::{SendVerdict, SenderSnapshot};

#[cfg(test)]
mod tests;

/// The round-trip time to reckon with before there is one (RFC 4340, Section 3.4).
const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// The sending end of a half-connection under CCID 3.
#[derive(Debug)]
pub struct Sender {
    tfrc: TfrcSender,
    counter: WindowCounter,
    sent: SentPackets,
    losses: LossRecord,
    /// The greatest Acknowledgement Number so far.
    acknowledged: SeqNo,
    /// Whether the Send RTT Estimate feature is on (RFC 6323).
    tells_rtt: bool,
    /// Since when the receiver waits for an acknowledgement of its Ack Vectors or Data Dropped.
    owes_ack_since: Option<Instant>,
    /// The latest time known, for the calls that bring none.
    now: Instant,
}

/// The options that make an acknowledgement a feedback packet.
#[derive(Clone, Copy, Debug, Default)]
struct FeedbackOptions {
    receive_rate: Option<DataRate>,
    loss_event_rate: Option<LossEventRate>,
    elapsed: Duration,
    slow_receiver: bool,
    has_state: bool,
}

impl FeedbackOptions {
    fn read(options: &[DccpOption]) -> Self {
        let mut read = Self::default();
        for option in options {
            match option {
                DccpOption::ElapsedTime(elapsed) | DccpOption::TimestampEcho { elapsed, .. } => {
                    read.elapsed = read.elapsed.max(Duration::from_nanos(Elapsed::nanos(*elapsed)));
                }
                DccpOption::SlowReceiver => read.slow_receiver = true,
                DccpOption::AckVector { .. } | DccpOption::DataDropped(_) => read.has_state = true,
                DccpOption::CcidSpecific { .. } => match TfrcOption::parse(option) {
                    Some(TfrcOption::ReceiveRate(rate)) => {
                        read.receive_rate = Some(DataRate::from_bytes_per_second(rate.into()));
                    }
                    Some(TfrcOption::LossEventRate(inverse)) => {
                        read.loss_event_rate = Some(LossEventRate::from_inverse(inverse));
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        read
    }
}

impl Sender {
    /// The sender of a half-connection that begins.
    pub fn new(half: &HalfConnection<'_>) -> Self {
        let expected = ByteCount::new(half.packet_size as u64);
        let config = SenderConfig {
            segment_size: SegmentSize::Average { expected },
            oscillation_damping: half.config.tfrc.oscillation_damping,
            ..SenderConfig::default()
        };
        let mut tfrc = TfrcSender::new(half.now, config);
        if let Some(rtt) = half.rtt {
            tfrc.on_round_trip_sample(half.now, rtt);
        }
        Self {
            tfrc,
            counter: WindowCounter::default(),
            sent: SentPackets::new(half.next_sequence),
            losses: LossRecord::new(half.next_sequence),
            acknowledged: half.next_sequence.previous(),
            tells_rtt: false,
            owes_ack_since: None,
            now: half.now,
        }
    }

    fn rtt(&self) -> Duration {
        self.tfrc.rtt().unwrap_or(DEFAULT_RTT)
    }

    /// p, where the packet tells of it, and whether of a new loss event.
    fn loss_event_rate(
        &mut self,
        feedback: &Feedback<'_>,
        told: Option<LossEventRate>,
    ) -> Option<(LossEventRate, bool)> {
        let Some(new_event) = self.losses.update(feedback.ack, feedback.options) else {
            return told.map(|told| (told, false));
        };
        let computed = self.losses.loss_event_rate();
        // The receiver may have discounted its history. It rounds 1/p up to a whole packet, so that
        // one and the same p can look lower when told.
        let rate = match told {
            Some(told)
                if told.to_inverse() != computed.to_inverse()
                    && !told.is_zero()
                    && told.as_f64() * self.losses.longest().ceil() >= 1.0 =>
            {
                told
            }
            _ => computed,
        };
        Some((rate, new_event))
    }

    /// Packets that Data Dropped options report, none of them reported before. How many were dropped
    /// in a receive buffer, and whether others make a new loss event.
    fn read_data_dropped(&mut self, feedback: &Feedback<'_>, old: SeqNo) -> (u32, bool) {
        let (mut buffer_drops, mut new_event) = (0, false);
        for run in data_dropped::runs(feedback.ack, feedback.options) {
            let Some(code) = run.drop else { continue };
            let mut sequence = run.oldest;
            while !sequence.is_after(run.newest) {
                if sequence.is_after(old) {
                    match code {
                        DropCode::ReceiveBuffer => buffer_drops += 1,
                        DropCode::ProtocolConstraints | DropCode::ApplicationNotListening => {}
                        DropCode::Corrupt | DropCode::DeliveredCorrupt | DropCode::Reserved(_) => {
                            if let Some(sent) = self.sent.get(sequence) {
                                new_event |= self.losses.on_dropped(sequence, sent.at, self.rtt());
                            }
                        }
                    }
                }
                sequence = sequence.next();
            }
        }
        (buffer_drops, new_event)
    }

    /// X_recv lowered for what the receiver could not take (RFC 4342, Section 5.2).
    fn adjust(&self, reported: DataRate, buffer_drops: u32, slow: bool) -> DataRate {
        let mut limit = DataRate::INFINITE;
        if slow {
            limit = reported;
        }
        if buffer_drops > 0 {
            let packet = self.tfrc.segment_size() / self.rtt();
            limit = limit.min((reported - packet * f64::from(buffer_drops)).max(reported.min(packet)));
        }
        reported.min(limit / 2.0)
    }
}

impl HcSender for Sender {
    fn ccid(&self) -> Ccid {
        Ccid::TFRC
    }

    fn poll_send(&mut self, now: Instant, _size: usize) -> SendVerdict {
        let at = self.tfrc.next_send_time();
        if at <= now { SendVerdict::Now } else { SendVerdict::At(at) }
    }

    fn on_sent(&mut self, now: Instant, packet: SentPacket, marks: SenderMarks<'_>) {
        self.now = now;
        let is_data = matches!(packet.packet_type, PacketType::Data | PacketType::DataAck);
        let counter = is_data.then(|| self.counter.stamp(now, self.rtt()));
        self.sent.push(packet.sequence, Sent { at: now, counter });
        if let Some(counter) = counter {
            *marks.ccval = counter;
            self.tfrc.on_sent(now, ByteCount::new(packet.payload as u64));
        }
        if matches!(packet.packet_type, PacketType::Ack | PacketType::DataAck) {
            self.owes_ack_since = None;
        }
        // RFC 6323, Section 3.3.
        if self.tells_rtt && (is_data || matches!(packet.packet_type, PacketType::Sync | PacketType::SyncAck))
        {
            let rtt =
                self.tfrc.rtt().map_or(RttEstimate::None, |rtt| RttEstimate::from_nanos(rtt.as_nanos()));
            marks.options.push(rtt.to_option());
        }
    }

    fn wants_ack_of_ack(&self, now: Instant) -> bool {
        // RFC 4342, Section 6.3: about once per round-trip time.
        self.owes_ack_since.is_some_and(|since| now - since >= self.rtt())
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.now = now;
        // What an older acknowledgement knows, the newer one told.
        if feedback.ack.is_before(self.acknowledged) || feedback.packet_type == PacketType::Data {
            return;
        }
        let old = core::mem::replace(&mut self.acknowledged, feedback.ack);
        let read = FeedbackOptions::read(feedback.options);
        let (buffer_drops, dropped_event) =
            if read.has_state { self.read_data_dropped(feedback, old) } else { (0, false) };
        if read.has_state {
            self.owes_ack_since.get_or_insert(now);
        }
        let sent = self.sent.acknowledge(feedback.ack);
        if let Some(counter) = sent.and_then(|sent| sent.counter) {
            self.counter.on_ack(now, counter);
        }
        let Some(reported) = read.receive_rate else { return };
        let Some((loss_event_rate, new_event)) = self.loss_event_rate(feedback, read.loss_event_rate) else {
            return;
        };
        // Without the time at which the packet was sent, the sample is the Timestamp Echo's, or none.
        let away =
            feedback.timestamp_rtt.or(self.tfrc.rtt()).map(|rtt| now.saturating_sub(rtt + read.elapsed));
        let Some(last_data_sent) = sent.map(|sent| sent.at).or(away) else { return };
        self.tfrc.on_feedback(
            now,
            &tfrc::Feedback {
                last_data_sent,
                delay: read.elapsed,
                receive_rate: self.adjust(reported, buffer_drops, read.slow_receiver),
                loss_event_rate,
                new_loss_event: new_event || dropped_event,
            },
        );
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        self.tfrc.on_nofeedback_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tfrc.nofeedback_deadline()
    }

    fn on_feature(&mut self, _now: Instant, feature: u8, value: u64) {
        if feature == u8::from(FeatureNumber::SendRttEstimate) {
            self.tells_rtt = value == 1;
        }
    }

    fn on_packet_size(&mut self, packet_size: usize) {
        self.tfrc.expect_segment_size(self.now, ByteCount::new(packet_size as u64));
    }

    fn snapshot(&self) -> SenderSnapshot {
        let tfrc = self.tfrc.snapshot();
        SenderSnapshot {
            allowed_rate: Some(tfrc.allowed_rate),
            rtt: tfrc.rtt,
            loss_event_rate: Some(tfrc.loss_event_rate.as_f64()),
            receive_rate: Some(tfrc.receive_rate),
            ..SenderSnapshot::default()
        }
    }
}
