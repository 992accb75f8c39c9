use super::*;
use crate::random::RandomStreams;

fn fading(paths: usize, doppler: f64, samples: usize, run: u64) -> Fading {
    let mut random = RandomStreams::new(8, run).stream("radio", "loss");
    Fading::new(paths, doppler, samples, &mut random)
}

/// The complex amplitude of the first path at a sample.
fn amplitude(fading: &mut Fading, sample: u64) -> (f64, f64) {
    let path = &mut fading.paths[0];
    path.anchor(sample);
    let sum = |parts: &[f64]| parts.iter().sum::<f64>() / (WAVES as f64).sqrt();
    (sum(&path.cos), sum(&path.sin))
}

/// Mean of a sample and its standard error.
fn estimate(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

fn assert_within(values: &[f64], expected: f64, what: &str) {
    let (mean, error) = estimate(values);
    assert!((mean - expected).abs() < 5.0 * error, "{what}: {mean} +- {error}, not {expected}");
}

fn first_powers(paths: usize, runs: u64) -> Vec<f64> {
    (0..runs)
        .map(|run| {
            let mut power = [0.0];
            fading(paths, 0.1, 1, run).block(0, &mut power);
            power[0]
        })
        .collect()
}

/// P(p < x) for 16 waves: the second Laguerre term of the density, whose weight is half of what E p^2 lacks.
fn share_below(x: f64) -> f64 {
    1.0 - libm::exp(-x) * (1.0 + (x - x * x / 2.0) / 32.0)
}

/// 16 waves instead of endlessly many: E p^2 = 2 - 1/16.
#[test]
fn the_amplitude_of_a_path_has_rayleighs_distribution() {
    let powers = first_powers(1, 40_000);
    assert_within(&powers, 1.0, "mean power");
    let squares: Vec<f64> = powers.iter().map(|power| power * power).collect();
    assert_within(&squares, 2.0 - 1.0 / 16.0, "mean square of the power");
    for amplitude in [0.2, 0.4, 0.7, 1.0, 1.4, 2.0f64] {
        let x = amplitude * amplitude;
        let below: Vec<f64> = powers.iter().map(|&power| f64::from(u8::from(power < x))).collect();
        assert_within(&below, share_below(x), &format!("share of amplitudes below {amplitude}"));
    }
}

#[test]
fn four_paths_have_the_same_mean_and_a_quarter_of_the_variance() {
    let powers = first_powers(4, 40_000);
    assert_within(&powers, 1.0, "mean power");
    let squares: Vec<f64> = powers.iter().map(|power| (power - 1.0).powi(2)).collect();
    assert_within(&squares, (1.0 - 1.0 / 16.0) / 4.0, "variance of the power");
}

/// Clarke: E h*(0) h(t) = J0(2 pi f_D t), which is real. J0 has zeros at 0.383 and 0.879 and a minimum of
/// -0.403 at 0.610.
#[test]
fn the_autocorrelation_is_a_bessel_function() {
    let samples_per_turn = 1_000;
    for turns in [0.05, 0.2, 0.383, 0.61, 0.879, 1.2, 2.5] {
        let (mut real, mut imaginary) = (Vec::new(), Vec::new());
        for run in 0..20_000 {
            let mut fading = fading(1, 1.0 / f64::from(samples_per_turn), 1, run);
            let (a, b) = amplitude(&mut fading, 0);
            let (c, d) = amplitude(&mut fading, (turns * f64::from(samples_per_turn)).round() as u64);
            real.push(a * c + b * d);
            imaginary.push(a * d - b * c);
        }
        let expected = libm::j0(TAU * turns);
        assert_within(&real, expected, &format!("autocorrelation after {turns} turns"));
        assert_within(&imaginary, 0.0, &format!("its imaginary part after {turns} turns"));
    }
}

/// Rice: a level rho (of the root mean square) is crossed upwards sqrt(2 pi) f_D rho e^(-rho^2) times a
/// second, and a fade below it lasts (e^(rho^2) - 1) / (rho f_D sqrt(2 pi)) on average: the share of time
/// below it, 1 - e^(-rho^2), over the rate.
///
/// 16 waves are not a Gaussian process. In the expansion of the joint density of amplitude and slope the
/// cumulants of fourth order are -1/16 for |h|^4 and for |h|^2 |h'|^2, +1/16 for h^2 h'*^2 and -3/32 for
/// |h'|^4 (slopes in units of their root mean square); integrated over the upward slopes they change the
/// rate, with x = rho^2, by the factor 1 + (3/32 + 3x/4 - x^2/4) / 16. The share of time changes as in the
/// first test.
#[test]
fn fades_come_as_often_and_last_as_long_as_rice_says() {
    let (runs, turns, samples_per_turn) = (400, 60, 200);
    for level in [0.3, 0.6, 1.0, 1.5f64] {
        let x = level * level;
        let (mut crossings, mut below) = (Vec::new(), Vec::new());
        for run in 0..runs {
            let mut power = vec![0.0; turns * samples_per_turn];
            fading(1, 1.0 / samples_per_turn as f64, power.len(), run).block(0, &mut power);
            let up = power.windows(2).filter(|pair| pair[0] < x && pair[1] >= x).count();
            crossings.push(up as f64 / turns as f64);
            below.push(power.iter().filter(|&&power| power < x).count() as f64 / power.len() as f64);
        }
        let rice = TAU.sqrt() * level * libm::exp(-x);
        let rate = rice * (1.0 + (3.0 / 32.0 + 0.75 * x - 0.25 * x * x) / 16.0);
        assert_within(&crossings, rate, &format!("crossings of {level} per turn"));
        assert_within(&below, share_below(x), &format!("share of time below {level}"));
        // So the mean fade is what Rice says, but for the waves' part of both.
        let duration = estimate(&below).0 / estimate(&crossings).0;
        let expected = (libm::exp(x) - 1.0) / (level * TAU.sqrt());
        let by_waves = share_below(x) / (1.0 - libm::exp(-x)) * rice / rate;
        let error = estimate(&below).1 / share_below(x) + estimate(&crossings).1 / rate;
        let ratio = duration / (expected * by_waves);
        assert!((ratio - 1.0).abs() < 5.0 * error, "a fade below {level} lasts {duration}, not {expected}");
    }
}

#[test]
fn a_long_silence_is_skipped_exactly() {
    let mut stepped = fading(3, 0.0137, 20, 1);
    let mut jumped = stepped.clone();
    let (mut by_steps, mut by_jump) = ([0.0; 20], [0.0; 20]);
    for block in 0..=1_000 {
        stepped.block(block, &mut by_steps);
    }
    jumped.block(1_000, &mut by_jump);
    for (a, b) in by_steps.iter().zip(by_jump) {
        assert!((a - b).abs() < 1e-11, "{a} is not {b}");
    }
    // Ten thousand years of silence end in a channel as good as any.
    jumped.block(u64::MAX, &mut by_jump);
    assert!(by_jump.iter().all(|&power| power > 0.0 && power <= 16.0));
}

#[test]
fn a_channel_that_stands_still_does_not_fade() {
    let mut power = [0.0; 50];
    fading(2, 0.0, 50, 4).block(7, &mut power);
    assert!(power.iter().all(|&sample| (sample - power[0]).abs() < 1e-12));
}
