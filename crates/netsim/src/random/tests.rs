use whimbrel_units::Duration;

use super::{RandomStream, RandomStreams};

const DRAWS: u32 = 200_000;

fn stream(component: &str) -> RandomStream {
    RandomStreams::new(7, 0).stream(component, "test")
}

/// Mean and variance of a sample.
fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
    let sample: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    let mean = sample.iter().sum::<f64>() / f64::from(DRAWS);
    let variance = sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(DRAWS - 1);
    (mean, variance)
}

/// Five standard errors of the mean: a correct sampler misses by chance once in two million.
fn assert_mean(mean: f64, expected: f64, variance: f64) {
    let error = 5.0 * (variance / f64::from(DRAWS)).sqrt();
    assert!((mean - expected).abs() < error, "mean {mean}, expected {expected} +- {error}");
}

#[test]
fn a_stream_is_its_name() {
    let streams = RandomStreams::new(1, 2);
    let first = |stream: RandomStream| stream.clone().next_u64();
    assert_eq!(first(streams.stream("a", "loss")), first(streams.stream("a", "loss")));
    let all = [
        first(streams.stream("a", "loss")),
        first(streams.stream("a", "start")),
        first(streams.stream("b", "loss")),
        first(RandomStreams::new(2, 1).stream("a", "loss")),
        first(RandomStreams::new(1, 3).stream("a", "loss")),
        first(streams.stream("al", "oss")),
        first(streams.stream("", "aloss")),
        first(streams.stream("a\0", "loss")),
    ];
    for (k, draw) in all.iter().enumerate() {
        assert!(!all[k + 1..].contains(draw), "streams {all:x?} coincide");
    }
}

/// The same bits on every machine and in every version: results are kept for years.
#[test]
fn the_draws_are_these() {
    let mut stream = stream("golden");
    let words: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
    let reals = [stream.uniform(), stream.exponential(1.0), stream.normal(0.0, 1.0), stream.pareto(1.5, 1.0)];
    let counts = [stream.below(1_000), stream.geometric(0.01)];
    assert_eq!(words, GOLDEN_WORDS);
    assert_eq!(reals.map(f64::to_bits), GOLDEN_REALS);
    assert_eq!(counts, GOLDEN_COUNTS);
}

#[test]
fn uniform_fills_the_unit_interval() {
    let mut stream = stream("uniform");
    let mut bins = [0u32; 20];
    for _ in 0..DRAWS {
        let draw = stream.uniform();
        assert!((0.0..1.0).contains(&draw));
        bins[(draw * 20.0) as usize] += 1;
    }
    let expected = f64::from(DRAWS) / 20.0;
    let chi_square: f64 =
        bins.iter().map(|&n| (f64::from(n) - expected) * (f64::from(n) - expected) / expected).sum();
    // 19 degrees of freedom; exceeded by chance once in 10^5.
    assert!(chi_square < 57.0, "chi square {chi_square}");
}

#[test]
fn successive_draws_are_uncorrelated() {
    let mut stream = stream("serial");
    let mut last = stream.uniform() - 0.5;
    let (correlation, _) = moments(|| {
        let next = stream.uniform() - 0.5;
        core::mem::replace(&mut last, next) * next
    });
    assert_mean(correlation, 0.0, 1.0 / 144.0);
}

#[test]
fn exponential_has_its_mean_and_variance() {
    let mut stream = stream("exponential");
    let (mean, variance) = moments(|| stream.exponential(3.0));
    assert_mean(mean, 3.0, 9.0);
    // The fourth central moment of an exponential is 9 times its squared variance.
    assert_mean(variance, 9.0, 8.0 * 81.0);
}

#[test]
fn geometric_counts_trials_up_to_the_first_success() {
    let mut stream = stream("geometric");
    let (mean, variance) = moments(|| stream.geometric(0.2) as f64);
    assert_mean(mean, 5.0, 20.0);
    assert!((variance - 20.0).abs() < 1.0, "variance {variance}");
    let mut first_trial = 0;
    for _ in 0..DRAWS {
        let trials = stream.geometric(0.2);
        assert!(trials >= 1);
        first_trial += u32::from(trials == 1);
    }
    assert_mean(f64::from(first_trial) / f64::from(DRAWS), 0.2, 0.16);
    assert_eq!(stream.geometric(1.0), 1);
}

#[test]
fn pareto_has_its_mean_and_minimum() {
    let mut stream = stream("pareto");
    let (mean, _) = moments(|| {
        let draw = stream.pareto(3.0, 6.0);
        assert!(draw >= 4.0, "{draw} is below the scale");
        draw
    });
    // Shape 3, scale 4: variance 16 * 3 / (2 * 2 * 1).
    assert_mean(mean, 6.0, 12.0);
}

#[test]
fn normal_has_its_mean_and_deviation() {
    let mut stream = stream("normal");
    let (mean, variance) = moments(|| stream.normal(-2.0, 3.0));
    assert_mean(mean, -2.0, 9.0);
    assert_mean(variance, 9.0, 2.0 * 81.0);
}

#[test]
fn below_is_uniform_and_below() {
    let mut stream = stream("below");
    let (mean, _) = moments(|| {
        let draw = stream.below(6);
        assert!(draw < 6);
        draw as f64
    });
    assert_mean(mean, 2.5, 35.0 / 12.0);
    assert_eq!(stream.below(1), 0);
}

#[test]
fn durations_lie_between_their_bounds() {
    let mut stream = stream("duration");
    let (low, high) = (Duration::from_millis(5), Duration::from_millis(9));
    let (mean, _) = moments(|| {
        let draw = stream.duration_between(low, high);
        assert!((low..high).contains(&draw));
        draw.as_secs_f64()
    });
    assert_mean(mean, 7e-3, 16e-6 / 12.0);
}

/// Agree with an independent implementation of the name hash, PCG XSL-RR and the inversions, but for the
/// last bit of the logarithm in the exponential, which is `libm`'s.
const GOLDEN_WORDS: [u64; 3] = [0x15a8_c2ae_49d0_765b, 0x302b_ecc8_3a1d_3f85, 0x671b_b707_9fa7_fb07];
const GOLDEN_REALS: [u64; 4] =
    [0x3fc6_5d72_87bc_7418, 0x3fee_42dd_61db_1d60, 0xbfcd_b859_0bb3_3836, 0x3fe8_92b2_f8c4_145e];
const GOLDEN_COUNTS: [u64; 2] = [103, 192];
