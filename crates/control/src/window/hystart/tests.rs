use super::*;
use whimbrel_units::Instant;

/// Segments in flight.
const FLIGHT: u32 = 20;

/// Acknowledges `segments` one by one with that round-trip time; `true` if slow start ended.
fn acknowledge(hystart: &mut HyStart, segments: u32, rtt_ms: u64) -> bool {
    (0..segments).any(|_| {
        let rtt = Some(Duration::from_millis(rtt_ms));
        hystart.on_delivery(&Delivery { now: Instant::ZERO, delivered: 1.0, marked: 0.0, rtt });
        hystart.on_ack(f64::from(FLIGHT))
    })
}

/// After two rounds of 100 ms.
fn started() -> HyStart {
    let mut hystart = HyStart::rfc9406();
    for _ in 0..2 {
        assert!(!acknowledge(&mut hystart, 20, 100));
    }
    assert_eq!(hystart.share(), 1.0);
    hystart
}

/// The threshold is an eighth of the round-trip time, at least 4 ms and at most 16 ms.
#[test]
fn an_eighth_more_delay_makes_slow_start_conservative() {
    for (base, rise, expected) in
        [(100, 12, 1.0), (100, 13, 0.25), (8, 3, 1.0), (8, 4, 0.25), (400, 15, 1.0), (400, 16, 0.25)]
    {
        let mut hystart = HyStart::rfc9406();
        for _ in 0..3 {
            acknowledge(&mut hystart, 20, base);
        }
        // The rest of the round that has begun, and the next one.
        acknowledge(&mut hystart, 45, base + rise);
        assert_eq!(hystart.share(), expected, "{base} ms + {rise} ms");
    }
}

#[test]
fn a_round_with_fewer_than_eight_samples_decides_nothing() {
    let mut hystart = started();
    hystart.round_end = 1e9;
    (hystart.last, hystart.current, hystart.samples) = (Some(Duration::from_millis(100)), None, 0);
    acknowledge(&mut hystart, 7, 150);
    assert_eq!(hystart.share(), 1.0);
    acknowledge(&mut hystart, 1, 150);
    assert_eq!(hystart.share(), 0.25);
}

#[test]
fn slow_start_ends_after_five_conservative_rounds() {
    let mut hystart = started();
    while hystart.share() == 1.0 {
        assert!(!acknowledge(&mut hystart, 1, 150));
    }
    let Phase::Conservative { rounds: 0, .. } = hystart.phase else { panic!("{:?}", hystart.phase) };
    let mut rounds = 0;
    let mut last = hystart.round_end;
    while !acknowledge(&mut hystart, 1, 150) {
        rounds += u32::from(hystart.round_end != last);
        last = hystart.round_end;
        assert!(rounds < 10);
    }
    // The fifth one ends slow start.
    assert_eq!(rounds, 4);
    assert!(hystart.is_over());
}

#[test]
fn slow_start_resumes_if_the_delay_was_a_spike() {
    let mut hystart = started();
    while hystart.share() == 1.0 {
        acknowledge(&mut hystart, 1, 150);
    }
    acknowledge(&mut hystart, 60, 110);
    assert_eq!(hystart.share(), 1.0);
    assert!(!hystart.is_over());
}
