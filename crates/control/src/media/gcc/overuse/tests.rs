use super::*;

fn detector() -> OveruseDetector {
    OveruseDetector::new(&DelayConfig::default())
}

/// The trend of which the modified one, 60 * 4 times it, is `modified`.
fn trend(modified: f64) -> f64 {
    modified / 240.0
}

fn detect(detector: &mut OveruseDetector, modified: f64, at: u64) {
    detector.detect(trend(modified), 60, Duration::from_millis(10), Instant::from_millis(at));
}

#[test]
fn the_threshold_falls_fast_and_rises_slowly() {
    let mut low = detector();
    detect(&mut low, 0.0, 1000);
    detect(&mut low, 0.0, 1005);
    // 12.5 + 0.039 (0 - 12.5) 5 = 10.0625.
    assert!((low.threshold() - 10.0625).abs() < 1e-9);
    detect(&mut low, 0.0, 3000);
    assert_eq!(low.threshold(), 6.0);
    let mut high = detector();
    detect(&mut high, 20.0, 1000);
    detect(&mut high, 20.0, 1010);
    // 12.5 + 0.0087 (20 - 12.5) 10 = 13.1525.
    assert!((high.threshold() - 13.1525).abs() < 1e-9);
}

#[test]
fn the_threshold_does_not_adapt_to_jumps() {
    let mut detector = detector();
    detect(&mut detector, 27.6, 1000);
    detect(&mut detector, 27.6, 1010);
    assert_eq!(detector.threshold(), 12.5);
}

#[test]
fn overuse_takes_more_than_10_ms_and_a_trend_that_does_not_fall() {
    let mut rising = detector();
    detect(&mut rising, 30.0, 1000);
    assert_eq!(rising.usage(), Usage::Normal);
    detect(&mut rising, 31.0, 1010);
    assert_eq!(rising.usage(), Usage::Over);
    let mut falling = detector();
    detect(&mut falling, 40.0, 1000);
    detect(&mut falling, 39.0, 1010);
    detect(&mut falling, 38.0, 1020);
    assert_eq!(falling.usage(), Usage::Normal);
    detect(&mut falling, 38.0, 1030);
    assert_eq!(falling.usage(), Usage::Over);
}

#[test]
fn a_falling_delay_is_underuse() {
    let mut detector = detector();
    detect(&mut detector, -20.0, 1000);
    assert_eq!(detector.usage(), Usage::Under);
    detect(&mut detector, 0.0, 1010);
    assert_eq!(detector.usage(), Usage::Normal);
}

#[test]
fn the_first_groups_weigh_less() {
    let mut detector = detector();
    // 15 groups: a quarter of the weight, 7.5 below the threshold.
    for at in [1000, 1010, 1020] {
        detector.detect(trend(30.0), 15, Duration::from_millis(10), Instant::from_millis(at));
    }
    assert_eq!(detector.usage(), Usage::Normal);
}
