//! libwebrtc's scenarios of `goog_cc_network_control_unittest.cc`, with its bounds. Links, rates and times
//! are the reference's; packets are shorter than its video's where a link carries fewer than ten of them in a
//! second.

use alloc::boxed::Box;
use alloc::vec::Vec;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::{
    Gcc, GccConfig, LossBasedConfig, LossRule, LossState, PushbackConfig, RouteReset, Throughput,
    ThroughputRule,
};
use crate::media::path::{Flow, Path, ReportFate, Sample, run, run_flows};
use crate::media::{
    Allowance, Feedback, MediaController, PacketReport, Probe, RateLimits, Reception, SentPacket,
};

/// The queue of libwebrtc's simulated link has no limit: a minute of its rate.
const UNLIMITED: u64 = 60_000;
/// Least and greatest rate of the reference where a scenario has none.
const MIN: f64 = 5.0;
const MAX: f64 = 5000.0;

fn config(min: f64, start: f64, max: f64) -> GccConfig {
    let rate = DataRate::from_kilobits_per_second;
    GccConfig::new(RateLimits { min: rate(min), start: rate(start), max: rate(max) })
}

/// The capacity of a link in kbit/s, from the times in s on.
fn steps(steps: &'static [(f64, f64)]) -> Box<dyn Fn(Instant) -> f64> {
    Box::new(move |now| {
        let step = steps.iter().rev().find(|(from, _)| now >= Instant::from_secs_f64(*from));
        step.map_or(0.0, |(_, rate)| rate * 1e3)
    })
}

fn kbps(rate: DataRate) -> f64 {
    rate.as_bits_per_second() / 1e3
}

/// The target in kbit/s at a time.
fn target(samples: &[Sample], seconds: f64) -> f64 {
    samples.iter().rfind(|s| s.at <= Instant::from_secs_f64(seconds)).map_or(f64::NAN, |s| kbps(s.target))
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected} +- {tolerance}");
}

/// TCP as libwebrtc's scenarios imitate it: slow start from ten packets, a packet more in each round-trip
/// time after the first loss, half of the window after each. A pause begins a new connection.
#[derive(Clone, Debug)]
struct FakeTcp {
    window: f64,
    slow_start: bool,
    halved: Instant,
    sent: Instant,
    rtt: Duration,
}

impl FakeTcp {
    const fn new() -> Self {
        let (halved, sent) = (Instant::ZERO, Instant::ZERO);
        Self { window: 10.0, slow_start: true, halved, sent, rtt: Duration::ZERO }
    }
}

impl MediaController for FakeTcp {
    fn name(&self) -> &'static str {
        "TCP"
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        if packet.sent_at.saturating_since(self.sent) > Duration::from_secs(5) {
            *self = Self::new();
        }
        self.sent = packet.sent_at;
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.rtt = feedback.rtt.unwrap_or(self.rtt);
        for packet in feedback.packets {
            if packet.arrival().is_some() {
                self.window += if self.slow_start { 1.0 } else { 1.0 / self.window };
            } else if feedback.now > self.halved + self.rtt {
                self.window = (self.window / 2.0).max(2.0);
                self.slow_start = false;
                self.halved = feedback.now;
            }
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        None
    }

    fn on_timer(&mut self, _now: Instant) {}
    fn allowance(&self) -> Allowance {
        let rate = DataRate::from_megabits_per_second(3.0);
        Allowance { target: rate, pacing: rate, window: Some(ByteCount::new((self.window * 1200.0) as u64)) }
    }

    fn on_path_change(&mut self, _now: Instant) {}
}

#[test]
fn the_target_falls_while_the_link_is_paused() {
    let path = Path { capacity: steps(&[(0.0, 1000.0), (10.0, 0.0)]), ..Path::new(1000.0, 100, UNLIMITED) };
    let pushback = PushbackConfig { queue: Duration::from_millis(800), ..PushbackConfig::default() };
    let config = GccConfig { pushback: Some(pushback), ..config(10.0, 300.0, 2000.0) };
    let samples = run(&mut Gcc::new(config), &path, 13, 1);
    assert!(target(&samples, 10.0) > 900.0);
    assert!(target(&samples, 13.0) < 40.0, "{}", target(&samples, 13.0));
}

/// Records the greatest and least target and stable target from 30 s on.
#[derive(Clone, Debug)]
struct Recording {
    gcc: Gcc,
    targets: Vec<f64>,
    stable: Vec<f64>,
}

impl MediaController for Recording {
    fn name(&self) -> &'static str {
        "recording"
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.gcc.on_sent(packet);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.gcc.on_feedback(feedback);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.gcc.next_timer()
    }

    fn on_timer(&mut self, now: Instant) {
        self.gcc.on_timer(now);
        if now > Instant::from_secs(30) {
            self.targets.push(kbps(self.gcc.allowance().target));
            self.stable.push(kbps(self.gcc.stable_target()));
        }
    }

    fn allowance(&self) -> Allowance {
        self.gcc.allowance()
    }

    fn poll_probe(&mut self, now: Instant) -> Option<Probe> {
        self.gcc.poll_probe(now)
    }

    fn on_path_change(&mut self, now: Instant) {
        self.gcc.on_path_change(now);
    }
}

#[test]
fn the_stable_target_varies_less_than_the_target() {
    let gcc = Gcc::new(config(10.0, 300.0, 1500.0));
    let mut recording = Recording { gcc, targets: Vec::new(), stable: Vec::new() };
    run(&mut recording, &Path::new(500.0, 100, UNLIMITED), 50, 1);
    let ratio = |rates: &[f64]| {
        let greatest = rates.iter().copied().fold(0.0, f64::max);
        rates.iter().copied().fold(f64::INFINITY, f64::min) / greatest
    };
    let (target, stable) = (ratio(&recording.targets), ratio(&recording.stable));
    assert!(target < 0.85 && target > 0.7, "{target}");
    assert!(stable >= target, "{stable} {target}");
}

#[test]
fn random_losses_of_10_percent_do_not_stop_the_flow() {
    let path = Path { loss: 0.1, ..Path::new(2000.0, 200, UNLIMITED) };
    let inherent = run(&mut Gcc::new(config(10.0, 300.0, 1500.0)), &path, 120, 1);
    let thresholds = GccConfig { loss: LossRule::Thresholds, ..config(10.0, 300.0, 1500.0) };
    let thresholds = run(&mut Gcc::new(thresholds), &path, 120, 1);
    // The reference's bound is 100; the thresholds alone give about a tenth of the rate.
    assert!(target(&inherent, 120.0) > 1000.0, "{}", target(&inherent, 120.0));
    assert!(target(&thresholds, 120.0) < 200.0, "{}", target(&thresholds, 120.0));
}

/// The target after 20 s with 3 % of random loss at 2000 kbit/s, which become 5000.
fn with_3_percent_of_loss(inherent_loss: LossBasedConfig) -> f64 {
    let capacity = steps(&[(0.0, 2000.0), (1.0, 5000.0)]);
    let path = Path { loss: 0.03, capacity, ..Path::new(2000.0, 100, UNLIMITED) };
    let config = GccConfig { inherent_loss, ..config(10.0, 1000.0, 5000.0) };
    target(&run(&mut Gcc::new(config), &path, 21, 1), 21.0)
}

/// Earlier versions of the reference kept the rate below 2500 kbit/s here
/// (`LossBasedEstimatorCapsRateAtModerateLoss`), by an estimator that the reference has no longer, nor the
/// scenario. The present one attributes up to 5 % of loss to the channel, and 100 kbit/s divided by the
/// bandwidth more: 9 % at 2500 kbit/s.
#[test]
fn random_losses_of_3_percent_are_inherent() {
    let reference = LossBasedConfig::default();
    let bound = |offset: f64| LossBasedConfig { inherent_loss_offset: offset, ..reference };
    assert!(with_3_percent_of_loss(reference) > 4000.0);
    // The bound of the earlier estimator holds as soon as the constant part leaves less than 3 % at 2500
    // kbit/s.
    let capped = with_3_percent_of_loss(LossBasedConfig {
        inherent_balance: DataRate::from_kilobits_per_second(20.0),
        ..bound(0.01)
    });
    assert!(capped < 2500.0, "{capped}");
}

fn tcp_path(on: impl Fn(f64) -> bool + 'static) -> Path {
    let encoder = Box::new(move |now: Instant| if on(now.as_secs_f64()) { f64::INFINITY } else { 0.0 });
    Path { encoder, ..Path::new(1000.0, 100, 0) }
}

/// Mean rate received in kbit/s against four bursts of TCP, 2 s each, over a queue of 25 packets.
fn beside_bursts(loss: LossRule) -> f64 {
    let path = Path { queue: 25 * 1200, ..Path::new(1000.0, 100, 0) };
    let bursts = tcp_path(|second| second > 10.0 && second < 98.0 && (second - 10.0) % 22.0 < 2.0);
    let mut gcc = Gcc::new(GccConfig { loss, ..config(MIN, 300.0, MAX) });
    let mut tcp = FakeTcp::new();
    let mut flows = [
        Flow { controller: &mut gcc, path: &path, link: 0, reports: None },
        Flow { controller: &mut tcp, path: &bursts, link: 0, reports: None },
    ];
    let samples = run_flows(&mut flows, 98, 1);
    samples[0].iter().map(|s| s.received).sum::<f64>() / samples[0].len() as f64 / 1e3
}

/// The reference expected 5 % more from an earlier loss-based estimator. Here the delay-based estimate limits
/// the rate after a burst with either rule, and the bound does not hold.
#[test]
fn the_rule_for_losses_does_not_matter_beside_bursts_of_tcp() {
    let (inherent, thresholds) = (beside_bursts(LossRule::default()), beside_bursts(LossRule::Thresholds));
    assert!(inherent > 700.0);
    let ratio = inherent / thresholds;
    assert!(ratio > 0.9 && ratio < 1.05, "{ratio}");
}

#[test]
fn the_target_falls_to_the_floor_if_the_round_trip_time_is_high() {
    let mut path = Path { packet_size: 300, ..Path::new(100.0, 100, UNLIMITED) };
    // 10 s of the link's rate at once.
    path.cross_traffic = Box::new(|now| if now == Instant::from_secs(10) { 125_000 } else { 0 });
    let mut config = GccConfig { pushback: None, ..config(MIN, 100.0, MAX) };
    config.rtt_backoff.limit = Duration::from_secs(2);
    config.rtt_backoff.floor = DataRate::from_kilobits_per_second(50.0);
    let samples = run(&mut Gcc::new(config), &path, 16, 1);
    assert!(target(&samples, 9.9) > 70.0);
    assert_near(target(&samples, 16.0), 50.0, 5.0);
}

#[test]
fn a_safe_reset_keeps_a_low_rate() {
    let mut path = Path::new(200.0, 10, UNLIMITED);
    path.path_change = Some(Instant::from_millis(501));
    // The reference's default drops frames where pushback lowers the target here.
    let config = GccConfig { pushback: None, ..config(MIN, 300.0, MAX) };
    let samples = run(&mut Gcc::new(config), &path, 1, 1);
    assert_near(target(&samples, 0.5), 200.0, 50.0);
    assert_near(target(&samples, 0.6), 200.0, 50.0);
}

#[test]
fn a_safe_reset_cuts_a_high_rate() {
    let mut path = Path::new(1000.0, 50, UNLIMITED);
    path.path_change = Some(Instant::from_millis(590));
    let config = GccConfig { pushback: None, ..config(MIN, 300.0, MAX) };
    let samples = run(&mut Gcc::new(config), &path, 1, 1);
    assert_near(target(&samples, 0.5), 1000.0, 300.0);
    assert_near(target(&samples, 0.6), 300.0, 30.0);
}

#[test]
fn probes_detect_a_higher_rate_after_a_safe_reset() {
    let mut path = Path::new(800.0, 50, UNLIMITED);
    path.capacity = steps(&[(0.0, 200.0), (2.0, 800.0)]);
    path.path_change = Some(Instant::from_millis(2050));
    let config = GccConfig { pushback: None, reset: RouteReset::Acknowledged, ..config(MIN, 300.0, MAX) };
    let samples = run(&mut Gcc::new(config), &path, 4, 1);
    assert_near(target(&samples, 2.0), 200.0, 50.0);
    assert_near(target(&samples, 2.1), 200.0, 50.0);
    assert!(target(&samples, 3.1) > 500.0, "{}", target(&samples, 3.1));
}

/// Falls of the target by more than 100 kbit/s below the first value of a window, each followed by a return
/// to it.
fn dips(window: &[f64]) -> u32 {
    let (first, mut is_high, mut dips) = (window[0], true, 0);
    for &target in &window[1..] {
        if target + 100.0 < first && is_high {
            (is_high, dips) = (false, dips + 1);
        } else if target >= first {
            is_high = target <= first;
        }
    }
    dips
}

#[test]
fn the_target_does_not_toggle_under_high_loss() {
    let path = Path { loss: 0.2, ..Path::new(2000.0, 10, UNLIMITED) };
    let samples = run(&mut Gcc::new(config(MIN, 300.0, MAX)), &path, 3, 1);
    let targets: Vec<f64> = (5..46).map(|step| target(&samples, f64::from(step) * 0.05)).collect();
    assert!(targets.windows(10).all(|window| dips(window) < 2), "{targets:?}");
}

#[test]
fn a_pause_of_the_media_is_no_high_round_trip_time() {
    let mut path = Path::new(2000.0, 100, UNLIMITED);
    path.encoder = Box::new(|now| if now < Instant::from_secs(1) { f64::INFINITY } else { 0.0 });
    let mut config = config(MIN, 1000.0, MAX);
    config.rtt_backoff.limit = Duration::from_secs(2);
    let samples = run(&mut Gcc::new(config), &path, 5, 1);
    assert!(target(&samples, 5.0) > 1000.0, "{}", target(&samples, 5.0));
}

#[test]
fn the_target_leaves_capacity_to_tcp() {
    let path = Path::new(1000.0, 50, UNLIMITED);
    let mut gcc = Gcc::new(config(MIN, 1000.0, MAX));
    let mut tcp = FakeTcp::new();
    let greedy = tcp_path(|_| true);
    let mut flows = [
        Flow { controller: &mut gcc, path: &path, link: 0, reports: None },
        Flow { controller: &mut tcp, path: &greedy, link: 0, reports: None },
    ];
    let samples = run_flows(&mut flows, 10, 1);
    assert!(target(&samples[0], 10.0) < 750.0, "{}", target(&samples[0], 10.0));
}

#[test]
fn the_target_follows_the_capacity() {
    let capacity = steps(&[(0.0, 500.0), (25.0, 800.0), (45.0, 100.0)]);
    let path = Path { capacity, packet_size: 300, ..Path::new(800.0, 100, UNLIMITED) };
    for throughput in [ThroughputRule::Robust, ThroughputRule::Bayesian] {
        let config = GccConfig { throughput, ..config(10.0, 300.0, 1500.0) };
        let samples = run(&mut Gcc::new(config), &path, 95, 1);
        assert_near(target(&samples, 25.0), 450.0, 100.0);
        assert_near(target(&samples, 45.0), 750.0, 150.0);
        assert_near(target(&samples, 95.0), 90.0, 25.0);
    }
}

#[test]
fn probes_find_a_rise_of_the_capacity_in_an_application_limited_region() {
    let mut path = Path::new(3000.0, 50, 300);
    path.capacity = steps(&[(0.0, 600.0), (10.0, 3000.0)]);
    path.encoder = Box::new(|now| if now < Instant::from_secs(8) { f64::INFINITY } else { 200e3 });
    let mut gcc = Gcc::new(config(MIN, 300.0, MAX));
    let samples = run(&mut gcc, &path, 30, 1);
    assert!(gcc.is_application_limited());
    // Without probes the estimate is bounded by 1.5 times what is acknowledged.
    assert!(target(&samples, 30.0) > 1000.0, "{}", target(&samples, 30.0));
    let mut config = config(MIN, 300.0, MAX);
    config.probing.while_limited = false;
    let samples = run(&mut Gcc::new(config), &path, 30, 1);
    assert!(target(&samples, 30.0) < 700.0, "{}", target(&samples, 30.0));
}

#[test]
fn a_controller_that_is_not_reported_to_stays_finite() {
    let mut path = Path::new(1000.0, 50, 300);
    path.report_fate = Box::new(|_| ReportFate::Lost);
    let samples = run(&mut Gcc::new(config(MIN, 300.0, MAX)), &path, 10, 1);
    assert!(target(&samples, 10.0) < 300.0, "{}", target(&samples, 10.0));
}

#[test]
fn a_probe_restores_the_rate_of_a_limited_sender_after_a_short_fall_of_the_capacity() {
    let mut path = Path::new(2000.0, 50, UNLIMITED);
    path.capacity = steps(&[(0.0, 2000.0), (20.0, 150.0), (21.0, 2000.0)]);
    path.encoder = Box::new(|now| if now < Instant::from_secs(8) { f64::INFINITY } else { 300e3 });
    let samples = run(&mut Gcc::new(config(MIN, 300.0, MAX)), &path, 26, 1);
    assert!(target(&samples, 19.9) > 1500.0, "{}", target(&samples, 19.9));
    let least = samples.iter().map(|s| kbps(s.target)).fold(f64::INFINITY, f64::min);
    assert!(least < 300.0, "{least}");
    // Probes of a limited sender alone double the estimate each 5 s.
    assert!(target(&samples, 24.0) > 1200.0, "{}", target(&samples, 24.0));
}

#[test]
fn padding_follows_the_target_while_the_loss_based_estimate_grows() {
    let mut gcc = Gcc::new(config(MIN, 300.0, MAX));
    assert_eq!(gcc.padding(), DataRate::ZERO);
    gcc.last.state = LossState::IncreasingWithPadding;
    assert_eq!(gcc.padding(), gcc.allowance().target);
}

#[test]
fn the_end_of_an_application_limit_is_passed_on() {
    let config = GccConfig { throughput: ThroughputRule::Bayesian, ..config(MIN, 300.0, MAX) };
    let mut gcc = Gcc::new(config);
    let sent_at = Instant::from_millis(10);
    let sent =
        SentPacket { sequence: 0, sent_at, captured_at: sent_at, size: ByteCount::new(1200), probe: None };
    gcc.on_sent(&sent);
    gcc.was_limited = true;
    let now = Instant::from_millis(200);
    let packets = [PacketReport { sent, reception: Reception::Missing }];
    gcc.on_feedback(&Feedback { now, packets: &packets, rtt: None, in_flight: ByteCount::ZERO });
    let mut expected = Throughput::new(ThroughputRule::Bayesian);
    expected.on_limit_ended(now);
    assert_eq!(gcc.acknowledged, expected);
}
