//! Reordering that looked like loss: undone reductions, and more patience.

use super::*;
use crate::tcp::clock;
use crate::tcp::config::LossDetection;
use crate::tcp::segment::Timestamps;

fn undoing(window: u32) -> TcpConfig {
    let mut config = Script::rfc(Variant::Sack, window);
    config.recovery.detection = LossDetection::Rack;
    config.recovery.rate_reduction = true;
    config.recovery.undo = true;
    config
}

/// Ten segments are outstanding, of which segment 0 is late: it is sent again, in half of the window.
fn mistaken(config: TcpConfig) -> Script {
    let mut script = Script::fill(config, 10);
    script.sack(0, &[(1, 4)]).sends([0, 10]);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.phase, snapshot.ssthresh), (SenderPhase::FastRecovery, 5.0));
    script
}

/// RFC 3708, Section 3: all retransmissions are reported as duplicates.
#[test]
fn a_recovery_without_a_needed_retransmission_is_undone() {
    let mut script = mistaken(undoing(10));
    script.wait(20).ack(4);
    // The original was not lost; the duplicate arrives a round-trip time after the retransmission.
    script.drain();
    script.wait(80).sack(10, &[(0, 1)]);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.phase, snapshot.undone), (SenderPhase::Open, 1));
    assert!(snapshot.cwnd >= 10.0 && snapshot.ssthresh >= 7.5, "{snapshot:?}");
}

#[test]
fn a_needed_retransmission_keeps_the_reduction() {
    let mut config = undoing(10);
    config.window.initial_threshold = Some(10.0);
    let mut script = Script::fill(config, 10);
    // Segments 0 and 5 are sent again; 0 was needed, 5 was not.
    script.sack(0, &[(1, 5), (6, 9)]);
    let sent = script.drain();
    assert_eq!(sent[..1], [0]);
    script.wait(100).sack(5, &[(6, 9)]).drain();
    script.wait(1).ack(11).wait(1).sack(11, &[(5, 6)]);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.undone, snapshot.ssthresh), (0, 5.0));
}

/// RFC 8985, Section 6.2, Step 4: the window is half of the least round-trip time after a round with
/// duplicates.
#[test]
fn a_duplicate_lengthens_the_reordering_window() {
    for (is_spurious, window) in [(true, 50), (false, 25)] {
        let mut script = mistaken(undoing(10));
        script.wait(20).ack(4).drain();
        script.wait(80).sack(10, if is_spurious { &[(0, 1)] } else { &[] }).drain();
        // Segment 10 is late: it was sent 100 ms ago with what has arrived; the unit is a quarter of 100 ms.
        let next = script.sender.snapshot().highest_sent / 1000;
        script.wait(100).ack(next - 2).sack(next - 2, &[(next - 1, next)]);
        let since = script.now;
        script.timeout();
        assert_eq!(script.sender.snapshot().fast_retransmits, 2);
        assert_eq!(script.now - since, Duration::from_millis(window), "{is_spurious}");
    }
}

/// If the network makes copies, duplicates show no reordering.
#[test]
fn more_duplicates_than_retransmissions_are_of_the_network() {
    let mut script = Script::fill(undoing(10), 10);
    script.ack(4).sack(4, &[(3, 4)]).sack(4, &[(2, 3)]);
    assert_eq!(script.sender.spurious.multiplier(), 1);
}

/// An acknowledgement with the timestamp `echo`.
fn echoing(script: &mut Script, next: u64, echo: Instant) {
    let timestamps = Some(Timestamps { value: 0, echo: clock(echo) });
    let segment =
        Segment { ack: next * 1000, window: 1 << 30, flags: Flags::ACK, timestamps, ..Segment::default() };
    script.receive(&segment);
}

/// RFC 3522, Section 3.2: the acknowledgement of the original has an older timestamp than the retransmission.
#[test]
fn a_timestamp_shows_that_the_original_has_arrived() {
    for (is_original, undone) in [(true, 1), (false, 0)] {
        let mut config = undoing(10);
        config.timestamps = true;
        let mut script = mistaken(config);
        let (retransmitted, original) = (script.now, Instant::ZERO);
        script.wait(20);
        echoing(&mut script, 4, if is_original { original } else { retransmitted });
        let snapshot = script.sender.snapshot();
        assert_eq!(snapshot.undone, undone);
        assert_eq!(snapshot.cwnd >= 10.0, is_original, "{snapshot:?}");
        assert_eq!(snapshot.phase == SenderPhase::Open, is_original);
        assert_eq!(script.sender.spurious.degree(), if is_original { 4 } else { 3 });
    }
}

/// RFC 4015, Section 3: a delay of more than the timeout; nothing counts as lost any more.
#[test]
fn a_spurious_timeout_is_undone() {
    let mut config = undoing(10);
    config.timestamps = true;
    let mut script = Script::fill(config, 10);
    echoing(&mut script, 1, Instant::ZERO);
    script.sends([10, 11]).timeout().sends([1]);
    assert_eq!(script.sender.snapshot().cwnd, 1.0);
    script.wait(10);
    echoing(&mut script, 3, Instant::ZERO);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.phase, snapshot.undone), (SenderPhase::Open, 1));
    assert!(snapshot.cwnd >= 11.0, "{snapshot:?}");
    // The rest is still on its way, and new data follows.
    assert!(script.drain().iter().all(|segment| *segment >= 12));
}

#[test]
fn without_undo_nothing_is_undone() {
    let mut config = undoing(10);
    config.recovery.undo = false;
    let mut script = mistaken(config);
    script.wait(20).ack(4).drain();
    script.wait(80).sack(10, &[(0, 1)]);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.undone, snapshot.ssthresh), (0, 5.0));
}

/// RFC 8985: after sixteen recoveries without a duplicate, the window is again a quarter of the least
/// round-trip time.
#[test]
fn the_reordering_window_persists_for_sixteen_recoveries() {
    let mut spurious = Spurious::new(3);
    spurious.grow(0, 10);
    spurious.grow(5, 20);
    assert_eq!(spurious.multiplier(), 2);
    spurious.grow(10, 20);
    assert_eq!(spurious.multiplier(), 3);
    for _ in 0..15 {
        spurious.on_recovery_end();
    }
    assert_eq!(spurious.multiplier(), 3);
    spurious.on_recovery_end();
    assert_eq!(spurious.multiplier(), 1);
}
