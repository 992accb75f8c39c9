//! Copa: the rate at which a target queue is kept (Arun and Balakrishnan, "Copa: Practical Delay-Based
//! Congestion Control for the Internet", NSDI 2018).
//!
//! The target rate is `1 / (delta d_q)` packets in a second, where `d_q` is the queueing delay. The window
//! moves towards it by `v / delta` packets in a round-trip time, and the *velocity* `v` doubles while the
//! direction stays the same. In equilibrium the rate and the queue oscillate with a period of five round-trip
//! times: the queue is empty once in each period, and holds 2.5 / `delta` packets at the most.
//!
//! A queue that is never nearly empty belongs to a flow that fills buffers: Copa then adapts `1 / delta` as
//! such a flow adapts its window (*competitive mode*).
//!
//! Choices the paper leaves open:
//! - The media rate is the window over the standing round-trip time, the paper's current rate.
//! - Acknowledgements arrive in reports. Each packet is processed with the round-trip time of an immediate
//!   report, and the bytes that may be in flight are the window and the bytes sent in the interval between
//!   reports.
//! - `v` never exceeds `delta` times the window, so that the window at most doubles in a round-trip time (as
//!   in the authors' code, venkatarun95/genericCC at commit 18299d6). It is set at the end of a round-trip
//!   time only, as in the paper: resetting it when the rate crosses its target, as some implementations do,
//!   makes the window of a path with a large product of bandwidth and delay oscillate (38 of 50 Mbit/s were
//!   used at 40 ms).
//! - With the paper's rule, too, there is a second, large oscillation in addition to the small one of the
//!   equilibrium, and a path with reports that are late or rare can fall into it: the velocity doubles while
//!   the effect of the window is still on its way. [`velocity_max`](CopaConfig::velocity_max) of 1 excludes
//!   it; the default is the paper's.
//! - Losses are answered in competitive mode, and in both modes if they exceed
//!   [`high_loss`](CopaConfig::high_loss), as in the authors' code.
//! - The window does not grow while the encoder leaves it unused.

use core::cmp::Reverse;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::missing::MissingPackets;
use super::stall::Stall;
use super::windowed::WindowedMin;
use super::{Allowance, Feedback, MediaController, RateLimits, SentPacket};

#[cfg(test)]
mod tests;

/// Parameters of [`Copa`]. The defaults are the paper's, with its section; those without one are ours.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CopaConfig {
    /// Limits of the rate.
    pub limits: RateLimits,
    /// Weight of delay against throughput in default mode, in 1/packets (Section 2.2).
    pub delta: f64,
    /// Period over which the minimum round-trip time is taken (Section 2.1).
    pub min_rtt_period: Duration,
    /// Period of the standing round-trip time, in smoothed round-trip times (Section 2.1).
    pub standing_rtts: f64,
    /// Pacing rate over the rate (Section 2.1).
    pub pacing_gain: f64,
    /// Round-trip times with the same direction before the velocity doubles (Section 2.1).
    pub steady_rounds: u32,
    /// Greatest velocity. The paper has no bound.
    pub velocity_max: f64,
    /// `true` to change to competitive mode against flows that fill buffers (Section 2.2).
    pub mode_switching: bool,
    /// Share of the range of round-trip times below which the queue is nearly empty (Section 2.2).
    pub empty_share: f64,
    /// Round-trip times within which an empty queue is expected (Section 2.2).
    pub empty_rounds: u32,
    /// Round-trip times over which the maximum is taken (Section 2.2).
    pub max_rounds: u32,
    /// Share of packets lost in two round-trip times above which the window is reduced in any mode (authors'
    /// code).
    pub high_loss: f64,
    /// Time by which packets may be reordered.
    pub reordering: Duration,
}

impl CopaConfig {
    /// The defaults with other limits.
    pub fn new(limits: RateLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl Default for CopaConfig {
    fn default() -> Self {
        let min = DataRate::from_kilobits_per_second(150.0);
        Self {
            limits: RateLimits { min, start: min, max: DataRate::from_megabits_per_second(1.5) },
            delta: 0.5,
            min_rtt_period: Duration::from_secs(10),
            standing_rtts: 0.5,
            pacing_gain: 2.0,
            steady_rounds: 3,
            velocity_max: f64::INFINITY,
            mode_switching: true,
            empty_share: 0.1,
            empty_rounds: 5,
            max_rounds: 4,
            high_loss: 0.3,
            reordering: Duration::from_millis(30),
        }
    }
}

/// Least window, in packets.
const LEAST_WINDOW: f64 = 2.0;
/// Factor of the window after a high share of losses, and packets over which the share is taken at least
/// (authors' code).
const HIGH_LOSS_FACTOR: f64 = 0.7;
const HIGH_LOSS_PACKETS: u64 = 20;
/// Round-trip times without sending or reports after which packets in flight are taken as lost, and the least
/// such time in seconds (RFC 6298, Section 2.4).
const STALL_ROUNDS: f64 = 3.0;
const STALL_MIN: f64 = 1.0;
/// Weight of a sample in the smoothed round-trip time (RFC 6298), and in the interval between reports.
const SMOOTHING: f64 = 1.0 / 8.0;

/// The direction in which the window moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Up,
    Down,
}

/// The speed of the window (Section 2.1).
#[derive(Clone, Copy, PartialEq, Debug)]
struct Velocity {
    value: f64,
    direction: Direction,
    /// Round-trip times that ended with this direction.
    rounds: u32,
    /// Sending time from which packets belong to the present round-trip time, and the window at its
    /// beginning.
    since: Instant,
    window: f64,
}

impl Velocity {
    const fn new() -> Self {
        Self { value: 1.0, direction: Direction::Up, rounds: 0, since: Instant::ZERO, window: 0.0 }
    }

    /// Ends a round-trip time at `now` with that window.
    fn end_round(&mut self, now: Instant, window: f64, steady_rounds: u32) {
        let direction = if window > self.window { Direction::Up } else { Direction::Down };
        if direction == self.direction {
            self.rounds += 1;
            if self.rounds >= steady_rounds {
                self.value *= 2.0;
            }
        } else {
            (self.value, self.direction, self.rounds) = (1.0, direction, 0);
        }
        (self.since, self.window) = (now, window);
    }
}

/// Copa.
#[derive(Clone, PartialEq, Debug)]
pub struct Copa {
    config: CopaConfig,
    /// Largest packet, in bytes.
    segment: f64,
    /// Window in packets; `None` before the first round-trip time.
    window: Option<f64>,
    srtt: f64,
    min_rtt: WindowedMin<Duration>,
    standing_rtt: WindowedMin<Duration>,
    max_rtt: WindowedMin<Reverse<Duration>>,
    /// The standing round-trip time and the queueing delay, in seconds.
    standing: f64,
    queueing: f64,
    slow_start: bool,
    velocity: Velocity,
    missing: MissingPackets,
    /// `1 / delta`.
    inverse_delta: f64,
    competitive: bool,
    /// Time at which the queue was nearly empty.
    last_empty: Instant,
    /// Sending time from which packets belong to the present round of competitive mode, and `true` after a
    /// loss in it.
    round_since: Instant,
    lost_in_round: bool,
    /// Packets reported since the share of losses was taken, and how many of them were lost.
    reported: u64,
    lost: u64,
    losses_since: Instant,
    application_limited: bool,
    stall: Stall,
    last_report: Option<Instant>,
    report_interval: f64,
}

impl Copa {
    /// Copa with `config`, before any report.
    pub fn new(config: CopaConfig) -> Self {
        Self {
            config,
            segment: 0.0,
            window: None,
            srtt: 0.0,
            min_rtt: WindowedMin::default(),
            standing_rtt: WindowedMin::default(),
            max_rtt: WindowedMin::default(),
            standing: 0.0,
            queueing: 0.0,
            slow_start: true,
            velocity: Velocity::new(),
            missing: MissingPackets::default(),
            inverse_delta: 1.0 / config.delta,
            competitive: false,
            last_empty: Instant::ZERO,
            round_since: Instant::ZERO,
            lost_in_round: false,
            reported: 0,
            lost: 0,
            losses_since: Instant::ZERO,
            application_limited: false,
            stall: Stall::default(),
            last_report: None,
            report_interval: 0.0,
        }
    }

    /// The present weight of delay, in 1/packets.
    pub fn delta(&self) -> f64 {
        1.0 / self.inverse_delta
    }

    /// The queueing delay: the standing round-trip time over the minimum.
    pub fn queueing_delay(&self) -> Duration {
        Duration::from_secs_f64(self.queueing)
    }

    /// The velocity.
    pub const fn velocity(&self) -> f64 {
        self.velocity.value
    }

    fn on_acknowledgement(&mut self, now: Instant, sent_at: Instant, rtt: Duration) {
        // The time at which an immediate report would have arrived.
        let at = sent_at + rtt;
        let sample = rtt.as_secs_f64();
        self.srtt = if self.srtt > 0.0 { self.srtt + SMOOTHING * (sample - self.srtt) } else { sample };
        let rounds = |count: f64| Duration::from_secs_f64(self.srtt * count);
        let min = self.min_rtt.add(at, rtt, self.config.min_rtt_period);
        let Reverse(max) = self.max_rtt.add(at, Reverse(rtt), rounds(f64::from(self.config.max_rounds)));
        let standing = self.standing_rtt.add(at, rtt, rounds(self.config.standing_rtts));
        self.standing = standing.as_secs_f64().max(1e-6);
        self.queueing = standing.saturating_sub(min).as_secs_f64();
        if self.queueing <= self.config.empty_share * max.saturating_sub(min).as_secs_f64() {
            self.last_empty = at;
        }
        let start = self.config.limits.start.as_bytes_per_second();
        let window = *self.window.get_or_insert((start * sample / self.segment).max(LEAST_WINDOW));
        self.select_mode(now, at, sent_at);
        self.step(now, sent_at, window);
    }

    /// Selects the mode, and in competitive mode adapts `delta`.
    fn select_mode(&mut self, now: Instant, at: Instant, sent_at: Instant) {
        let patience = Duration::from_secs_f64(self.srtt * f64::from(self.config.empty_rounds));
        let competitive = self.config.mode_switching && at.saturating_since(self.last_empty) > patience;
        if !competitive || !self.competitive {
            self.inverse_delta = 1.0 / self.config.delta;
            self.lost_in_round = false;
            self.round_since = now;
        } else if sent_at >= self.round_since {
            // Additive increase and multiplicative decrease, once in a round-trip time.
            self.inverse_delta += 1.0;
            if core::mem::take(&mut self.lost_in_round) {
                self.inverse_delta = (self.inverse_delta / 2.0).max(1.0 / self.config.delta);
            }
            self.round_since = now;
        }
        self.competitive = competitive;
    }

    /// Reduces the window if many packets were lost in the last two round-trip times.
    fn answer_high_loss(&mut self, now: Instant) {
        let elapsed = now.saturating_since(self.losses_since).as_secs_f64();
        if self.reported < HIGH_LOSS_PACKETS || elapsed < 2.0 * self.srtt {
            return;
        }
        if self.lost as f64 > self.config.high_loss * self.reported as f64 {
            self.window = self.window.map(|window| (HIGH_LOSS_FACTOR * window).max(LEAST_WINDOW));
        }
        (self.reported, self.lost, self.losses_since) = (0, 0, now);
    }

    /// Moves the window towards the target rate.
    fn step(&mut self, now: Instant, sent_at: Instant, mut window: f64) {
        let below_target = window * self.queueing <= self.inverse_delta * self.standing;
        let rate = window * self.segment / self.standing;
        let may_grow = !self.application_limited && rate < self.config.limits.max.as_bytes_per_second();
        if self.slow_start && below_target {
            if may_grow {
                window += 1.0;
            }
        } else {
            if self.slow_start {
                self.slow_start = false;
                self.velocity = Velocity { window, since: now, ..Velocity::new() };
            }
            self.velocity.value = self.velocity.value.min((window / self.inverse_delta).max(1.0));
            let step = self.velocity.value.min(self.config.velocity_max) * self.inverse_delta / window;
            if !below_target {
                window = (window - step).max(LEAST_WINDOW);
            } else if may_grow {
                window += step;
            }
            if sent_at >= self.velocity.since {
                self.velocity.end_round(now, window, self.config.steady_rounds);
            }
        }
        self.window = Some(window);
    }

    /// Time without sending or reports after which packets in flight are taken as lost.
    fn timeout(&self) -> Duration {
        Duration::from_secs_f64((STALL_ROUNDS * self.srtt).max(STALL_MIN))
    }

    /// The current rate, in bytes per second.
    fn rate(&self) -> f64 {
        let RateLimits { min, start, max } = self.config.limits;
        let rate = match self.window {
            Some(window) => window * self.segment / self.standing,
            None => start.as_bytes_per_second(),
        };
        rate.max(min.as_bytes_per_second()).min(max.as_bytes_per_second())
    }
}

impl MediaController for Copa {
    fn name(&self) -> &'static str {
        "Copa"
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.segment = self.segment.max(packet.size.as_f64());
        self.stall.on_sent(packet);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.stall.on_feedback(feedback);
        if let Some(last) = self.last_report.replace(feedback.now) {
            let interval = feedback.now.saturating_since(last).as_secs_f64();
            self.report_interval += SMOOTHING * (interval - self.report_interval);
        }
        let mut lost = 0;
        self.missing.on_report(feedback.packets, self.config.reordering, |_| lost += 1);
        self.lost_in_round |= lost > 0;
        self.lost += lost;
        self.reported += feedback.packets.len() as u64;
        self.answer_high_loss(feedback.now);
        for (packet, rtt) in feedback.round_trips() {
            self.on_acknowledgement(feedback.now, packet.sent.sent_at, rtt);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.stall.deadline(self.timeout())
    }

    fn on_timer(&mut self, now: Instant) {
        if self.stall.on_timer(now, self.timeout()) {
            self.window = self.window.map(|_| LEAST_WINDOW);
        }
    }

    fn allowance(&self) -> Allowance {
        let rate = self.rate();
        let held = rate * self.report_interval + self.segment + self.stall.written_off();
        Allowance {
            target: DataRate::from_bytes_per_second(rate),
            pacing: DataRate::from_bytes_per_second(self.config.pacing_gain.max(1.0) * rate),
            window: self.window.map(|window| ByteCount::new((window * self.segment + held) as u64)),
        }
    }

    fn on_application_limited(&mut self, _now: Instant, limited: bool) {
        self.application_limited = limited;
    }

    fn on_path_change(&mut self, now: Instant) {
        self.min_rtt.clear();
        self.max_rtt.clear();
        self.standing_rtt.clear();
        self.velocity = Velocity { since: now, window: self.window.unwrap_or(0.0), ..Velocity::new() };
        (self.last_empty, self.competitive) = (now, false);
        self.inverse_delta = 1.0 / self.config.delta;
    }
}
