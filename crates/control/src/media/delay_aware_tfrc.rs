//! The delay-aware rate of [`tfrc::DelayAware`](crate::tfrc::DelayAware) as a law for media.
//!
//! The sender measures what a TFRC receiver would report: the loss event rate from the packets' reports (RFC
//! 5348, Section 5), the receive rate, and the one-way queueing delay, by [`QueueingDelay`] from the mean
//! delay of each report.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

use super::missing::MissingPackets;
use super::{Allowance, Feedback, MediaController, RateLimits, SentPacket};
use crate::tfrc::loss_intervals::{HISTORY, loss_event_rate};
use crate::tfrc::{
    DelayAware, DelayAwareConfig, DelayReport, LossEventRate, QueueEstimate, QueueingDelay,
    RetransmitTimeout, first_loss_interval, throughput,
};

#[cfg(test)]
mod tests;

/// Parameters of [`DelayAwareTfrc`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelayAwareTfrcConfig {
    /// Limits of the rate.
    pub limits: RateLimits,
    /// The law.
    pub law: DelayAwareConfig,
    /// Period of the baseline of the one-way delay.
    pub base_period: Duration,
    /// Least period over which the receive rate is measured; a round-trip time if that is longer.
    pub rate_period: Duration,
    /// Pacing rate over the rate.
    pub pacing_gain: f64,
    /// Time by which packets may be reordered.
    pub reordering: Duration,
    /// `true` to send ECT(1) and to answer L4S marks.
    pub l4s: bool,
}

impl DelayAwareTfrcConfig {
    /// The defaults with other limits.
    pub fn new(limits: RateLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl Default for DelayAwareTfrcConfig {
    fn default() -> Self {
        let min = DataRate::from_kilobits_per_second(150.0);
        Self {
            limits: RateLimits { min, start: min, max: DataRate::from_megabits_per_second(1.5) },
            law: DelayAwareConfig::default(),
            base_period: Duration::from_secs(30),
            rate_period: Duration::from_millis(100),
            pacing_gain: 1.25,
            reordering: Duration::from_millis(30),
            l4s: true,
        }
    }
}

/// Weight of a sample in the smoothed round-trip time and in the interval between reports.
const SMOOTHING: f64 = 1.0 / 8.0;
/// Time without a report after which the rate is halved, in round-trip times: TFRC's nofeedback timer (RFC
/// 5348, Section 4.4).
const NO_FEEDBACK_ROUNDS: f64 = 4.0;
/// Shortest nofeedback timer.
const NO_FEEDBACK_MIN: f64 = 0.2;

/// TFRC with a bounded queueing delay, for media.
#[derive(Clone, PartialEq, Debug)]
pub struct DelayAwareTfrc {
    config: DelayAwareTfrcConfig,
    law: DelayAware,
    rate: DataRate,
    delay: QueueingDelay,
    missing: MissingPackets,
    /// Lengths of the loss intervals in packets, the open one first.
    intervals: Vec<f64>,
    /// Sending time of the first packet of the last loss event.
    event: Option<Instant>,
    srtt: f64,
    interval: f64,
    last_report: Option<Instant>,
    /// Arrivals in the period of the receive rate: time on the receiver's clock and bytes.
    arrivals: VecDeque<(Instant, u64)>,
    arrived: u64,
    packet_size: ByteCount,
    no_feedback: Option<Instant>,
}

impl DelayAwareTfrc {
    /// The law with `config`, before any report.
    pub fn new(config: DelayAwareTfrcConfig) -> Self {
        Self {
            config,
            law: DelayAware::new(config.law, config.limits.start),
            rate: config.limits.start,
            delay: QueueingDelay::new(config.law.target, config.base_period),
            missing: MissingPackets::default(),
            intervals: alloc::vec![0.0],
            event: None,
            srtt: 0.0,
            interval: 0.0,
            last_report: None,
            arrivals: VecDeque::new(),
            arrived: 0,
            packet_size: ByteCount::ZERO,
            no_feedback: None,
        }
    }

    /// The loss event rate p.
    pub fn loss_event_rate(&self) -> LossEventRate {
        loss_event_rate(&self.intervals)
    }

    /// Counts packets into loss intervals; returns `true` if a loss event began.
    fn count_losses(&mut self, feedback: &Feedback<'_>) -> bool {
        self.intervals[0] += feedback.packets.len() as f64;
        let rtt = Duration::from_secs_f64(self.srtt);
        let (mut event, mut began) = (self.event, 0);
        self.missing.on_report(feedback.packets, self.config.reordering, |packet| {
            if event.is_none_or(|start| packet.sent_at >= start + rtt) {
                event = Some(packet.sent_at);
                began += 1;
            }
        });
        self.event = event;
        for _ in 0..began {
            if self.intervals.len() == 1 {
                // RFC 5348, Section 6.3.1: the interval at which the equation gives the receive rate.
                let size = self.packet_size.as_f64().max(1.0);
                let packets = self.received().as_bytes_per_second() * self.srtt / size;
                self.intervals[0] = first_loss_interval(packets.max(1.0), 4.0);
            }
            self.intervals.insert(0, 0.0);
            self.intervals.truncate(HISTORY);
        }
        began > 0
    }

    /// Measures the arrivals; `None` if there are none.
    fn measure(&mut self, feedback: &Feedback<'_>) -> Option<QueueEstimate> {
        let (mut first, mut sum, mut count) = (0i64, 0i64, 0i64);
        for packet in feedback.packets {
            let Some(at) = packet.arrival() else { continue };
            // Wrapping: only differences of such values are used, and those are short.
            let delay = at.as_nanos().wrapping_sub(packet.sent.sent_at.as_nanos()) as i64;
            if count == 0 {
                first = delay;
            }
            sum = sum.wrapping_add(delay.wrapping_sub(first));
            count += 1;
            self.arrivals.push_back((at, packet.sent.size.as_u64()));
            self.arrived += packet.sent.size.as_u64();
        }
        let period = self.config.rate_period.max(Duration::from_secs_f64(self.srtt));
        let newest = self.arrivals.back().map_or(Instant::ZERO, |(at, _)| *at);
        while self.arrivals.len() > 2 && self.arrivals.front().is_some_and(|(at, _)| *at + period < newest) {
            self.arrived -= self.arrivals.pop_front().map_or(0, |(_, size)| size);
        }
        let mean = first.wrapping_add(sum.checked_div(count)?);
        Some(self.delay.on_sample(feedback.now, mean))
    }

    /// The receive rate: of all packets but the first, over the time since its arrival.
    fn received(&self) -> DataRate {
        let (Some((first, size)), Some((last, _))) = (self.arrivals.front(), self.arrivals.back()) else {
            return self.rate;
        };
        let elapsed = last.saturating_since(*first);
        if elapsed.is_zero() { self.rate } else { ByteCount::new(self.arrived - size) / elapsed }
    }

    fn ceiling(&self, received: DataRate) -> DataRate {
        let rtt = Duration::from_secs_f64(self.srtt);
        let equation =
            throughput(self.packet_size, rtt, self.loss_event_rate(), RetransmitTimeout::FourRoundTrips);
        // An encoder that pauses keeps its starting rate.
        equation.min((received * 2.0).max(self.config.limits.start))
    }

    fn no_feedback_time(&self) -> Duration {
        Duration::from_secs_f64(
            (NO_FEEDBACK_ROUNDS * self.srtt).max(NO_FEEDBACK_MIN).max(2.0 * self.interval),
        )
    }
}

impl MediaController for DelayAwareTfrc {
    fn name(&self) -> &'static str {
        "delay-aware TFRC"
    }

    fn ecn(&self) -> Ecn {
        if self.config.l4s { Ecn::Ect1 } else { Ecn::NotEct }
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.packet_size = self.packet_size.max(packet.size);
        if self.no_feedback.is_none() && self.last_report.is_some() {
            self.no_feedback = Some(packet.sent_at + self.no_feedback_time());
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.now;
        if let Some(last) = self.last_report.replace(now) {
            self.interval += SMOOTHING * (now.saturating_since(last).as_secs_f64() - self.interval);
        }
        self.no_feedback = None;
        if let Some(rtt) = feedback.rtt {
            let rtt = rtt.as_secs_f64();
            self.srtt = if self.srtt > 0.0 { self.srtt + SMOOTHING * (rtt - self.srtt) } else { rtt };
        }
        let estimate = self.measure(feedback);
        let loss_event = self.count_losses(feedback);
        let Some(estimate) = estimate else { return };
        let arrived = feedback.packets.iter().filter(|packet| packet.arrival().is_some()).count();
        let marked = feedback.packets.iter().filter(|packet| packet.is_marked()).count();
        let received = self.received();
        let report = DelayReport {
            now,
            rtt: Duration::from_secs_f64(self.srtt),
            interval: Duration::from_secs_f64(self.interval),
            queueing: estimate.queueing,
            change: estimate.change,
            lag: Duration::from_secs_f64(estimate.lag * self.interval),
            received,
            marked: marked as f64 / arrived.max(1) as f64,
            loss_event,
            ceiling: self.ceiling(received),
            packet_size: self.packet_size,
        };
        self.rate = self.law.on_report(&report, self.config.limits.min, self.config.limits.max);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.no_feedback
    }

    fn on_timer(&mut self, now: Instant) {
        if self.no_feedback.is_some_and(|at| at <= now) {
            self.rate = self.law.halve(self.config.limits.min);
            self.no_feedback = Some(now + self.no_feedback_time());
        }
    }

    fn allowance(&self) -> Allowance {
        let rate = self.rate.max(self.config.limits.min);
        Allowance { target: rate, pacing: rate * self.config.pacing_gain.max(1.0), window: None }
    }

    fn on_path_change(&mut self, _now: Instant) {
        self.delay.clear();
        self.law.on_path_change();
        self.intervals = alloc::vec![0.0];
        self.event = None;
    }
}
