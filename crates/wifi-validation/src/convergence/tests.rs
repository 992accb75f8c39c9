use super::*;

#[test]
fn routes_are_found_and_lost_in_the_times_of_the_timers() {
    for row in convergence() {
        assert!(row.holds(), "{row:?}");
    }
}

#[test]
fn other_timers_exceed_the_bounds() {
    let median = |config| {
        let gaps = hop_times(config);
        gaps[gaps.len() / 2]
    };
    let settles = Duration::from_millis(5_800);
    assert!(median(DsdvConfig { initial_settling_time: settles, ..DsdvConfig::NS2 }) < 12.0 * 0.99);
    assert!(grid_time(DsdvConfig { settling_factor: 1.8, ..DsdvConfig::NS2 }, 20) < 87.0 * 0.95);
    let shorter = DsdvConfig { period: Duration::from_millis(14_900), ..DsdvConfig::NS2 };
    assert!(silence(shorter) < 45.0 * 0.999);
}
