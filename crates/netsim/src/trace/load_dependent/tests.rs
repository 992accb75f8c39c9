use proptest::prelude::*;
use whimbrel_units::{Duration, Instant};

use super::*;

fn millis(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// Under saturation an opportunity per millisecond; trains at 0, 100 and 200 ms with base delays of 20, 40
/// and 20 ms and four opportunities 5 ms apart.
fn trace(idle: Duration) -> LoadDependentTrace {
    let heavy: String = (1..=1000).map(|stamp| format!("{stamp}\n")).collect();
    let heavy = DeliveryTrace::parse(&heavy).unwrap();
    LoadDependentTrace::parse(heavy, "0 20 0 5 10 15\n100 40 0 5 10 15\n\n200 20 0 5 10 15\n", idle).unwrap()
}

fn cursor() -> LoadDependentCursor {
    LoadDependentCursor::new(trace(Duration::ZERO))
}

#[test]
fn a_lone_packet_has_the_base_delay_of_its_time() {
    let mut link = cursor();
    // Halfway between the trains of 20 and 40 ms; the recording repeats after 200 ms.
    for (at, base) in [(0, 20), (50, 30), (100, 40), (150, 30), (250, 30), (300, 40), (1_000_050, 30)] {
        assert_eq!(link.departure(millis(at), 1_500), millis(at));
        assert_eq!(link.base_delay(), Duration::from_millis(base), "at {at} ms");
    }
}

#[test]
fn a_burst_uses_the_trains_opportunities_and_then_the_heavy_ones() {
    let mut link = cursor();
    let departures: Vec<u64> =
        (0..7).map(|_| link.departure(millis(100), 1_500).as_nanos() / 1_000_000).collect();
    // Four of the train; then one per millisecond, on the clock of the link's end 40 ms later.
    assert_eq!(departures, [100, 105, 110, 115, 116, 117, 118]);
    // Still loaded: the train's base delay stays. After the last packet has left, a new train starts.
    assert_eq!(
        (link.departure(millis(118), 1_500), link.base_delay()),
        (millis(119), Duration::from_millis(40))
    );
    assert_eq!(
        (link.departure(millis(150), 1_500), link.base_delay()),
        (millis(150), Duration::from_millis(30))
    );
}

#[test]
fn small_packets_share_an_opportunity_and_missed_ones_are_lost() {
    let mut link = cursor();
    assert_eq!(link.departure(millis(0), 700), millis(0));
    assert_eq!(link.departure(millis(0), 700), millis(0));
    // 100 bytes are left of the first opportunity and 1000 of the second are used.
    assert_eq!(link.departure(millis(0), 1_100), millis(5));
    assert_eq!(link.departure(millis(4), 500), millis(5));
    // The opportunity of 10 ms passes while nothing waits, as the link would be idle.
    let mut patient = LoadDependentCursor::new(trace(Duration::from_millis(30)));
    assert_eq!(patient.departure(millis(0), 1_500), millis(0));
    assert_eq!(patient.departure(millis(11), 1_500), millis(15));
    // Within the idle time of the last departure there is no new train: the heavy recording serves it.
    assert_eq!(patient.departure(millis(40), 1_500), millis(41));
    assert_eq!(
        (patient.departure(millis(90), 1_500), patient.base_delay()),
        (millis(90), Duration::from_millis(38))
    );
}

/// Each packet finds the link idle, and yet none starts a train before the last one has ended.
#[test]
fn a_paced_flow_is_bounded_by_the_heavy_recording() {
    let mut link = cursor();
    let departures: Vec<Instant> =
        (0..4_000u64).map(|index| link.departure(Instant::from_nanos(index * 500_000), 1_500)).collect();
    // Twice as many packets as opportunities: behind the train, one per millisecond.
    assert_eq!(departures[3_999] - departures[999], Duration::from_millis(3_000));
    // Small packets share heavy opportunities, too.
    let mut link = cursor();
    let small: Vec<Instant> = (0..300).map(|_| link.departure(millis(0), 500)).collect();
    assert_eq!(small[299] - small[149], Duration::from_millis(50));
}

#[test]
fn a_jumbo_packet_takes_several_opportunities() {
    let mut link = cursor();
    assert_eq!(link.departure(millis(0), 4_000), millis(10));
    // Of the third, 500 bytes are left; 7000 bytes more than the train has go to the heavy recording as a
    // whole.
    assert_eq!(link.departure(millis(0), 7_500), millis(15));
}

#[test]
fn a_bad_light_recording_names_its_line() {
    let heavy = || DeliveryTrace::parse("1\n2\n").unwrap();
    let error = |text| LoadDependentTrace::parse(heavy(), text, Duration::ZERO).unwrap_err().to_string();
    let shape = "expected milliseconds: a time, a base delay, and opportunities since the first packet's";
    assert_eq!(error("0 20 1\n5\n"), format!("line 2: {shape}, found `5`"));
    assert_eq!(error("0 20 x\n"), format!("line 1: {shape}, found `0 20 x`"));
    assert_eq!(error("0 -20\n"), format!("line 1: {shape}, found `0 -20`"));
    assert_eq!(error("5 20\n5 20\n"), "line 2: expected a time after the previous line's, found `5 20`");
    assert_eq!(error("0 20 3 2\n"), "line 1: expected opportunities in ascending order, found `0 20 3 2`");
    assert_eq!(error("0 20\n"), "expected at least two trains");
}

proptest! {
    /// Departures keep their order, none precedes its packet, and under saturation the heavy recording sets
    /// the rate.
    #[test]
    fn departures_are_in_order(
        packets in prop::collection::vec((0u64..40, 1u32..3_000), 1..200),
        idle in 0u64..20,
    ) {
        let mut link = LoadDependentCursor::new(trace(Duration::from_millis(idle)));
        let (mut now, mut last) = (0, Instant::ZERO);
        for (gap, size) in packets {
            now += gap;
            let departure = link.departure(millis(now), size);
            prop_assert!(departure >= millis(now) && departure >= last);
            last = departure;
        }
        for _ in 0..100 {
            link.departure(millis(now), 1_500);
        }
        let full = link.departure(millis(now), 1_500);
        let further = (0..100).map(|_| link.departure(millis(now), 1_500)).last().unwrap();
        prop_assert_eq!(further - full, Duration::from_millis(100));
    }
}
