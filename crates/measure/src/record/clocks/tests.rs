use super::*;

/// Waiting times in seconds of 2,000 packets: every seventh waits for next to nothing.
fn waits() -> impl Iterator<Item = (f64, f64)> {
    let mut noise = 1u32;
    (0..2_000).map(move |index| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let random = f64::from(noise >> 8) / f64::from(1 << 24);
        (f64::from(index) * 0.01, if index % 7 == 0 { random * 1e-5 } else { random * 0.08 })
    })
}

#[test]
fn offset_and_skew_are_recovered_below_queueing() {
    // The server's clock is 1,234.5 s ahead and gains 60 ppm; 20 ms and 30 ms of path.
    let (offset, skew) = (1_234.5, 60e-6);
    let up: Vec<_> = waits().map(|(time, wait)| (time, 0.02 + wait + offset + skew * time)).collect();
    let down: Vec<_> = waits().map(|(time, wait)| (time, 0.03 + wait - offset - skew * time)).collect();
    let found = ClockFit::new(&up, &down).unwrap();
    assert!((found.skew - skew).abs() < 2e-6, "{found:?}");
    // The paths differ by 10 ms, of which half is the error.
    assert!((found.offset - (offset - 0.005)).abs() < 5e-5, "{found:?}");
    assert!((found.ahead(20.0) - (offset - 0.005 + 20.0 * skew)).abs() < 1e-4);
}

#[test]
fn the_border_is_below_all_points_and_touches_two() {
    let points: Vec<_> = waits().map(|(time, wait)| (time, wait + 0.5 - 1e-4 * time)).collect();
    let line = lower_border(&points).unwrap();
    let above = |point: &(f64, f64)| point.1 - line.at_zero - line.slope * point.0;
    assert!(points.iter().all(|point| above(point) > -1e-12));
    assert!(points.iter().filter(|point| above(point) < 1e-12).count() >= 2);
    assert!((line.slope + 1e-4).abs() < 2e-6, "{line:?}");
}

#[test]
fn few_points_have_a_level_or_nothing() {
    assert_eq!(lower_border(&[]), None);
    assert_eq!(lower_border(&[(3.0, 0.25)]), Some(Line { at_zero: 0.25, slope: 0.0 }));
    assert_eq!(lower_border(&[(3.0, 0.5), (3.0, 0.25)]).unwrap().slope, 0.0);
    assert_eq!(ClockFit::new(&[(0.0, 1.0)], &[]), None);
}
