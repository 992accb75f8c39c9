use super::LineOfSight;
use crate::radio::{Environment, Metres, Place, Sight};

const RURAL: Environment = Environment::RuralMacro { buildings: Metres(5.0), streets: Metres(20.0) };

#[test]
fn shares_are_those_of_tr_38_901() {
    let rows = [
        (Environment::UrbanMacro, [0.649_40, 0.347_67, 0.068_04]),
        (Environment::UrbanMicro, [0.519_59, 0.230_98, 0.060_23]),
    ];
    for (environment, expected) in rows {
        for (distance, expected) in [50.0, 100.0, 300.0].into_iter().zip(expected) {
            let found = LineOfSight::probability(environment, Metres(distance));
            assert!((found - expected).abs() < 1e-5, "{environment:?}, {distance} m: {found}");
        }
        assert_eq!(LineOfSight::probability(environment, Metres(18.0)), 1.0);
    }
    assert_eq!(LineOfSight::probability(RURAL, Metres(10.0)), 1.0);
    assert!((LineOfSight::probability(RURAL, Metres(1010.0)) - libm::exp(-1.0)).abs() < 1e-12);
    assert_eq!(LineOfSight::probability(Environment::Macro36942, Metres(5.0)), 0.0);
}

#[test]
fn the_share_of_places_is_the_probability() {
    let sites = 3_000_u64;
    let place = Place { x: 60.0, y: 80.0 };
    let seen = (0..sites)
        .filter(|&seed| {
            LineOfSight::new(Environment::UrbanMacro, seed).sight(place, Metres(100.0)) == Sight::Line
        })
        .count();
    let share = seen as f64 / sites as f64;
    // Four standard errors of a share.
    assert!((share - 0.347_67).abs() < 4.0 * 0.0087, "{share}");
}

#[test]
fn sight_comes_in_patches() {
    let changes: usize = (0..50)
        .map(|seed| {
            let sight = LineOfSight::new(Environment::UrbanMacro, seed);
            let at = |step: i32| sight.sight(Place { x: 100.0, y: f64::from(step) }, Metres(100.0));
            (0..300).filter(|&step| at(step) != at(step + 1)).count()
        })
        .sum();
    // Independent places would change in 45 % of the steps of a metre.
    let share = changes as f64 / (50.0 * 300.0);
    assert!((0.005..0.12).contains(&share), "{share}");
}
