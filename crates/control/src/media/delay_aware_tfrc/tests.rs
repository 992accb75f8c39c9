use alloc::boxed::Box;
use alloc::vec::Vec;

use whimbrel_units::{DataRate, Duration, Instant};

use super::{DelayAwareTfrc, DelayAwareTfrcConfig};
use crate::media::RateLimits;
use crate::media::path::{Flow, Path, Sample, lost_after, mean, queue_ms, run, run_flows};

fn config() -> DelayAwareTfrcConfig {
    DelayAwareTfrcConfig::new(RateLimits {
        min: DataRate::from_kilobits_per_second(50.0),
        start: DataRate::from_kilobits_per_second(500.0),
        max: DataRate::from_megabits_per_second(200.0),
    })
}

fn path(kbps: f64, delay_ms: u64, queue_ms: u64) -> Path {
    Path { report_every: Duration::from_millis(20), ..Path::new(kbps, delay_ms, queue_ms) }
}

/// Mean of the queueing delay in ms, its maximum, the utilisation and the coefficient of variation of the
/// target, after 20 s of 60 s.
fn steady(kbps: f64, delay_ms: u64, report_ms: u64) -> (f64, f64, f64, f64) {
    let path = Path { report_every: Duration::from_millis(report_ms), ..path(kbps, delay_ms, 500) };
    let samples = run(&mut DelayAwareTfrc::new(config()), &path, 60, 3);
    assert_eq!(samples.last().map(|sample| sample.lost), Some(0));
    let samples = &samples[200..];
    let target = |sample: &Sample| sample.target.as_bits_per_second();
    let average = mean(samples, target);
    let variance = mean(samples, |sample| (target(sample) - average) * (target(sample) - average));
    let most = samples.iter().map(queue_ms).fold(0.0, f64::max);
    let utilisation = mean(samples, |sample| sample.received) / (kbps * 1e3);
    (mean(samples, queue_ms), most, utilisation, variance.sqrt() / average)
}

#[test]
fn the_queue_is_at_the_equilibrium_of_the_analysis_and_the_rate_is_smooth() {
    for (kbps, delay_ms) in [(1e3, 5), (10e3, 5), (10e3, 20), (2e3, 20), (50e3, 20), (5e3, 50), (5e3, 100)] {
        for report_ms in [20, 50] {
            let (queue, most, utilisation, variation) = steady(kbps, delay_ms, report_ms);
            // Q/2 + min(n s / C, Q/2), and the packet on the link with the clock of 1 ms.
            let packet = 9600.0 / kbps;
            let expected = 12.5 + (2.0 * packet).min(12.5) + packet;
            assert!((queue - expected).abs() < 2.5, "{kbps}, {delay_ms}: {queue} ms, not {expected} ms");
            assert!(most < 25.0 + 1.5 * packet, "{kbps}, {delay_ms}: {most} ms");
            assert!(utilisation > 0.99, "{kbps}, {delay_ms}: {utilisation}");
            // The reductions that look for the least delay are the greatest part.
            assert!(variation < 0.05, "{kbps}, {delay_ms}: {variation}");
        }
    }
}

#[test]
fn the_loop_is_stable_from_10_to_500_ms() {
    for delay_ms in [5, 10, 25, 50, 100, 175, 250] {
        let (_, most, utilisation, variation) = steady(5e3, delay_ms, 20);
        assert!(most < 30.0, "{delay_ms}: {most} ms");
        assert!(utilisation > 0.93, "{delay_ms}: {utilisation}");
        assert!(variation < 0.08, "{delay_ms}: {variation}");
    }
}

/// The jitter of a path is in the baseline as in the delay: it takes no rate, and the queue is the one of the
/// analysis, plus the noise.
#[test]
fn jitter_is_no_queue() {
    for (kbps, delay_ms) in [(1e3, 50), (2e3, 20), (10e3, 20)] {
        for (deviation, seed) in [(5, 3), (10, 3), (10, 5), (10, 7), (10, 9), (10, 11)] {
            let path = Path { jitter: Duration::from_millis(deviation), ..path(kbps, delay_ms, 500) };
            let samples = run(&mut DelayAwareTfrc::new(config()), &path, 90, seed);
            let steady = &samples[300..];
            let utilisation = mean(steady, |sample| sample.received) / (kbps * 1e3);
            assert!(utilisation > 0.93, "{kbps}, {deviation} ms, {seed}: {utilisation}");
            let queue = mean(steady, queue_ms);
            let packet = 9600.0 / kbps;
            let expected = 12.5 + (2.0 * packet).min(12.5) + packet;
            assert!(queue < expected + 12.5, "{kbps}, {deviation} ms, {seed}: {queue} ms, not {expected} ms");
            assert_eq!(samples.last().map(|sample| sample.lost), Some(0));
        }
    }
}

#[test]
fn two_packets_of_each_round_trip_are_marked() {
    for (p, delay_ms) in [(0.1, 20), (0.03, 20), (0.01, 20), (0.03, 50)] {
        let path = Path { mark: p, ..path(1e6, delay_ms, 1000) };
        let samples = run(&mut DelayAwareTfrc::new(config()), &path, 60, 3);
        let law = 2.0 / p * 1200.0 * 8.0 / (2.0 * delay_ms as f64 / 1e3);
        let share = mean(&samples[300..], |sample| sample.received) / law;
        assert!((0.75..1.35).contains(&share), "p = {p}: {share} of the law");
    }
}

#[test]
fn a_step_of_marks_keeps_the_queue_at_the_step() {
    for (kbps, delay_ms) in [(10e3, 20), (50e3, 20), (5e3, 100)] {
        let path = Path { mark_above: Some(Duration::from_millis(5)), ..path(kbps, delay_ms, 500) };
        let samples = run(&mut DelayAwareTfrc::new(config()), &path, 40, 3);
        let steady = &samples[100..];
        assert!(mean(steady, queue_ms) < 6.0, "{kbps}");
        assert!(mean(steady, |sample| sample.received) > 0.85 * kbps * 1e3, "{kbps}");
    }
}

#[test]
fn a_flow_that_starts_later_finds_the_queue_and_approaches_its_share() {
    let first = path(10e3, 20, 500);
    let late = |at| if at < Instant::from_secs(20) { 1.0 } else { f64::INFINITY };
    let second = Path { encoder: Box::new(late), ..path(10e3, 20, 500) };
    let (mut a, mut b) = (DelayAwareTfrc::new(config()), DelayAwareTfrc::new(config()));
    let mut flows = [
        Flow { controller: &mut a, path: &first, link: 0, reports: None },
        Flow { controller: &mut b, path: &second, link: 0, reports: None },
    ];
    let samples = run_flows(&mut flows, 100, 5);
    let share = |from: usize| mean(&samples[1][from..from + 100], |sample| sample.received) / 10e6;
    assert!(
        share(300) > 0.15 && share(600) > 0.3 && share(900) > 0.4,
        "{} {} {}",
        share(300),
        share(600),
        share(900)
    );
    assert!(mean(&samples[0][300..], queue_ms) < 25.0);
}

#[test]
fn a_fall_of_the_capacity_is_answered_within_two_seconds() {
    let capacity = |at: Instant| if at.as_secs_f64() < 20.0 { 10e6 } else { 2e6 };
    let path = Path { capacity: Box::new(capacity), ..path(10e3, 20, 500) };
    let samples = run(&mut DelayAwareTfrc::new(config()), &path, 40, 3);
    let after: Vec<Sample> =
        samples.iter().copied().filter(|sample| sample.at > Instant::from_secs(22)).collect();
    assert!(mean(&after, |sample| sample.target.as_bits_per_second()) < 2.1e6);
    assert!(mean(&after[80..], queue_ms) < 30.0);
    assert!(mean(&after[80..], |sample| sample.received) > 1.9e6);
}

#[test]
fn the_rate_is_the_throughput_equations_with_random_losses() {
    let path = Path { loss: 0.01, ..path(10e3, 20, 500) };
    let mut law = DelayAwareTfrc::new(config());
    let samples = run(&mut law, &path, 60, 3);
    let rate = mean(&samples[100..], |sample| sample.received);
    // Equation 1 of RFC 5348 for p = 0.01, R = 41 ms, t_RTO = 4 R and 1200 bytes: 11.2 packets in a
    // round-trip time.
    assert!((2.1e6..3.6e6).contains(&rate), "{rate} bit/s");
    assert!((0.005..0.02).contains(&law.loss_event_rate().as_f64()), "{:?}", law.loss_event_rate());
}

#[test]
fn without_reports_the_rate_is_halved_repeatedly() {
    let path = Path { report_fate: lost_after(10), ..path(2e3, 20, 500) };
    let samples = run(&mut DelayAwareTfrc::new(config()), &path, 14, 3);
    assert_eq!(samples.last().map(|sample| sample.target), Some(config().limits.min));
}
