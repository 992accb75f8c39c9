//! BBR version 3 as a law for media.
//!
//! The law of draft-ietf-ccwg-bbr (editors' copy at commit 4ce5e87 of ietf-wg-ccwg/draft-ietf-ccwg-bbr,
//! 2026-08-03), in its terms: a model of the path (bandwidth, minimum round-trip time, bytes in flight that
//! are safe), and a state machine that probes for each of them. ECN is not used: the draft leaves it out.
//!
//! Choices for media, and where the draft leaves one:
//! - The rate for the encoder is the estimated bandwidth, less the pacing margin of 1 %, and less in the
//!   phases that send slower. In the phases that send faster the encoder keeps its rate and the sender fills
//!   with padding ([`MediaController::padding`]), so that the picture does not follow the probes;
//!   [`padding`](BbrConfig::padding) turns this off. There is no padding while the encoder leaves its rate
//!   unused, nor above its greatest rate.
//! - A report is one acknowledgement. Its packets are taken as acknowledged at the times of immediate reports
//!   for rates and round-trip times, and at its arrival for aggregation, so that the window has room for a
//!   report's interval.
//! - There is no undo of spurious losses, no send quantum and no offload budget.
//! - A stall of a second is the draft's retransmission time-out.
//!
//! Two properties of the draft show on paths of media rates. Random losses of 1 % leave two thirds to nine
//! tenths of 10 to 100 Mbit/s at 40 ms: the short-term bandwidth falls with the losses between probes, and in
//! some probes chance exceeds the threshold of 2 %. And where a fall of the capacity raises the round-trip
//! time to half a second without losses, ProbeRTT interrupts each probe for bandwidth before it ends, and the
//! estimate does not fall.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

pub use self::config::BbrConfig;
use self::delivery::{Delivery, RateSample};
use self::full_pipe::FullPipe;
use self::probe_rtt::MinRtt;
use self::random::Random;
use super::missing::MissingPackets;
use super::stall::Stall;
use super::{Allowance, Feedback, MediaController, RateLimits, SentPacket};

mod config;
mod delivery;
mod full_pipe;
mod loss;
mod model;
mod probe_bw;
mod probe_rtt;
mod random;

#[cfg(test)]
mod tests;

/// Least window, in packets (MinPipeCwnd).
const LEAST_PACKETS: f64 = 4.0;
/// Round-trip times after which Drain ends in any case.
const DRAIN_ROUNDS: u64 = 3;
/// Time without sending or reports after which packets in flight are taken as lost (RFC 6298, Section 2.4),
/// and in round-trip times.
const STALL_MIN: f64 = 1.0;
const STALL_ROUNDS: f64 = 3.0;
/// Weight of a sample in the average interval between reports.
const REPORT_SMOOTHING: f64 = 1.0 / 8.0;
/// Packets of the initial window (RFC 6928).
const INITIAL_PACKETS: f64 = 10.0;

/// The states of BBR, with the four phases of ProbeBW.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// The relation of the samples to the last probe for bandwidth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// BBR version 3.
#[derive(Clone, PartialEq, Debug)]
pub struct Bbr {
    config: BbrConfig,
    state: State,
    delivery: Delivery,
    missing: MissingPackets,
    stall: Stall,
    random: Random,
    segment: f64,
    /// Window in bytes, and the one to be restored.
    window: f64,
    saved_window: f64,
    /// Pacing rate in bytes per second.
    pacing: f64,
    /// Maximum rate of this cycle and the one before, in bytes per second.
    max_bw: [f64; 2],
    /// Short-term bounds: bandwidth and bytes in flight.
    bw_short_term: f64,
    in_flight_short_term: f64,
    /// Long-term bound of the bytes in flight.
    long_term: f64,
    bw_latest: f64,
    in_flight_latest: f64,
    full_pipe: FullPipe,
    min_rtt: MinRtt,
    /// Round-trip times counted by packets.
    round: u64,
    round_start: bool,
    next_round_delivered: f64,
    drain_start: u64,
    loss_in_round: bool,
    loss_round_start: bool,
    loss_round_delivered: f64,
    loss_ranges: u32,
    last_lost: u64,
    ack_phase: AckPhase,
    cycle_start: Instant,
    probe_wait: Duration,
    rounds_since_probe: u32,
    is_probe_sample: bool,
    last_probe_was_too_high: bool,
    last_probe_was_precautionary: bool,
    growth_exponent: u32,
    probe_acked: f64,
    acked_per_increment: f64,
    /// Bytes acknowledged beyond the expected, their maximum of two periods, and the start of the period.
    extra_start: Instant,
    extra_delivered: f64,
    extra: [f64; 2],
    extra_round: u64,
    last_report: Option<Instant>,
    report_interval: f64,
    window_limited: bool,
    application_limited: bool,
    idle_restart: bool,
}

impl Bbr {
    /// BBR with `config`, before any report.
    pub fn new(config: BbrConfig) -> Self {
        Self {
            config,
            state: State::Startup,
            delivery: Delivery::default(),
            missing: MissingPackets::default(),
            stall: Stall::default(),
            random: Random(config.seed | 1),
            segment: 0.0,
            window: 0.0,
            saved_window: 0.0,
            pacing: config.limits.start.as_bytes_per_second(),
            max_bw: [0.0; 2],
            bw_short_term: f64::INFINITY,
            in_flight_short_term: f64::INFINITY,
            long_term: f64::INFINITY,
            bw_latest: 0.0,
            in_flight_latest: 0.0,
            full_pipe: FullPipe::default(),
            min_rtt: MinRtt::default(),
            round: 0,
            round_start: false,
            next_round_delivered: 0.0,
            drain_start: 0,
            loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: 0.0,
            loss_ranges: 0,
            last_lost: u64::MAX - 1,
            ack_phase: AckPhase::Init,
            cycle_start: Instant::ZERO,
            probe_wait: Duration::ZERO,
            rounds_since_probe: 0,
            is_probe_sample: false,
            last_probe_was_too_high: false,
            last_probe_was_precautionary: false,
            growth_exponent: 0,
            probe_acked: 0.0,
            acked_per_increment: f64::INFINITY,
            extra_start: Instant::ZERO,
            extra_delivered: 0.0,
            extra: [0.0; 2],
            extra_round: 0,
            last_report: None,
            report_interval: 0.0,
            window_limited: false,
            application_limited: false,
            idle_restart: false,
        }
    }

    /// The estimated bandwidth.
    pub fn bandwidth(&self) -> DataRate {
        DataRate::from_bytes_per_second(self.bw())
    }

    /// The estimated minimum round-trip time; `None` before the first report.
    pub const fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.estimate
    }

    /// Name of the state, as in the draft.
    pub const fn state(&self) -> &'static str {
        match self.state {
            State::Startup => "Startup",
            State::Drain => "Drain",
            State::Down => "ProbeBW_DOWN",
            State::Cruise => "ProbeBW_CRUISE",
            State::Refill => "ProbeBW_REFILL",
            State::Up => "ProbeBW_UP",
            State::ProbeRtt => "ProbeRTT",
        }
    }

    /// The long-term bound of the bytes in flight; `None` while no probe has found it.
    pub fn long_term_bound(&self) -> Option<ByteCount> {
        self.long_term.is_finite().then(|| ByteCount::new(self.long_term as u64))
    }

    fn timeout(&self) -> Duration {
        let rtt = self.min_rtt.estimate.map_or(0.0, Duration::as_secs_f64);
        Duration::from_secs_f64((STALL_ROUNDS * rtt).max(STALL_MIN))
    }

    fn on_sample(&mut self, now: Instant, sample: &RateSample) {
        self.update_latest_signals(sample);
        self.update_congestion_signals(sample);
        self.update_aggregation(now, sample.newly_delivered);
        if !self.full_pipe.now && self.round_start && !sample.application_limited {
            self.full_pipe.on_round(sample.rate);
        }
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
            self.drain_start = self.round;
        }
        if self.state == State::Drain
            && (self.stall.in_flight() <= self.in_flight_for(self.bw(), 1.0)
                || self.round > self.drain_start + DRAIN_ROUNDS)
        {
            self.start_down(now);
        }
        self.update_phase(now, sample);
        self.update_min_rtt(now, sample);
        self.check_probe_rtt(now);
        self.advance_latest_signals(sample);
        self.set_pacing();
        self.set_window(sample.newly_delivered);
        self.window_limited = false;
    }
}

impl MediaController for Bbr {
    fn name(&self) -> &'static str {
        "BBRv3"
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.segment = self.segment.max(packet.size.as_f64());
        if self.window <= 0.0 {
            self.window = INITIAL_PACKETS * self.segment;
        }
        let in_flight = self.stall.in_flight();
        if in_flight <= 0.0 && self.delivery.is_limited() {
            self.idle_restart = true;
            self.extra_start = packet.sent_at;
            if self.is_in_probe_bw() {
                self.pacing = self.bw() * (1.0 - self.config.pacing_margin);
            } else if self.state == State::ProbeRtt {
                self.end_probe_rtt(packet.sent_at);
            }
        }
        self.delivery.on_sent(packet, in_flight);
        self.stall.on_sent(packet);
        self.window_limited |= self.stall.in_flight() + self.segment > self.window;
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if self.stall.written_off() > 0.0 {
            self.restore_window();
        }
        self.stall.on_feedback(feedback);
        if let Some(last) = self.last_report.replace(feedback.now) {
            let interval = feedback.now.saturating_since(last).as_secs_f64();
            self.report_interval += REPORT_SMOOTHING * (interval - self.report_interval);
        }
        let rtt = self.min_rtt.estimate.unwrap_or(Duration::ZERO);
        let reordering = rtt.mul_f64(self.config.reordering_rtts);
        let mut missing = core::mem::take(&mut self.missing);
        missing.on_report(feedback.packets, reordering, |packet| self.on_lost(feedback.now, packet));
        self.missing = missing;
        if let Some(sample) = self.delivery.on_feedback(feedback) {
            self.on_sample(feedback.now, &sample);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.stall.deadline(self.timeout())
    }

    fn on_timer(&mut self, now: Instant) {
        if self.stall.on_timer(now, self.timeout()) {
            self.save_window();
            self.window = self.segment;
        }
    }

    fn allowance(&self) -> Allowance {
        let RateLimits { min, start, max } = self.config.limits;
        let estimate = match self.min_rtt.estimate {
            Some(rtt) if self.bw() > 0.0 => {
                let rate = self.bw() * (1.0 - self.config.pacing_margin);
                // The window also covers the bytes that arrive in the interval between reports.
                let period = rtt.as_secs_f64().max(1e-3) + self.report_interval;
                rate.min(self.pacing).min(self.window / period)
            }
            _ => start.as_bytes_per_second(),
        };
        let target = estimate.max(min.as_bytes_per_second()).min(max.as_bytes_per_second());
        let window =
            (self.window > 0.0).then(|| ByteCount::new((self.window + self.stall.written_off()) as u64));
        Allowance {
            target: DataRate::from_bytes_per_second(target),
            pacing: DataRate::from_bytes_per_second(self.pacing.max(target)),
            window,
        }
    }

    fn padding(&self) -> DataRate {
        let probes = matches!(self.state, State::Startup | State::Refill | State::Up);
        let most = self.config.limits.max.as_bytes_per_second();
        if self.config.padding && probes && !self.application_limited && self.bw() < most {
            DataRate::from_bytes_per_second(self.pacing)
        } else {
            DataRate::ZERO
        }
    }

    fn on_application_limited(&mut self, _now: Instant, limited: bool) {
        self.application_limited = limited;
        let in_flight = self.stall.in_flight();
        if limited && in_flight + self.segment < self.window {
            self.delivery.limit(in_flight);
        }
    }

    fn on_path_change(&mut self, now: Instant) {
        self.min_rtt = MinRtt::default();
        self.max_bw = [0.0; 2];
        self.long_term = f64::INFINITY;
        self.reset_short_term_model();
        self.reset_congestion_signals();
        self.full_pipe = FullPipe::default();
        self.state = State::Startup;
        self.cycle_start = now;
    }
}
