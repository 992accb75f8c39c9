use std::vec::Vec;

use whimbrel_wifi_validation::theory::kolmogorov;

use super::super::to_decibels;
use super::*;

const SAMPLES: usize = 20_000;
/// Kolmogorov's bound at a significance of 0.001.
const BOUND: f64 = 1.95;

fn gains(fading: Fading, seed: u64) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    (0..SAMPLES).map(|_| fading.gain(&mut random)).collect()
}

#[test]
fn rayleigh_gains_are_exponential_with_mean_one() {
    let statistic = kolmogorov(gains(Fading::Rayleigh, 1), |x| 1.0 - libm::exp(-x));
    assert!(statistic < BOUND, "{statistic}");
}

#[test]
fn rician_fading_without_a_dominant_path_is_rayleigh_fading() {
    let statistic = kolmogorov(gains(Fading::Rician { ratio: 0.0 }, 2), |x| 1.0 - libm::exp(-x));
    assert!(statistic < BOUND, "{statistic}");
}

#[test]
fn rician_gains_have_mean_one_and_the_variance_of_their_ratio() {
    for ratio in [1.0, 6.0] {
        let gains = gains(Fading::Rician { ratio }, 3);
        let mean = gains.iter().sum::<f64>() / SAMPLES as f64;
        let variance = gains.iter().map(|gain| (gain - mean) * (gain - mean)).sum::<f64>() / SAMPLES as f64;
        // Variance of a noncentral chi-squared power with mean 1: (2 K + 1) / (K + 1)^2.
        let expected = (2.0 * ratio + 1.0) / ((ratio + 1.0) * (ratio + 1.0));
        assert!((mean - 1.0).abs() < 4.0 * (expected / SAMPLES as f64).sqrt(), "{mean}");
        assert!((variance / expected - 1.0).abs() < 0.05, "{variance} for {expected}");
    }
}

#[test]
fn rician_gains_follow_marcums_function() {
    // P(gain <= x) = 1 - Q1(sqrt(2 K), sqrt(2 (K + 1) x)), with Q1 as a series of Poisson weights.
    let ratio = 3.0_f64;
    let distribution = |x: f64| {
        let y = (ratio + 1.0) * x;
        let (mut weight, mut term, mut below, mut total) = (libm::exp(-ratio), libm::exp(-y), 0.0, 0.0);
        for k in 0..200 {
            // `below` = P(Poisson(y) <= k), so that 1 - below = P(Gamma(k + 1) <= y).
            below += term;
            total += weight * (1.0 - below);
            weight *= ratio / f64::from(k + 1);
            term *= y / f64::from(k + 1);
        }
        total
    };
    let statistic = kolmogorov(gains(Fading::Rician { ratio }, 4), distribution);
    assert!(statistic < BOUND, "{statistic}");
}

#[test]
fn shadowing_is_normal_in_decibels() {
    let deviation = 8.0;
    let levels = gains(Fading::Shadowing { deviation }, 5).into_iter().map(to_decibels).collect();
    let statistic =
        kolmogorov(levels, |x| 0.5 * libm::erfc(-x / deviation * core::f64::consts::FRAC_1_SQRT_2));
    assert!(statistic < BOUND, "{statistic}");
}

#[test]
fn the_statistic_rejects_a_wrong_distribution() {
    let statistic = kolmogorov(gains(Fading::Rician { ratio: 0.5 }, 6), |x| 1.0 - libm::exp(-x));
    assert!(statistic > BOUND, "{statistic}");
}

fn gain(fading: &BlockFading, now: Instant, first: u32, second: u32) -> f64 {
    fading.gain(now, StationIndex(first), StationIndex(second))
}

#[test]
fn block_fading_is_reciprocal_constant_for_the_coherence_time_and_a_function_of_time() {
    let fading = BlockFading::new(Fading::Rayleigh, Duration::from_millis(10), 7);
    let at = Instant::from_millis;
    let first = gain(&fading, at(20), 3, 5);
    assert_eq!(gain(&fading, at(20), 5, 3), first);
    assert_eq!(gain(&fading, at(29), 3, 5), first);
    assert_ne!(gain(&fading, at(30), 3, 5), first);
    assert_ne!(gain(&fading, at(20), 3, 6), first);
    assert_ne!(gain(&fading, at(20), 2, 5), first);
    // Other queries leave no trace.
    assert_eq!(gain(&fading, at(20), 3, 5), first);
}

#[test]
fn block_fading_has_the_distribution_over_time_and_over_links() {
    let fading = BlockFading::new(Fading::Rayleigh, Duration::from_millis(1), 8);
    let over_time = (0..SAMPLES).map(|i| gain(&fading, Instant::from_millis(i as u64), 0, 1)).collect();
    let over_links =
        (0..SAMPLES).map(|i| gain(&fading, Instant::ZERO, i as u32 % 100, 100 + i as u32 / 100)).collect();
    for sample in [over_time, over_links] {
        let statistic = kolmogorov(sample, |x| 1.0 - libm::exp(-x));
        assert!(statistic < BOUND, "{statistic}");
    }
}

#[test]
fn shadowing_by_walls_lasts_for_ever() {
    let fading = BlockFading::new(Fading::Shadowing { deviation: 6.0 }, Duration::MAX, 9);
    assert_eq!(gain(&fading, Instant::ZERO, 0, 1), gain(&fading, Instant::from_secs(1_000_000), 0, 1));
}
