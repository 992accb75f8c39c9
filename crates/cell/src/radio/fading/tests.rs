use std::vec::Vec;

use super::{Cycles, DelayProfile, Fading, doppler_shift};
use crate::radio::Hertz;

/// The Doppler shift of 30 km/h at 2 GHz.
fn shift() -> f64 {
    doppler_shift(Hertz(2e9), 30.0 / 3.6).0
}

fn flat(seed: u64) -> Fading {
    Fading::new(DelayProfile::Flat, seed)
}

#[test]
fn doppler_shifts_of_a_walk_a_town_and_a_motorway() {
    for (speed, expected) in [(3.0, 5.5594), (30.0, 55.5940), (120.0, 222.3761)] {
        assert!((doppler_shift(Hertz(2e9), speed / 3.6).0 - expected).abs() < 5e-5);
    }
}

#[test]
fn profiles_have_their_delay_spread() {
    let spreads =
        [DelayProfile::Epa, DelayProfile::Eva, DelayProfile::Etu].map(DelayProfile::delay_spread_ns);
    for (found, expected) in spreads.into_iter().zip([43.129, 356.652, 990.938]) {
        assert!((found - expected).abs() < 1e-3, "{found}");
    }
}

/// The correlation of amplitudes over time is J0(2 pi f_D t): the transform of Jakes' spectrum.
#[test]
fn the_autocorrelation_is_bessels_function() {
    let (links, moments) = (400_u32, 20_u32);
    for (milliseconds, expected) in [(1.0, 0.969_73), (8.0, -0.182_76), (20.0, 0.299_99)] {
        let mut sum = 0.0;
        for seed in 0..links {
            let fading = flat(seed.into());
            for moment in 0..moments {
                let start = f64::from(moment) * 37.3;
                let at = |cycles: f64| fading.response(Cycles(cycles)).amplitude(Hertz(0.0));
                let (first, second) = (at(start), at(start + shift() * milliseconds * 1e-3));
                sum += first.0 * second.0 + first.1 * second.1;
            }
        }
        let found = sum / f64::from(links * moments);
        assert!((found - expected).abs() < 0.03, "{milliseconds} ms: {found}, expected {expected}");
    }
}

/// Rice: crossings of a level r (relative to the root mean square) per cycle are sqrt(2 pi) r exp(-r^2).
#[test]
fn levels_are_crossed_as_often_and_as_long_as_in_theory() {
    let (links, samples, step) = (60, 20_000, 0.01);
    let threshold = 0.1;
    let (mut crossings, mut below, mut deep) = (0_u32, 0_u32, 0_u32);
    for seed in 0..links {
        let fading = flat(seed);
        let mut was_below = true;
        for sample in 0..samples {
            let gain = fading.response(Cycles(f64::from(sample) * step)).gain(Hertz(0.0));
            let is_below = gain < threshold;
            crossings += u32::from(is_below && !was_below);
            below += u32::from(is_below);
            deep += u32::from(gain < 0.501_187);
            was_below = is_below;
        }
    }
    let seconds = f64::from(links as u32) * f64::from(samples) * step / shift();
    let rate = f64::from(crossings) / seconds;
    assert!((rate / 39.8739 - 1.0).abs() < 0.04, "{rate} crossings/s, expected 39.8739");
    let duration = f64::from(below) * step / shift() / f64::from(crossings);
    assert!((duration / 2.3866e-3 - 1.0).abs() < 0.04, "fades of {duration} s, expected 2.3866 ms");
    let share = |count: u32| f64::from(count) / (f64::from(samples) * links as f64);
    assert!((share(below) - 0.095_163).abs() < 0.004, "{}", share(below));
    assert!((share(deep) - 0.394_189).abs() < 0.012, "{}", share(deep));
}

/// Jakes' spectrum of arcsine shape: a third of the power is within half the Doppler shift, none beyond it.
#[test]
fn the_spectrum_is_jakes() {
    // Periodograms of 64 cycles with a Hann window: a resolution of 1/32 of the Doppler shift.
    let (samples, per_cycle) = (256_usize, 4.0);
    let bins = 2 * samples as i32 / 4;
    let mut power: Vec<f64> = std::vec![0.0; samples];
    for seed in 0..40 {
        let fading = flat(seed);
        let series: Vec<(f64, f64)> = (0..samples)
            .map(|sample| {
                let window = 0.5 - 0.5 * libm::cos(core::f64::consts::TAU * sample as f64 / samples as f64);
                let (real, imaginary) =
                    fading.response(Cycles(sample as f64 / per_cycle)).amplitude(Hertz(0.0));
                (real * window, imaginary * window)
            })
            .collect();
        for (bin, power) in power.iter_mut().enumerate() {
            let mut sum = (0.0, 0.0);
            for (sample, (real, imaginary)) in series.iter().enumerate() {
                let turn = core::f64::consts::TAU * (bin * sample % samples) as f64 / samples as f64;
                let (sine, cosine) = libm::sincos(-turn);
                sum = (sum.0 + real * cosine - imaginary * sine, sum.1 + real * sine + imaginary * cosine);
            }
            *power += sum.0 * sum.0 + sum.1 * sum.1;
        }
    }
    assert_eq!(bins, 128);
    let total: f64 = power.iter().sum();
    let within = |shift: f64| {
        let inside = |bin: usize| {
            let signed = if bin < samples / 2 { bin as f64 } else { bin as f64 - samples as f64 };
            (signed * per_cycle / samples as f64).abs() <= shift
        };
        (0..samples).filter(|&bin| inside(bin)).map(|bin| power[bin]).sum::<f64>() / total
    };
    assert!(within(1.05) > 0.995, "{}", within(1.05));
    for shift in [0.25, 0.5, 0.75] {
        let expected = 2.0 / core::f64::consts::PI * libm::asin(shift);
        assert!((within(shift) - expected).abs() < 0.04, "{shift}: {}, expected {expected}", within(shift));
    }
}

#[test]
fn frequencies_are_correlated_as_the_delays_say() {
    let rows = [
        (DelayProfile::Epa, [0.9988, 0.9663, 0.4336]),
        (DelayProfile::Eva, [0.9323, 0.5397, 0.3715]),
        (DelayProfile::Etu, [0.8151, 0.4710, 0.2498]),
    ];
    let links = 3_000;
    for (profile, expected) in rows {
        for (offset, expected) in [0.18e6, 1e6, 5e6].into_iter().zip(expected) {
            let (mut sum, mut power) = ((0.0, 0.0), 0.0);
            for seed in 0..links {
                let response = Fading::new(profile, seed).response(Cycles(0.0));
                let (first, second) = (response.amplitude(Hertz(0.0)), response.amplitude(Hertz(offset)));
                sum.0 += first.0 * second.0 + first.1 * second.1;
                sum.1 += first.1 * second.0 - first.0 * second.1;
                power += response.gain(Hertz(0.0));
            }
            let found = libm::hypot(sum.0, sum.1) / power;
            assert!(
                (found - expected).abs() < 0.05,
                "{profile:?}, {offset} Hz: {found}, expected {expected}"
            );
        }
    }
}

#[test]
fn a_terminal_that_stops_keeps_its_channel() {
    let fading = Fading::new(DelayProfile::Eva, 5);
    let gain = |cycles| fading.response(Cycles(cycles)).gain(Hertz(1e6));
    assert_eq!(gain(1e6), gain(1e6));
    assert_ne!(gain(1e6), gain(1e6 + 0.3));
}

#[test]
fn a_comb_has_the_gains_of_its_frequencies() {
    let offsets = [-4e6, -1.1e6, 0.3e6, 4e6].map(Hertz);
    for profile in [DelayProfile::Flat, DelayProfile::Epa, DelayProfile::Etu] {
        let response = Fading::new(profile, 4).response(Cycles(2.7));
        let gains = response.gains(&super::Comb::new(profile, offsets));
        for (gain, offset) in gains.into_iter().zip(offsets) {
            assert!((gain - response.gain(offset)).abs() < 1e-12, "{profile:?} at {offset:?}");
        }
    }
}
