//! Random waypoint in its stationary state, compared with the distributions of theory.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::SplitMix64;
use whimbrel_wifi::mobility::{Area, InvalidRandomWaypoint, Path, RandomWaypoint, Start};

use crate::theory::{kolmogorov, waypoint_coordinate, waypoint_speed};

/// Bound of the Kolmogorov-Smirnov statistic at a significance of 0.001.
pub const BOUND: f64 = 1.95;

/// Descriptions and statistics (times the square root of the sample's size): speeds and positions of 4000
/// nodes that began in the stationary state, and for comparison of ns-2's start, which the test must reject.
///
/// # Errors
/// None: the parameters describe a movement.
pub fn statistics() -> Result<Vec<(String, f64)>, InvalidRandomWaypoint> {
    const NODES: usize = 4_000;
    const SPEED: (f64, f64) = (1.0, 20.0);
    let coordinate = waypoint_coordinate();
    let mut found = Vec::new();
    for (name, start, seconds) in
        [("stationary start", Start::Stationary, &[0, 30, 600][..]), ("ns-2's start", Start::Ns2, &[0][..])]
    {
        let model = RandomWaypoint {
            area: Area::new(1_000.0, 1_000.0),
            speed: SPEED,
            pause: (Duration::ZERO, Duration::ZERO),
            start,
        };
        let mut random = SplitMix64::new(1);
        let paths: Result<Vec<Path>, _> =
            (0..NODES).map(|_| model.path(Instant::from_secs(600), &mut random)).collect();
        let paths = paths?;
        for &second in seconds {
            let now = Instant::from_secs(second);
            let speeds = paths.iter().map(|path| path.velocity(now).speed()).collect();
            let across = paths.iter().map(|path| path.position(now).x / 1_000.0).collect();
            found.push((
                format!("{name}, speed after {second} s"),
                kolmogorov(speeds, |v| waypoint_speed(v, SPEED)),
            ));
            found.push((format!("{name}, x after {second} s"), kolmogorov(across, &coordinate)));
        }
    }
    Ok(found)
}
