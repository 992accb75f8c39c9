use proptest::prelude::*;
use whimbrel_units::{DataRate, Duration, Instant};

use super::{
    AtEnd, DeliveryCursor, DeliveryTrace, LoadDependentCursor, LoadDependentTrace, LossCursor, LossTrace,
    RateSteps, StepCursor, TraceError,
};

fn micros(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000)
}

fn deliveries(text: &str) -> DeliveryCursor {
    DeliveryCursor::new(DeliveryTrace::parse(text).unwrap())
}

fn mbit(rate: f64) -> DataRate {
    DataRate::from_megabits_per_second(rate)
}

#[test]
fn a_delivery_trace_is_one_stamp_per_line() {
    let trace = DeliveryTrace::parse("0\n5\r\n5\n\n 8 \n").unwrap();
    assert_eq!(trace.period(), Duration::from_millis(8));
    // Four times 1500 bytes in 8 ms.
    assert_eq!(trace.mean_rate(), mbit(6.0));
}

#[test]
fn a_bad_delivery_trace_names_its_line() {
    let error = |text| DeliveryTrace::parse(text).unwrap_err().to_string();
    assert_eq!(error("1\n2\nx3\n"), "line 3: expected a whole number of milliseconds, found `x3`");
    assert_eq!(error("1.5\n"), "line 1: expected a whole number of milliseconds, found `1.5`");
    assert_eq!(error("7\n\n6\n"), "line 3: expected a stamp not before the previous line's, found `6`");
    assert_eq!(error(""), "expected a trace that lasts at least a millisecond");
    assert_eq!(error("0\n0\n"), "expected a trace that lasts at least a millisecond");
    let unsorted = DeliveryTrace::from_millis(vec![3, 1, 4]);
    assert_eq!(unsorted, Err(TraceError::Whole { expected: "stamps in ascending order" }));
}

#[test]
fn a_packet_leaves_with_the_next_opportunity() {
    let mut link = deliveries("3\n7\n10\n");
    assert_eq!(link.departure(Instant::from_millis(1), 1_500), Instant::from_millis(3));
    assert_eq!(link.departure(Instant::from_millis(1), 1_500), Instant::from_millis(7));
    // The trace repeats: its 3 ms are now at 13 ms.
    assert_eq!(link.departure(micros(10_500), 1_500), Instant::from_millis(13));
}

#[test]
fn a_packet_that_comes_with_an_opportunity_is_too_late_for_it() {
    let mut link = deliveries("0\n3\n7\n");
    assert_eq!(link.departure(Instant::ZERO, 1_500), Instant::from_millis(3));
    assert_eq!(link.departure(Instant::from_millis(7), 100), Instant::from_millis(10));
    // 7 ms is also the zero of the second turn, at which the opportunity `0` was lost as well.
    let mut link = deliveries("0\n3\n7\n");
    assert_eq!(link.departure(micros(6_999), 1_500), Instant::from_millis(7));
    assert_eq!(link.departure(micros(6_999), 1_500), Instant::from_millis(7));
    assert_eq!(link.departure(micros(6_999), 1_500), Instant::from_millis(10));
}

#[test]
fn leftovers_of_an_opportunity_serve_the_packets_behind() {
    let mut link = deliveries("2\n4\n6\n");
    let now = Instant::from_millis(1);
    assert_eq!(link.departure(now, 600), Instant::from_millis(2));
    assert_eq!(link.departure(now, 600), Instant::from_millis(2));
    // 300 bytes at 2 ms, the other 300 at 4 ms, which leaves 1200 there.
    assert_eq!(link.departure(now, 600), Instant::from_millis(4));
    assert_eq!(link.departure(micros(3_999), 1_200), Instant::from_millis(4));
    assert_eq!(link.departure(micros(3_999), 1), Instant::from_millis(6));
    // The rest at 6 ms was not used in time.
    assert_eq!(link.departure(Instant::from_millis(6), 1), Instant::from_millis(8));
}

#[test]
fn a_jumbo_packet_takes_several_opportunities() {
    let mut link = deliveries("1\n");
    assert_eq!(link.departure(Instant::ZERO, 4_000), Instant::from_millis(3));
    assert_eq!(link.departure(Instant::ZERO, 500), Instant::from_millis(3));
    assert_eq!(link.departure(Instant::ZERO, 1), Instant::from_millis(4));
}

#[test]
fn opportunities_of_one_millisecond_are_all_used() {
    let mut link = deliveries("2\n2\n2\n5\n");
    for expected in [2, 2, 2, 5, 7, 7] {
        assert_eq!(link.departure(Instant::from_millis(1), 1_500), Instant::from_millis(expected));
    }
}

#[test]
fn a_long_silence_is_skipped() {
    let mut link = deliveries("3\n7\n10\n");
    assert_eq!(link.departure(Instant::from_secs(100_000), 1_500), Instant::from_millis(100_000_003));
    assert_eq!(link.departure(Instant::from_millis(100_000_009), 1_500), Instant::from_millis(100_000_010));
}

#[test]
fn a_restarted_link_uses_opportunities_after_the_restart() {
    let mut link = deliveries("1\n2\n3\n4\n5\n");
    for _ in 0..4 {
        link.departure(Instant::ZERO, 1_500);
    }
    link.restart(Instant::from_millis(2));
    assert_eq!(link.departure(Instant::from_millis(2), 1_000), Instant::from_millis(3));
    assert_eq!(link.departure(Instant::from_millis(2), 500), Instant::from_millis(3));
}

proptest! {
    /// Against mahimahi's own way: walk through the opportunities, serve a queue at each.
    #[test]
    fn deliveries_are_those_of_a_link_that_walks_through_its_trace(
        stamps in prop::collection::vec(0u64..30, 1..20),
        arrivals in prop::collection::vec((0u64..8_000, 1u32..4_000), 1..60),
    ) {
        let mut stamps = stamps;
        stamps.push(30);
        stamps.sort_unstable();
        let mut now = 0;
        let packets: Vec<(u64, u32)> = arrivals.iter().map(|&(gap, size)| { now += gap; (now, size) }).collect();

        let mut cursor = DeliveryCursor::new(DeliveryTrace::from_millis(stamps.clone()).unwrap());
        let planned: Vec<Instant> = packets.iter().map(|&(at, size)| cursor.departure(micros(at), size)).collect();

        let opportunities = (0..).flat_map(|turn| stamps.iter().map(move |stamp| (30 * turn + stamp) * 1_000));
        let mut walked = Vec::new();
        let mut left = packets[0].1;
        for opportunity in opportunities {
            let mut bytes = DeliveryTrace::OPPORTUNITY;
            while bytes > 0 && walked.len() < packets.len() && packets[walked.len()].0 < opportunity {
                let sent = bytes.min(left);
                bytes -= sent;
                left -= sent;
                if left == 0 {
                    walked.push(micros(opportunity));
                    left = packets.get(walked.len()).map_or(0, |packet| packet.1);
                }
            }
            if walked.len() == packets.len() {
                break;
            }
        }
        prop_assert_eq!(planned, walked);
    }

    /// The bits sent between a start and its departure are the packet's.
    #[test]
    fn a_departure_over_steps_sends_exactly_the_packet(
        rates in prop::collection::vec(0.0f64..50.0, 1..10),
        bits in 1.0f64..1e7,
        start in 0u64..30_000_000_000,
    ) {
        let mut steps: Vec<_> =
            (0..).zip(&rates).map(|(k, &rate)| (Instant::from_millis(700 * k), mbit(rate))).collect();
        steps.push((Instant::from_secs(10), mbit(1.0)));
        let mut cursor = StepCursor::new(RateSteps::from_steps(&steps, AtEnd::Repeat).unwrap());
        let start = Instant::from_nanos(start);
        let departure = cursor.departure(start, bits);
        let sent = cursor.bits_between(start, departure);
        // Half a nanosecond at 50 Mbit/s, and rounding.
        prop_assert!((sent - bits).abs() < 0.1, "{sent} bits sent of {bits}");
    }
}

#[test]
fn steps_are_seconds_and_megabits() {
    let trace = RateSteps::parse("# a comment\n0.5\t2\n1.5 4.0\n\n2 0\n", AtEnd::Hold).unwrap();
    let rate_at = |seconds| trace.rate_at(Instant::from_secs_f64(seconds));
    assert_eq!(rate_at(0.0), mbit(2.0));
    assert_eq!(rate_at(1.499), mbit(2.0));
    assert_eq!(rate_at(1.5), mbit(4.0));
    assert_eq!(rate_at(99.0), DataRate::ZERO);
    assert_eq!(trace.period(), Duration::MAX);
}

#[test]
fn a_repeated_trace_gives_its_last_rate_the_time_of_the_one_before() {
    let trace = RateSteps::parse("0\t2\n1\t4\n3\t8\n", AtEnd::Repeat).unwrap();
    assert_eq!(trace.period(), Duration::from_secs(5));
    let rate_at = |seconds| trace.rate_at(Instant::from_secs(seconds));
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 9].map(rate_at), [2.0, 4.0, 4.0, 8.0, 8.0, 2.0, 4.0, 8.0].map(mbit));
}

#[test]
fn bad_steps_name_their_line() {
    let error = |text| RateSteps::parse(text, AtEnd::Repeat).unwrap_err().to_string();
    assert_eq!(error("0\t1\n1\tfast\n"), "line 2: expected seconds and Mbit/s, found `1\tfast`");
    assert_eq!(error("0 1 2\n"), "line 1: expected seconds and Mbit/s, found `0 1 2`");
    assert_eq!(error("3\n"), "line 1: expected seconds and Mbit/s, found `3`");
    assert_eq!(error("-1 2\n"), "line 1: expected a time between 0 and 10^10 s, found `-1 2`");
    assert_eq!(error("0 -2\n"), "line 1: expected a finite rate of at least 0, found `0 -2`");
    assert_eq!(error("0 inf\n"), "line 1: expected a finite rate of at least 0, found `0 inf`");
    assert_eq!(error("0 1\n0 2\n"), "line 2: expected a time after the previous line's, found `0 2`");
    assert_eq!(error("# nothing\n"), "expected at least one step");
    assert_eq!(error("0 0\n1 0\n"), "expected a rate above 0 somewhere in a trace that repeats");
}

#[test]
fn a_packet_is_spread_over_the_steps_it_meets() {
    let trace = RateSteps::parse("0 1\n1 0\n2 4\n", AtEnd::Hold).unwrap();
    let mut cursor = StepCursor::new(trace);
    // 0.5 Mbit in the half second left, nothing for a second, 0.5 Mbit at 4 Mbit/s.
    assert_eq!(cursor.departure(Instant::from_millis(500), 1e6), Instant::from_millis(2_125));
    let sent = cursor.bits_between(Instant::from_millis(500), Instant::from_millis(2_125));
    assert!((sent - 1e6).abs() < 1e-6, "{sent} bits");
    // Ends exactly with its step.
    assert_eq!(cursor.departure(Instant::ZERO, 1e6), Instant::from_secs(1));
}

#[test]
fn a_part_of_a_mahimahi_trace_has_its_own_rate() {
    let trace = DeliveryTrace::from_millis(vec![1, 1, 4]).unwrap();
    let rate = |from, to| trace.mean_rate_between(Instant::from_millis(from), Instant::from_millis(to));
    assert_eq!(rate(0, 4), trace.mean_rate());
    assert_eq!(rate(0, 1), mbit(24.0));
    assert_eq!(rate(1, 3), mbit(0.0));
    // The last opportunity, and two of the second turn.
    assert_eq!(rate(3, 5), mbit(18.0));
    assert_eq!(rate(1, 4_001), trace.mean_rate());
}

#[test]
fn a_trace_that_ends_without_a_rate_never_delivers() {
    let mut cursor = StepCursor::new(RateSteps::parse("0 1\n1 0\n", AtEnd::Hold).unwrap());
    assert_eq!(cursor.departure(Instant::from_millis(900), 1e6), Instant::FAR_FUTURE);
}

#[test]
fn a_packet_may_take_several_turns_of_a_trace() {
    // 1 Mbit per turn of 2 s.
    let mut cursor = StepCursor::new(RateSteps::parse("0 1\n1 0\n", AtEnd::Repeat).unwrap());
    assert_eq!(cursor.departure(Instant::from_millis(500), 3e6), Instant::from_millis(6_500));
}

proptest! {
    /// A recording from its time `start` on is the recording, read that much later.
    #[test]
    fn a_recording_may_start_anywhere(
        gaps in prop::collection::vec(0u64..9, 1..12),
        start in 0u64..200,
        wait in 0u64..100,
        sizes in prop::collection::vec(1u32..4_000, 1..8),
    ) {
        let shift = Duration::from_millis(start);
        let times: Vec<u64> = gaps.iter().scan(0, |sum, gap| { *sum += gap; Some(*sum) }).collect();
        let now = Instant::from_millis(wait);

        // An opportunity of its own at the end, so that the trace lasts.
        let stamps = times.iter().copied().chain([times[times.len() - 1] + 3]).collect();
        let trace = DeliveryTrace::from_millis(stamps).unwrap();
        prop_assert_eq!(trace.started_at(shift).mean_rate(), trace.mean_rate());
        let later = now + Duration::from_millis(50);
        let between = trace.started_at(shift).mean_rate_between(now, later);
        prop_assert_eq!(between, trace.mean_rate_between(now + shift, later + shift));
        let (mut early, mut late) = (DeliveryCursor::new(trace.started_at(shift)), DeliveryCursor::new(trace));
        for &size in &sizes {
            prop_assert_eq!(early.departure(now, size) + shift, late.departure(now + shift, size));
        }

        let mut starts: Vec<u64> = times.clone();
        starts.dedup();
        let steps: Vec<(Instant, DataRate)> =
            starts.iter().map(|&time| (Instant::from_millis(time), mbit(1.0 + time as f64))).collect();
        let steps = RateSteps::from_steps(&steps, AtEnd::Repeat).unwrap();
        let shifted = steps.started_at(shift);
        prop_assert_eq!(shifted.period(), steps.period());
        for millis in 0..150 {
            let time = micros(millis * 1_000 + 500);
            if steps.period() != Duration::MAX {
                prop_assert_eq!(shifted.rate_at(time), steps.rate_at(time + shift));
            }
        }
        let held = RateSteps::from_steps(&[(Instant::ZERO, mbit(1.0)), (now, mbit(2.0))][..1], AtEnd::Hold).unwrap();
        prop_assert_eq!(held.started_at(shift), held);

        let length = Duration::from_millis(times[times.len() - 1] + 5);
        let spans: Vec<(Instant, Instant)> = starts
            .iter()
            .map(|&time| (micros(time * 1_000), micros(time * 1_000 + 400)))
            .collect();
        let points: Vec<Instant> = spans.iter().map(|(from, _)| *from).collect();
        for trace in [
            LossTrace::from_spans(&spans, Some(length), true).unwrap(),
            LossTrace::from_times(&points, Some(length), true).unwrap(),
        ] {
            let (mut early, mut late) = (LossCursor::new(trace.started_at(shift)), LossCursor::new(trace));
            // Times before `start` have passed: no packet has taken them.
            late.loses(Instant::ZERO + shift);
            early.loses(Instant::ZERO);
            for tenth in 1..600 {
                let time = micros(tenth * 100);
                prop_assert_eq!(early.loses(time), late.loses(time + shift), "at {:?}", time);
            }
        }
    }
}

#[test]
fn a_table_of_rates_is_a_trace_in_the_units_of_its_header() {
    let rates = |text: &str| {
        let steps = RateSteps::parse(text, AtEnd::Hold).unwrap_or_else(|error| panic!("{text}: {error}"));
        let rate = |second: u64| steps.rate_at(Instant::from_millis(second * 1_000 + 500));
        [0, 1, 2].map(|second| rate(second).as_bits_per_second().round())
    };
    let expected = [8_082_000.0, 9_078_000.0, 0.0];
    // The data set of the LTE measurements of the beginning, other units, a further column, times of the day.
    for text in [
        "Timestamp,DL_bitrate_kbps\n0,8082\n1,9078\n2,0\n",
        "time_ms, \"rate (Mbit/s)\"\n0,8.082\n1000,9.078\n2000,0\n",
        "seconds;cell;throughput bps\n1700000000;7;8082000\n1700000001;7;9078000\n1700000002;7;0\n",
    ] {
        assert_eq!(rates(text), expected, "{text}");
    }
    let error = |text| RateSteps::parse(text, AtEnd::Hold).unwrap_err().to_string();
    for unclear in ["0,8082\n1,9078\n", "time,rate\n0,1\n", "time,a_bps,b_bps\n0,1,2\n"] {
        assert!(error(unclear).contains("line 1: expected a header"), "{}", error(unclear));
    }
    assert!(error("t,x_bps\n0,1\n1,fast\n").contains("line 3: expected numbers"));
    assert!(error("Timestamp,x_kbps\n2019.11.28_07.27.26,1\n").contains("(not a time of day)"));
    assert!(error("t,x_bps\n1,1\n1,1\n").contains("line 3: expected a time after"));
    assert!(error("t,x_bps\n1,-1\n").contains("a finite rate"));
    // A message quotes the beginning of a line only.
    assert!(error(&"x,".repeat(1_000_000)).len() < 400);
}

#[test]
fn a_load_dependent_recording_may_start_anywhere() {
    let heavy = DeliveryTrace::parse("5\n9\n20\n").unwrap();
    let trace = LoadDependentTrace::parse(heavy, "0 10 0\n100 20 0 4\n150 5 0\n", Duration::ZERO).unwrap();
    assert_eq!(trace.period(), Duration::from_millis(150));
    for start in [0, 3, 120, 149, 151, 400] {
        let shift = Duration::from_millis(start);
        for wait in [1, 60, 130] {
            let now = Instant::from_millis(wait);
            let mut early = LoadDependentCursor::new(trace.started_at(shift));
            let mut late = LoadDependentCursor::new(trace.clone());
            for _ in 0..4 {
                assert_eq!(
                    early.departure(now, 1_500) + shift,
                    late.departure(now + shift, 1_500),
                    "{start}"
                );
                assert_eq!(early.base_delay(), late.base_delay(), "{start} {wait}");
            }
        }
    }
}
