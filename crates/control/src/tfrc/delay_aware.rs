//! A delay-aware rate: TFRC's rate as the upper bound, below it a bounded queueing delay and an answer to L4S
//! marks.
//!
//! TFRC fills the queue of the bottleneck until packets are lost. Live media need a short queue more than its
//! last packets: [`DelayAware`] holds the rate X below the throughput equation's such that the queueing delay
//! q stays between half the target Q and Q.
//!
//! # The law
//!
//! With T the delay of the control loop, which is the round-trip time, the interval between reports and the
//! lag of the measurement of q ([`QueueingDelay`](super::QueueingDelay)), and s the packet size:
//!
//! ```text
//! d ln X     b                        a  dq
//! ------ =  ---  (Q/2 + h(X) - q)  -  -  --     h(X) = min(n s / X, Q/2)
//!   dt      T^2                       T  dt
//! ```
//!
//! The first term moves the queueing delay to Q/2 + h(X), the second damps. While the queue is empty, ln X
//! grows by at least a hundredth in a round-trip time and an interval, so that long paths are filled; more
//! would overshoot the target on them. X never exceeds the ceiling: the throughput equation's rate and twice
//! the receive rate (RFC 5348, Section 4.3).
//!
//! While packets are marked and the queueing delay is below Q/2, the marks are the signal, and the law is the
//! one of the scalable congestion controls (RFC 9331, Section 4.3; RFC 8257): X grows by one packet per
//! round-trip time, `s / (X R_v^2)`, where `R_v` is the round-trip time R but at least 25 ms, and falls by
//! half the smoothed share of marked packets at most once in a round-trip time.
//!
//! # Equilibrium
//!
//! - A single flow has the rate of the link C and the queueing delay Q/2 + min(n s / C, Q/2): between half
//!   the target and the target, for any C and round-trip time. With n = 2 packets of 1200 bytes it is 14.4 ms
//!   at 10 Mbit/s, and the target, 25 ms, below 1.5 Mbit/s.
//! - Flows of one bottleneck see the same q, therefore h(X) and X are equal, for any round-trip times: each
//!   holds n packets in the queue above Q/2, as in Vegas or FAST. Where the sum of these packets takes more
//!   than Q/2, h is at its bound and the shares stay as they are.
//! - With independent marks of probability p, X is near 2 s / (p R) for R above 25 ms: two marks in each
//!   round-trip time.
//!
//! # Stability
//!
//! Near the equilibrium dq/dt = ln(X/C), and h is constant or changes slowly. The loop is
//! `s^2 = -(a s/T + b/T^2) exp(-s T)`: with time counted in T it does not depend on the path. For a = 0.5 and
//! b = 0.06 the gain is one at s T = 0.51 i, where the phase margin is 47 degrees: stable for any round-trip
//! time, with little overshoot. The loop stays stable if T is overestimated by any factor, or underestimated
//! by 2.6. A wrong estimate of C does not matter, since the law is one of ratios.
//!
//! # Smoothness
//!
//! In a T the rate grows at most by an eighth, outside slow start and unless marks are the signal, and falls
//! at most by a quarter in addition to what marks ask for. If the queueing delay exceeds twice the target,
//! the capacity has fallen: the rate is set to 0.9 of the receive rate, at most once in a T.
//!
//! # Limits
//!
//! A flow that fills the queue takes the link from any law that keeps it short, and from this one. The
//! queueing delay is relative to the least delay seen: each ten seconds the rate is reduced by a quarter
//! until the queue is empty, or for 4 T, so that a flow that began while others were active finds the true
//! minimum.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

#[cfg(test)]
mod tests;

/// Parameters of [`DelayAware`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelayAwareConfig {
    /// Q: target of the queueing delay. 25 ms: a quarter of what a conversation tolerates over a continent.
    pub target: Duration,
    /// b: gain of the deviation from the target.
    pub integral_gain: f64,
    /// a: gain of the change of the queueing delay.
    pub proportional_gain: f64,
    /// n: packets in the queue above Q/2. More make the shares fair at higher rates and the queue longer.
    pub packets: f64,
    /// R_v: round-trip time below which the increase under marks is not faster (RFC 9331, Section 4.3).
    pub virtual_rtt: Duration,
    /// Round-trip times without marks after which the queueing delay is the signal again.
    pub mark_memory: f64,
    /// Time between reductions that empty the queue.
    pub drain_interval: Duration,
}

impl DelayAwareConfig {
    /// A target of 25 ms.
    pub const DEFAULT: Self = Self {
        target: Duration::from_millis(25),
        integral_gain: 0.06,
        proportional_gain: 0.5,
        packets: 2.0,
        virtual_rtt: Duration::from_millis(25),
        mark_memory: 50.0,
        drain_interval: Duration::from_secs(10),
    };
}

impl Default for DelayAwareConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Greatest growth and fall of the rate in a T.
const GROWTH_MAX: f64 = 0.125;
const FALL_MAX: f64 = 0.25;
/// Queueing delay over the target from which the capacity has fallen, and the rate over the receive rate that
/// answers it.
const OVERLOAD: f64 = 2.0;
const OVERLOAD_FACTOR: f64 = 0.9;
/// Growth of ln X in a round-trip time and an interval while the queue is empty.
const EMPTY_GROWTH: f64 = 0.01;
/// Weight of the marks of a round-trip time in their smoothed share (RFC 8257, Section 3.3).
const MARK_GAIN: f64 = 1.0 / 16.0;
/// Queueing delay over the target at which slow start ends.
const SLOW_START_END: f64 = 0.25;
/// Factor of the rate while the queue is emptied, its longest time in T, and the queueing delay over the
/// target at which it is empty.
const DRAIN_FACTOR: f64 = 0.75;
const DRAIN_ROUNDS: f64 = 4.0;
const EMPTY: f64 = 0.125;

/// The measurements of a report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelayReport {
    /// Time of the report at the sender.
    pub now: Instant,
    /// R: smoothed round-trip time.
    pub rtt: Duration,
    /// Interval between reports.
    pub interval: Duration,
    /// q: queueing delay.
    pub queueing: Duration,
    /// Change of the queueing delay since the last report, in seconds.
    pub change: f64,
    /// Time by which q lags behind the queue.
    pub lag: Duration,
    /// Receive rate over the last round-trip time or longer.
    pub received: DataRate,
    /// Share of the reported packets that were marked.
    pub marked: f64,
    /// `true` if the report shows a new loss event.
    pub loss_event: bool,
    /// Upper bound of the rate: the throughput equation's, infinite before the first loss, and others of the
    /// caller.
    pub ceiling: DataRate,
    /// s: packet size.
    pub packet_size: ByteCount,
}

/// The delay-aware rate.
#[derive(Clone, PartialEq, Debug)]
pub struct DelayAware {
    config: DelayAwareConfig,
    /// X, in bytes per second.
    rate: f64,
    slow_start: bool,
    /// Time of the last report.
    last: Option<Instant>,
    last_mark: Option<Instant>,
    /// Smoothed share of marked packets, and the time of the last reaction to it.
    mark_share: f64,
    last_reaction: Option<Instant>,
    last_overload: Option<Instant>,
    /// Time at which the queue was empty, and the end of its emptying while that lasts.
    last_empty: Option<Instant>,
    drain_until: Option<Instant>,
}

impl DelayAware {
    /// The law with a rate at the start.
    pub fn new(config: DelayAwareConfig, start: DataRate) -> Self {
        Self {
            config,
            rate: start.as_bytes_per_second(),
            slow_start: true,
            last: None,
            last_mark: None,
            mark_share: 0.0,
            last_reaction: None,
            last_overload: None,
            last_empty: None,
            drain_until: None,
        }
    }

    /// The rate at which to send.
    pub fn rate(&self) -> DataRate {
        let drain = if self.drain_until.is_some() { DRAIN_FACTOR } else { 1.0 };
        DataRate::from_bytes_per_second(self.rate * drain)
    }

    /// `true` before the first sign of congestion.
    pub const fn is_in_slow_start(&self) -> bool {
        self.slow_start
    }

    /// Halves the rate, down to `least`: no report has arrived for several round-trip times (RFC 5348,
    /// Section 4.4).
    pub fn halve(&mut self, least: DataRate) -> DataRate {
        self.rate = (self.rate / 2.0).max(least.as_bytes_per_second());
        self.rate()
    }

    /// Starts anew at `rate`, in slow start. The least delay seen is the caller's.
    pub fn restart(&mut self, rate: DataRate) {
        self.rate = rate.as_bytes_per_second();
        self.slow_start = true;
        self.drain_until = None;
    }

    /// Forgets the path; the rate stays.
    pub const fn on_path_change(&mut self) {
        (self.last, self.last_mark, self.last_overload) = (None, None, None);
        (self.last_empty, self.drain_until) = (None, None);
    }

    /// Processes a report, and returns the rate within `least` and `most`.
    pub fn on_report(&mut self, report: &DelayReport, least: DataRate, most: DataRate) -> DataRate {
        let queueing = report.queueing.as_secs_f64();
        let target = self.config.target.as_secs_f64();
        let rtt = report.rtt.as_secs_f64().max(1e-3);
        let loop_delay = rtt + report.interval.as_secs_f64() + report.lag.as_secs_f64();
        let last = self.last.replace(report.now).unwrap_or(report.now);
        let elapsed = report.now.saturating_since(last).as_secs_f64().min(loop_delay);
        let reaction = self.answer_marks(report, elapsed, rtt, loop_delay);
        self.empty_the_queue(report.now, queueing, loop_delay);
        if self.slow_start && (report.loss_event || report.marked > 0.0 || queueing > SLOW_START_END * target)
        {
            self.slow_start = false;
            self.rate = self.rate.min(report.received.as_bytes_per_second());
        }
        let step = if self.slow_start {
            core::f64::consts::LN_2 * elapsed / rtt
        } else if self.drain_until.is_some() {
            // The queue that is emptied on purpose is no sign of a free capacity.
            0.0
        } else {
            self.step(report, queueing, elapsed, rtt, loop_delay) + reaction
        };
        self.rate *= libm::exp(step);
        self.answer_overload(report, queueing, loop_delay);
        self.rate = self
            .rate
            .min(report.ceiling.as_bytes_per_second())
            .min(most.as_bytes_per_second())
            .max(least.as_bytes_per_second());
        self.rate()
    }

    /// The change of ln X.
    fn step(&self, report: &DelayReport, queueing: f64, elapsed: f64, rtt: f64, loop_delay: f64) -> f64 {
        let DelayAwareConfig { integral_gain, proportional_gain, packets, .. } = self.config;
        let target = self.config.target.as_secs_f64();
        let packet = report.packet_size.as_f64() / self.rate.max(1.0);
        let memory = Duration::from_secs_f64(self.config.mark_memory * rtt);
        let is_marking = self.last_mark.is_some_and(|at| report.now.saturating_since(at) <= memory);
        if is_marking && queueing <= target / 2.0 {
            let virtual_rtt = self.config.virtual_rtt.as_secs_f64().max(rtt);
            // The answer to marks is half of their share in each round-trip time: the growth that balances it
            // at a few packets per round-trip time is more than an eighth.
            let growth = packet / (virtual_rtt * virtual_rtt) * elapsed;
            return growth.min(core::f64::consts::LN_2 * elapsed / rtt);
        }
        let aim = target / 2.0 + (packets * packet).min(target / 2.0);
        let mut drive = integral_gain * (aim - queueing) / (loop_delay * loop_delay);
        if queueing <= EMPTY * target {
            drive = drive.max(EMPTY_GROWTH / (rtt + report.interval.as_secs_f64()));
        }
        let step = drive * elapsed - proportional_gain * report.change / loop_delay;
        let part = elapsed / loop_delay;
        step.clamp(libm::log(1.0 - FALL_MAX) * part, libm::log(1.0 + GROWTH_MAX) * part)
    }

    /// Smooths the share of marked packets; returns the change of ln X that answers marks.
    fn answer_marks(&mut self, report: &DelayReport, elapsed: f64, rtt: f64, loop_delay: f64) -> f64 {
        if report.marked > 0.0 && self.last_mark.is_none() {
            self.mark_share = report.marked;
        }
        self.mark_share += (MARK_GAIN * elapsed / rtt).min(1.0) * (report.marked - self.mark_share);
        if report.marked <= 0.0 {
            return 0.0;
        }
        self.last_mark = Some(report.now);
        let since = self.last_reaction.map_or(rtt, |at| report.now.saturating_since(at).as_secs_f64());
        if since < rtt {
            return 0.0;
        }
        self.last_reaction = Some(report.now);
        // A round-trip time ends with a report, up to an interval late: the reaction corresponds to the time
        // that has passed.
        let rounds = since.min(loop_delay) / rtt;
        rounds * libm::log(1.0 - self.mark_share.min(1.0) / 2.0)
    }

    /// Follows the receive rate if the queueing delay shows that the capacity has fallen.
    fn answer_overload(&mut self, report: &DelayReport, queueing: f64, loop_delay: f64) {
        let pause = Duration::from_secs_f64(loop_delay);
        let answered = self.last_overload.is_some_and(|at| report.now.saturating_since(at) < pause);
        if queueing > OVERLOAD * self.config.target.as_secs_f64() && !answered {
            self.last_overload = Some(report.now);
            self.rate = self.rate.min(OVERLOAD_FACTOR * report.received.as_bytes_per_second());
        }
    }

    /// Starts and ends the reductions that empty the queue.
    fn empty_the_queue(&mut self, now: Instant, queueing: f64, loop_delay: f64) {
        let is_empty = queueing <= EMPTY * self.config.target.as_secs_f64();
        let last_empty = *self.last_empty.get_or_insert(now);
        if is_empty || self.drain_until.is_some_and(|until| now >= until) {
            self.last_empty = Some(now);
            self.drain_until = None;
        } else if self.drain_until.is_none() && now.saturating_since(last_empty) >= self.config.drain_interval
        {
            self.drain_until = Some(now + Duration::from_secs_f64(DRAIN_ROUNDS * loop_delay));
        }
    }
}
