use alloc::vec::Vec;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::{DelayAware, DelayAwareConfig, DelayReport};

const LEAST: DataRate = DataRate::ZERO;

fn most() -> DataRate {
    DataRate::from_megabits_per_second(1000.0)
}

fn law() -> DelayAware {
    DelayAware::new(DelayAwareConfig::default(), DataRate::from_megabits_per_second(1.0))
}

/// A report of a path of 80 ms each 20 ms, on which a packet of 1250 bytes lasts 10 ms at 1 Mbit/s.
fn report(ms: u64, queueing_ms: u64) -> DelayReport {
    DelayReport {
        now: Instant::from_millis(ms),
        rtt: Duration::from_millis(80),
        interval: Duration::from_millis(20),
        queueing: Duration::from_millis(queueing_ms),
        change: 0.0,
        lag: Duration::ZERO,
        received: DataRate::from_megabits_per_second(1.0),
        marked: 0.0,
        loss_event: false,
        ceiling: DataRate::from_bits_per_second(f64::INFINITY),
        packet_size: ByteCount::new(1250),
    }
}

/// The law after slow start, at 1 Mbit/s with that queueing delay.
fn settled(queueing_ms: u64) -> DelayAware {
    let mut law = law();
    law.on_report(&report(0, 20), LEAST, most());
    assert!(!law.is_in_slow_start());
    law.on_report(&report(0, queueing_ms), LEAST, most());
    law.rate = 125_000.0;
    law
}

fn change(law: &mut DelayAware, report: &DelayReport) -> f64 {
    let before = law.rate().as_bits_per_second();
    libm::log(law.on_report(report, LEAST, most()).as_bits_per_second() / before)
}

fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
}

#[test]
fn the_step_is_that_of_the_equation() {
    // Q/2 + min(2 packets, Q/2) = 25 ms: b (25 - 20) ms / T^2 for 20 ms, with T = 100 ms.
    assert_near(change(&mut settled(20), &report(20, 20)), 0.06 * 0.005 / 0.01 * 0.02);
    // Less a (21 - 20) ms / T.
    assert_near(
        change(&mut settled(20), &DelayReport { change: 0.001, ..report(20, 21) }),
        0.06 * 0.004 / 0.01 * 0.02 - 0.5 * 0.001 / 0.1,
    );
    assert_near(change(&mut settled(25), &report(20, 25)), 0.0);
}

#[test]
fn the_lag_of_the_measurement_is_part_of_the_loop() {
    let lag = Duration::from_millis(100);
    let late = DelayReport { lag, change: 0.001, ..report(20, 20) };
    // T = 200 ms.
    assert_near(change(&mut settled(20), &late), 0.06 * 0.005 / 0.04 * 0.02 - 0.5 * 0.001 / 0.2);
    // While the queue is empty, a hundredth in 100 ms all the same.
    let mut fast = settled(0);
    fast.rate = 12_500_000.0;
    assert_near(change(&mut fast, &DelayReport { lag, ..report(20, 0) }), 0.01 * 0.2);
}

#[test]
fn an_empty_queue_adds_at_least_a_hundredth_in_a_loop_delay() {
    // Q/2 + Q/2 at 1 Mbit/s: 0.06 x 25 / 100 in 100 ms.
    assert_near(change(&mut settled(0), &report(20, 0)), 0.015 * 0.2);
    // Q/2 + 0.2 ms at 100 Mbit/s: 0.06 x 12.7 / 100.
    let mut fast = settled(0);
    fast.rate = 12_500_000.0;
    assert_near(change(&mut fast, &report(20, 0)), 0.01 * 0.2);
}

#[test]
fn steps_are_bounded_in_a_loop_delay() {
    assert_near(
        change(&mut settled(49), &DelayReport { change: -0.049, ..report(20, 0) }),
        libm::log(1.125) * 0.2,
    );
    assert_near(
        change(&mut settled(0), &DelayReport { change: 0.049, ..report(20, 49) }),
        libm::log(0.75) * 0.2,
    );
}

#[test]
fn slow_start_doubles_in_a_round_trip_time_and_ends_at_the_receive_rate() {
    let mut law = law();
    law.on_report(&report(0, 0), LEAST, most());
    for ms in [20, 40, 60, 80] {
        law.on_report(&report(ms, 0), LEAST, most());
    }
    assert_near(law.rate().as_bits_per_second() / 2e6, 1.0);
    law.on_report(&DelayReport { loss_event: true, ..report(80, 0) }, LEAST, most());
    assert!(!law.is_in_slow_start());
    assert_near(law.rate().as_bits_per_second() / 1e6, 1.0);
}

#[test]
fn the_first_marks_take_half_their_share_once_in_a_round_trip_time() {
    let mut law = settled(5);
    let marked = |ms| DelayReport { marked: 0.4, ..report(ms, 5) };
    law.rate = 1_250_000.0;
    // One packet of 1 ms per round-trip time of 80 ms, for 20 ms, and ln(1 - 0.4 / 2).
    let growth = |rate: f64| 0.001 * 1_250_000.0 / rate / 0.0064 * 0.02;
    let expected = growth(law.rate) + libm::log(0.8);
    assert_near(change(&mut law, &marked(20)), expected);
    let expected = growth(law.rate);
    assert_near(change(&mut law, &marked(40)), expected);
    law.on_report(&marked(60), LEAST, most());
    law.on_report(&marked(80), LEAST, most());
    let expected = growth(law.rate) + libm::log(0.8);
    assert_near(change(&mut law, &marked(100)), expected);
}

#[test]
fn twice_the_target_sets_the_rate_below_the_receive_rate_once_in_a_loop_delay() {
    let mut law = settled(20);
    let overload = |ms| DelayReport { received: DataRate::from_megabits_per_second(0.5), ..report(ms, 60) };
    law.on_report(&overload(20), LEAST, most());
    assert_near(law.rate().as_bits_per_second(), 0.45e6);
    law.rate = 100_000.0;
    law.on_report(&overload(40), LEAST, most());
    assert!(law.rate > 70_000.0);
    law.on_report(&overload(120), LEAST, most());
    assert_near(law.rate().as_bits_per_second(), 0.45e6);
}

#[test]
fn the_ceiling_and_the_limits_hold() {
    let mut law = settled(20);
    let ceiling = DataRate::from_kilobits_per_second(300.0);
    assert_eq!(law.on_report(&DelayReport { ceiling, ..report(20, 20) }, LEAST, most()), ceiling);
    let (least, most) =
        (DataRate::from_kilobits_per_second(400.0), DataRate::from_kilobits_per_second(350.0));
    assert_eq!(law.on_report(&report(40, 20), LEAST, ceiling), ceiling);
    assert!(law.on_report(&report(60, 20), LEAST, most) <= most);
    assert_eq!(law.on_report(&DelayReport { ceiling, ..report(80, 20) }, least, least), least);
}

#[test]
fn a_standing_queue_is_emptied_each_ten_seconds() {
    let mut law = settled(25);
    let mut reduced = Vec::new();
    for ms in (20..=12_000).step_by(20) {
        let queueing = if ms == 10_200 { 1 } else { 25 };
        law.on_report(&report(ms, queueing), LEAST, most());
        if law.drain_until.is_some() {
            reduced.push(ms);
        }
    }
    // From ten seconds after the first report until the queue is empty.
    assert_eq!((reduced.first(), reduced.last()), (Some(&10_000), Some(&10_180)));
}

/// Phase margin in degrees, with T underestimated by `factor`: a grows by it and b by its square.
fn phase_margin(factor: f64) -> f64 {
    let DelayAwareConfig { proportional_gain, integral_gain, .. } = DelayAwareConfig::default();
    let (a, b) = (proportional_gain * factor, integral_gain * factor * factor);
    // The gain (a^2 w^2 + b^2)^(1/2) / w^2 is one.
    let square = (a * a + libm::sqrt(a * a * a * a + 4.0 * b * b)) / 2.0;
    let frequency = libm::sqrt(square);
    (libm::atan(a * frequency / b) - frequency).to_degrees()
}

#[test]
fn the_phase_margin_is_47_degrees_and_positive_with_a_loop_delay_of_2_6_times_the_estimate() {
    assert!((phase_margin(1.0) - 47.4).abs() < 0.1, "{}", phase_margin(1.0));
    assert!(phase_margin(2.6) > 0.0 && phase_margin(2.7) < 0.0);
    assert!((1..=100).all(|hundredths| phase_margin(f64::from(hundredths) / 100.0) > 47.0));
}
