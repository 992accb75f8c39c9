use super::*;
use crate::tcp::{IdleRestart, ReductionBasis};

#[test]
fn slow_start_sends_two_segments_for_each_acknowledgement() {
    let mut script = Script::new(Script::rfc(Variant::NewReno, 2));
    script.sends(0..2);
    script.wait(100).ack(1).sends(2..4).ack(2).sends(4..6);
    script.wait(100).ack(3).sends(6..8).ack(4).sends(8..10).ack(5).sends(10..12).ack(6).sends(12..14);
    assert_eq!(script.sender.snapshot().cwnd, 8.0);
}

#[test]
fn congestion_avoidance_sends_one_more_in_a_round_trip() {
    let mut config = Script::rfc(Variant::NewReno, 4);
    config.window.initial_threshold = Some(4.0);
    let mut script = Script::new(config);
    script.sends(0..4).wait(100);
    // cwnd 4.25, 4.485, 4.708, 4.92: one out for each one in.
    script.ack(1).sends([4]).ack(2).sends([5]).ack(3).sends([6]).ack(4).sends([7]);
    // 5.12 on the fifth: two.
    script.wait(100).ack(5).sends([8, 9]);
}

#[test]
fn the_receivers_window_bounds_what_is_outstanding() {
    let mut config = Script::rfc(Variant::NewReno, 10);
    config.receiver.window = 4500;
    let mut script = Script::new(config);
    script.sends(0..4);
    let ack = Segment { ack: 1000, window: 2000, flags: Flags::ACK, ..Segment::default() };
    script.receive(&ack);
    script.sends_nothing();
    script.receive(&Segment { ack: 3000, window: 2000, ..ack });
    script.sends([4]);
}

#[test]
fn the_senders_own_limit_bounds_what_is_outstanding() {
    let mut config = Script::rfc(Variant::Reno, 10);
    config.window.limit = Some(3.0);
    let mut script = Script::new(config);
    script.sends(0..3);
    script.ack(2).sends(3..5);
}

#[test]
fn a_window_that_is_not_used_does_not_grow_by_rfc_but_does_in_ns_2() {
    for (grow_unused, cwnd) in [(false, 4.0), (true, 8.0)] {
        let mut config = Script::rfc(Variant::NewReno, 4);
        config.window.grow_unused = grow_unused;
        let mut script = Script::idle(config);
        for number in 0..4 {
            script.sender.send(1000);
            script.sends([number]).wait(10).ack(number + 1).sends_nothing();
        }
        assert_eq!(script.sender.snapshot().cwnd, cwnd);
    }
}

#[test]
fn a_window_held_back_by_the_receiver_does_not_grow() {
    let mut config = Script::rfc(Variant::NewReno, 4);
    config.window.limit = Some(2.0);
    let mut script = Script::new(config);
    script.sends(0..2).ack(1).sends([2]).ack(2).sends([3]);
    assert_eq!(script.sender.snapshot().cwnd, 4.0);
}

#[test]
fn after_a_pause_the_window_starts_over() {
    for (idle, pause, burst) in [
        (IdleRestart::Keep, 5000, 5),
        (IdleRestart::InitialWindow, 1000, 5), // RTO is 1 s, the least
        (IdleRestart::InitialWindow, 1001, 4),
        (IdleRestart::OneSegment, 1000, 5),
        (IdleRestart::OneSegment, 1001, 1),
    ] {
        let mut config = Script::rfc(Variant::NewReno, 4);
        config.window.idle = idle;
        let mut script = Script::idle(config);
        script.sender.send(6000);
        script.sends(0..4).ack(1).sends([4, 5]).ack(6).sends_nothing();
        script.wait(pause).sender.send(20_000);
        script.sends(6..6 + burst);
    }
}

#[test]
fn what_is_halved_is_what_was_outstanding_or_in_ns_2_the_window() {
    for (basis, cwnd) in [(ReductionBasis::FlightSize, 3.0), (ReductionBasis::Window, 5.0)] {
        let mut config = Script::rfc(Variant::NewReno, 10);
        config.window.basis = basis;
        let mut script = Script::idle(config);
        script.sender.send(6000);
        script.sends(0..6).ack(0).ack(0).ack(0);
        assert_eq!(script.sender.snapshot().cwnd, cwnd);
    }
}

#[test]
fn a_short_segment_ends_the_data_and_a_fin_goes_with_it() {
    let mut script = Script::idle(Script::rfc(Variant::NewReno, 4));
    script.sender.send(1500);
    script.sender.close();
    script.sender.send(1000); // too late
    script.now = Instant::from_millis(1);
    let sent: Vec<_> = std::iter::from_fn(|| script.sender.poll_transmit(script.now)).collect();
    assert_eq!(sent.iter().map(|s| (s.seq, s.length)).collect::<Vec<_>>(), [(0, 1000), (1000, 500)]);
    assert!(!sent[0].flags.contains(Flags::FIN) && sent[1].flags.contains(Flags::FIN));
    let ack = Segment { ack: 1500, window: 9000, flags: Flags::ACK, ..Segment::default() };
    script.receive(&ack);
    assert!(!script.sender.is_finished());
    script.receive(&Segment { ack: 1501, ..ack });
    assert!(script.sender.is_finished());
    assert_eq!((script.sender.snapshot().acknowledged, script.sender.poll_timeout()), (1500, None));
}

#[test]
fn a_fin_that_comes_late_goes_alone() {
    let mut script = Script::idle(Script::rfc(Variant::Sack, 4));
    script.sender.send(1000);
    script.sends([0]);
    script.sender.close();
    let fin = script.sender.poll_transmit(script.now).expect("a FIN");
    assert_eq!((fin.seq, fin.length, fin.end()), (1000, 0, 1001));
    assert_eq!(script.sender.poll_transmit(script.now), None);
}

#[test]
fn nagle_holds_a_part_of_a_segment_while_anything_is_outstanding() {
    let mut config = Script::rfc(Variant::NewReno, 4);
    config.sending.nagle = true;
    let mut script = Script::idle(config);
    script.sender.send(300);
    assert_eq!(script.sender.poll_transmit(script.now).map(|s| s.length), Some(300));
    script.sender.send(300);
    assert_eq!(script.sender.poll_transmit(script.now), None);
    script.sender.send(800); // 1100 wait: a whole segment goes, the rest waits on
    assert_eq!(script.sender.poll_transmit(script.now).map(|s| s.length), Some(1000));
    assert_eq!(script.sender.poll_transmit(script.now), None);
    script.receive(&Segment { ack: 1300, window: 9000, flags: Flags::ACK, ..Segment::default() });
    assert_eq!(script.sender.poll_transmit(script.now).map(|s| (s.seq, s.length)), Some((1300, 100)));
}

#[test]
fn ns_2_rounds_a_write_up_to_whole_segments() {
    let mut config = Script::rfc(Variant::NewReno, 10);
    config.sending.whole_segments = true;
    let mut script = Script::idle(config);
    script.sender.send(1001);
    script.sender.send(1);
    script.sends(0..3);
}

#[test]
fn a_burst_limit_holds_for_each_acknowledgement() {
    let mut config = Script::rfc(Variant::NewReno, 10);
    config.sending.max_burst = 3;
    let mut script = Script::new(config);
    script.sends(0..3).ack(1).sends(3..6).ack(1).sends(6..9);
}

#[test]
fn random_delay_postpones_a_burst_but_not_a_fast_retransmit() {
    let mut config = Script::rfc(Variant::NewReno, 4);
    config.sending.jitter = Duration::from_millis(10);
    config.sending.jitter_seed = 7;
    let mut script = Script::new(config);
    script.sends_nothing();
    let released = script.sender.poll_timeout().expect("a delay runs");
    assert!(released <= Instant::from_millis(10));
    script.timeout().sends(0..4);
    script.wait(100).ack(0).ack(0).ack(0).sends([0]);
    let mut again = Script::new(script.sender.config.clone());
    again.sends_nothing();
    assert_eq!(again.sender.poll_timeout(), Some(released), "the same seed, the same delay");
}
