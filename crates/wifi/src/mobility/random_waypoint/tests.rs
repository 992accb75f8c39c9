use std::string::ToString;
use std::vec::Vec;

use whimbrel_wifi_validation::theory::{kolmogorov, waypoint_coordinate, waypoint_speed};

use super::*;
use crate::SplitMix64;

const NODES: usize = 4_000;
/// Kolmogorov's bound at a significance of 0.001.
const BOUND: f64 = 1.95;
/// The lowest and the highest speed of [`model`] in m/s.
const SPEED: (f64, f64) = (1.0, 20.0);

fn model(start: Start) -> RandomWaypoint {
    RandomWaypoint {
        area: Area::new(1_000.0, 1_000.0),
        speed: SPEED,
        pause: (Duration::ZERO, Duration::ZERO),
        start,
    }
}

fn paths(model: &RandomWaypoint, horizon: u64, seed: u64) -> Vec<Path> {
    let mut random = SplitMix64::new(seed);
    (0..NODES).map(|_| model.path(Instant::from_secs(horizon), &mut random).unwrap()).collect()
}

fn speeds(paths: &[Path], second: u64) -> Vec<f64> {
    paths.iter().map(|path| path.velocity(Instant::from_secs(second)).speed()).collect()
}

#[test]
fn a_stationary_start_has_the_stationary_speeds_at_all_times() {
    let paths = paths(&model(Start::Stationary), 600, 1);
    for second in [0, 1, 30, 600] {
        let statistic = kolmogorov(speeds(&paths, second), |speed| waypoint_speed(speed, SPEED));
        assert!(statistic < BOUND, "{statistic} after {second} s");
    }
}

#[test]
fn a_stationary_start_has_the_stationary_positions_at_all_times() {
    let paths = paths(&model(Start::Stationary), 600, 2);
    let distribution = waypoint_coordinate();
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
    assert!(kolmogorov(speeds(&paths, 0), |speed| waypoint_speed(speed, SPEED)) > 5.0 * BOUND);
    let uniform = paths.iter().map(|path| path.position(Instant::ZERO).x / 1_000.0).collect();
    assert!(kolmogorov(uniform, waypoint_coordinate()) > 2.0 * BOUND);
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
