use alloc::boxed::Box;
use alloc::vec::Vec;

use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

use super::frames::Frames;
use super::window::{Congestion, ReferenceWindow};
use super::{MarkAverage, Scream, ScreamConfig, ScreamEcn};
use crate::media::path::{Path, Sample, lost_after, mean, queue_ms, run};
use crate::media::{MediaController, RateLimits, SentPacket};

fn limits() -> RateLimits {
    RateLimits {
        min: DataRate::from_kilobits_per_second(50.0),
        start: DataRate::from_kilobits_per_second(500.0),
        max: DataRate::from_megabits_per_second(200.0),
    }
}

fn scream(ecn: ScreamEcn) -> Scream {
    Scream::new(ScreamConfig { ecn, ..ScreamConfig::new(limits()) })
}

/// SCReAM's receiver reports more often than each 50 ms: 10 ms here.
fn path(kbps: f64, delay_ms: u64, queue_ms: u64) -> Path {
    Path { report_every: Duration::from_millis(10), ..Path::new(kbps, delay_ms, queue_ms) }
}

/// The rate over (2 / p) MSS 8 / RTT with independent marks of probability `p`.
fn share_of_law(average: MarkAverage, p: f64, delay_ms: u64) -> f64 {
    let config = ScreamConfig { mark_average: average, ..ScreamConfig::new(limits()) };
    let path = Path { mark: p, ..path(1e6, delay_ms, 1000) };
    let samples = run(&mut Scream::new(config), &path, 60, 3);
    let law = 2.0 / p * 1200.0 * 8.0 / (2.0 * delay_ms as f64 / 1e3);
    mean(&samples[300..], |sample| sample.received) / law
}

#[test]
fn two_packets_of_each_round_trip_are_marked_with_the_mean_of_the_marks() {
    // README of the reference: rate = (2 / p) MSS 8 / RTT, shown for an RTT of 25 ms.
    for p in [0.1, 0.03, 0.01] {
        let share = share_of_law(MarkAverage::Mean, p, 12);
        assert!((0.85..1.15).contains(&share), "p = {p}: {share} of the law");
    }
}

#[test]
fn the_envelope_of_the_marks_lowers_the_rate_to_two_thirds_of_the_law() {
    // A sample of 10 ms contains 0.8 marks on average, regardless of p: the envelope is above the mean.
    for (p, delay_ms) in [(0.1, 12), (0.03, 12), (0.01, 12), (0.02, 50)] {
        let share = share_of_law(MarkAverage::Envelope, p, delay_ms);
        assert!((0.55..0.75).contains(&share), "p = {p}: {share} of the law");
    }
}

#[test]
fn a_step_of_marks_keeps_the_queue_at_the_step_and_the_link_busy() {
    for (kbps, delay_ms, busy) in [(2e3, 20, 0.9), (10e3, 20, 0.95), (50e3, 20, 0.95), (5e3, 100, 0.93)] {
        let path = Path { mark_above: Some(Duration::from_millis(5)), ..path(kbps, delay_ms, 300) };
        let samples = run(&mut scream(ScreamEcn::L4s), &path, 40, 3);
        let steady = &samples[100..];
        assert!(mean(steady, |sample| sample.received) > busy * kbps * 1e3, "{kbps} kbit/s");
        // One packet of 1200 bytes lasts 4.8 ms at 2 Mbit/s.
        assert!(mean(steady, queue_ms) < 8.0, "{kbps} kbit/s");
        assert!(steady.iter().all(|sample| queue_ms(sample) < 25.0), "{kbps} kbit/s");
        assert_eq!(samples.last().map(|sample| sample.lost), Some(0));
    }
}

#[test]
fn without_marks_the_queue_stays_below_the_delay_target() {
    for (kbps, delay_ms) in [(2e3, 20), (10e3, 20), (50e3, 20), (5e3, 5)] {
        let samples = run(&mut scream(ScreamEcn::Off), &path(kbps, delay_ms, 500), 40, 3);
        let steady = &samples[100..];
        assert!(mean(steady, |sample| sample.received) > 0.85 * kbps * 1e3, "{kbps} kbit/s");
        assert!(mean(steady, queue_ms) > 5.0, "{kbps} kbit/s");
        let above = steady.iter().filter(|sample| queue_ms(sample) > 100.0).count();
        assert!(above * 100 <= steady.len(), "{above} samples above the target at {kbps} kbit/s");
        assert!(samples.iter().all(|sample| queue_ms(sample) < 200.0), "{kbps} kbit/s");
        assert_eq!(samples.last().map(|sample| sample.lost), Some(0));
    }
}

#[test]
fn the_delay_target_sets_the_queue() {
    let mean_queue = |target_ms| {
        let config = ScreamConfig {
            ecn: ScreamEcn::Off,
            queue_delay_target: Duration::from_millis(target_ms),
            ..ScreamConfig::new(limits())
        };
        let samples = run(&mut Scream::new(config), &path(10e3, 20, 1000), 40, 3);
        mean(&samples[100..], queue_ms)
    };
    assert!(mean_queue(200) > 1.5 * mean_queue(60));
}

#[test]
fn a_fall_of_the_capacity_is_answered_within_seconds() {
    let capacity = |at: Instant| if at.as_secs_f64() < 20.0 { 10e6 } else { 2e6 };
    let path = Path { capacity: Box::new(capacity), ..path(10e3, 20, 1500) };
    for ecn in [ScreamEcn::Off, ScreamEcn::L4s] {
        let samples = run(&mut scream(ecn), &path, 40, 3);
        let later: Vec<Sample> =
            samples.into_iter().filter(|sample| sample.at > Instant::from_secs(22)).collect();
        assert!(later.iter().all(|sample| queue_ms(sample) < 100.0), "{ecn:?}");
        let (target, received) = (
            mean(&later, |sample| sample.target.as_bits_per_second()),
            mean(&later, |sample| sample.received),
        );
        assert!(
            received > 1.7e6 && (0.95..1.05).contains(&(target / received)),
            "{ecn:?}: {target}, {received}"
        );
    }
}

#[test]
fn losses_below_a_hundredth_with_a_short_queue_are_ignored_and_more_are_not() {
    let rate = |loss| {
        let samples = run(&mut scream(ScreamEcn::Off), &Path { loss, ..path(10e3, 20, 300) }, 40, 3);
        mean(&samples[100..], |sample| sample.received)
    };
    let (clean, few, many) = (rate(0.0), rate(0.003), rate(0.05));
    assert!(few > 0.85 * clean, "{few} of {clean} bit/s");
    assert!(many < 0.3 * clean, "{many} of {clean} bit/s");
}

#[test]
fn codepoints_follow_the_use_of_ecn() {
    let codepoints: Vec<Ecn> =
        [ScreamEcn::Off, ScreamEcn::Classic, ScreamEcn::L4s].map(|ecn| scream(ecn).ecn()).to_vec();
    assert_eq!(codepoints, [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1]);
}

/// An update without growth, at a round-trip time of 25 ms.
fn quiet() -> Congestion {
    Congestion {
        now: Instant::from_secs(10),
        loss: None,
        marked: None,
        virtually: None,
        reactions_in_rtt: 1.0,
        overshoot: false,
        short_queue: false,
        steadiness: 1.0,
        srtt: 0.025,
        segment: 1000.0,
        acknowledged: 0.0,
        in_flight: 50_000.0,
        in_flight_before: 0.0,
        at_greatest_rate: false,
    }
}

fn after(state: Congestion) -> f64 {
    let mut window = ReferenceWindow::new(50_000.0, 3.0);
    window.update(&state, &ScreamConfig::default());
    window.size
}

#[test]
fn a_reaction_has_its_factor_and_losses_come_first() {
    assert_eq!(after(Congestion { loss: Some(0.7), marked: Some(Ok(0.9)), ..quiet() }), 35_000.0);
    assert_eq!(after(Congestion { marked: Some(Ok(0.9)), ..quiet() }), 45_000.0);
    assert_eq!(after(Congestion { marked: Some(Err(0.1)), virtually: Some(0.5), ..quiet() }), 45_000.0);
    assert_eq!(after(Congestion { virtually: Some(0.5), ..quiet() }), 25_000.0);
    let shared = Congestion { marked: Some(Err(0.1)), reactions_in_rtt: 4.0, ..quiet() };
    assert_eq!(after(shared), 48_750.0);
    assert_eq!(after(Congestion { marked: Some(Err(0.1)), overshoot: true, ..quiet() }), 48_750.0);
}

#[test]
fn a_window_of_acknowledged_bytes_adds_a_segment_after_congestion_and_a_twentieth_long_after() {
    let config = ScreamConfig::default();
    let mut window = ReferenceWindow::new(50_000.0, 3.0);
    window.update(&Congestion { acknowledged: 50_000.0, ..quiet() }, &config);
    // One segment, times 1 + 0.05 x 50 segments.
    assert_eq!(window.size, 53_500.0);

    let mut window = ReferenceWindow::new(50_000.0, 3.0);
    window.update(&Congestion { loss: Some(0.7), ..quiet() }, &config);
    // Far from the inflection point, but just after a congestion.
    window.update(&Congestion { acknowledged: 35_000.0, ..quiet() }, &config);
    assert_eq!(window.size, 36_000.0);
}

#[test]
fn growth_near_the_inflection_point_is_a_quarter() {
    let config = ScreamConfig::default();
    let mut window = ReferenceWindow::new(50_000.0, 3.0);
    window.update(&Congestion { virtually: Some(0.02), ..quiet() }, &config);
    assert_eq!(window.size, 49_000.0);
    window.update(&Congestion { acknowledged: 49_000.0, ..quiet() }, &config);
    assert_eq!(window.size, 49_250.0);
}

#[test]
fn the_window_does_not_grow_beyond_twice_the_bytes_in_flight_or_at_the_greatest_rate() {
    let idle = Congestion { acknowledged: 50_000.0, in_flight: 20_000.0, ..quiet() };
    assert_eq!(after(idle), 50_000.0);
    assert_eq!(after(Congestion { acknowledged: 50_000.0, at_greatest_rate: true, ..quiet() }), 50_000.0);
}

#[test]
fn a_stall_of_half_a_second_opens_the_window() {
    let path = Path { report_fate: lost_after(5), ..path(2e3, 20, 300) };
    let mut law = scream(ScreamEcn::Off);
    let samples = run(&mut law, &path, 10, 3);
    // The window allows some packets after each time-out, although no report arrives.
    assert!(samples[70..].iter().any(|sample| sample.received > 0.0));
    let silent = mean(&samples[70..], |sample| sample.received);
    assert!(silent < 2e6, "{silent} bit/s without reports");
}

/// A packet of a frame captured each 20 ms, sent some milliseconds later.
fn packet(frame: u64, wait_ms: u64) -> SentPacket {
    let captured_at = Instant::from_millis(20 * frame);
    let sent_at = captured_at + Duration::from_millis(wait_ms);
    SentPacket { sequence: frame, sent_at, captured_at, size: ByteCount::new(1000), probe: None }
}

#[test]
fn the_rate_falls_while_frames_wait_for_others_and_rises_again() {
    let mut frames = Frames::new();
    (0..10).for_each(|frame| frames.on_sent(&packet(frame, 15)));
    assert_eq!(frames.divisor(), 1.0);
    // Each waits for 30 ms, so that the one before is still there when it is captured: half a period too
    // long.
    (10..20).for_each(|frame| frames.on_sent(&packet(frame, 30)));
    let expected = 1.0 + 9.0 * 0.2 / 8.0 * 0.5;
    assert!((frames.divisor() - expected).abs() < 1e-9, "{} and not {expected}", frames.divisor());
    (20..200).for_each(|frame| frames.on_sent(&packet(frame, 30)));
    assert_eq!(frames.divisor(), 1.5);
    (200..300).for_each(|frame| frames.on_sent(&packet(frame, 0)));
    assert!(frames.divisor() < 1.3, "{}", frames.divisor());
}
