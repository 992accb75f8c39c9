use alloc::collections::VecDeque;

use super::*;
use crate::tfrc::window_counter::WindowCounter;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn by_counter(hint: Option<Duration>) -> ReceiverRtt {
    ReceiverRtt::new(RttSource::WindowCounter, hint)
}

/// The example of RFC 4342, Section 8.1: T7 - T3 is the sample.
#[test]
fn four_counters_make_a_round_trip() {
    let mut rtt = by_counter(Some(millis(500)));
    for (i, counter) in [7, 7, 8, 8, 9, 11, 12, 12].into_iter().enumerate() {
        rtt.on_counter(ms(10 * i as u64), counter, true);
    }
    // Counter 8 came at 20, 11 at 50 (three quarters: 40 ms), 12 at 60 ms (40 ms).
    assert_eq!(rtt.value(), millis(40));
}

#[test]
fn a_less_precise_sample_does_until_there_is_one() {
    let mut rtt = by_counter(None);
    for (at, counter) in [(0, 0), (10, 1), (30, 3)] {
        rtt.on_counter(ms(at), counter, true);
    }
    // Two quarters in 20 ms.
    assert_eq!(rtt.value(), millis(40));
    // Then two quarters in 200 ms are ignored, but four are not: (9 40 + 240)/10.
    rtt.on_counter(ms(250), 5, true);
    assert_eq!(rtt.value(), (millis(40) * 9 + millis(240)) / 10);
}

#[test]
fn counters_on_both_sides_of_a_hole_do_not_make_a_sample() {
    let mut rtt = by_counter(None);
    for counter in 0..4 {
        rtt.on_counter(ms(10 * u64::from(counter)), counter, counter < 2);
    }
    assert_eq!(rtt.known(), None);
}

#[test]
fn a_sender_slower_than_a_packet_per_round_trip_gives_no_sample() {
    let mut rtt = by_counter(Some(millis(50)));
    for i in 0..10 {
        rtt.on_counter(ms(1000 * i), (5 * i % 16) as u8, true);
    }
    assert_eq!(rtt.value(), millis(50));
}

#[test]
fn reported_round_trip_times_are_averaged() {
    let mut rtt = ReceiverRtt::new(RttSource::Average, None).following_rises(true);
    assert_eq!(rtt.value(), millis(500), "RFC 6323, Section 3.4");
    rtt.on_report(ms(0), Some(millis(100)));
    assert_eq!(rtt.value(), millis(100));
    rtt.on_report(ms(1), Some(millis(150)));
    assert_eq!(rtt.value(), millis(105));
    // (9 105 + 75)/10: that may be noise.
    rtt.on_report(ms(2), Some(millis(75)));
    assert_eq!((rtt.value(), rtt.take_fall()), (millis(102), false));
    // This is another estimate.
    rtt.on_report(ms(3), Some(millis(40)));
    assert_eq!((rtt.value(), rtt.take_fall(), rtt.take_fall()), (millis(40), true, false));
    rtt.on_report(ms(4), Some(millis(400)));
    assert_eq!((rtt.value(), rtt.take_fall()), (millis(400), false), "a queue has filled at once");
}

#[test]
fn reports_count_only_while_they_are_the_source() {
    let mut rtt = by_counter(Some(millis(70)));
    rtt.on_report(ms(0), Some(millis(100)));
    assert_eq!(rtt.value(), millis(70));
}

/// RFC 6323, Section 3.4: without reports for longer than the estimate, it doubles.
#[test]
fn a_long_time_without_reports_backs_it_off() {
    let mut rtt = ReceiverRtt::new(RttSource::Average, None);
    rtt.on_report(ms(0), Some(millis(100)));
    rtt.on_report(ms(10), None);
    rtt.on_report(ms(100), None);
    assert_eq!(rtt.value(), millis(100), "90 ms without a number are not too many");
    rtt.on_report(ms(111), None);
    assert_eq!(rtt.value(), millis(200));
    rtt.on_report(ms(311), None);
    assert_eq!(rtt.value(), millis(200));
    rtt.on_report(ms(312), None);
    assert_eq!(rtt.value(), millis(400));
    for i in 1..100 {
        rtt.on_report(Instant::from_secs(i * 100), None);
    }
    assert_eq!(rtt.value(), Duration::from_secs(64));
    // The longest value has no lasting effect.
    rtt.on_report(Instant::from_secs(20_000), Some(millis(100)));
    assert_eq!(rtt.value(), millis(100));
}

/// The handshake of a radio that wakes up takes 300 ms. Data packets follow with the sender's estimates.
#[test]
fn a_report_much_shorter_than_the_time_of_the_handshake_is_a_fall() {
    let mut rtt = ReceiverRtt::new(RttSource::Average, Some(millis(300)));
    for (at, report, falls) in [(0, 172, true), (10, 160, false), (20, 42, true)] {
        rtt.on_report(ms(at), Some(millis(report)));
        assert_eq!(rtt.take_fall(), falls, "{report} ms");
    }
    assert_eq!(rtt.value(), millis(42));
}

/// A handshake whose answer was held for five seconds. This end sends data, too, and measures the path by
/// them before the other end reports its estimate: a feedback timer that was set for the handshake must not
/// wait for its end.
#[test]
fn an_own_measurement_much_shorter_than_the_time_of_the_handshake_is_a_fall() {
    let mut rtt = ReceiverRtt::new(RttSource::Average, Some(millis(5_000)));
    rtt.on_hint(Some(millis(50)));
    assert_eq!((rtt.value(), rtt.take_fall()), (millis(50), true));
    rtt.on_report(ms(0), Some(millis(52)));
    rtt.on_hint(Some(millis(5)));
    assert_eq!((rtt.value(), rtt.take_fall()), (millis(52), false), "a report counts more");
}

/// A handshake that took five round-trip times leaves a sender whose quarters are too long. Each
/// acknowledgement takes its counter to four beyond the acknowledged packet's (RFC 4342, Section 8.1), so
/// that the receiver's first sample is right nevertheless, even if the sender kept its estimate.
#[test]
fn the_counter_of_a_slow_handshake_makes_right_samples() {
    let (real, of_handshake) = (60, millis(300));
    let mut counter = WindowCounter::default();
    let mut rtt = by_counter(Some(of_handshake));
    let mut feedback = VecDeque::<(u64, u8)>::new();
    let mut reported = None;
    for at in (0..4 * real).step_by(5) {
        if let Some(&(arrival, acked)) = feedback.front()
            && arrival <= at
        {
            feedback.pop_front();
            counter.on_ack(ms(at), acked);
        }
        let stamp = counter.stamp(ms(at), of_handshake);
        rtt.on_counter(ms(at + real / 2), stamp, true);
        // Feedback for the first packet, and whenever the counter has advanced by four (Section 10.3).
        if reported.is_none_or(|last| ahead(stamp, last) >= 4) {
            reported = Some(stamp);
            feedback.push_back((at + real, stamp));
        }
    }
    assert_eq!(rtt.value(), millis(real));
}
