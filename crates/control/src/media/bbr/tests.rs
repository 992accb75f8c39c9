use alloc::boxed::Box;
use alloc::vec::Vec;

use whimbrel_units::{DataRate, Duration, Instant};

use super::{Bbr, BbrConfig};
use crate::bbr::Parameters;
use crate::media::path::{Path, Sample, mean, queue_ms, run};
use crate::media::{Allowance, Feedback, MediaController, RateLimits, SentPacket};

mod draft;

fn config() -> BbrConfig {
    BbrConfig::new(RateLimits {
        min: DataRate::from_kilobits_per_second(50.0),
        start: DataRate::from_kilobits_per_second(500.0),
        max: DataRate::from_megabits_per_second(200.0),
    })
}

fn path(kbps: f64, delay_ms: u64, queue_ms: u64) -> Path {
    Path { report_every: Duration::from_millis(10), ..Path::new(kbps, delay_ms, queue_ms) }
}

/// BBR with a record of its states.
#[derive(Clone, Debug)]
struct Recorded {
    bbr: Bbr,
    states: Vec<(Instant, &'static str)>,
    padded: Vec<&'static str>,
}

impl Recorded {
    fn new(config: BbrConfig) -> Self {
        Self { bbr: Bbr::new(config), states: Vec::new(), padded: Vec::new() }
    }
}

impl MediaController for Recorded {
    fn name(&self) -> &'static str {
        self.bbr.name()
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.bbr.on_sent(packet);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.bbr.on_feedback(feedback);
        let state = self.bbr.state();
        if self.states.last().is_none_or(|(_, last)| *last != state) {
            self.states.push((feedback.now, state));
        }
        if !self.bbr.padding().is_zero() && !self.padded.contains(&state) {
            self.padded.push(state);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.bbr.next_timer()
    }

    fn on_timer(&mut self, now: Instant) {
        self.bbr.on_timer(now);
    }

    fn allowance(&self) -> Allowance {
        self.bbr.allowance()
    }

    fn on_application_limited(&mut self, now: Instant, limited: bool) {
        self.bbr.on_application_limited(now, limited);
    }

    fn padding(&self) -> DataRate {
        self.bbr.padding()
    }

    fn on_path_change(&mut self, now: Instant) {
        self.bbr.on_path_change(now);
    }
}

fn lost(samples: &[Sample]) -> u64 {
    samples.last().map_or(0, |sample| sample.lost)
}

#[test]
fn one_and_five_products_of_queue_are_used_in_full_and_not_filled() {
    for (kbps, delay_ms, queue) in [(10e3, 20, 40), (10e3, 20, 200), (50e3, 20, 200), (5e3, 100, 200)] {
        let samples = run(&mut Bbr::new(config()), &path(kbps, delay_ms, queue), 30, 3);
        let steady = &samples[50..];
        assert!(mean(steady, |sample| sample.received) > 0.93 * kbps * 1e3, "{kbps} kbit/s, {queue} ms");
        // Less than half the product of bandwidth and delay stands in the queue.
        assert!(mean(steady, queue_ms) < delay_ms as f64, "{kbps} kbit/s, {queue} ms");
        let packets = kbps * 30.0 / 9.6;
        assert!((lost(&samples) as f64) < 0.01 * packets, "{kbps} kbit/s, {queue} ms");
    }
}

#[test]
fn startup_ends_with_the_bandwidth_and_the_phases_follow_each_other() {
    let mut law = Recorded::new(config());
    run(&mut law, &path(10e3, 20, 200), 12, 3);
    assert_eq!(law.states[0].1, "Startup");
    assert_eq!(law.states[1].1, "Drain");
    // 500 kbit/s double in each round-trip time; three more show that the pipe is full.
    assert!(law.states[1].0 < Instant::from_secs(1), "{:?}", law.states[1]);
    assert!((9.5e6..10.5e6).contains(&law.bbr.bandwidth().as_bits_per_second()));
    let next = |state| match state {
        "ProbeBW_DOWN" => "ProbeBW_CRUISE",
        "ProbeBW_CRUISE" => "ProbeBW_REFILL",
        "ProbeBW_REFILL" => "ProbeBW_UP",
        "Drain" | "ProbeBW_UP" => "ProbeBW_DOWN",
        // Entered from any state and left for cruise.
        _ => "ProbeBW_CRUISE",
    };
    let expected = |pair: &[(Instant, &'static str)]| {
        pair[1].1 == next(pair[0].1)
            || pair[1].1 == "ProbeRTT"
            || pair[0].1 == "Startup"
            // ProbeBW_DOWN ends at once if the bytes in flight are already low.
            || (pair[0].1, pair[1].1) == ("Drain", "ProbeBW_CRUISE")
    };
    assert!(law.states.windows(2).all(expected), "{:?}", law.states);
    assert!(law.states.iter().filter(|(_, state)| *state == "ProbeBW_UP").count() >= 3);
    assert_eq!(law.padded, ["Startup", "ProbeBW_REFILL", "ProbeBW_UP"]);
}

#[test]
fn probes_for_bandwidth_follow_each_other_after_two_to_three_seconds_or_as_those_of_reno() {
    let mut law = Recorded::new(config());
    // More than 63 packets fill this path: 63 round-trip times are 6 s.
    run(&mut law, &path(20e3, 50, 200), 40, 3);
    let refills: Vec<Instant> =
        law.states.iter().filter(|(_, state)| *state == "ProbeBW_REFILL").map(|(at, _)| *at).collect();
    for pair in refills.windows(2) {
        let seconds = (pair[1] - pair[0]).as_secs_f64();
        assert!((2.0..6.0).contains(&seconds), "{seconds} s");
    }
}

#[test]
fn probe_rtt_finds_the_minimum_round_trip_time_every_five_seconds() {
    let mut law = Recorded::new(config());
    // A path of one product: the queue rarely empties otherwise.
    run(&mut law, &path(5e3, 5, 50), 40, 3);
    assert!(law.bbr.min_rtt().is_some_and(|rtt| rtt <= Duration::from_millis(13)), "{:?}", law.bbr.min_rtt());
    let probes: Vec<Instant> =
        law.states.iter().filter(|(_, state)| *state == "ProbeRTT").map(|(at, _)| *at).collect();
    assert!(probes.len() >= 5, "{probes:?}");
    assert!(probes.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(5)), "{probes:?}");
}

#[test]
fn losses_below_the_threshold_keep_the_rate_and_losses_above_do_not() {
    let rate = |loss| {
        let samples = run(&mut Bbr::new(config()), &Path { loss, ..path(50e3, 20, 80) }, 30, 3);
        mean(&samples[50..], |sample| sample.received)
    };
    let (below, above) = (rate(0.005), rate(0.1));
    // NewReno's rate is sqrt(1.5 / p) packets in a round-trip time: 4 and 3 Mbit/s.
    assert!(below > 0.75 * 50e6, "{below} bit/s");
    assert!(above < 0.5 * 50e6, "{above} bit/s");
}

#[test]
fn a_fall_of_the_capacity_is_answered_when_packets_are_lost() {
    let capacity = |at: Instant| if at.as_secs_f64() < 20.0 { 10e6 } else { 2e6 };
    let path = Path { capacity: Box::new(capacity), ..path(10e3, 20, 40) };
    let samples = run(&mut Bbr::new(config()), &path, 40, 3);
    let later = &samples[300..];
    assert!(mean(later, |sample| sample.target.as_bits_per_second()) < 2.2e6);
    assert!(mean(later, |sample| sample.received) > 1.6e6);
}

#[test]
fn an_encoder_that_produces_less_keeps_the_estimate_and_gets_no_padding() {
    let encoder = |at: Instant| if at.as_secs_f64() < 5.0 { f64::INFINITY } else { 1e6 };
    let samples =
        run(&mut Bbr::new(config()), &Path { encoder: Box::new(encoder), ..path(10e3, 20, 200) }, 20, 3);
    let later = &samples[100..];
    assert!(mean(later, |sample| sample.received) < 1.05e6);
    assert!(mean(later, |sample| sample.target.as_bits_per_second()) > 8e6);
}

/// The estimate in Mbit/s and the probes for bandwidth that ended, after a fall from 10 to 2 Mbit/s with a
/// queue of a second.
fn estimate_after_a_fall_without_losses(probe_rtt_interval: Duration) -> (f64, usize) {
    let capacity = |at: Instant| if at.as_secs_f64() < 20.0 { 10e6 } else { 2e6 };
    let path = Path { capacity: Box::new(capacity), ..path(10e3, 20, 200) };
    let mut law = Recorded::new(BbrConfig {
        parameters: Parameters { probe_rtt_interval, ..Parameters::default() },
        ..config()
    });
    run(&mut law, &path, 40, 3);
    let ended = |pair: &&[(Instant, &'static str)]| {
        pair[0].0 > Instant::from_secs(22) && (pair[0].1, pair[1].1) == ("ProbeBW_UP", "ProbeBW_DOWN")
    };
    let probes = law.states.windows(2).filter(ended).count();
    (law.bbr.bandwidth().as_bits_per_second() / 1e6, probes)
}

#[test]
fn probe_rtt_can_interrupt_each_probe_for_bandwidth_on_a_long_queue() {
    let (estimate, probes) = estimate_after_a_fall_without_losses(Parameters::default().probe_rtt_interval);
    assert!(estimate > 8.0 && probes <= 1, "{estimate} Mbit/s after {probes} probes");
    let (estimate, probes) = estimate_after_a_fall_without_losses(Duration::from_secs(60));
    assert!(estimate < 2.2 && probes > 5, "{estimate} Mbit/s after {probes} probes");
}
