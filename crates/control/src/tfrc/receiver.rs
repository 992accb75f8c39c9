//! The TFRC receiver: measurements and feedback.
//!
//! One implementation serves RFC 5348, in which data packets carry the sender's round-trip time, and its
//! profile for DCCP (RFC 4342 and RFC 6323), in which they carry a window counter or an average is kept;
//! [`RttSource`] selects.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::loss_history::{BeforeFirstLoss, EventRule, HistoryConfig, LossCounts, LossHistory, Outcome};
use super::receive_rate::ReceiveRateMeter;
use super::receiver_rtt::ReceiverRtt;
use super::window_counter::ahead;
use super::{LossEventRate, RetransmitTimeout, SmallPackets, first_loss_interval};
use crate::loss_detection::{ArrivedPacket, Reception};
use crate::loss_differentiation::LossDifferentiation;

mod config;
mod interval_report;

pub use config::ReceiverConfig;
pub use interval_report::{IntervalLengths, IntervalReport, MAX_LENGTH, MAX_LOSS_LENGTH};

#[cfg(test)]
mod tests;

/// A received packet of the controlled stream, or one that shares its sequence numbers
/// ([`ArrivedPacket::carries_data`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TfrcPacket {
    /// Its position in the stream, its arrival time and its marks.
    pub arrival: ArrivedPacket,
    /// Size of the application data.
    pub size: ByteCount,
    /// ts_i: send time by the sender's clock, if the packet carries it (RFC 5348, Section 3.2.1).
    pub sent: Option<Instant>,
    /// R_i: the sender's estimate of the round-trip time, if the packet carries it; used with
    /// [`RttSource::Latest`](super::RttSource::Latest).
    pub sender_rtt: Option<Duration>,
}

/// Contents of a feedback packet (RFC 5348, Section 3.2.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FeedbackReport {
    /// The greatest sequence number received.
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

/// The packet with the greatest sequence number.
#[derive(Clone, Copy, Debug)]
struct Greatest {
    /// The number that follows it.
    next: u64,
    /// Its arrival time.
    at: Instant,
    /// Its timestamp.
    sent: Option<Instant>,
}

/// A TFRC receiver (RFC 5348, Section 6).
///
/// Call [`on_packet`](Self::on_packet) for each packet and [`handle_timeout`](Self::handle_timeout) at
/// [`poll_timeout`](Self::poll_timeout); after either, send the result of
/// [`poll_feedback`](Self::poll_feedback).
///
/// A receiver of resequenced packets calls [`on_arrival`](Self::on_arrival) when a packet arrives, for the
/// part that depends on time, and [`on_packet_in_order`](Self::on_packet_in_order) when it leaves the buffer,
/// for the part that depends on order.
#[derive(Debug)]
pub struct TfrcReceiver {
    config: ReceiverConfig,
    history: LossHistory,
    /// `true` once a packet has arrived.
    started: bool,
    meter: Option<ReceiveRateMeter>,
    rtt: ReceiverRtt,
    greatest: Greatest,
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
    /// R_(m-1): the round-trip time when the last feedback was sent, if there was one.
    measured_over: Option<Duration>,
    /// Expiration time of the feedback timer. If it is not set, the next data packet is answered at once.
    feedback_deadline: Option<Instant>,
    feedback_due: bool,
    /// `true` if data arrived since the last feedback.
    data_since_feedback: bool,
    new_loss_event: bool,
    /// The average loss interval when this path was last in use: it replaces the interval before the first
    /// loss, which otherwise derives from the rate until then.
    remembered_interval: Option<f64>,
}

impl TfrcReceiver {
    /// A receiver without arrivals, created at `now`. `rtt` is an estimate of the round-trip time from
    /// another source, if there is one.
    pub fn new(now: Instant, config: ReceiverConfig, rtt: Option<Duration>) -> Self {
        let history = HistoryConfig {
            count_short_losses: config.history.count_short_losses || config.small_packets.is_some(),
            ..config.history
        };
        Self {
            config: ReceiverConfig { history, ..config },
            history: LossHistory::new(history),
            started: false,
            meter: None,
            rtt: ReceiverRtt::new(config.rtt, rtt).following_rises(history.follow_fades),
            greatest: Greatest { next: history.first.unwrap_or(u64::MAX), at: now, sent: None },
            data_may_be_missing: false,
            latest: now,
            counter: 0,
            reported_counter: 0,
            previous_rate: LossEventRate::ZERO,
            receive_rate: DataRate::ZERO,
            measured_over: None,
            feedback_deadline: None,
            feedback_due: false,
            data_since_feedback: false,
            new_loss_event: false,
            remembered_interval: None,
        }
    }

    /// Processes a packet (RFC 5348, Section 6.1). `now` may be later than its arrival. `classifier` may
    /// classify losses as wireless, which then count as received packets; callers must call its
    /// [`on_arrival`](LossDifferentiation::on_arrival) before.
    pub fn on_packet(
        &mut self,
        now: Instant,
        packet: &TfrcPacket,
        classifier: Option<&mut (dyn LossDifferentiation + 'static)>,
    ) -> Outcome {
        let sequence = packet.arrival.sequence;
        self.start(now, sequence);
        self.read_sender_rtt(packet);
        let outcome = self.record_in_order(now, &packet.arrival, classifier);
        if outcome.reception != Reception::Duplicate {
            let is_adjacent = self.history.first_open() == sequence + 1;
            self.measure_arrival(now, packet, is_adjacent);
            self.report_event(outcome);
        }
        outcome
    }

    /// Processes the part of a packet that depends on its arrival: round-trip time, X_recv and the feedback
    /// timer.
    pub fn on_arrival(&mut self, now: Instant, packet: &TfrcPacket) {
        let arrival = &packet.arrival;
        self.start(now, arrival.sequence);
        self.read_sender_rtt(packet);
        let is_adjacent = arrival.sequence.saturating_sub(arrival.empty_before) <= self.greatest.next;
        self.measure_arrival(now, packet, is_adjacent);
    }

    /// Processes the part of a packet that depends on the order of sequence numbers: the loss history and
    /// everything derived from it. With a `loss_threshold` of one, packets missing before it are lost.
    pub fn on_packet_in_order(
        &mut self,
        now: Instant,
        arrival: &ArrivedPacket,
        classifier: Option<&mut (dyn LossDifferentiation + 'static)>,
    ) -> Outcome {
        let outcome = self.record_in_order(now, arrival, classifier);
        if outcome.reception != Reception::Duplicate {
            self.report_event(outcome);
        }
        outcome
    }

    /// Begins with packet `sequence`, unless one has arrived before. The first packet may be older than the
    /// number expected, as with DCCP when it completes the handshake and carries data.
    pub(crate) fn start(&mut self, now: Instant, sequence: u64) {
        if !core::mem::replace(&mut self.started, true) && sequence < self.greatest.next {
            self.history = LossHistory::new(HistoryConfig { first: Some(sequence), ..self.config.history });
            self.greatest = Greatest { next: sequence, at: now, sent: None };
        }
    }

    /// Time at which a packet that arrived at `arrived` counts in the order of sequence numbers: a packet
    /// that overtook one before it in order cannot be released before that one arrived.
    pub fn time_in_order(&mut self, arrived: Instant) -> Instant {
        self.latest = self.latest.max(arrived);
        self.latest
    }

    fn read_sender_rtt(&mut self, packet: &TfrcPacket) {
        // R_m is the value in the packet with the greatest sequence number (RFC 5348, Section 6.2).
        if let Some(rtt) = packet.sender_rtt.filter(|_| packet.arrival.sequence >= self.greatest.next) {
            self.rtt.on_latest(rtt);
        }
    }

    fn record_in_order(
        &mut self,
        now: Instant,
        arrival: &ArrivedPacket,
        classifier: Option<&mut (dyn LossDifferentiation + 'static)>,
    ) -> Outcome {
        let at = self.time_in_order(arrival.at);
        self.record(now, &ArrivedPacket { at, ..*arrival }, classifier)
    }

    /// RFC 4342, Section 10.2, or RFC 5348, Section 5.2 (RFC 6323, Section 2.2.2).
    fn event_rule(&self) -> EventRule {
        if self.rtt.is_reported() { EventRule::RoundTrip(self.rtt.value()) } else { EventRule::WindowCounter }
    }

    fn record(
        &mut self,
        now: Instant,
        arrival: &ArrivedPacket,
        classifier: Option<&mut (dyn LossDifferentiation + 'static)>,
    ) -> Outcome {
        let (rule, meter, rtt) = (self.event_rule(), self.meter.as_ref(), self.rtt.value());
        let ReceiverConfig { small_packets, retransmit_timeout, whole_intervals, .. } = &self.config;
        let remembered = self.remembered_interval;
        let first_interval = |before| {
            if let Some(interval) = remembered {
                return interval;
            }
            let timeout = *retransmit_timeout;
            let length = interval_before_first_loss(before, meter, now, rtt, timeout, small_packets.as_ref());
            if *whole_intervals { libm::round(length) } else { length }
        };
        self.history.on_arrival(arrival, rule, classifier, first_interval)
    }

    /// `is_adjacent`: no packet is missing right before this one.
    fn measure_arrival(&mut self, now: Instant, packet: &TfrcPacket, is_adjacent: bool) {
        let arrival = &packet.arrival;
        let is_data = arrival.carries_data;
        if arrival.sequence >= self.greatest.next {
            let first_missing = self.greatest.next;
            self.data_may_be_missing |= arrival.sequence.saturating_sub(arrival.empty_before) > first_missing;
            self.greatest =
                Greatest { next: arrival.sequence.saturating_add(1), at: arrival.at, sent: packet.sent };
            if is_data {
                self.counter = arrival.window_counter;
                // A data packet is also not adjacent to the one before it if a packet without data came in
                // between and data before that are lost: after an outage their time would pass for a
                // round-trip time.
                let is_missing = core::mem::take(&mut self.data_may_be_missing);
                self.rtt.on_counter(arrival.at, arrival.window_counter, is_adjacent && !is_missing);
            }
        }
        if !is_data {
            return;
        }
        let meter = self.meter.get_or_insert_with(|| ReceiveRateMeter::new(now));
        // The timer may have expired without a call of `handle_timeout`, because the process was stopped.
        let has_expired = self.feedback_deadline.is_none_or(|deadline| deadline <= now);
        // While the timer does not run, because the round-trip time is not known, its expiration means
        // nothing.
        let is_silence_over = has_expired && !self.data_since_feedback && self.rtt.timer().is_some();
        if let Some(time) = self.measured_over.filter(|_| is_silence_over) {
            // Otherwise X_recv would be the average over the silence, and the limit of 2 X_recv would make
            // the sender wait as long again.
            meter.on_silence(now, time);
        }
        meter.on_data(packet.size);
        self.data_since_feedback = true;
        // A timer that was set for a much longer round-trip time would keep the sender's rate for all of it.
        // Feedback more than once per round-trip time "allows faster response to changing RTT measurements"
        // (RFC 5348, Section 6).
        self.feedback_due |= self.rtt.take_fall();
        // RFC 4342, Section 10.3: a round-trip time has passed if the counter has advanced by four.
        let by_counter = !self.rtt.is_reported() && ahead(self.counter, self.reported_counter) >= 4;
        // The timer does not run before the first packet, while the round-trip time is not known (RFC 5348,
        // Section 6.3), and after an expiration without anything to report (Section 6.1): then a packet is
        // answered at once.
        self.feedback_due |= by_counter || self.feedback_deadline.is_none();
    }

    /// Makes feedback due if p must be reported immediately: because it rose (RFC 5348, Section 6.1; RFC
    /// 4342, Section 10.3), or because a loss event was revoked (RFC 5348, Section 6).
    fn report_event(&mut self, outcome: Outcome) {
        let mut is_urgent = outcome.event_undone;
        if outcome.new_event {
            // Steps 2 to 4 of RFC 5348, Section 6.1. An event that lowers p, as one that ends an interval
            // longer than the average can, waits for the timer.
            let rate = self.history.loss_event_rate();
            is_urgent |= rate > self.previous_rate;
            self.previous_rate = rate;
            self.new_loss_event = true;
        }
        // Without data there is nothing to report.
        self.feedback_due |= is_urgent && self.meter.is_some();
    }

    /// Handles the expiration of the feedback timer (RFC 5348, Section 6.2). Early calls have no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.feedback_deadline.is_some_and(|deadline| deadline <= now) {
            self.feedback_deadline = None;
            self.feedback_due |= self.data_since_feedback && self.config.feedback_timer;
        }
    }

    /// Expiration time of the feedback timer, if it is set.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.feedback_deadline
    }

    /// Makes feedback due.
    pub fn request_feedback(&mut self) {
        self.feedback_due = true;
    }

    /// `true` if feedback is due.
    pub fn feedback_due(&self) -> bool {
        self.feedback_due
    }

    /// The next feedback acknowledges packet `sequence`, which was not passed here, as it carried nothing of
    /// the stream.
    pub fn extend_to(
        &mut self,
        now: Instant,
        sequence: u64,
        classifier: Option<&mut (dyn LossDifferentiation + 'static)>,
    ) {
        if sequence < self.greatest.next {
            return;
        }
        self.greatest = Greatest { next: sequence + 1, at: now, sent: None };
        // With resequencing, the history is extended when a later packet leaves the buffer.
        if !self.config.is_ordered {
            let arrival = ArrivedPacket { carries_data: false, ..ArrivedPacket::new(now, sequence) };
            self.record(now, &arrival, classifier);
        }
    }

    /// The feedback to send now, if it is due.
    pub fn poll_feedback(&mut self, now: Instant) -> Option<FeedbackReport> {
        if !self.feedback_due {
            return None;
        }
        self.feedback_due = false;
        self.receive_rate = self.measure(now);
        self.previous_rate = self.history.loss_event_rate();
        self.reported_counter = self.counter;
        self.data_since_feedback = false;
        // By the window counter, feedback is triggered by data; the timer only backs that up (RFC 4342,
        // Section 10.3).
        let round_trips = if self.rtt.is_reported() { 1 } else { 2 };
        self.feedback_deadline =
            self.rtt.timer().map(|rtt| now + rtt.max(Duration::from_nanos(1)) * round_trips);
        Some(FeedbackReport {
            last_sequence: self.greatest(),
            last_data_sent: self.greatest.sent,
            delay: now - self.greatest.at,
            receive_rate: self.receive_rate,
            loss_event_rate: self.previous_rate,
            new_loss_event: core::mem::take(&mut self.new_loss_event),
        })
    }

    /// X_recv for feedback that is sent now.
    fn measure(&mut self, now: Instant) -> DataRate {
        let rtt = self.rtt.value();
        let Some(meter) = &mut self.meter else { return DataRate::ZERO };
        // X_recv covers R_(m-1), the round-trip time as of the previous feedback (RFC 5348, Section 6.2); the
        // very first feedback has nothing to measure (Section 6.3).
        match self.measured_over.replace(rtt) {
            Some(time) => meter.on_feedback(now, time).data,
            None => {
                meter.begin(now);
                DataRate::ZERO
            }
        }
    }

    /// The round-trip time from the sender's reports, the window counter or other sources.
    pub fn rtt(&self) -> &ReceiverRtt {
        &self.rtt
    }

    /// The same, to be updated.
    pub fn rtt_mut(&mut self) -> &mut ReceiverRtt {
        &mut self.rtt
    }

    /// The sender restarts on a new path with this round-trip time.
    pub(crate) fn restart(&mut self, rtt: Duration) {
        self.rtt.on_restart(rtt);
        // With the old path's value, X_recv would cover time before the restart.
        self.measured_over = self.measured_over.map(|_| rtt);
    }

    /// Restarts the measurement of X_recv.
    pub(crate) fn begin_measuring(&mut self, now: Instant) {
        if let Some(meter) = &mut self.meter {
            meter.begin(now);
        }
    }

    /// The rate over the last round-trip time, in segments of the equation per second, if data has arrived.
    pub(crate) fn segments_per_second(&self, now: Instant) -> Option<f64> {
        let meter = self.meter.as_ref()?;
        let segments = self.config.small_packets.map_or(1.0, |small| small.segments(meter.mean_size()));
        Some(meter.measure(now, self.rtt.value()).packets_per_second * segments)
    }

    /// Replaces the history by `count` intervals of `length` before the latest loss event, and makes feedback
    /// due.
    pub(crate) fn fit(&mut self, length: f64, count: usize) {
        self.history.fit(length, count);
        self.request_feedback();
    }

    /// Uses the average loss interval of an earlier use of this path for the interval before the first loss.
    pub fn remember(&mut self, average_interval: f64) {
        self.remembered_interval = Some(average_interval);
    }

    /// The greatest sequence number received or acknowledged; before, the one before the first.
    pub fn greatest(&self) -> u64 {
        self.greatest.next.saturating_sub(1)
    }

    /// The current p.
    pub fn loss_event_rate(&self) -> LossEventRate {
        self.history.loss_event_rate()
    }

    /// X_recv as last reported.
    pub fn receive_rate(&self) -> DataRate {
        self.receive_rate
    }

    /// The loss history.
    pub fn history(&self) -> &LossHistory {
        &self.history
    }

    /// Counters of losses so far.
    pub fn counts(&self) -> LossCounts {
        self.history.counts()
    }

    /// Data received so far.
    pub fn total(&self) -> ByteCount {
        self.meter.as_ref().map_or(ByteCount::ZERO, |meter| meter.total())
    }
}
