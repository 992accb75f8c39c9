//! The TFRC receiver: measurements and feedback.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::loss_history::{BeforeFirstLoss, EventRule, HistoryConfig, LossCounts, LossHistory};
use super::receive_rate::ReceiveRateMeter;
use super::round_trip::MIN_RTT;
use super::{LossEventRate, RetransmitTimeout, SmallPackets, first_loss_interval};
use crate::loss_detection::{ArrivedPacket, Reception};
use crate::loss_differentiation::{LossClass, OptionalDifferentiation, PacketArrival};

#[cfg(test)]
mod tests;

/// Round-trip time assumed until the sender signals one (RFC 6323, Section 3.4).
pub const UNKNOWN_RTT: Duration = Duration::from_millis(500);

/// Configuration of a [`TfrcReceiver`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverConfig {
    /// Configuration of the loss history.
    pub history: HistoryConfig,
    /// t_RTO in the throughput equation, used to seed the loss history; it should equal that of the sender.
    pub retransmit_timeout: RetransmitTimeout,
    /// TFRC-SP instead of TFRC, as at the sender. The history then counts short losses, regardless of
    /// `history`.
    pub small_packets: Option<SmallPackets>,
}

/// A received data packet (RFC 5348, Section 3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPacket {
    /// Sequence number, unwrapped to 64 bits.
    pub sequence: u64,
    /// Size of the application data.
    pub size: ByteCount,
    /// `true` if the packet is marked.
    pub marked: bool,
    /// ts_i: send time by the sender's clock, if the packet carries it.
    pub sent: Option<Instant>,
    /// R_i: the sender's estimate of the round-trip time, if the packet carries it.
    pub sender_rtt: Option<Duration>,
}

/// Contents of a feedback packet (RFC 5348, Section 3.2.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FeedbackReport {
    /// Sequence number of the last data packet received.
    pub last_sequence: u64,
    /// t_recvdata: timestamp of that packet, if it had one.
    pub last_data_sent: Option<Instant>,
    /// t_delay: time since it was received.
    pub delay: Duration,
    /// X_recv.
    pub receive_rate: DataRate,
    /// p.
    pub loss_event_rate: LossEventRate,
    /// `true` if a loss event was found since the previous feedback.
    pub new_loss_event: bool,
}

/// Computes the length of the interval before the first loss from the data received so far (RFC 5348, Section
/// 6.3.1).
///
/// The target is the greatest receive rate so far, in packets per second, so that the sender's segment size
/// need not be known. A packet of TFRC-SP counts as only a part of the nominal segment of the equation.
pub fn interval_before_first_loss(
    before: BeforeFirstLoss,
    meter: Option<&ReceiveRateMeter>,
    now: Instant,
    rtt: Duration,
    timeout: RetransmitTimeout,
    small_packets: Option<&SmallPackets>,
) -> f64 {
    let peak = match (before, meter) {
        (BeforeFirstLoss::Data, Some(meter)) => {
            let segments = small_packets.map_or(1.0, |small| small.segments(meter.mean_size()));
            meter.peak_packets_per_second(now, rtt) * segments
        }
        _ => 0.0,
    };
    first_loss_interval(peak * rtt.as_secs_f64(), timeout.in_round_trips(rtt))
}

/// A TFRC receiver (RFC 5348, Section 6).
///
/// Call [`on_packet`](Self::on_packet) for each data packet and [`handle_timeout`](Self::handle_timeout) at
/// [`poll_timeout`](Self::poll_timeout); after either, send the result of
/// [`poll_feedback`](Self::poll_feedback).
#[derive(Debug)]
pub struct TfrcReceiver {
    config: ReceiverConfig,
    differentiation: OptionalDifferentiation,
    history: LossHistory,
    meter: Option<ReceiveRateMeter>,
    /// R_m: the round-trip time carried by the packet with the greatest sequence number.
    rtt: Option<Duration>,
    /// R_(m-1): R_m as of the last feedback, if there was one.
    measured_over: Option<Duration>,
    last: Option<(DataPacket, Instant)>,
    /// p_prev.
    previous_rate: LossEventRate,
    /// Expiration time of the feedback timer. If it is not set, the next packet is answered at once.
    feedback_deadline: Option<Instant>,
    feedback_due: bool,
    /// `true` if data arrived since the last feedback.
    data_since_feedback: bool,
    new_loss_event: bool,
}

impl TfrcReceiver {
    /// A receiver without arrivals. With a `differentiation`, losses classified as wireless count as received
    /// packets.
    pub fn new(config: ReceiverConfig, differentiation: OptionalDifferentiation) -> Self {
        Self {
            config,
            differentiation,
            history: LossHistory::new(HistoryConfig {
                count_short_losses: config.history.count_short_losses || config.small_packets.is_some(),
                ..config.history
            }),
            meter: None,
            rtt: None,
            measured_over: None,
            last: None,
            previous_rate: LossEventRate::ZERO,
            feedback_deadline: None,
            feedback_due: false,
            data_since_feedback: false,
            new_loss_event: false,
        }
    }

    /// Processes a data packet (RFC 5348, Section 6.1).
    pub fn on_packet(&mut self, now: Instant, packet: &DataPacket) {
        let rtt = packet.sender_rtt.or(self.rtt).unwrap_or(UNKNOWN_RTT).max(MIN_RTT);
        if let Some(algorithm) = &mut self.differentiation {
            let DataPacket { sequence, size, sent, .. } = *packet;
            algorithm.on_arrival(&PacketArrival { at: now, sequence, size, sent });
        }
        // Step 1.
        let arrival = ArrivedPacket { marked: packet.marked, ..ArrivedPacket::new(now, packet.sequence) };
        let (meter, timeout) = (self.meter.as_ref(), self.config.retransmit_timeout);
        let small = self.config.small_packets;
        let outcome = self.history.on_arrival(
            &arrival,
            EventRule::RoundTrip(rtt),
            self.differentiation.as_deref_mut(),
            |before| interval_before_first_loss(before, meter, now, rtt, timeout, small.as_ref()),
        );
        if outcome.reception == Reception::Duplicate {
            return;
        }
        if outcome.reception == Reception::Newest && packet.sender_rtt.is_some() {
            self.rtt = Some(rtt);
        }
        let meter = self.meter.get_or_insert_with(|| ReceiveRateMeter::new(now));
        let has_expired = self.feedback_deadline.is_none_or(|deadline| deadline <= now);
        let is_silence_over = has_expired && !self.data_since_feedback;
        // Until the sender signals a round-trip time, the timer does not run.
        if let (true, Some(_), Some(time)) = (is_silence_over, self.rtt, self.measured_over) {
            meter.on_silence(now, time);
        }
        meter.on_data(packet.size);
        self.last = Some((*packet, now));
        self.data_since_feedback = true;
        self.new_loss_event |= outcome.new_event;

        // The timer does not run before the first packet, while the round-trip time is not known (Section
        // 6.3), and after an expiration without anything to report (Section 6.1): then a packet is answered
        // at once. A revoked event is reported at once, too (Section 6).
        self.feedback_due |= self.feedback_deadline.is_none() || outcome.event_undone;
        if outcome.new_event {
            // Steps 2 to 4.
            let rate = self.history.loss_event_rate();
            self.feedback_due |= rate > self.previous_rate;
            self.previous_rate = rate;
        }
    }

    /// Handles the expiration of the feedback timer (RFC 5348, Section 6.2). Early calls have no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.feedback_deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.feedback_deadline = None;
        self.feedback_due |= self.data_since_feedback;
    }

    /// Expiration time of the feedback timer, if it is set.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.feedback_deadline
    }

    /// The feedback to send now, if one is due.
    pub fn poll_feedback(&mut self, now: Instant) -> Option<FeedbackReport> {
        if !self.feedback_due {
            return None;
        }
        let ((packet, received), meter) = (self.last?, self.meter.as_mut()?);
        let rtt = self.rtt.unwrap_or(UNKNOWN_RTT);
        // X_recv covers R_(m-1), the round-trip time as of the previous feedback; the very first feedback
        // has nothing to measure (Section 6.3).
        let receive_rate = match self.measured_over.replace(rtt) {
            Some(time) => meter.on_feedback(now, time).data,
            None => {
                meter.begin(now);
                DataRate::ZERO
            }
        };
        let p = self.history.loss_event_rate();
        self.previous_rate = p;
        self.feedback_deadline = self.rtt.map(|rtt| now + rtt);
        self.feedback_due = false;
        self.data_since_feedback = false;
        Some(FeedbackReport {
            last_sequence: packet.sequence,
            last_data_sent: packet.sent,
            delay: now - received,
            receive_rate,
            loss_event_rate: p,
            new_loss_event: core::mem::take(&mut self.new_loss_event),
        })
    }

    /// The current p.
    pub fn loss_event_rate(&self) -> LossEventRate {
        self.history.loss_event_rate()
    }

    /// The loss history.
    pub fn history(&self) -> &LossHistory {
        &self.history
    }

    /// Counters of losses so far.
    pub fn counts(&self) -> LossCounts {
        self.history.counts()
    }

    /// Reports the true cause of a loss to an omniscient loss differentiation.
    pub fn inform(&mut self, sequence: u64, cause: LossClass) {
        if let Some(algorithm) = &mut self.differentiation {
            algorithm.inform(sequence, cause);
        }
    }
}
