use super::super::{Position, RandomWaypoint, Start};
use super::*;
use crate::SplitMix64;
use crate::mobility::Area;
use proptest::prelude::*;

fn at(seconds: f64) -> Instant {
    Instant::from_secs_f64(seconds)
}

fn passing() -> (Path, Path) {
    let passer =
        Path::through(&[(at(0.0), Position::new(-500.0, 30.0)), (at(100.0), Position::new(500.0, 30.0))])
            .unwrap();
    (Path::fixed(Position::new(0.0, 0.0)), passer)
}

#[test]
fn a_pass_crosses_the_range_twice() {
    let (fixed, passer) = passing();
    // 40 m before and after the middle at 10 m/s: 50 m away.
    let first = next_crossing(&fixed, &passer, 50.0, Instant::ZERO).unwrap();
    assert!(first.within && (first.at.as_secs_f64() - 46.0).abs() < 2e-9, "{first:?}");
    let second = next_crossing(&passer, &fixed, 50.0, first.at).unwrap();
    assert!(!second.within && (second.at.as_secs_f64() - 54.0).abs() < 2e-9, "{second:?}");
    assert_eq!(next_crossing(&fixed, &passer, 50.0, second.at), None);
}

#[test]
fn a_pass_out_of_range_crosses_nothing() {
    let (fixed, passer) = passing();
    assert_eq!(next_crossing(&fixed, &passer, 29.9, Instant::ZERO), None);
}

#[test]
fn nodes_at_rest_and_in_step_never_cross() {
    let (fixed, passer) = passing();
    assert_eq!(next_crossing(&fixed, &fixed, 0.0, Instant::ZERO), None);
    assert_eq!(next_crossing(&passer, &passer, 10.0, Instant::ZERO), None);
}

#[test]
fn a_crossing_at_the_end_of_a_leg_is_found() {
    let fixed = Path::fixed(Position::new(0.0, 0.0));
    let comer =
        Path::through(&[(at(1.0), Position::new(70.0, 0.0)), (at(4.0), Position::new(10.0, 0.0))]).unwrap();
    let crossing = next_crossing(&fixed, &comer, 10.0, Instant::ZERO).unwrap();
    assert!(crossing.within && (crossing.at.as_secs_f64() - 4.0).abs() < 1e-7, "{crossing:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Between two crossings the relation is constant, and at each it changes: checked against a fine sampling.
    #[test]
    fn crossings_are_the_changes_of_a_sampled_relation(seed in any::<u64>(), distance in 1.0..300.0f64) {
        let model = RandomWaypoint {
            area: Area::new(300.0, 300.0),
            speed: (1.0, 30.0),
            pause: (Duration::ZERO, Duration::from_secs(3)),
            start: Start::Stationary,
        };
        let mut random = SplitMix64::new(seed);
        let horizon = Instant::from_secs(100);
        let (a, b) = (model.path(horizon, &mut random).unwrap(), model.path(horizon, &mut random).unwrap());
        let relation = |now| a.position(now).distance_squared(b.position(now)) <= distance * distance;
        let mut crossings = std::vec::Vec::new();
        let mut now = Instant::ZERO;
        while let Some(crossing) = next_crossing(&a, &b, distance, now) {
            prop_assert!(crossing.at > now);
            prop_assert_eq!(relation(crossing.at), crossing.within);
            let just_before = crossing.at.saturating_sub(Duration::from_nanos(1));
            prop_assert!(just_before <= now || relation(just_before) != crossing.within, "not the first instant");
            crossings.push(crossing);
            now = crossing.at;
        }
        for step in 0..4_000u64 {
            let now = Instant::from_millis(step * 25);
            let passed = crossings.partition_point(|crossing| crossing.at <= now);
            let expected = if passed == 0 { relation(Instant::ZERO) } else { crossings[passed - 1].within };
            prop_assert_eq!(relation(now), expected, "at {}", now);
        }
    }
}
