use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{QueueEstimate, QueueingDelay};

const TARGET: Duration = Duration::from_millis(25);
const PERIOD: Duration = Duration::from_secs(30);

fn estimator() -> QueueingDelay {
    QueueingDelay::new(TARGET, PERIOD)
}

/// Uniform in [0, 1) (xorshift64*).
fn uniform(random: &mut u64) -> f64 {
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    (random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
}

/// A normal variable with that deviation, within three deviations of three (RFC 8868, Section 4.5.3).
fn truncated_normal(deviation: f64, random: &mut u64) -> f64 {
    let (one, two) = (1.0 - uniform(random), uniform(random));
    let normal = libm::sqrt(-2.0 * libm::log(one)) * libm::cos(core::f64::consts::TAU * two);
    deviation * (3.0 + normal.clamp(-3.0, 3.0))
}

/// Estimates of samples in milliseconds each 50 ms, beginning at a delay of which only differences count.
fn estimates(estimator: &mut QueueingDelay, delays_ms: impl IntoIterator<Item = f64>) -> Vec<QueueEstimate> {
    let start = i64::MAX - 1000;
    let sample = |(index, delay): (usize, f64)| {
        let now = Instant::from_millis(50 * index as u64);
        estimator.on_sample(now, start.wrapping_add((delay * 1e6) as i64))
    };
    delays_ms.into_iter().enumerate().map(sample).collect()
}

fn queueing_ms(estimate: &QueueEstimate) -> f64 {
    estimate.queueing.as_secs_f64() * 1e3
}

fn mean_ms(estimates: &[QueueEstimate]) -> f64 {
    estimates.iter().map(queueing_ms).sum::<f64>() / estimates.len() as f64
}

#[test]
fn without_jitter_it_is_the_delay_over_the_least() {
    let mut estimator = estimator();
    // A queue that grows by 1 ms per sample: each is the mean of its neighbours.
    let estimates = estimates(&mut estimator, (0..20).map(|k| 100.0 + f64::from(k)));
    for (k, estimate) in estimates.iter().enumerate().skip(3) {
        assert!((queueing_ms(estimate) - k as f64).abs() < 1e-3, "{k}: {estimate:?}");
        assert!((estimate.change - 1e-3).abs() < 1e-6 && estimate.lag == 0.0, "{k}: {estimate:?}");
    }
    assert_eq!(estimator.deviation(), Duration::ZERO);
}

#[test]
fn until_the_jitter_is_known_half_of_the_target_is_subtracted() {
    let estimates = estimates(&mut estimator(), [10.0, 40.0, 70.0]);
    assert_eq!(estimates[0], QueueEstimate::EMPTY);
    for (estimate, expected) in estimates[1..].iter().zip([17.5, 60.0]) {
        assert!((queueing_ms(estimate) - expected).abs() < 1e-3, "{estimates:?}");
    }
}

#[test]
fn a_queue_that_fills_and_empties_is_no_jitter() {
    let mut estimator = estimator();
    let slow_start = [101.0, 103.0, 107.0, 115.0, 131.0, 163.0, 227.0, 150.0];
    let delays = [100.0; 12].into_iter().chain(slow_start).chain([100.0; 9]);
    let found: Vec<f64> = estimates(&mut estimator, delays).iter().map(queueing_ms).collect();
    assert_eq!(estimator.deviation(), Duration::ZERO);
    assert!((found[18] - 127.0).abs() < 1e-3 && found[23] == 0.0, "{found:?}");
}

#[test]
fn the_deviation_of_jitter_is_measured_and_is_no_queue() {
    for deviation in [1.0, 5.0, 10.0] {
        let (mut random, mut estimator) = (7, estimator());
        let delays: Vec<f64> = (0..1200).map(|_| 50.0 + truncated_normal(deviation, &mut random)).collect();
        let estimates = estimates(&mut estimator, delays.iter().copied());
        let measured = estimator.deviation().as_secs_f64() * 1e3;
        assert!((0.6..1.4).contains(&(measured / deviation)), "{deviation} ms: {measured} ms");
        let steady = &estimates[100..];
        // The least delay is three deviations lower.
        let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
        let naive = delays.iter().sum::<f64>() / delays.len() as f64 - least;
        assert!(naive > 2.5 * deviation, "{deviation} ms: {naive} ms");
        assert!(mean_ms(steady) < 0.25 * naive, "{deviation} ms: {} of {naive} ms", mean_ms(steady));
    }
}

#[test]
fn a_queue_is_found_below_jitter() {
    let (mut random, mut estimator) = (7, estimator());
    // Twenty seconds without a queue, and then one of 20 ms.
    let queue = |k: u32| if k < 400 { 0.0 } else { 20.0 };
    let delays = (0..800).map(|k| 50.0 + queue(k) + truncated_normal(5.0, &mut random));
    let estimates = estimates(&mut estimator, delays);
    assert!(mean_ms(&estimates[100..400]) < 2.0);
    let found = mean_ms(&estimates[420..800]);
    assert!((found - 20.0).abs() < 2.5, "{found} ms");
    let lag = estimates[500].lag;
    assert_eq!(lag, 1.5);
}

#[test]
fn at_most_half_of_the_target_is_subtracted() {
    // A deviation of 200 ms: the noise of a mean of four is 250 ms.
    let mut estimator = estimator();
    let estimates = estimates(&mut estimator, (0..64).map(|k| if k % 2 == 0 { 0.0 } else { 200.0 }));
    assert_eq!(estimator.scale(), 2);
    assert_eq!(estimates[63].queueing, Duration::ZERO);
    let after = (0..40).map(|k| 300.0 + if k % 2 == 0 { 0.0 } else { 200.0 });
    let found: Vec<QueueEstimate> = after
        .enumerate()
        .map(|(k, delay)| {
            let now = Instant::from_millis(50 * (64 + k as u64));
            estimator.on_sample(now, (i64::MAX - 1000).wrapping_add((delay * 1e6) as i64))
        })
        .collect();
    assert!((queueing_ms(&found[39]) - 287.5).abs() < 1.0, "{:?}", found[39]);
}

#[test]
fn a_baseline_is_forgotten_with_its_period_or_the_path() {
    let mut estimator = estimator();
    let steps = estimates(&mut estimator, (0..1300).map(|k| if k < 100 { 50.0 } else { 80.0 }));
    assert!(queueing_ms(&steps[600]) > 29.0);
    assert!(queueing_ms(&steps[1299]) < 1.0, "a delay of 30 s is that of the path");
    estimator.clear();
    let other = estimates(&mut estimator, (0..10).map(|_| 500.0));
    assert!(other.iter().all(|estimate| estimate.queueing.is_zero()));
}
