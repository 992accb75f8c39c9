use super::*;
use whimbrel_units::Duration;

/// A ramp: groups sent each 10 ms that arrive each 12 ms. The trend after `n` of them.
fn ramp(mut trendline: Trendline, n: u64) -> f64 {
    let deltas = Deltas { sent: Duration::from_millis(10), arrived: Duration::from_millis(12) };
    let mut trend = f64::NAN;
    for group in 0..n {
        trend = trendline.update(deltas, Instant::from_millis(1000 + 12 * group));
    }
    trend
}

#[test]
fn the_slope_of_a_ramp_is_its_growth_per_time_of_arrival() {
    // 2 ms in 12 ms.
    assert!((ramp(Trendline::new(20, 0.0), 20) - 1.0 / 6.0).abs() < 1e-12);
    // Smoothing delays the ramp and leaves its slope.
    assert!((ramp(Trendline::new(20, 0.9), 200) - 1.0 / 6.0).abs() < 1e-6);
}

#[test]
fn smoothing_flattens_the_beginning_of_a_ramp() {
    // Smoothed delays are 2 (n - 9 (1 - 0.9^n)) ms; the line of least squares through the first 20 has the
    // slope 0.10839.
    let slope = {
        let point = |n: i32| (12.0 * f64::from(n), 2.0 * (f64::from(n) - 9.0 * (1.0 - 0.9_f64.powi(n))));
        let (mut xy, mut xx) = (0.0, 0.0);
        let mean: f64 = (1..=20).map(|n| point(n).0).sum::<f64>() / 20.0;
        for n in 1..=20 {
            xy += (point(n).0 - mean) * point(n).1;
            xx += (point(n).0 - mean) * (point(n).0 - mean);
        }
        xy / xx
    };
    assert!((ramp(Trendline::new(20, 0.9), 20) - slope).abs() < 1e-12);
    assert!((slope - 0.108_39).abs() < 1e-5, "{slope}");
}

#[test]
fn there_is_no_trend_before_the_window_is_full() {
    assert_eq!(ramp(Trendline::new(20, 0.9), 19), 0.0);
}
