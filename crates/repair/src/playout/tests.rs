use proptest::prelude::*;

use super::*;

const LATENCY: Duration = Duration::from_millis(100);

/// Sends a datagram each 20 ms for `seconds` from `start`, on a clock that is ahead by `drift` parts in a
/// million; `delay` in microseconds by time. Returns the difference between the due time and the sending of
/// the last, in microseconds.
fn run(playout: &mut Playout, start: u64, seconds: u64, drift: i64, delay: impl Fn(u64) -> u64) -> i64 {
    let mut last = 0;
    for n in 0..seconds * 50 {
        let sent = start * 1_000_000 + n * 20_000;
        let stamp = sent as i64 + (sent as i64 * drift) / 1_000_000;
        let time = AduHeader::time_of(Instant::from_nanos(stamp as u64 * 1_000));
        let arrival = Instant::from_nanos((sent + delay(sent)) * 1_000);
        playout.on_arrival(arrival, time, false);
        let due = playout.due(time).expect("a datagram arrived");
        last = (due.as_nanos() / 1_000) as i64 - sent as i64;
    }
    last
}

#[test]
fn a_slow_first_packet_moves_nothing() {
    let mut playout = Playout::new(LATENCY);
    let delay = |at| if at < 1_001_000 { 300_000 } else { 25_000 };
    assert!((run(&mut playout, 1, 1, 0, delay) - 125_000).abs() < 100);
}

#[test]
fn a_queue_is_no_drift() {
    let mut playout = Playout::new(LATENCY);
    run(&mut playout, 1, 12, 0, |_| 25_000);
    // A queue grows for eight seconds.
    let after = run(&mut playout, 13, 8, 0, |at| 25_000 + (at - 13_000_000) / 100);
    assert!((after - 125_000).abs() < 100, "{after}");
}

#[test]
fn datagrams_that_were_held_at_the_sender_are_no_longer_route() {
    let mut playout = Playout::new(LATENCY);
    run(&mut playout, 1, 2, 0, |_| 25_000);
    for n in 0..1_000 {
        let sent = Instant::from_millis(3_000 + n * 20);
        playout.on_arrival(sent + Duration::from_millis(65), AduHeader::time_of(sent), true);
    }
    let sent = Instant::from_secs(23);
    let due = playout.due(AduHeader::time_of(sent)).expect("a datagram arrived");
    assert!((due - sent).saturating_sub(Duration::from_millis(125)) < Duration::from_micros(100));
}

#[test]
fn drift_and_routes_are_followed() {
    for drift in [-200, 200] {
        let mut playout = Playout::new(LATENCY);
        let after = run(&mut playout, 1, 600, drift, |_| 25_000);
        // Ten seconds of 200 parts in a million are 2 ms.
        assert!((after - 125_000).abs() < 2_200, "drift {drift}: {after}");
    }
    let mut playout = Playout::new(LATENCY);
    run(&mut playout, 1, 20, 0, |_| 25_000);
    let shorter = run(&mut playout, 21, 1, 0, |_| 10_000);
    assert!((shorter - 110_000).abs() < 100, "{shorter}");
    let longer = run(&mut playout, 22, 40, 0, |_| 60_000);
    assert!((longer - 160_000).abs() < 100, "{longer}");
}

#[test]
fn stamps_wrap_and_pauses_end() {
    let mut playout = Playout::new(LATENCY);
    let after = run(&mut playout, 1, 1_200, 0, |_| 25_000);
    assert!((after - 125_000).abs() < 100, "{after}");
    // Longer than half of the stamps' range and less, and without a sender's clock in between.
    for start in [1_400, 1_740, 2_400] {
        let first = run(&mut playout, start, 1, 0, |_| 45_000);
        assert!((first - 145_000).abs() < 100, "{first}");
        let after = run(&mut playout, start + 1, 30, 0, |_| 25_000);
        assert!((after - 125_000).abs() < 100, "{after}");
    }
}

proptest! {
    #[test]
    fn any_stamps_are_due_some_time(stamps in proptest::collection::vec((any::<u32>(), any::<u64>()), 0..60)) {
        let mut playout = Playout::new(LATENCY);
        let mut now = 0_u64;
        for (time, step) in stamps {
            now = now.saturating_add(step >> 20);
            playout.on_arrival(Instant::from_nanos(now), time & 0xff_ffff, false);
            prop_assert!(playout.due(time & 0xff_ffff).is_some());
        }
    }
}
