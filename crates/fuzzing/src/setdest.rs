//! A movement file of ns-2.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::mobility::{Area, Path, setdest};

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let map = Area::new(1_000.0, 1_000.0);
    let within = setdest::parse(&text, Some(map));
    if let Err(error) = &within {
        // A message does not repeat a long line.
        assert!(error.to_string().len() < 1_000, "{error}");
    }
    let Ok(nodes) = setdest::parse(&text, None) else {
        assert!(within.is_err());
        return;
    };
    if let Ok(within) = within {
        assert_eq!(within, nodes);
        assert!(nodes.iter().all(|(_, path)| path.leaves(map).is_none()));
    }
    assert!(nodes.is_sorted_by_key(|&(number, _)| number));
    let paths: Vec<Path> = nodes.into_iter().map(|(_, path)| path).collect();
    for path in &paths {
        check_continuity(path);
    }
    let again = setdest::parse(&setdest::write(&paths), None).expect("what was written");
    assert_eq!(again.len(), paths.len());
    for (path, (_, again)) in paths.iter().zip(&again) {
        assert_eq!(path.position(Instant::ZERO), again.position(Instant::ZERO));
    }
}

/// A path has finite positions, does not jump, and is not faster than it states.
pub(crate) fn check_continuity(path: &Path) {
    let legs = path.legs();
    assert_eq!(legs.first().map(|leg| leg.start), Some(Instant::ZERO));
    for pair in legs.windows(2) {
        let [leg, next] = pair else { unreachable!("windows of two") };
        assert!(leg.start < next.start, "{leg:?} {next:?}");
        let end = leg.position(next.start);
        assert!(next.origin.is_finite() && end.is_finite());
        // Arrival times are rounded to a nanosecond, at most at the speed of light, and positions to 53 bits;
        // beyond the end of time a movement is cut off.
        let rounding = 1.0 + 1e-9 * (leg.origin.x.abs() + leg.origin.y.abs() + end.x.abs() + end.y.abs());
        let is_cut_off = next.start >= Instant::FAR_FUTURE;
        assert!(is_cut_off || end.distance(next.origin) < rounding, "{leg:?} {next:?}");
        // The squares of speeds below 1e-150 m/s have few digits.
        assert!(leg.velocity.speed() <= path.max_speed() * (1.0 + 1e-9) + 1e-150);
    }
    let late = Instant::ZERO + Duration::from_secs(1_000_000_000);
    assert!(path.position(late).is_finite());
}
