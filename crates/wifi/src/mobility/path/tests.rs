use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn at(seconds: f64) -> Instant {
    Instant::from_secs_f64(seconds)
}

fn point(x: f64, y: f64) -> Position {
    Position::new(x, y)
}

#[test]
fn a_fixed_node_stays_at_its_position() {
    let path = Path::fixed(point(3.0, 4.0));
    for now in [Instant::ZERO, at(1e6), Instant::FAR_FUTURE] {
        assert_eq!(path.position(now), point(3.0, 4.0));
        assert_eq!(path.velocity(now), Velocity::ZERO);
    }
    assert_eq!((path.max_speed(), path.end()), (0.0, Instant::ZERO));
}

#[test]
fn waypoints_are_joined_by_straight_lines() {
    let waypoints =
        [(at(10.0), point(0.0, 0.0)), (at(20.0), point(30.0, 40.0)), (at(25.0), point(30.0, 40.0))];
    let path = Path::through(&waypoints).unwrap();
    assert_eq!(path.position(at(0.0)), point(0.0, 0.0));
    assert_eq!(path.position(at(10.0)), point(0.0, 0.0));
    let middle = path.position(at(15.0));
    assert!(middle.distance(point(15.0, 20.0)) < 1e-9, "{middle}");
    assert_eq!(path.position(at(20.0)), point(30.0, 40.0));
    assert_eq!(path.position(at(99.0)), point(30.0, 40.0));
    assert!((path.max_speed() - 5.0).abs() < 1e-12);
    assert!((path.velocity(at(12.0)).speed() - 5.0).abs() < 1e-12);
}

#[test]
fn waypoints_that_describe_no_movement_are_refused() {
    let nan = point(f64::NAN, 0.0);
    assert_eq!(Path::through(&[]), Err(InvalidPath::Empty));
    assert_eq!(Path::through(&[(at(0.0), nan)]), Err(InvalidPath::NotFinite { waypoint: 0 }));
    let teleport = [(at(1.0), point(0.0, 0.0)), (at(1.0), point(1.0, 0.0))];
    assert_eq!(Path::through(&teleport), Err(InvalidPath::NotLater { waypoint: 1 }));
    let back = [(at(1.0), point(0.0, 0.0)), (at(2.0), nan)];
    assert_eq!(Path::through(&back), Err(InvalidPath::NotFinite { waypoint: 1 }));
    let beyond_numbers = [(at(0.0), point(-1e308, 0.0)), (at(1.0), point(1e308, 0.0))];
    assert_eq!(Path::through(&beyond_numbers), Err(InvalidPath::TooFast { waypoint: 1 }));
    assert!(Path::through(&[(at(0.0), point(0.0, 0.0)), (at(1.0), point(3e8, 0.0))]).is_ok());
    let fast = [(at(0.0), point(0.0, 0.0)), (at(1.0), point(3.000_001e8, 0.0))];
    assert_eq!(Path::through(&fast), Err(InvalidPath::TooFast { waypoint: 1 }));
}

#[test]
fn a_departure_gives_up_the_movement_in_progress() {
    let mut builder = PathBuilder::new(point(0.0, 0.0));
    assert_eq!(builder.depart(at(1.0), point(100.0, 0.0), 10.0), at(11.0));
    assert_eq!(builder.depart(at(6.0), point(50.0, 20.0), 5.0), at(10.0));
    let path = builder.build();
    assert!(path.position(at(6.0)).distance(point(50.0, 0.0)) < 1e-9);
    assert!(path.position(at(8.0)).distance(point(50.0, 10.0)) < 1e-9);
    assert_eq!(path.position(at(10.0)), point(50.0, 20.0));
    assert_eq!(path.end(), at(10.0));
}

#[test]
fn a_speed_of_zero_stops_the_node() {
    let mut builder = PathBuilder::new(point(0.0, 0.0));
    builder.depart(at(0.0), point(100.0, 0.0), 10.0);
    builder.depart(at(3.0), point(100.0, 0.0), 0.0);
    let path = builder.build();
    assert!(path.position(at(50.0)).distance(point(30.0, 0.0)) < 1e-9);
    assert_eq!(path.end(), at(3.0));
}

#[test]
fn the_second_of_two_departures_at_one_time_counts() {
    for start in [0.0, 2.0] {
        let mut builder = PathBuilder::new(point(0.0, 0.0));
        builder.depart(at(start), point(100.0, 0.0), 10.0);
        builder.depart(at(start), point(0.0, 50.0), 10.0);
        let path = builder.build();
        assert_eq!(path.position(at(100.0)), point(0.0, 50.0));
        assert!(path.position(at(start + 1.0)).distance(point(0.0, 10.0)) < 1e-9);
    }
}

#[test]
fn leaving_the_area_is_found_at_the_end_of_a_leg() {
    let area = Area::new(100.0, 100.0);
    let inside = Path::through(&[(at(0.0), point(0.0, 100.0)), (at(9.0), point(100.0, 0.0))]).unwrap();
    assert_eq!(inside.leaves(area), None);
    let outside = Path::through(&[(at(0.0), point(0.0, 0.0)), (at(9.0), point(100.5, 0.0))]).unwrap();
    assert_eq!(outside.leaves(area), Some((at(9.0), point(100.5, 0.0))));
}

#[test]
fn the_mean_distance_of_two_points() {
    // The unit square: (2 + sqrt 2 + 5 ln(1 + sqrt 2)) / 15.
    let square = (2.0 + 2.0_f64.sqrt() + 5.0 * libm::log(1.0 + 2.0_f64.sqrt())) / 15.0;
    assert!((Area::new(1.0, 1.0).mean_distance() - square).abs() < 1e-12);
    assert_eq!(Area::new(9.0, 0.0).mean_distance(), 3.0);
    // A thin rectangle approaches the segment.
    assert!((Area::new(9.0, 0.01).mean_distance() - 3.0).abs() < 1e-3);
    // 2 x 1, by a grid of midpoints.
    let n = 40;
    let coordinate = |i: i32| (f64::from(i) + 0.5) / f64::from(n);
    let mut sum = 0.0;
    for dx in 0..n {
        for dy in 0..n {
            // The difference of two uniform values has a triangular density.
            let (u, v) = (coordinate(dx), coordinate(dy));
            sum += 4.0 * (1.0 - u) * (1.0 - v) * libm::hypot(2.0 * u, v);
        }
    }
    let mean = sum / f64::from(n * n);
    assert!((Area::new(2.0, 1.0).mean_distance() - mean).abs() < 1e-3, "{mean}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A path is continuous and no faster than its greatest speed, for any departures.
    #[test]
    fn a_path_is_continuous(
        departures in prop::collection::vec((0u64..20_000, 0.0..500.0f64, 0.0..500.0f64, 0.0..40.0f64), 0..20),
        probes in prop::collection::vec(0u64..400_000, 1..60),
    ) {
        let mut builder = PathBuilder::new(point(250.0, 250.0));
        let mut now = Instant::ZERO;
        for (wait, x, y, speed) in departures {
            now += Duration::from_millis(wait);
            builder.depart(now, point(x, y), speed);
        }
        let path = builder.build();
        prop_assert_eq!(path.legs()[0].start, Instant::ZERO);
        prop_assert!(path.legs().windows(2).all(|pair| pair[0].start < pair[1].start));
        prop_assert_eq!(path.legs().last().unwrap().velocity, Velocity::ZERO);
        prop_assert_eq!(path.leaves(Area::new(500.0, 500.0)), None);
        for leg in &path.legs()[1..] {
            let before = path.position(leg.start.saturating_sub(Duration::from_nanos(1)));
            prop_assert!(before.distance(leg.origin) < 1e-6, "a jump at {}", leg.start);
        }
        let mut times: Vec<Instant> = probes.into_iter().map(Instant::from_millis).collect();
        times.sort();
        for pair in times.windows(2) {
            let distance = path.position(pair[0]).distance(path.position(pair[1]));
            prop_assert!(distance <= path.max_speed() * (pair[1] - pair[0]).as_secs_f64() + 1e-6);
        }
    }
}
