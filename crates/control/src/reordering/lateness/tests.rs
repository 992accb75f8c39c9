use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::from_millis(n)
}

#[test]
fn the_late_time_counts_from_the_earliest_packet_that_overtook() {
    let mut meter = LatenessMeter::new();
    let arrivals = [(0, 1), (10, 2), (20, 5), (30, 6), (45, 4), (50, 8), (60, 3), (70, 7)];
    let late_times: Vec<_> = arrivals.iter().map(|&(t, n)| meter.on_packet(at(t), n)).collect();
    // 4 and 3 were overtaken by 5 at 20 ms, 7 by 8 at 50 ms.
    let expected = [None, None, None, None, Some(ms(25)), None, Some(ms(40)), Some(ms(20))];
    assert_eq!(late_times, expected);
    let summary = meter.summary();
    assert_eq!((summary.overtaken, summary.maximum), (3, ms(40)));
    assert!((ms(25)..ms(29)).contains(&summary.median), "{summary:?}");
}

#[test]
fn the_first_packet_of_a_stream_overtakes_nothing() {
    let mut meter = LatenessMeter::new();
    assert_eq!(meter.on_packet(at(0), 1000), None);
    assert_eq!(meter.on_packet(at(1), 999), None, "the stream may begin in the middle");
    assert_eq!(meter.summary(), LatenessSummary::default());
}

#[test]
fn an_adaptive_delay_follows_recent_late_times() {
    let mut meter = LatenessMeter::new();
    let (floor, ceiling) = (ms(5), ms(100));
    let mut sequence = 1;
    let mut second = |meter: &mut LatenessMeter, second: u64, late: u64| {
        // One packet in ten is `late` milliseconds late.
        for tenth in 0..10 {
            let now = at(second * 1000 + tenth * 100);
            meter.on_packet(now, sequence + 1);
            meter.on_packet(now + ms(late), sequence);
            sequence += 2;
        }
        meter.delay(at(second * 1000 + 999), floor, ceiling)
    };
    let mut delays: Vec<_> = (0..30).map(|n| second(&mut meter, n, 40)).collect();
    assert_eq!(delays[8], None, "nothing is known before a period has passed");
    assert!(delays[10..].iter().all(|delay| *delay == Some(ms(50))), "{delays:?}");
    // The route changes: a longer late time applies at once, and expires after one to two periods.
    assert_eq!(second(&mut meter, 30, 64), Some(ms(80)));
    delays = (31..60).map(|n| second(&mut meter, n, 20)).collect();
    assert_eq!((delays[0], delays[28]), (Some(ms(80)), Some(ms(25))));
    assert_eq!(second(&mut meter, 60, 99), Some(ceiling));
    assert_eq!(meter.delay(at(120_000), floor, ceiling), Some(floor), "nothing was late for two periods");
}

#[test]
fn memory_is_bounded() {
    let mut meter = LatenessMeter::new();
    for hole in 0..10_000 {
        meter.on_packet(at(hole), 2 * hole + 2);
    }
    assert_eq!(meter.holes.len(), MAX_HOLES);
    // A hole that is no longer kept: at least as late as the oldest one that is kept.
    assert_eq!(meter.on_packet(at(10_000), 3), Some(ms(256)));
}

proptest! {
    /// The definition of RFC 4737, Section 4.3, over all arrivals.
    #[test]
    fn late_times_are_those_of_the_definition(delays in proptest::collection::vec(0u64..60, 1..120)) {
        let mut arrivals: Vec<(u64, u64)> =
            delays.iter().enumerate().map(|(n, delay)| (n as u64 * 10 + delay, n as u64 + 1)).collect();
        arrivals.sort();
        let mut meter = LatenessMeter::new();
        for (i, &(now, sequence)) in arrivals.iter().enumerate() {
            // Packets before the first arrival are not known to be missing.
            let from_first = sequence > arrivals[0].1;
            let overtaker = arrivals[..i].iter().filter(|(_, other)| *other > sequence).map(|(t, _)| *t).min();
            let expected = overtaker.filter(|_| from_first).map(|t| ms(now - t));
            let measured = meter.on_packet(at(now), sequence);
            if from_first {
                prop_assert_eq!(measured, expected, "{} of {:?}", sequence, arrivals);
            }
        }
    }
}
