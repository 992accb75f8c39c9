use super::*;

/// Nanoseconds from 1970 to the clock's epoch.
const EPOCH: i64 = 1_700_000_000_000_000_000;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// The kernel's time at an instant, when the system's clock is `ahead` milliseconds ahead of its first
/// offset.
fn stamp(at: Instant, ahead: i64) -> StdDuration {
    StdDuration::from_nanos((EPOCH + ahead * 1_000_000 + at.as_nanos() as i64) as u64)
}

fn offset(ahead: i64) -> i64 {
    EPOCH + ahead * 1_000_000
}

#[test]
fn the_arrival_time_is_the_kernels_timestamp() {
    let mut time = KernelTime::default();
    for (arrived, taken) in [(100, 130), (110, 130), (120, 130), (130, 130), (500, 900)] {
        assert_eq!(time.place(stamp(ms(arrived), 0), offset(0), ms(taken)), ms(arrived));
    }
    // The clocks cannot be read at the same time: nothing arrives in the future.
    let early = StdDuration::from_nanos(stamp(ms(950), 0).as_nanos() as u64 + 50_000);
    assert_eq!(time.place(early, offset(0), ms(950)), ms(950));
}

#[test]
fn a_clock_that_is_set_between_arrival_and_receipt_makes_no_difference() {
    // Forwards and backwards, by much and by little.
    for step in [-86_400_000, -1_000, -20, 20, 1_000, 86_400_000] {
        let mut time = KernelTime::default();
        assert_eq!(time.place(stamp(ms(100), 0), offset(0), ms(105)), ms(100));
        // Two that were there before the clock was set, and two after.
        for (arrived, ahead) in [(110, 0), (116, 0), (121, step), (124, step)] {
            let at = time.place(stamp(ms(arrived), ahead), offset(step), ms(125));
            assert_eq!(at, ms(arrived), "by {step} ms");
        }
        // And back.
        for (arrived, ahead) in [(130, step), (140, 0), (144, 0)] {
            assert_eq!(
                time.place(stamp(ms(arrived), ahead), offset(0), ms(145)),
                ms(arrived),
                "by {step} ms"
            );
        }
    }
}

#[test]
fn a_clock_that_is_made_to_run_faster_is_followed() {
    let mut time = KernelTime::default();
    // 500 parts in a million, as NTP does it.
    for second in 1..10_000 {
        let ahead = second as i64 / 2;
        let at = ms(1_000 * second);
        assert_eq!(time.place(stamp(at, ahead), offset(ahead), at + Duration::from_millis(3)), at);
    }
}

#[test]
fn an_implausible_timestamp_counts_as_now() {
    let mut time = KernelTime::default();
    assert_eq!(time.place(stamp(ms(100), 0), offset(0), ms(100)), ms(100));
    assert_eq!(time.place(stamp(ms(50), 0), offset(0), ms(200)), ms(200), "before the packet in front of it");
    assert_eq!(time.place(StdDuration::ZERO, offset(0), ms(210)), ms(210));
    assert_eq!(time.place(stamp(ms(900), 0), offset(0), ms(220)), ms(220), "in the future");
    assert_eq!(time.place(stamp(ms(230), 0), offset(0), ms(240)), ms(230));
}

/// The times between the datagrams of a batch, in microseconds.
fn spacing(pace: &mut Pace, at: Instant, count: usize) -> u64 {
    pace.spacing(at, 1000 * count, 1000).as_nanos() / 1000
}

#[test]
fn a_coalesced_batch_is_spread_by_its_length_and_the_peers_rate() {
    let mut pace = Pace::default();
    // 1000 bytes per millisecond, one by one, then two, three and four at once.
    let mut now = 0;
    for _ in 0..200 {
        now += 1;
        assert_eq!(spacing(&mut pace, ms(now), 1), 0);
    }
    for count in [2, 3, 4, 2] {
        now += count as u64;
        assert!((999..=1000).contains(&spacing(&mut pace, ms(now), count)));
    }
    // After a pause, no further apart than at the rate.
    now += 1_000;
    assert!((999..=1000).contains(&spacing(&mut pace, ms(now), 3)));
    // A faster burst: not more than the time since the last.
    now += 1;
    assert_eq!(spacing(&mut pace, ms(now), 4), 250);
    // A slow peer's: not for longer than the longest batch.
    let mut slow = Pace { last: Some(ms(0)), per_byte: Some(1e6) };
    assert_eq!(spacing(&mut slow, ms(10_000), 5), 1_000);
    // There is no estimate for the first.
    assert_eq!(spacing(&mut Pace::default(), ms(5), 5), 0);
}

#[test]
fn the_last_of_a_batch_has_the_kernels_timestamp_and_none_precedes_the_batch_before_it() {
    let clock = Clock::start();
    let mut times = ArrivalTimes::new(clock);
    let remote = SocketAddr::from(([192, 0, 2, 1], 6511));
    let mut last = Instant::ZERO;
    for _ in 0..20 {
        let nanos = clock.behind_system() + clock.now().as_nanos() as i64;
        let batch =
            times.of(remote, Some(StdDuration::from_nanos(nanos as u64)), 3_500, 1_000).expect("stamped");
        let at: Vec<Instant> = batch.take(4).collect();
        assert!(at[0] >= last && at.is_sorted(), "{last} {at:?}");
        assert!(at[3] <= clock.now());
        last = at[3];
    }
    assert!(times.of(remote, None, 3_500, 1_000).is_none());
    // Many peers take little memory.
    for n in 0..10_000u32 {
        times.of(SocketAddr::from((n.to_be_bytes(), 1)), Some(StdDuration::from_secs(1)), 10, 10);
    }
    assert!(times.peers.len() <= MAX_PEERS);
}
