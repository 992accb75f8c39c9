use super::*;
use crate::tcp::{PartialAckTimer, RecoveryExit};

#[test]
fn the_third_duplicate_and_no_other_sends_the_segment_again() {
    for variant in [Variant::Reno, Variant::NewReno] {
        let mut script = Script::fill(Script::rfc(variant, 10), 10);
        script.ack(0).sends_nothing().ack(0).sends_nothing();
        script.ack(0).sends([0]);
        assert_eq!(script.sender.snapshot().fast_retransmits, 1);
    }
}

#[test]
fn duplicates_inflate_the_window_and_release_new_data() {
    let mut script = Script::fill(Script::rfc(Variant::Reno, 10), 10);
    script.ack(0).ack(0).ack(0).sends([0]);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.cwnd, snapshot.ssthresh, snapshot.inflation), (5.0, 5.0, 3.0));
    // Ten are outstanding; 5 + 3 + 2 allow ten, the sixth duplicate is the first to release one.
    script.ack(0).sends_nothing().ack(0).sends_nothing().ack(0).sends([10]).ack(0).sends([11]);
}

#[test]
fn reno_leaves_recovery_with_any_new_acknowledgement() {
    let mut script = Script::fill(Script::rfc(Variant::Reno, 10), 10);
    for _ in 0..9 {
        script.ack(0);
    }
    script.sends([0, 10, 11, 12, 13]);
    script.wait(100).ack(10);
    let snapshot = script.sender.snapshot();
    // Deflated to ssthresh, and not grown by the acknowledgement that ends recovery.
    assert_eq!((snapshot.cwnd, snapshot.inflation, snapshot.phase), (5.0, 0.0, SenderPhase::Open));
    script.sends([14]);
}

#[test]
fn reno_halves_again_for_a_second_loss_of_the_window() {
    let mut script = Script::fill(Script::rfc(Variant::Reno, 20), 20);
    for _ in 0..17 {
        script.ack(0); // 0 and 3 are lost
    }
    assert_eq!(script.drain()[0], 0);
    script.wait(100).ack(3).ack(3).ack(3).ack(3);
    assert_eq!(script.drain()[0], 3);
    assert_eq!(script.sender.snapshot().fast_retransmits, 2);
}

#[test]
fn new_reno_answers_each_partial_acknowledgement_with_the_next_loss() {
    // 0, 3 and 6 of ten are lost.
    let mut script = Script::fill(Script::rfc(Variant::NewReno, 10), 10);
    for _ in 0..7 {
        script.ack(0);
    }
    script.sends([0, 10, 11]);
    script.wait(100).ack(3);
    // 5 + 7 inflated, less the 3 acknowledged, plus one: 10; 9 are outstanding, of 3..12.
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.cwnd + snapshot.inflation, snapshot.flight), (10.0, 9000));
    script.sends([3, 12]);
    script.wait(100).ack(6).sends([6, 13]);
    assert_eq!(script.sender.snapshot().phase, SenderPhase::FastRecovery);
    script.wait(100).ack(12);
    assert_eq!(
        (script.sender.snapshot().phase, script.sender.snapshot().fast_retransmits),
        (SenderPhase::Open, 1)
    );
}

#[test]
fn new_reno_leaves_recovery_without_a_burst() {
    for (exit, cwnd, burst) in [(RecoveryExit::Flight, 2.0, 2), (RecoveryExit::Threshold, 5.0, 5)] {
        let mut config = Script::rfc(Variant::NewReno, 10);
        config.recovery.exit = exit;
        let mut script = Script::fill(config, 10);
        script.ack(0).ack(0).ack(0).sends([0]);
        // All else arrives, but its duplicates are lost: nothing is outstanding.
        script.wait(100).ack(10);
        assert_eq!(script.sender.snapshot().cwnd, cwnd, "{exit:?}");
        script.sends(10..10 + burst);
    }
}

#[test]
fn only_the_first_partial_acknowledgement_restarts_the_timer_of_an_impatient_sender() {
    for (timer, restarts) in [(PartialAckTimer::Impatient, false), (PartialAckTimer::SlowButSteady, true)] {
        let mut config = Script::rfc(Variant::NewReno, 10);
        config.recovery.partial_ack_timer = timer;
        let mut script = Script::fill(config, 10);
        script.ack(0).ack(0).ack(0).sends([0]);
        let at_first = script.sender.poll_timeout();
        script.wait(100).ack(2).sends([2]);
        let after_first = script.sender.poll_timeout();
        assert!(after_first > at_first);
        script.wait(100).ack(4).sends([4]);
        assert_eq!(script.sender.poll_timeout() > after_first, restarts, "{timer:?}");
    }
}

#[test]
fn new_reno_does_not_take_duplicates_of_what_a_timeout_sent_again_for_a_loss() {
    let mut script = Script::fill(Script::rfc(Variant::NewReno, 10), 10);
    script.timeout().sends([0]);
    // Everything had arrived but the acknowledgements were late.
    script.wait(10).ack(1).sends([1, 2]).ack(1).ack(1).ack(1).sends_nothing();
    assert_eq!(script.sender.snapshot().fast_retransmits, 0);
}

#[test]
fn no_duplicate_counts_while_nothing_is_outstanding() {
    let mut script = Script::idle(Script::rfc(Variant::NewReno, 4));
    script.sender.send(1000);
    script.sends([0]).ack(1).ack(1).ack(1).ack(1);
    assert_eq!(script.sender.snapshot().fast_retransmits, 0);
    script.sender.send(1000);
    script.sends([1]);
}

#[test]
fn an_acknowledgement_that_changes_the_window_is_no_duplicate() {
    let mut script = Script::fill(Script::rfc(Variant::NewReno, 10), 10);
    for window in [100_000, 200_000, 300_000, 400_000] {
        script.receive(&Segment { window, flags: Flags::ACK, ..Segment::default() });
    }
    script.sends_nothing();
    assert_eq!(script.sender.snapshot().fast_retransmits, 0);
}

#[test]
fn tahoe_starts_over_from_one_segment_and_sends_everything_again() {
    let mut script = Script::fill(Script::rfc(Variant::Tahoe, 10), 10);
    script.ack(0).ack(0).ack(0).sends([0]);
    assert_eq!((script.sender.snapshot().cwnd, script.sender.snapshot().ssthresh), (1.0, 5.0));
    script.wait(100).ack(1).sends([1, 2]);
    // The rest had arrived.
    script.ack(10).sends([10, 11, 12]);
    assert_eq!(script.sender.snapshot().timeouts, 0);
}

#[test]
fn an_acknowledgement_of_data_never_sent_is_ignored() {
    let mut script = Script::fill(Script::rfc(Variant::NewReno, 10), 10);
    script.ack(11).sends_nothing();
    assert_eq!(script.sender.snapshot().acknowledged, 0);
}
