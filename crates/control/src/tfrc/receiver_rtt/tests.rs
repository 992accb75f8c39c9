use super::super::window_counter::WindowCounter;
use super::*;

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
    // The first with counter 7 is not seen.
    for (i, counter) in [7, 7, 8, 8, 9, 11, 12, 12].into_iter().enumerate() {
        rtt.on_counter(ms(10 * i as u64), counter, i > 0);
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
    let mut rtt = ReceiverRtt::new(RttSource::Average, None);
    assert_eq!(rtt.value(), millis(500), "RFC 6323, Section 3.4");
    rtt.on_report(ms(0), Some(millis(100)));
    assert_eq!(rtt.value(), millis(100));
    rtt.on_report(ms(1), Some(millis(200)));
    assert_eq!(rtt.value(), millis(110));
    // (9 110 + 80)/10: that may be noise.
    rtt.on_report(ms(2), Some(millis(80)));
    assert_eq!((rtt.value(), rtt.take_fall()), (millis(107), false));
    // This is another estimate.
    rtt.on_report(ms(3), Some(millis(40)));
    assert_eq!((rtt.value(), rtt.take_fall(), rtt.take_fall()), (millis(40), true, false));
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
    // It has no lasting impact.
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

/// The estimate of a receiver by the window counter, `after` the first packet: one in 5 ms over a path of 20 ms, the round trip of whose
/// handshake took 300 ms. The sender averages as RFC 5348 says, and the receiver reports once in what it takes for a round-trip time.
fn after_a_slow_handshake(after: u64) -> Duration {
    let (mut sender, mut counter) = (millis(300), WindowCounter::default());
    let (mut rtt, mut due) = (by_counter(Some(millis(300))), ms(0));
    let mut reports = std::collections::VecDeque::new();
    for sent in (0..=after).step_by(5) {
        while reports.front().is_some_and(|(at, _)| *at <= ms(sent)) {
            let (_, acked) = reports.pop_front().expect("it is due");
            sender = (sender * 9 + millis(20)) / 10;
            counter.on_ack(ms(sent), acked);
        }
        let (value, arrives) = (counter.stamp(ms(sent), sender), ms(sent + 10));
        rtt.on_counter(arrives, value, true);
        if arrives >= due {
            due = arrives + rtt.value();
            reports.push_back((ms(sent + 20), value));
        }
    }
    rtt.value()
}

#[test]
fn a_slow_handshake_is_forgotten() {
    // The grain of the packets is 5 ms.
    for after in [50, 100, 200, 300, 500, 1000, 2000] {
        let seen = after_a_slow_handshake(after);
        assert!((millis(20)..=millis(25)).contains(&seen), "{seen} after {after} ms");
    }
}
