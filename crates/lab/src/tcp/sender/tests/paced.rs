//! BBR: quanta at the pace of the model, and its window in recoveries.

use super::*;

fn bbr(window: u32) -> TcpConfig {
    let mut config = Script::rfc(Variant::Sack, window);
    config.rto.minimum = Duration::from_millis(200);
    config.with_bbr()
}

fn window(script: &Script) -> f64 {
    script.sender.snapshot().cwnd
}

#[test]
fn quanta_leave_at_the_pacing_rate() {
    // Without a round-trip time, the first pace is the window in a millisecond.
    let mut script = Script::new(bbr(10));
    script.sends(0..10).wait(100);
    // 2.77 windows in 100 ms are 277 segments in a second; a quantum is of two segments, and the window grows
    // by what is acknowledged.
    script.ack(2).sends([10, 11]).ack(4).sends_nothing();
    let since = script.now;
    script.timeout().sends([12, 13]);
    let gap = (script.now - since).as_secs_f64();
    assert!((gap - 2.0 / 277.0).abs() < 1e-6, "{gap} s");
    // An early wake-up does nothing.
    script.sender.handle_timeout(script.now);
    script.sends_nothing();
}

#[test]
fn the_pace_begins_with_the_round_trip_of_the_handshake() {
    let mut config = bbr(10);
    config.handshake = true;
    let mut script = Script::new(config);
    assert!(
        script.sender.poll_transmit(script.now).is_some_and(|segment| segment.flags.contains(Flags::SYN))
    );
    script.wait(100);
    let answer = Segment { window: 1 << 30, flags: Flags::SYN | Flags::ACK, ..Segment::default() };
    script.receive(&answer).sends([0, 1]).timeout().sends([2, 3]);
}

#[test]
fn losses_do_not_halve_the_window() {
    let mut script = Script::fill(bbr(20), 20);
    // The first of 20 is lost; the others arrive.
    script.sack(0, &[(1, 20)]);
    assert!(window(&script) >= 20.0, "{}", window(&script));
    script.drain();
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.phase, snapshot.fast_retransmits), (SenderPhase::FastRecovery, 1));
    assert!(snapshot.cwnd >= 20.0, "{snapshot:?}");
}

#[test]
fn a_timeout_leaves_room_for_a_segment_and_the_end_of_the_recovery_restores_the_window() {
    let mut script = Script::fill(bbr(10), 10);
    script.ack(10);
    let mut sent = script.drain();
    while window(&script) > 1.0 {
        script.timeout();
        if script.sender.snapshot().timeouts == 0 {
            sent.extend(script.drain());
        }
    }
    let before = 20.0;
    script.sends([10]).wait(100).ack(11);
    assert!(window(&script) < before, "{}", window(&script));
    let all = sent.last().map_or(0, |last| last + 1);
    script.drain();
    script.ack(all);
    assert!(window(&script) >= before, "{}", window(&script));
    assert_eq!(script.sender.snapshot().timeouts, 1);
}
