use super::*;

const RTT: Duration = Duration::from_millis(100);
const PACKET: ByteCount = ByteCount::new(1000);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn kilobytes(rate: f64) -> DataRate {
    DataRate::from_bytes_per_second(rate * 1000.0)
}

/// A sender that has sent all that is allowed at that rate.
fn following(from: u64, rate: f64) -> Follow {
    let mut follow = Follow::new(ms(from), kilobytes(rate));
    for at in from + 1..from + 1000 {
        follow.on_sent(ms(at), ByteCount::new(rate as u64));
    }
    follow
}

fn report(follow: &mut Follow, sent: u64, receive_rate: f64) -> Option<bool> {
    // The report arrives 100 ms after the last packet that it covers was sent.
    let carried = follow.on_report(ms(sent + 100), ms(sent), kilobytes(receive_rate), RTT, PACKET);
    carried.map(|carried| carried != Coverage::Part)
}

#[test]
fn a_report_that_covers_packets_from_before_the_start_is_ignored() {
    let mut follow = following(1000, 100.0);
    assert_eq!(report(&mut follow, 1000, 1.0), None, "it covers packets from before the rate was set");
    assert_eq!(report(&mut follow, 1080, 1.0), None, "not a round-trip time after the report before");
    assert_eq!(report(&mut follow, 1100, 100.0), Some(true));
}

#[test]
fn the_threshold_is_the_geometric_mean_of_all_and_half_of_a_doubled_rate() {
    // 100/sqrt(2) = 70.71; a packet per round-trip time is 10.
    for (receive_rate, carried) in [(100.0, true), (60.8, true), (60.6, false), (50.0, false)] {
        let mut follow = following(0, 100.0);
        report(&mut follow, 0, 0.0);
        assert_eq!(report(&mut follow, 100, receive_rate), Some(carried), "{receive_rate}");
    }
}

#[test]
fn a_report_is_compared_with_the_lowest_rate_of_the_packets_it_covers() {
    let mut follow = Follow::new(ms(0), kilobytes(100.0));
    for at in 1..400 {
        follow.on_sent(ms(at), ByteCount::new(if at < 200 { 100 } else { 200 }));
    }
    report(&mut follow, 0, 0.0);
    // Doubled when the packet sent at 100 ms is reported, at 200 ms.
    assert_eq!(report(&mut follow, 100, 100.0), Some(true));
    follow.on_rate(ms(200), kilobytes(200.0));
    // 100 to 200 ms: still the old rate.
    assert_eq!(report(&mut follow, 200, 100.0), Some(true));
    // 200 to 300 ms: the new rate, without an increase of the receive rate.
    assert_eq!(report(&mut follow, 300, 100.0), Some(false));
}

#[test]
fn an_additional_report_does_not_shorten_the_interval_covered() {
    let mut follow = following(0, 100.0);
    report(&mut follow, 0, 0.0);
    follow.on_rate(ms(10), kilobytes(50.0));
    assert_eq!(report(&mut follow, 60, 100.0), None);
    // Measured from the report at 0, as the one at 60 is less than a round-trip time ago: the lower rate
    // applies.
    assert_eq!(report(&mut follow, 110, 45.0), Some(true));
}

#[test]
fn a_queue_that_delays_packets_counts_as_a_full_path() {
    // The data sent in 30 ms arrives in 100 ms.
    let mut follow = following(0, 100.0);
    assert_eq!(follow.on_report(ms(100), ms(0), kilobytes(0.0), RTT, PACKET), None);
    assert_eq!(follow.on_report(ms(200), ms(30), kilobytes(30.0), RTT, PACKET), Some(Coverage::Part));
}

#[test]
fn the_receive_rate_of_a_data_limited_sender_is_compared_with_the_rate_sent() {
    // The sender sends 40 of 100 kB/s; 40/sqrt(2) = 28.3, and a packet per round-trip time is 10.
    for (receive_rate, carried) in [(40.0, true), (18.4, true), (18.2, false)] {
        let mut follow = Follow::new(ms(0), kilobytes(100.0));
        for at in (25..1000).step_by(25) {
            follow.on_sent(ms(at), PACKET);
        }
        assert_eq!(report(&mut follow, 0, 0.0), None);
        assert_eq!(report(&mut follow, 100, receive_rate), Some(carried), "{receive_rate}");
    }
}

#[test]
fn nine_tenths_of_the_rate_count_as_all_of_it() {
    for (receive_rate, carried) in [(90.1, Coverage::Whole), (89.9, Coverage::Most), (60.6, Coverage::Part)] {
        let mut follow = following(0, 100.0);
        report(&mut follow, 0, 0.0);
        let found = follow.on_report(ms(200), ms(100), kilobytes(receive_rate), RTT, PACKET);
        assert_eq!(found, Some(carried), "{receive_rate}");
    }
}

#[test]
fn a_stream_that_arrives_more_slowly_than_it_was_sent_is_not_carried() {
    // 40 kB/s of 100 are sent. The 2.4 kB sent in 60 ms arrive in 100: 24 kB/s.
    let mut follow = Follow::new(ms(0), kilobytes(100.0));
    for at in (1..1000).step_by(1) {
        follow.on_sent(ms(at), ByteCount::new(40));
    }
    let small = ByteCount::new(40);
    assert_eq!(follow.on_report(ms(100), ms(100), kilobytes(0.0), RTT, small), None);
    assert_eq!(follow.on_report(ms(200), ms(160), kilobytes(24.0), RTT, small), Some(Coverage::Part));
}
