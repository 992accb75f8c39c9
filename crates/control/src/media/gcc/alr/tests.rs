use super::*;

/// Sends `size` bytes each 10 ms from `from` to before `to` ms; the time at which the region began or ended.
fn send(alr: &mut AlrDetector, from: u64, to: u64, size: u64) -> Option<u64> {
    let before = alr.since().is_some();
    (from..to).step_by(10).find(|ms| {
        alr.on_sent(ByteCount::new(size), Instant::from_millis(*ms));
        alr.since().is_some() != before
    })
}

#[test]
fn a_region_begins_when_the_budget_is_filled_to_80_percent_and_ends_at_50() {
    let mut alr = AlrDetector::new(AlrConfig::default());
    alr.set_target(DataRate::from_megabits_per_second(1.0));
    // The budget grows by 812.5 bytes and shrinks by 125 in 10 ms: 48 times 687.5 are above 0.8 of 40,625.
    assert_eq!(send(&mut alr, 0, 2000, 125), Some(480));
    // The budget is 33,000, and shrinks by 437.5 in 10 ms: 30 times lead below 20,312.5.
    assert_eq!(send(&mut alr, 490, 3000, 1250), Some(490 + 290));
}

#[test]
fn a_sender_that_uses_70_percent_of_the_target_is_not_limited() {
    let mut alr = AlrDetector::new(AlrConfig::default());
    alr.set_target(DataRate::from_megabits_per_second(1.0));
    assert_eq!(send(&mut alr, 0, 60_000, 875), None);
}
