use super::*;
use crate::SplitMix64;
use std::string::ToString;
use std::vec::Vec;

const NODES: usize = 4_000;
/// Kolmogorov's bound at a significance of 0.001.
const BOUND: f64 = 1.95;

fn model(start: Start) -> RandomWaypoint {
    RandomWaypoint {
        area: Area::new(1_000.0, 1_000.0),
        speed: (1.0, 20.0),
        pause: (Duration::ZERO, Duration::ZERO),
        start,
    }
}

fn paths(model: &RandomWaypoint, horizon: u64, seed: u64) -> Vec<Path> {
    let mut random = SplitMix64::new(seed);
    (0..NODES).map(|_| model.path(Instant::from_secs(horizon), &mut random).unwrap()).collect()
}

/// The Kolmogorov-Smirnov statistic of a sample against a distribution function, times the root of its size.
fn kolmogorov(mut sample: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = sample.iter().enumerate().fold(0.0_f64, |worst, (i, &x)| {
        let f = distribution(x);
        worst.max(f - i as f64 / n).max((i + 1) as f64 / n - f)
    });
    distance * n.sqrt()
}

fn speeds(paths: &[Path], second: u64) -> Vec<f64> {
    paths.iter().map(|path| path.velocity(Instant::from_secs(second)).speed()).collect()
}

/// The distribution function of the speed of a moving node: proportional to the time that a speed lasts.
fn stationary_speed(v: f64) -> f64 {
    libm::log(v) / libm::log(20.0)
}

/// The distribution function of a moving node's x coordinate in the unit square, tabulated from the density
/// f(r) ~ integral over angles 0..pi of a1 a2 (a1 + a2), with a1 and a2 the distances from r to the border forwards and
/// backwards (E. Hyytiä, P. Lassila, J. Virtamo, "Spatial node distribution of the random waypoint mobility model with
/// applications", IEEE Trans. Mobile Computing 5(6), 2006, equation 8).
fn stationary_coordinate() -> impl Fn(f64) -> f64 {
    const CELLS: usize = 60;
    const ANGLES: usize = 90;
    let to_border = |x: f64, y: f64, cos: f64, sin: f64| {
        let along_x = if cos > 0.0 { (1.0 - x) / cos } else { x / -cos };
        let along_y = if sin > 0.0 { (1.0 - y) / sin } else { y / -sin };
        along_x.min(along_y)
    };
    let mut cumulative = std::vec![0.0];
    for column in 0..CELLS {
        let x = (column as f64 + 0.5) / CELLS as f64;
        let mut density = 0.0;
        for row in 0..CELLS {
            let y = (row as f64 + 0.5) / CELLS as f64;
            for angle in 0..ANGLES {
                let phi = (angle as f64 + 0.5) / ANGLES as f64 * core::f64::consts::PI;
                let (sin, cos) = (libm::sin(phi), libm::cos(phi));
                let (forward, back) = (to_border(x, y, cos, sin), to_border(x, y, -cos, -sin));
                density += forward * back * (forward + back);
            }
        }
        cumulative.push(cumulative[column] + density);
    }
    move |x| {
        let place = (x * CELLS as f64).clamp(0.0, CELLS as f64);
        let cell = (place as usize).min(CELLS - 1);
        let fraction = place - cell as f64;
        (cumulative[cell] + (cumulative[cell + 1] - cumulative[cell]) * fraction) / cumulative[CELLS]
    }
}

#[test]
fn a_stationary_start_has_the_stationary_speeds_at_all_times() {
    let paths = paths(&model(Start::Stationary), 600, 1);
    for second in [0, 1, 30, 600] {
        let statistic = kolmogorov(speeds(&paths, second), stationary_speed);
        assert!(statistic < BOUND, "{statistic} after {second} s");
    }
}

#[test]
fn a_stationary_start_has_the_stationary_positions_at_all_times() {
    let paths = paths(&model(Start::Stationary), 600, 2);
    let distribution = stationary_coordinate();
    for second in [0, 30, 600] {
        let at = |path: &Path| path.position(Instant::from_secs(second));
        for coordinates in [
            paths.iter().map(|path| at(path).x / 1_000.0).collect(),
            paths.iter().map(|path| at(path).y / 1_000.0).collect::<Vec<_>>(),
        ] {
            let statistic = kolmogorov(coordinates, &distribution);
            assert!(statistic < BOUND, "{statistic} after {second} s");
        }
    }
}

#[test]
fn on_a_segment_positions_have_the_density_of_theory() {
    // One dimension: density 6 x (1 - x).
    let model = RandomWaypoint { area: Area::new(1_000.0, 0.0), ..model(Start::Stationary) };
    let coordinates =
        paths(&model, 1, 3).iter().map(|path| path.position(Instant::ZERO).x / 1_000.0).collect();
    let statistic = kolmogorov(coordinates, |x| x * x * (3.0 - 2.0 * x));
    assert!(statistic < BOUND, "{statistic}");
}

#[test]
fn ns2s_start_is_uniform_at_rest_and_decays_to_the_stationary_state() {
    let pause = Duration::from_secs(5);
    let paused = RandomWaypoint { pause: (pause, pause), ..model(Start::Ns2) };
    let still = paths(&paused, 10, 4);
    assert!(speeds(&still, 4).iter().all(|&speed| speed == 0.0), "a run begins with a pause");
    assert!(speeds(&still, 5).iter().all(|&speed| speed > 0.0));
    let uniform = still.iter().map(|path| path.position(Instant::ZERO).x / 1_000.0).collect();
    assert!(kolmogorov(uniform, |x| x) < BOUND);
    // Without pauses speeds are uniform at first: mean 10.5 m/s, against 6.34 in the stationary state.
    let paths = paths(&model(Start::Ns2), 3_000, 5);
    let mean = |second| speeds(&paths, second).iter().sum::<f64>() / NODES as f64;
    let (first, last) = (mean(0), mean(3_000));
    assert!((first - 10.5).abs() < 0.4, "{first}");
    assert!((model(Start::Ns2).mean_speed() - 6.342).abs() < 0.001);
    assert!((last - 6.342).abs() < 0.35, "{last}");
    // The test of the stationary start detects this start.
    assert!(kolmogorov(speeds(&paths, 0), stationary_speed) > 5.0 * BOUND);
    let uniform = paths.iter().map(|path| path.position(Instant::ZERO).x / 1_000.0).collect();
    assert!(kolmogorov(uniform, stationary_coordinate()) > 2.0 * BOUND);
}

#[test]
fn pauses_have_their_stationary_share_at_all_times() {
    let model = RandomWaypoint {
        pause: (Duration::from_secs(20), Duration::from_secs(100)),
        ..model(Start::Stationary)
    };
    let probability = model.pause_probability();
    // 60 s of pause, 521.4 m * ln 20 / 19 = 82.2 s of movement.
    assert!((probability - 60.0 / 142.21).abs() < 1e-3, "{probability}");
    let paths = paths(&model, 300, 6);
    let deviation = (probability * (1.0 - probability) / NODES as f64).sqrt();
    for second in [0, 10, 40, 90, 300] {
        let resting = speeds(&paths, second).iter().filter(|&&speed| speed == 0.0).count();
        let share = resting as f64 / NODES as f64;
        assert!((share - probability).abs() < 3.5 * deviation, "{share} after {second} s");
    }
}

#[test]
fn residual_pauses_have_the_density_of_renewal_theory() {
    let model = RandomWaypoint {
        pause: (Duration::from_secs(20), Duration::from_secs(100)),
        ..model(Start::Stationary)
    };
    let mut random = SplitMix64::new(7);
    let sample = (0..NODES).map(|_| model.residual_pause(&mut random).as_secs_f64()).collect();
    // Integral of (1 - F) / mean: linear up to 20 s, then quadratic.
    let statistic = kolmogorov(sample, |t| {
        let beyond = (t - 20.0).max(0.0);
        (t - beyond * beyond / 160.0) / 60.0
    });
    assert!(statistic < BOUND, "{statistic}");
}

#[test]
fn paths_stay_in_the_area_and_reach_the_horizon() {
    for start in [Start::Stationary, Start::Ns2] {
        for path in &paths(&model(start), 200, 8)[..200] {
            assert_eq!(path.leaves(model(start).area), None);
            assert!(path.end() >= Instant::from_secs(200));
            assert!(path.max_speed() <= 20.0);
        }
    }
}

#[test]
fn the_same_stream_gives_the_same_path() {
    let path = |seed| model(Start::Stationary).path(Instant::from_secs(99), &mut SplitMix64::new(seed));
    assert_eq!(path(1), path(1));
    assert_ne!(path(1), path(2));
}

#[test]
fn a_lowest_speed_of_zero_is_ns2s_alone() {
    let slow = RandomWaypoint { speed: (0.0, 20.0), ..model(Start::Ns2) };
    assert!(slow.path(Instant::from_secs(100), &mut SplitMix64::new(1)).is_ok());
    let error = RandomWaypoint { start: Start::Stationary, ..slow }.check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "random waypoint: speed: expected a lowest speed above 0 for a stationary start"
    );
}

#[test]
fn parameters_without_movement_are_refused() {
    let good = model(Start::Ns2);
    for (parameter, bad) in [
        ("area", RandomWaypoint { area: Area::new(0.0, 0.0), ..good }),
        ("area", RandomWaypoint { area: Area::new(f64::NAN, 1.0), ..good }),
        ("area", RandomWaypoint { area: Area::new(-1.0, 1.0), ..good }),
        ("speed", RandomWaypoint { speed: (5.0, 1.0), ..good }),
        ("speed", RandomWaypoint { speed: (0.0, 0.0), ..good }),
        ("speed", RandomWaypoint { speed: (1.0, f64::INFINITY), ..good }),
        ("pause", RandomWaypoint { pause: (Duration::from_secs(2), Duration::from_secs(1)), ..good }),
    ] {
        assert_eq!(bad.check().unwrap_err().parameter, parameter);
    }
}
