use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A window for a path of `rtt` milliseconds, measured at time zero, on which reordering was seen.
fn seen(rtt: u64) -> ReorderWindow {
    let mut rack = ReorderWindow::new();
    rack.on_rtt(at(0), ms(rtt));
    rack.on_reordered(at(0));
    rack
}

#[test]
fn three_packets_declare_a_loss_until_reordering_is_seen() {
    // Step 4: "If RACK.reordering_seen is FALSE", losses are found by DupThresh.
    let mut rack = ReorderWindow::new();
    assert_eq!(rack.window(), None);
    rack.on_rtt(at(0), ms(80));
    rack.on_lost(at(10));
    rack.on_lost(at(500));
    assert_eq!(rack.window(), None);
    rack.on_reordered(at(600));
    assert_eq!(rack.window(), Some(ms(20)));
}

#[test]
fn without_a_round_trip_time_there_is_no_window() {
    let mut rack = ReorderWindow::new();
    rack.on_reordered(at(0));
    assert_eq!(rack.window(), None);
    rack.on_rtt(at(1), ms(100));
    assert_eq!(rack.window(), Some(ms(25)));
}

#[test]
fn after_n_round_trips_with_late_packets_the_window_is_n_plus_1_quarters_up_to_srtt() {
    // Section 6.2, Step 4, word for word; 100 ms, one late packet in each round.
    let mut rack = seen(100);
    let mut windows = Vec::new();
    for round in 0..6 {
        rack.on_late(at(1000 + 100 * round));
        windows.push(rack.window());
    }
    let expected = [50, 75, 100, 100, 100, 100].map(|window| Some(ms(window)));
    assert_eq!(windows, expected);
    assert_eq!(rack.multiplier(), 7);
}

#[test]
fn the_window_grows_once_per_round() {
    let mut rack = seen(100);
    for time in [1000, 1001, 1050, 1099] {
        rack.on_late(at(time));
    }
    assert_eq!(rack.window(), Some(ms(50)));
    // The round began with the growth of the window, not with the last late packet.
    rack.on_late(at(1100));
    assert_eq!(rack.window(), Some(ms(75)));
}

#[test]
fn a_late_packet_counts_as_reordering() {
    let mut rack = ReorderWindow::new();
    rack.on_rtt(at(0), ms(100));
    rack.on_lost(at(10));
    rack.on_late(at(20));
    assert_eq!(rack.window(), Some(ms(50)));
}

#[test]
fn the_window_is_reset_after_sixteen_recoveries() {
    let mut rack = seen(100);
    rack.on_late(at(0));
    rack.on_late(at(100));
    assert_eq!(rack.window(), Some(ms(75)));
    // A recovery every second; each ends 100 ms after it began, which shows at the next event.
    for recovery in 1..=16 {
        rack.on_lost(at(1000 * recovery));
        assert_eq!(rack.window(), Some(ms(75)), "recovery {recovery}");
        rack.on_lost(at(1000 * recovery + 99));
    }
    rack.on_reordered(at(16_099));
    assert_eq!(rack.window(), Some(ms(75)));
    rack.on_reordered(at(16_100));
    assert_eq!(rack.window(), Some(ms(25)));
}

#[test]
fn a_late_packet_restarts_the_sixteen_recoveries() {
    let mut rack = seen(100);
    rack.on_late(at(0));
    for recovery in 1..=15 {
        rack.on_lost(at(1000 * recovery));
    }
    rack.on_late(at(16_000));
    assert_eq!(rack.multiplier(), 3);
    for recovery in 17..=32 {
        rack.on_lost(at(1000 * recovery));
        assert_eq!(rack.multiplier(), 3, "recovery {recovery}");
    }
    rack.on_reordered(at(33_000));
    assert_eq!(rack.multiplier(), 1);
}

#[test]
fn srtt_bounds_the_window_and_is_updated_by_an_eighth() {
    let mut rack = seen(80);
    for round in 0..10 {
        rack.on_late(at(100 * round));
    }
    assert_eq!(rack.window(), Some(ms(80)));
    // SRTT = 7/8 80 + 1/8 160; the minimum is still 80, and eleven quarters of that are more.
    rack.on_rtt(at(1000), ms(160));
    assert_eq!(rack.window(), Some(ms(90)));
}

#[test]
fn a_longer_route_applies_after_two_periods_and_a_shorter_one_at_once() {
    let mut rack = seen(40);
    for second in 1..=20 {
        assert_eq!(rack.window(), Some(ms(10)), "{second} s");
        rack.on_rtt(at(1000 * second), ms(200));
    }
    assert_eq!(rack.window(), Some(ms(50)));
    rack.on_rtt(at(20_001), ms(60));
    assert_eq!(rack.window(), Some(ms(15)));
}

#[test]
fn samples_before_a_long_silence_do_not_count() {
    let mut rack = seen(40);
    rack.on_rtt(at(60_000), ms(400));
    // A quarter of 400 ms is more than SRTT = 7/8 40 + 1/8 400.
    assert_eq!(rack.window(), Some(ms(85)));
}

/// Events of a stream.
#[derive(Clone, Copy, Debug)]
enum StreamEvent {
    Rtt(u64),
    Reordered,
    Late,
    Lost,
}

fn stream_events() -> impl Strategy<Value = Vec<(u64, StreamEvent)>> {
    let event = prop_oneof![
        (10..400u64).prop_map(StreamEvent::Rtt),
        Just(StreamEvent::Reordered),
        Just(StreamEvent::Late),
        Just(StreamEvent::Lost),
    ];
    proptest::collection::vec((0..3000u64, event), 1..200)
}

fn tell(rack: &mut ReorderWindow, now: Instant, event: StreamEvent) {
    match event {
        StreamEvent::Rtt(rtt) => rack.on_rtt(now, ms(rtt)),
        StreamEvent::Reordered => rack.on_reordered(now),
        StreamEvent::Late => rack.on_late(now),
        StreamEvent::Lost => rack.on_lost(now),
    }
}

proptest! {
    /// There is a window from the first reordering on, once a round-trip time is known, and it persists. It
    /// lies between a quarter of the minimum round-trip time and the maximum, and within SRTT.
    #[test]
    fn the_window_stays_within_its_bounds(stream_events in stream_events()) {
        let mut rack = ReorderWindow::new();
        let (mut now, mut seen, mut srtt) = (0, false, None::<f64>);
        let mut samples = Vec::new();
        for (pause, event) in stream_events {
            now += pause;
            tell(&mut rack, at(now), event);
            match event {
                StreamEvent::Rtt(rtt) => {
                    samples.push((now, rtt));
                    srtt = Some(srtt.map_or(rtt as f64, |srtt| srtt * 0.875 + rtt as f64 * 0.125));
                }
                StreamEvent::Reordered | StreamEvent::Late => seen = true,
                StreamEvent::Lost => {}
            }
            prop_assert_eq!(rack.window().is_some(), seen && !samples.is_empty());
            let (Some(window), Some(srtt)) = (rack.window(), srtt) else { continue };
            let millis = window.as_secs_f64() * 1e3;
            prop_assert!(millis <= srtt + 1e-3, "{millis} ms, SRTT {srtt} ms");
            let overall = samples.iter().map(|(_, rtt)| *rtt).min().unwrap_or(0) as f64;
            prop_assert!(millis >= (overall / 4.0).min(srtt) - 1e-3);
            // A sample of the last period never expires.
            let newest = samples.last().map_or(0, |(time, _)| *time);
            let recent = samples.iter().filter(|(time, _)| newest - time < 10_000).map(|(_, rtt)| *rtt).min();
            let most = recent.unwrap_or(0) as f64 / 4.0 * f64::from(rack.multiplier());
            prop_assert!(millis <= most + 1e-3, "{millis} ms of {most} ms");
        }
    }

    /// The multiplier increases by one, only by late packets, and at most once per round-trip time; it is
    /// reset to one, and at the earliest after sixteen losses since its last increase.
    #[test]
    fn the_window_grows_in_steps_and_is_reset_at_once(stream_events in stream_events(), rtt in 1..500u64) {
        let mut rack = seen(rtt);
        let (mut now, mut rose, mut losses) = (0, None, 0);
        for (pause, event) in stream_events {
            now += pause;
            let before = rack.multiplier();
            let event = if let StreamEvent::Rtt(_) = event { StreamEvent::Rtt(rtt) } else { event };
            tell(&mut rack, at(now), event);
            let after = rack.multiplier();
            let late = matches!(event, StreamEvent::Late);
            let ready = rose.is_none_or(|rose| now - rose >= rtt);
            if late && ready {
                prop_assert!(after == before + 1 || (after == 2 && losses >= PERSISTENCE));
                (rose, losses) = (Some(now), 0);
            } else if after != before {
                prop_assert!(after == 1 && losses >= PERSISTENCE, "{before} became {after} after {losses}");
            }
            losses += u32::from(matches!(event, StreamEvent::Lost));
        }
    }

    /// On a path without reordering, losses alone have no effect.
    #[test]
    fn losses_without_reordering_keep_the_three_packet_rule(pauses in proptest::collection::vec(0..1000u64, 1..100)) {
        let mut rack = ReorderWindow::new();
        let mut now = 0;
        for pause in pauses {
            now += pause;
            rack.on_rtt(at(now), ms(10 + pause));
            rack.on_lost(at(now));
            prop_assert_eq!((rack.window(), rack.multiplier()), (None, 1));
        }
    }
}
