use super::*;

#[test]
fn a_timeout_sends_one_segment_and_starts_slowly() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let mut script = Script::fill(Script::rfc(variant, 10), 10);
        assert_eq!(script.sender.poll_timeout(), Some(Instant::from_secs(1)));
        script.timeout().sends([0]);
        let snapshot = script.sender.snapshot();
        assert_eq!((snapshot.cwnd, snapshot.ssthresh, snapshot.timeouts), (1.0, 5.0, 1), "{variant:?}");
        assert_eq!(snapshot.phase, SenderPhase::Timeout);
        // All were lost: everything goes again, two for each acknowledgement.
        script.wait(100).ack(1).sends([1, 2]);
        script.wait(100).ack(2).sends([3, 4]).ack(3).sends([5, 6]);
    }
}

#[test]
fn an_early_wake_up_does_nothing() {
    let mut script = Script::fill(Script::rfc(Variant::Sack, 10), 10);
    let before = script.sender.snapshot();
    script.wait(800);
    script.sender.handle_timeout(script.now);
    script.sends_nothing();
    assert_eq!(script.sender.snapshot(), before);
}

#[test]
fn each_timeout_doubles_the_wait_up_to_a_minute() {
    let mut script = Script::fill(Script::rfc(Variant::NewReno, 10), 10);
    let mut waits = Vec::new();
    for _ in 0..8 {
        let before = script.now.max(script.sender.timers.last_sent);
        script.timeout().sends([0]);
        waits.push((script.now - before).as_millis());
    }
    // The first was set by the first segment, at 0, and the script is at 100 ms.
    assert_eq!(waits, [900, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
}

#[test]
fn the_threshold_is_cut_once_for_a_segment_that_times_out_again() {
    for (hold, ssthresh) in [(true, 5.0), (false, 2.0)] {
        let mut config = Script::rfc(Variant::NewReno, 10);
        config.window.hold_threshold = hold;
        let mut script = Script::fill(config, 10);
        script.timeout().sends([0]).timeout().sends([0]);
        assert_eq!(script.sender.snapshot().ssthresh, ssthresh);
    }
}

#[test]
fn one_segment_at_a_time_is_timed() {
    let mut script = Script::new(Script::rfc(Variant::NewReno, 2));
    script.sends(0..2);
    script.wait(100).ack(1).sends([2, 3]);
    assert_eq!(script.sender.snapshot().latest_rtt, Some(Duration::from_millis(100)));
    // 1 was not timed; 2 is, since the acknowledgement of 0.
    script.wait(30).ack(2).sends([4, 5]);
    assert_eq!(script.sender.snapshot().latest_rtt, Some(Duration::from_millis(100)));
    script.wait(30).ack(3);
    assert_eq!(script.sender.snapshot().latest_rtt, Some(Duration::from_millis(60)));
}

#[test]
fn a_segment_that_was_sent_again_gives_no_round_trip_time() {
    for variant in [Variant::NewReno, Variant::Sack] {
        // By the timer.
        let mut script = Script::fill(Script::rfc(variant, 2), 2);
        script.timeout().sends([0]);
        let doubled = script.sender.snapshot().rto;
        script.wait(70).ack(2);
        let snapshot = script.sender.snapshot();
        assert_eq!((snapshot.latest_rtt, snapshot.rto), (None, doubled), "the timeout stays doubled");
        // The next new segment measures, and ends the back-off.
        script.sends([2, 3]).wait(70).ack(3);
        assert_eq!(script.sender.snapshot().latest_rtt, Some(Duration::from_millis(70)));
        assert_eq!(script.sender.snapshot().rto, Duration::from_secs(1));
        // By a fast retransmit.
        let mut script = Script::fill(Script::rfc(variant, 10), 10);
        script.sack(0, &[(1, 2)]).sack(0, &[(1, 3)]).sack(0, &[(1, 4)]);
        assert_eq!(script.drain()[0], 0);
        script.wait(50).ack(10);
        assert_eq!(script.sender.snapshot().latest_rtt, None);
    }
}

#[test]
fn with_timestamps_every_new_acknowledgement_measures() {
    let mut config = Script::rfc(Variant::NewReno, 4);
    config.timestamps = true;
    let mut script = Script::new(config);
    script.wait(5);
    let sent: Vec<_> = std::iter::from_fn(|| script.sender.poll_transmit(script.now)).collect();
    let stamp = sent[0].timestamps.expect("a timestamp");
    assert_eq!((sent.len(), stamp.value), (4, 5_000));
    for (wait, ack, rtt) in [(40, 1000, 40), (20, 2000, 60)] {
        script.wait(wait);
        let timestamps = Some(crate::tcp::Timestamps { value: 99, echo: stamp.value });
        let segment = Segment { ack, window: 1 << 20, flags: Flags::ACK, timestamps, ..Segment::default() };
        script.receive(&segment);
        assert_eq!(script.sender.snapshot().latest_rtt, Some(Duration::from_millis(rtt)));
    }
    let next = script.sender.poll_transmit(script.now).expect("the window is open");
    assert_eq!(next.timestamps.map(|t| t.echo), Some(99));
}

#[test]
fn the_timer_restarts_with_each_new_acknowledgement_and_stops_with_the_last() {
    let mut script = Script::idle(Script::rfc(Variant::NewReno, 4));
    script.sender.send(3000);
    script.sends(0..3);
    script.wait(100).ack(1);
    assert_eq!(script.sender.poll_timeout(), Some(Instant::from_millis(1100)));
    script.wait(100).ack(1); // a duplicate does not restart it
    assert_eq!(script.sender.poll_timeout(), Some(Instant::from_millis(1100)));
    script.ack(3);
    assert_eq!(script.sender.poll_timeout(), None);
}

#[test]
fn a_fast_retransmit_leaves_the_timer_alone_unless_configured_otherwise() {
    for (restart, deadline) in [(false, 1000), (true, 1100)] {
        let mut config = Script::rfc(Variant::NewReno, 10);
        config.recovery.restart_timer = restart;
        let mut script = Script::fill(config, 10);
        script.ack(0).ack(0).ack(0).sends([0]);
        assert_eq!(script.sender.poll_timeout(), Some(Instant::from_millis(deadline)));
    }
}

#[test]
fn a_timeout_in_recovery_does_not_count_what_has_arrived() {
    // 0 and its retransmission are lost, while all that recovery sends arrives, for ten round trips.
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
        let mut script = Script::fill(Script::rfc(variant, 20), 20);
        let mut end = 20;
        for _ in 0..10 {
            let reached = end;
            for arrived in 2..=reached {
                script.sack(0, &[(1, arrived)]);
                end = script.drain().into_iter().fold(end, |end, number| end.max(number + 1));
            }
            script.wait(50);
        }
        assert!(script.sender.snapshot().flight > 60_000, "{variant:?}: {:?}", script.sender.snapshot());
        script.timeout();
        let ssthresh = script.sender.snapshot().ssthresh;
        assert!((2.0..=10.0).contains(&ssthresh), "{variant:?}: {ssthresh}");
    }
}
