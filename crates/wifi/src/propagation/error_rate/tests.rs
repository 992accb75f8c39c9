use super::super::to_decibels;
use super::*;
use crate::{Random, SplitMix64};

/// The signal-to-noise ratio in decibels at which a tenth of the frames of this size is lost.
fn ten_percent_loss(rate: Rate, bytes: f64) -> f64 {
    let (mut low, mut high) = (-20.0, 50.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if success_probability(rate, from_decibels(middle), bytes * 8.0) < 0.9 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[test]
fn success_grows_with_the_ratio_and_falls_with_the_length() {
    for rate in Rate::ALL {
        let mut last = -1.0;
        for step in -200..=400 {
            let success = success_probability(rate, from_decibels(f64::from(step) / 10.0), 8_000.0);
            assert!((0.0..=1.0).contains(&success), "{rate:?}: {success}");
            assert!(success >= last - 1e-12, "{rate:?}: {success} after {last}");
            last = success;
        }
        assert!(last > 1.0 - 1e-9, "{rate:?}: error-free at 40 dB");
        assert!(success_probability(rate, 0.0, 800.0) < 1e-9, "{rate:?}: no frame without signal");
        assert!(success_probability(rate, f64::NAN, 800.0) < 1e-9);
        let ratio = from_decibels(ten_percent_loss(rate, 1_000.0));
        let (one, two) =
            (success_probability(rate, ratio, 8_000.0), success_probability(rate, ratio, 16_000.0));
        assert!((two - one * one).abs() < 1e-9, "independent bits");
    }
}

#[test]
fn dbpsk_has_the_textbook_error_rate() {
    // Eb/N0 = 8 dB: exp(-6.3096) / 2 = 9.094e-4.
    let ratio = from_decibels(8.0) / 22.0;
    let error = 1.0 - success_probability(Rate::Dsss1, ratio, 1.0);
    assert!((error / 9.094e-4 - 1.0).abs() < 1e-3, "{error}");
}

#[test]
fn the_approximation_for_dqpsk_lies_near_the_exact_rate() {
    // Q1(a, b) - I0(a b) exp(-(a^2 + b^2) / 2) / 2 (Proakis, equation 5.2-70), both by their series.
    let exact = |energy: f64| {
        let root = core::f64::consts::FRAC_1_SQRT_2;
        let (a, b) = (libm::sqrt(2.0 * energy * (1.0 - root)), libm::sqrt(2.0 * energy * (1.0 + root)));
        let (half_a, half_b) = (a * a / 2.0, b * b / 2.0);
        let (mut weight, mut term, mut below, mut marcum) =
            (libm::exp(-half_a), libm::exp(-half_b), 0.0, 0.0);
        let (mut bessel, mut bessel_term) = (0.0, 1.0);
        for k in 0..400 {
            let next = f64::from(k + 1);
            below += term;
            marcum += weight * below;
            bessel += bessel_term;
            weight *= half_a / next;
            term *= half_b / next;
            bessel_term *= half_a * half_b / (next * next);
        }
        marcum - 0.5 * bessel * libm::exp(-half_a - half_b)
    };
    // The approximation is asymptotic and lies above.
    for (decibels, tolerance) in [(6.0, 0.15), (8.0, 0.11), (10.0, 0.08), (12.0, 0.06)] {
        let energy = from_decibels(decibels);
        let error = 1.0 - success_probability(Rate::Dsss2, energy * 2.0 / 22.0, 1.0);
        let exact = exact(energy);
        assert!(error > exact && error < exact * (1.0 + tolerance), "{decibels} dB: {error} for {exact}");
    }
}

#[test]
fn sixteen_biorthogonal_signals_by_monte_carlo() {
    let mut random = SplitMix64::new(1);
    let mut normal = || {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.uniform()));
        radius * libm::cos(core::f64::consts::TAU * random.uniform())
    };
    for energy in [0.5, 2.0, 4.0] {
        // Unit noise per dimension; the signal lies on the first of 8 axes, in the positive direction.
        let amplitude = libm::sqrt(2.0 * energy);
        let trials = 40_000;
        let errors = (0..trials)
            .filter(|_| {
                let signal = amplitude + normal();
                (0..7).fold(f64::NEG_INFINITY, |most, _| most.max(normal().abs())) >= signal.max(0.0)
                    || signal < 0.0
            })
            .count();
        let measured = errors as f64 / f64::from(trials);
        let computed = biorthogonal_16(energy);
        let deviation = libm::sqrt(computed * (1.0 - computed) / f64::from(trials));
        assert!((measured - computed).abs() < 4.0 * deviation, "{energy}: {measured} for {computed}");
    }
}

#[test]
fn small_symbol_error_rates_keep_their_digits() {
    // The union bound over 14 neighbours at distance sqrt(2 Es) is tight here: 14 Q(sqrt(Es/N0)).
    let energy = 36.0;
    let union = 14.0 * 0.5 * libm::erfc(libm::sqrt(energy / 2.0));
    let computed = biorthogonal_16(energy);
    assert!(computed < union && computed > 0.99 * union, "{computed} for {union}");
}

#[test]
fn ofdm_rates_need_the_steps_of_the_standards_sensitivities() {
    // IEEE 802.11-2007, Table 17-13: -82, -81, -79, -77, -74, -70, -66, -65 dBm for a tenth of 1000 B frames
    // lost.
    let sensitivities = [-82.0, -81.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0];
    let required: std::vec::Vec<f64> =
        Rate::ALL[4..].iter().map(|&rate| ten_percent_loss(rate, 1_000.0)).collect();
    for (needed, sensitivity) in required.iter().zip(sensitivities) {
        let (step, standard) = (needed - required[0], sensitivity + 82.0);
        assert!((step - standard).abs() < 2.0, "{required:?}");
    }
    assert!(required.windows(2).all(|pair| pair[0] < pair[1]), "{required:?}");
}

#[test]
fn dsss_rates_need_more_signal_the_faster_they_are() {
    let required: std::vec::Vec<f64> =
        Rate::ALL[..4].iter().map(|&rate| ten_percent_loss(rate, 1_024.0)).collect();
    assert!(required.windows(2).all(|pair| pair[0] < pair[1]), "{required:?}");
}

#[test]
fn the_noise_floor_is_that_of_290_kelvin() {
    // -174 dBm/Hz + 10 log10(22e6) + 7 dB.
    let dbm = to_decibels(NoiseFloor::DSSS.power() * 1e3);
    assert!((dbm - -93.55).abs() < 0.02, "{dbm}");
}
