use whimbrel_units::{Duration, Instant};

use super::{Drx, DrxConfig};

fn drx(cycle: u64, on: u64) -> Drx {
    let millis = Duration::from_millis;
    Drx::new(DrxConfig { cycle: millis(cycle), on: millis(on), inactivity: millis(100) })
}

#[test]
fn waits_of_arrivals_at_any_time() {
    for (cycle, on, mean, most, none) in [
        (20, 1, 9.025, 19.0, 0.05),
        (40, 2, 18.05, 38.0, 0.05),
        (320, 10, 150.156_25, 310.0, 0.031_25),
        (1280, 1, 639.000_39, 1279.0, 0.000_78),
    ] {
        let drx = drx(cycle, on);
        // In the middle of each microsecond of a cycle.
        let count = cycle * 1_000;
        let wait = |micros: u64| {
            let now = Instant::from_nanos(cycle * 7_000_000 + micros * 1_000 + 500);
            (drx.listens_at(now) - now) / Duration::from_millis(1)
        };
        let (sum, greatest, zero) = (0..count).map(wait).fold((0.0, 0.0_f64, 0_u64), |found, wait| {
            (found.0 + wait, found.1.max(wait), found.2 + u64::from(wait == 0.0))
        });
        assert!((sum / count as f64 - mean).abs() < 1e-4, "{cycle} ms: {}", sum / count as f64);
        assert!((greatest - most).abs() < 1e-3, "{cycle} ms: {greatest}");
        assert!((zero as f64 / count as f64 - none).abs() < 5e-6, "{cycle} ms: {zero}");
    }
}

#[test]
fn traffic_keeps_a_terminal_awake() {
    let mut drx = drx(320, 10);
    let at = Instant::from_millis;
    drx.handle_grant(at(50));
    assert_eq!(drx.listens_at(at(149)), at(149));
    assert_eq!(drx.listens_at(at(150)), at(320));
    drx.handle_grant(at(140));
    assert_eq!(drx.listens_at(at(239)), at(239));
}
