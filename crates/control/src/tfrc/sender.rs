//! The TFRC sender: the send rate law with its measurements, its timer and its pacing.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::data_limit::DataLimit;
use super::pacing::Pacer;
use super::round_trip::RoundTripEstimate;
use super::segment_size::{SegmentMeter, SegmentSize};
use super::send_rate::{Expiration, MAX_BACKOFF, SendRate, SendRateConfig};
use super::{LossEventRate, SmallPackets};
use crate::window::rto::RttEstimator;

mod suspend;

#[cfg(test)]
mod tests;

/// Configuration of a [`TfrcSender`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderConfig {
    /// Rule for s.
    pub segment_size: SegmentSize,
    /// `true` to reduce the rate while the round-trip time is growing (RFC 5348, Section 4.5, which
    /// recommends it).
    pub oscillation_damping: bool,
    /// `true` if [two short samples](super::round_trip::EMPTY_SAMPLES) halve R.
    pub follow_fades: bool,
    /// t_gran: granularity of the timer that wakes the sender; packets may be up to half of it early (RFC
    /// 5348, Section 8.3).
    pub timer_granularity: Duration,
    /// Maximum time for which unused send times stay valid, and so the greatest burst. Limited to a
    /// round-trip time (RFC 5348, Section 4.6).
    pub max_credit: Duration,
    /// Options of the send rate law.
    pub rate: SendRateConfig,
    /// TFRC-SP instead of TFRC. Its nominal size is then s, regardless of `segment_size`.
    pub small_packets: Option<SmallPackets>,
}

impl Default for SenderConfig {
    /// The average segment size, initially 1460 bytes; damping; a perfect timer; bursts up to a round-trip
    /// time.
    fn default() -> Self {
        Self {
            segment_size: SegmentSize::Average { expected: ByteCount::new(1460) },
            oscillation_damping: true,
            follow_fades: false,
            timer_granularity: Duration::ZERO,
            max_credit: Duration::MAX,
            rate: SendRateConfig::default(),
            small_packets: None,
        }
    }
}

/// Contents of a feedback packet (RFC 5348, Section 3.2.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Feedback {
    /// t_recvdata: send time of the last data packet received.
    pub last_data_sent: Instant,
    /// t_delay: time from its reception to the sending of this feedback.
    pub delay: Duration,
    /// X_recv.
    pub receive_rate: DataRate,
    /// p.
    pub loss_event_rate: LossEventRate,
    /// `true` if the receiver reports a new loss event; otherwise the sender infers it from a higher p.
    pub new_loss_event: bool,
}

/// Observable state of a [`TfrcSender`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderSnapshot {
    /// X.
    pub allowed_rate: DataRate,
    /// X_inst: the damped X, by which packets are paced.
    pub instantaneous_rate: DataRate,
    /// X_Bps; infinite before the first loss.
    pub equation_rate: DataRate,
    /// recv_limit.
    pub receive_limit: DataRate,
    /// X_recv as last reported.
    pub receive_rate: DataRate,
    /// p.
    pub loss_event_rate: LossEventRate,
    /// R, once measured.
    pub rtt: Option<Duration>,
    /// s.
    pub segment_size: ByteCount,
    /// t_ipi: the time of the last packet at X_inst.
    pub inter_packet_interval: Duration,
    /// Number of rate reductions by the nofeedback timer.
    pub nofeedback_reductions: u64,
}

/// Progress of the first round-trip time of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Nothing has been sent.
    Silent,
    /// Data has been sent, without feedback so far.
    Unanswered,
    /// Feedback has arrived, or should have arrived.
    Answered,
}

/// A TFRC sender (RFC 5348, Section 4).
///
/// Call [`on_sent`](Self::on_sent), [`on_feedback`](Self::on_feedback), and
/// [`on_nofeedback_timeout`](Self::on_nofeedback_timeout) at
/// [`nofeedback_deadline`](Self::nofeedback_deadline). [`next_send_time`](Self::next_send_time) is the time
/// at which the next packet may be sent.
#[derive(Clone, Debug)]
pub struct TfrcSender {
    config: SenderConfig,
    round_trip: RoundTripEstimate,
    /// t_RTO, if it is measured.
    timeout: Option<RttEstimator>,
    sizes: SegmentMeter,
    /// Application data of the last packet sent, at least one byte.
    last_size: Option<ByteCount>,
    rate: SendRate,
    instantaneous: DataRate,
    pacer: Pacer,
    data_limit: DataLimit,
    nofeedback_deadline: Option<Instant>,
    /// `true` if a packet was sent since the nofeedback timer was set.
    active: bool,
    stage: Stage,
    /// `true` if the nofeedback timer has expired since the last feedback.
    is_silent: bool,
    /// Arrival time of the first feedback after that.
    feedback_resumed: Option<Instant>,
    reported_rate: DataRate,
    nofeedback_reductions: u64,
}

impl TfrcSender {
    /// A sender that has not sent any packet.
    pub fn new(now: Instant, config: SenderConfig) -> Self {
        let sizes = SegmentMeter::new(match config.small_packets {
            None => config.segment_size,
            Some(small) => small.nominal(),
        });
        let rate = SendRate::new(now, sizes.segment_size(), config.rate);
        let mut sender = Self {
            config,
            round_trip: RoundTripEstimate::new(config.follow_fades),
            timeout: config.rate.retransmit_timeout.estimator(),
            sizes,
            last_size: None,
            rate,
            instantaneous: rate.allowed(),
            pacer: Pacer::new(Duration::ZERO),
            data_limit: DataLimit::default(),
            nofeedback_deadline: None,
            active: false,
            stage: Stage::Silent,
            is_silent: false,
            feedback_resumed: None,
            reported_rate: DataRate::ZERO,
            nofeedback_reductions: 0,
        };
        sender.pace();
        sender
    }

    /// Processes a round-trip time measured elsewhere, such as in the handshake (RFC 5348, Section 4.2). It
    /// is used only until there is a first sample.
    pub fn on_round_trip_sample(&mut self, now: Instant, sample: Duration) {
        if self.round_trip.smoothed().is_some() {
            return;
        }
        self.round_trip.on_preliminary_sample(sample);
        self.start_over(now);
    }

    /// Processes the sending of a packet with `size` of application data.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, size: ByteCount) {
        let is_largest = self.sizes.on_sent(size);
        self.active = true;
        self.pacer.on_sent(now);
        let size = size.max(ByteCount::new(1));
        if self.last_size.replace(size) != Some(size) {
            self.pace();
        }
        if is_largest && self.stage == Stage::Unanswered {
            self.raise();
        }
        if self.nofeedback_deadline.is_none() {
            self.resume(now);
        }
        if self.pacer.next_send_time() > now {
            self.data_limit.on_allowance_used(now);
        }
    }

    /// Handles the first packet, or the first after a time without timer.
    fn resume(&mut self, now: Instant) {
        if self.stage == Stage::Silent {
            self.stage = Stage::Unanswered;
            self.rate.on_first_packet(now);
            // Now the true size of a packet is known, which determines the initial window.
            self.start_over(now);
        }
        self.set_nofeedback_timer(now);
        self.active = true;
    }

    /// Sets X to the initial rate.
    fn start_over(&mut self, now: Instant) {
        match self.path() {
            Some(path) => self.rate.on_first_round_trip(now, &path),
            None => self.rate.begin(self.packet_size()),
        }
        self.pace();
    }

    /// Raises the initial window to what the largest packet of the first round-trip time allows: a stream may
    /// start with small packets, such as the parameter sets of video.
    fn raise(&mut self) {
        if let Some(path) = self.path() {
            self.rate.on_larger_segment(&path);
            self.pace();
        }
    }

    /// Processes a feedback packet (RFC 5348, Section 4.3).
    pub fn on_feedback(&mut self, now: Instant, feedback: &Feedback) {
        if let Some(observed) = self.observe(now, feedback, false) {
            self.apply(now, feedback, observed, false);
        }
    }

    /// Handles an expiration of the nofeedback timer (RFC 5348, Section 4.4). Early calls have no effect.
    pub fn on_nofeedback_timeout(&mut self, now: Instant) {
        if self.nofeedback_deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.is_silent = true;
        let (path, packet_size) = (self.path(), self.packet_size());
        match self.rate.on_nofeedback(now, path.as_ref(), packet_size, !self.active) {
            Expiration::Reduced => {
                self.stage = Stage::Answered;
                self.nofeedback_reductions += 1;
                self.pace();
                self.set_nofeedback_timer(now);
            }
            // The rate does not change while the sender is idle, so that the timer need not run; it is set
            // again with the next packet.
            Expiration::Kept => self.nofeedback_deadline = None,
        }
    }

    /// Processes the report of a slow receiver, which has not dropped packets: for a round-trip time X is
    /// limited to the last reported X_recv. `default_rtt` is used if the round-trip time is not known.
    ///
    /// RFC 4342, Section 5.2, halves X_recv for one feedback, so that the law then limits X to X_recv. Since
    /// RFC 5348 the law uses the maximum X_recv of two round-trip times, for which this would have no effect.
    pub fn on_slow_receiver(&mut self, now: Instant, default_rtt: Duration) {
        self.limit_for_host(now, default_rtt, 0);
    }

    /// Processes drops of the data of `packets` by a full receive buffer: for a round-trip time, the rate is
    /// reduced by one packet per round-trip time for each of them, to at least one packet (RFC 4342, Section
    /// 5.2).
    pub fn on_receive_buffer_drops(&mut self, now: Instant, default_rtt: Duration, packets: u32) {
        self.limit_for_host(now, default_rtt, packets);
    }

    fn limit_for_host(&mut self, now: Instant, default_rtt: Duration, packets: u32) {
        let rtt = self.rtt().unwrap_or(default_rtt);
        let packet = self.packet_size() / rtt;
        // The X_recv of zero in the first feedback is no measurement.
        let received = if self.reported_rate.is_zero() { DataRate::INFINITE } else { self.reported_rate };
        let rate = self.rate.allowed().min(received);
        let limit = (rate - packet * f64::from(packets)).max(rate.min(packet));
        self.rate.limit_until(limit, now + rtt);
        self.pace();
    }

    /// Expiration time of the nofeedback timer, if it is set.
    pub fn nofeedback_deadline(&self) -> Option<Instant> {
        self.nofeedback_deadline
    }

    /// The earliest instant at which the next packet may be sent: in the past if it may be sent at once.
    #[inline]
    pub fn next_send_time(&self) -> Instant {
        self.pacer.next_send_time()
    }

    /// X: the allowed sending rate.
    pub fn allowed_rate(&self) -> DataRate {
        self.rate.allowed()
    }

    /// R; `None` before it is measured.
    pub fn rtt(&self) -> Option<Duration> {
        self.round_trip.smoothed()
    }

    /// p, as last reported.
    pub fn loss_event_rate(&self) -> LossEventRate {
        self.rate.loss_event_rate()
    }

    /// recv_limit: twice the greatest X_recv of two round-trip times; infinite before there is one.
    pub fn receive_limit(&self) -> DataRate {
        self.rate.receive_limit()
    }

    /// Number of reductions of the rate by the nofeedback timer.
    pub fn nofeedback_reductions(&self) -> u64 {
        self.nofeedback_reductions
    }

    /// s.
    pub fn segment_size(&self) -> ByteCount {
        self.sizes.segment_size()
    }

    /// Sets the maximum rate.
    pub fn set_max_rate(&mut self, rate: DataRate) {
        self.config.rate.max_rate = rate;
        self.rate.set_max_rate(rate);
        self.pace();
    }

    /// Bounds X by the rate of another law; infinite for no bound.
    pub fn set_bound(&mut self, rate: DataRate) {
        self.rate.set_bound(rate);
        self.pace();
    }

    /// X without the [bound](Self::set_bound).
    pub fn unbounded_rate(&self) -> DataRate {
        self.rate.unbounded()
    }

    /// Sets the expected packet size. Before any packet is sent, this also sets the initial rate.
    pub fn expect_segment_size(&mut self, now: Instant, size: ByteCount) {
        self.sizes.expect(size);
        if self.stage == Stage::Silent {
            self.start_over(now);
        }
        self.pace();
    }

    /// Sets H of TFRC-SP from the next feedback on (RFC 4828, Section 3, allows a more precise estimate).
    pub fn set_header_size(&mut self, size: ByteCount) {
        if let Some(small) = &mut self.config.small_packets {
            small.header_size = size;
        }
    }

    /// Starts at `rate`, which the path carried some time ago. Must be called before the first packet is
    /// sent, once there is a round-trip time.
    pub fn begin_at(&mut self, rate: DataRate) {
        self.rate.begin_at(rate);
        self.pace();
    }

    /// The observable state.
    pub fn snapshot(&self) -> SenderSnapshot {
        SenderSnapshot {
            allowed_rate: self.rate.allowed(),
            instantaneous_rate: self.instantaneous,
            equation_rate: self.rate.equation(),
            receive_limit: self.rate.receive_limit(),
            receive_rate: self.reported_rate,
            loss_event_rate: self.rate.loss_event_rate(),
            rtt: self.rtt(),
            segment_size: self.segment_size(),
            inter_packet_interval: self.pacer.interval(),
            nofeedback_reductions: self.nofeedback_reductions,
        }
    }

    /// Sets the nofeedback timer to max(4R, 2s/X), or to 2s/X if R is not known, which is initially two
    /// seconds.
    ///
    /// RFC 5348, Section 4.3, computes this before it updates X, its Section 4.4 and RFC 4342, Section 5,
    /// after it. The latter is implemented: with the old X, a rate that was just reduced by a large factor
    /// would be reduced again before its next packet is due. In TFRC-SP, s is the true packet size here: the
    /// intended time is two packets' (RFC 4342, Section 5). A packet larger than s takes longer than
    /// s/X; otherwise the timer would expire between any two of them.
    fn set_nofeedback_timer(&mut self, now: Instant) {
        let four_round_trips = self.rtt().unwrap_or(Duration::ZERO) * 4;
        let size = self.packet_size().max(self.last_size.unwrap_or(ByteCount::ZERO));
        let two_packets = self.time_of(size, self.rate.allowed()) * 2;
        self.nofeedback_deadline = Some(now + four_round_trips.max(two_packets));
        self.active = false;
    }

    /// Time of a packet at a rate: at most t_mbi, or s/X if that is longer because an external limit is lower
    /// than s/t_mbi. A sender waits no longer than t_mbi between packets (RFC 5348, Section 4.3), and at the
    /// minimum rate, which is for packets of s, a packet of 10 s would take ten times as long.
    ///
    /// Without feedback, a packet takes at most as long as two of average size, the time in which X is halved
    /// again. X is then no measurement, but determines how often the path is probed: in a silence that was
    /// reached with packets of 40 bytes, one of 1000 would otherwise delay the next probe by 25 such times.
    fn time_of(&self, size: ByteCount, rate: DataRate) -> Duration {
        let longest = (self.sizes.segment_size() / rate).max(MAX_BACKOFF);
        let probing = if self.is_silent { self.packet_size() / rate * 2 } else { longest };
        (size / rate).min(longest).min(probing)
    }

    /// Paces packets by X_inst (RFC 5348, Sections 4.5 and 4.6).
    ///
    /// Section 4.6 has t_ipi = s/X_inst, which yields X_inst bytes per second only if packets are as large as
    /// s. Here a packet of b bytes takes b/X_inst. The two are equal for constant sizes. Otherwise, s is an
    /// average that may take minutes to follow (four loss intervals, Section 4.1), and meanwhile a sender of
    /// packets smaller than s/2 would send less than half of X, could not receive half of X, and would be
    /// limited to 2 X_recv < X (Section 4.3) with each feedback, repeatedly; and one of packets larger than s
    /// would exceed X.
    fn pace(&mut self) {
        let segment_size = self.sizes.segment_size();
        let damping = if self.config.oscillation_damping { self.round_trip.damping() } else { 1.0 };
        let least = segment_size / MAX_BACKOFF;
        self.instantaneous = (self.rate.allowed() * damping).max(least).min(self.config.rate.max_rate);
        let spacing = self.config.small_packets.map_or(Duration::ZERO, |small| small.min_interval);
        let size = self.last_size.unwrap_or_else(|| self.packet_size());
        let interval = self.time_of(size, self.instantaneous).max(spacing);
        let rtt = self.rtt().unwrap_or(Duration::ZERO);
        let early = interval.min(self.config.timer_granularity).min(rtt) / 2;
        self.pacer.adjust(interval, rtt.min(self.config.max_credit), early);
        self.pacer.set_spacing(spacing);
    }
}
