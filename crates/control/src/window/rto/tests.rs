use proptest::prelude::*;

use super::*;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// RFC 6298 with a minimum too small to affect the results.
fn exact() -> RttEstimator {
    RttEstimator::new(RtoConfig { minimum: ms(1), ..RtoConfig::RFC6298 })
}

#[test]
fn before_the_first_measurement_the_timeout_is_a_second() {
    let estimator = RttEstimator::new(RtoConfig::RFC6298);
    assert_eq!(estimator.rto(), Duration::from_secs(1));
    assert_eq!((estimator.smoothed(), estimator.variation(), estimator.latest()), (None, None, None));
}

#[test]
fn the_first_measurement_gives_three_times_itself() {
    // R = 100 ms: SRTT = 100, RTTVAR = 50, RTO = 100 + 4 * 50 = 300 ms.
    let mut estimator = exact();
    estimator.on_sample(ms(100));
    assert_eq!(estimator.smoothed(), Some(ms(100)));
    assert_eq!(estimator.variation(), Some(ms(50)));
    assert_eq!(estimator.rto(), ms(300));
}

#[test]
fn later_measurements_move_by_an_eighth_and_a_quarter() {
    // R' = 140 ms: RTTVAR = 3/4 * 50 + 1/4 * |100 - 140| = 47.5, SRTT = 7/8 * 100 + 1/8 * 140 = 105,
    // RTO = 105 + 190 = 295 ms.
    let mut estimator = exact();
    estimator.on_sample(ms(100));
    estimator.on_sample(ms(140));
    assert_eq!(estimator.smoothed(), Some(ms(105)));
    assert_eq!(estimator.variation(), Some(Duration::from_micros(47_500)));
    assert_eq!(estimator.rto(), ms(295));
    // R' = 65 ms: RTTVAR = 35.625 + 10 = 45.625, SRTT = 91.875 + 8.125 = 100, RTO = 282.5 ms.
    estimator.on_sample(ms(65));
    assert_eq!(estimator.smoothed(), Some(ms(100)));
    assert_eq!(estimator.rto(), Duration::from_micros(282_500));
}

#[test]
fn a_steady_path_leaves_the_granularity() {
    let mut estimator = exact();
    for _ in 0..200 {
        estimator.on_sample(ms(100));
    }
    assert_eq!(estimator.rto(), ms(101)); // SRTT + G
}

#[test]
fn the_timeout_is_at_least_the_minimum() {
    let mut estimator = RttEstimator::new(RtoConfig::RFC6298);
    estimator.on_sample(ms(100));
    assert_eq!(estimator.rto(), Duration::from_secs(1));
    let mut estimator = RttEstimator::new(RtoConfig { minimum: ms(200), ..RtoConfig::RFC6298 });
    estimator.on_sample(ms(20));
    assert_eq!(estimator.rto(), ms(200));
}

#[test]
fn backing_off_doubles_from_the_bounded_value_up_to_the_maximum() {
    let mut estimator = RttEstimator::new(RtoConfig::RFC6298);
    estimator.on_sample(ms(100)); // 300 ms, but at least 1 s: the doubling starts there
    let mut seen = [0; 8];
    for seconds in &mut seen {
        *seconds = estimator.rto().as_millis() / 1000;
        estimator.back_off();
    }
    assert_eq!(seen, [1, 2, 4, 8, 16, 32, 60, 60]);
}

#[test]
fn a_measurement_ends_the_back_off() {
    let mut estimator = exact();
    estimator.on_sample(ms(100));
    estimator.back_off();
    estimator.back_off();
    assert_eq!((estimator.rto(), estimator.backoffs()), (ms(1200), 2));
    estimator.on_sample(ms(100));
    assert_eq!((estimator.rto(), estimator.backoffs()), (ms(250), 0));
}

#[test]
fn a_lost_syn_leaves_three_seconds() {
    let mut estimator = exact();
    estimator.back_off();
    estimator.restart(Duration::from_secs(3));
    assert_eq!(estimator.rto(), Duration::from_secs(3));
    estimator.on_sample(ms(100));
    assert_eq!(estimator.rto(), ms(300));
}

#[test]
fn four_doublings_make_ns_2_forget_the_round_trip_time() {
    let mut estimator = RttEstimator::new(RtoConfig::NS2);
    estimator.on_sample(ms(100));
    for _ in 0..3 {
        estimator.back_off();
    }
    assert!(estimator.smoothed().is_some());
    estimator.back_off();
    assert_eq!(estimator.smoothed(), None);
    assert_eq!(estimator.rto(), ms(4800)); // the timeout in force stays: 300 ms doubled four times
    estimator.on_sample(ms(200)); // taken as the first
    assert_eq!(estimator.rto(), ms(600));
}

#[test]
fn a_coarse_clock_counts_the_ticks_in_between() {
    // Sent at 12 ms, acknowledged at 53 ms: the clock ticked at 20, 30, 40 and 50 ms.
    let mut estimator = RttEstimator::new(RtoConfig::NS2);
    estimator.on_round_trip(Instant::from_millis(12), Instant::from_millis(53));
    assert_eq!(estimator.latest(), Some(ms(40)));
    // 4 ticks: SRTT 4, RTTVAR 2, RTO 12 ticks = 120 ms, raised to 200.
    assert_eq!(estimator.rto(), ms(200));
    estimator.on_round_trip(Instant::from_millis(19), Instant::from_millis(61));
    assert_eq!(estimator.latest(), Some(ms(50)));
    estimator.on_round_trip(Instant::from_millis(20), Instant::from_millis(29));
    assert_eq!(estimator.latest(), Some(ms(10))); // never less than a tick
}

#[test]
fn a_coarse_clock_truncates_as_bsd_does() {
    // In ticks of 10 ms: 30, then 33. 8 SRTT = 240 + 3 = 243, 4 RTTVAR = 60 + 3 - 15 = 48;
    // RTO = (48 * 8 + 243) / 8 = 78.4, cut to 78 ticks.
    let mut estimator = RttEstimator::new(RtoConfig::NS2);
    estimator.on_sample(ms(300));
    assert_eq!(estimator.rto(), ms(900));
    estimator.on_sample(ms(330));
    assert_eq!(estimator.rto(), ms(780));
}

#[test]
fn a_coarse_timer_runs_for_two_ticks_at_least() {
    let config = RtoConfig { initial: ms(1), minimum: Duration::ZERO, tick: ms(500), ..RtoConfig::NS2 };
    assert_eq!(RttEstimator::new(config).rto(), ms(1000));
}

#[test]
fn a_coarse_clock_never_finds_a_path_steady() {
    // Always one tick: 4 RTTVAR starts at 2 and loses 2 >> 2 = 0 each time, so RTO stays at 1 + 2 ticks.
    let mut estimator = RttEstimator::new(RtoConfig { minimum: Duration::ZERO, ..RtoConfig::NS2 });
    for _ in 0..100 {
        estimator.on_sample(ms(10));
    }
    assert_eq!(estimator.rto(), ms(30));
}

proptest! {
    #[test]
    fn the_integers_follow_the_real_numbers(samples in prop::collection::vec(1_000_000u64..3_000_000_000, 1..60)) {
        let mut estimator = RttEstimator::new(RtoConfig { granularity: Duration::ZERO, ..RtoConfig::RFC6298 });
        let (mut srtt, mut rttvar) = (0.0, 0.0);
        for (index, &sample) in samples.iter().enumerate() {
            estimator.on_sample(Duration::from_nanos(sample));
            let r = sample as f64;
            if index == 0 {
                (srtt, rttvar) = (r, r / 2.0);
            } else {
                rttvar = 0.75 * rttvar + 0.25 * (srtt - r).abs();
                srtt = 0.875 * srtt + 0.125 * r;
            }
            let rto = (srtt + 4.0 * rttvar).clamp(1e9, 60e9);
            // Truncation loses at most a few nanoseconds, which RTO multiplies by four.
            prop_assert!((estimator.rto().as_nanos() as f64 - rto).abs() < 100.0);
        }
    }
}
