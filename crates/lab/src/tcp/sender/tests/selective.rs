use super::*;

fn sack(count: u32) -> Script {
    let mut config = Script::rfc(Variant::Sack, count);
    config.recovery.limited_transmit = crate::tcp::LimitedTransmit::Off;
    Script::fill(config, count)
}

#[test]
fn three_segments_beyond_a_gap_are_a_loss() {
    let mut script = sack(10);
    script
        .sack(0, &[(1, 2)])
        .sends_nothing()
        .sack(0, &[(1, 3)])
        .sends_nothing()
        .sack(0, &[(1, 4)])
        .sends([0]);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.cwnd, snapshot.ssthresh, snapshot.inflation), (5.0, 5.0, 0.0));
    assert_eq!(snapshot.phase, SenderPhase::FastRecovery);
}

#[test]
fn one_acknowledgement_with_enough_blocks_is_a_loss() {
    // Two acknowledgements were lost: more than two segments' worth above the gap (IsLost).
    let mut script = sack(10);
    script.sack(0, &[(1, 4)]).sends([0]);
    // Three separate blocks are enough even if short.
    let mut script = sack(10);
    script.sack(0, &[(6, 7), (4, 5), (2, 3)]);
    assert_eq!(script.sender.snapshot().phase, SenderPhase::FastRecovery);
}

#[test]
fn a_duplicate_without_new_blocks_is_ignored() {
    let mut script = sack(10);
    script.sack(0, &[(1, 2)]).sack(0, &[(1, 2)]).sack(0, &[(1, 2)]).sack(0, &[]).sends_nothing();
    assert_eq!(script.sender.snapshot().fast_retransmits, 0);
}

#[test]
fn several_losses_are_repaired_within_one_round_trip() {
    // 0, 3 and 6 of sixteen are lost. All arrivals are reported; pipe falls below the halved window half-way.
    let mut script = sack(16);
    script.sack(0, &[(1, 2)]).sack(0, &[(1, 3)]).sack(0, &[(4, 5), (1, 3)]).sends([0]);
    // pipe: 16 sent - 3 received - 1 lost (0) + 1 sent again = 13; the window is 8.
    script.sack(0, &[(4, 6), (1, 3)]).sends_nothing(); // 12
    script.sack(0, &[(7, 8), (4, 6), (1, 3)]).sends_nothing(); // 3 is lost: 3 segments above it. 10
    script.sack(0, &[(7, 9), (4, 6), (1, 3)]).sends_nothing(); // 9
    script.sack(0, &[(7, 10), (4, 6), (1, 3)]).sends([3]); // 6 is lost as well: 7 and then 8
    script.sack(0, &[(7, 11), (4, 6), (1, 3)]).sends([6]);
    script.sack(0, &[(7, 12), (4, 6), (1, 3)]).sends([16]); // no holes left: new data
    script.sack(0, &[(7, 13), (4, 6), (1, 3)]).sends([17]);
    script.sack(0, &[(7, 16), (4, 6), (1, 3)]).sends([18, 19, 20]);
    script.wait(100).ack(3).sends([21]).ack(6).sends([22]);
    assert_eq!(script.sender.snapshot().phase, SenderPhase::FastRecovery);
    script.ack(16);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.phase, snapshot.cwnd), (SenderPhase::Open, 8.0));
    assert_eq!((snapshot.retransmits, snapshot.fast_retransmits, snapshot.timeouts), (3, 1, 0));
}

#[test]
fn without_new_data_an_uncertain_hole_is_sent_again() {
    // There are eight segments. 0 is lost, 5 is possibly lost: NextSeg rule 3.
    let mut script = Script::idle(Script::rfc(Variant::Sack, 10));
    script.sender.send(8000);
    script.sends(0..8).wait(100);
    script.sack(0, &[(1, 2)]).sack(0, &[(1, 3)]).sack(0, &[(1, 4)]).sends([0]);
    script.sack(0, &[(1, 5)]).sends_nothing().sack(0, &[(6, 7), (1, 5)]).sends([5]);
}

#[test]
fn a_rescue_retransmission_at_the_end_of_the_window_happens_once() {
    // 0 and 7, the last, are lost: nothing above 7 will ever be reported.
    let mut script = Script::idle(Script::rfc(Variant::Sack, 10));
    script.sender.send(8000);
    script.sends(0..8).wait(100);
    for end in 2..=7 {
        script.sack(0, &[(1, end)]);
    }
    script.sends([0]);
    script.wait(100).sack(7, &[]).sends([7]);
    script.sends_nothing();
    assert_eq!(script.sender.snapshot().timeouts, 0);
    script.wait(100).ack(8);
    assert!(script.sender.is_finished());
}

#[test]
fn without_the_rescue_only_the_timer_finds_the_last_loss() {
    let mut config = Script::rfc(Variant::Sack, 10);
    config.recovery.rescue = false;
    let mut script = Script::idle(config);
    script.sender.send(8000);
    script.sends(0..8).wait(100);
    for end in 2..=7 {
        script.sack(0, &[(1, end)]);
    }
    script.sends([0]).wait(100).sack(7, &[]).sends_nothing().timeout().sends([7]);
}

#[test]
fn a_retransmission_that_is_lost_waits_for_the_timer() {
    let mut script = sack(10);
    for end in 2..=10 {
        script.sack(0, &[(1, end)]);
    }
    script.sends([0, 10, 11, 12, 13]);
    script.wait(100);
    for end in 11..=14 {
        script.sack(0, &[(1, end)]);
    }
    assert!(!script.drain().contains(&0));
    script.timeout().sends([0]);
    // No recovery begins before all that was outstanding then is acknowledged.
    let fast = script.sender.snapshot().fast_retransmits;
    script.sack(0, &[(1, 14)]).sack(0, &[(1, 15)]).sack(0, &[(1, 16)]).sack(0, &[(1, 17)]);
    assert_eq!(script.sender.snapshot().fast_retransmits, fast);
}

#[test]
fn after_a_timeout_holes_are_filled_and_what_arrived_is_skipped() {
    // 0, 1 and 5 of eight are lost and so are all acknowledgements.
    let mut script = sack(8);
    script.timeout().sends([0]);
    script.wait(100).sack(1, &[(6, 8), (2, 5)]).sends([1, 5]);
    // The window is counted from the first byte not acknowledged: 5 to 7 fill it.
    script.wait(100).ack(5).sends_nothing().ack(8).sends(8..12);
    assert_eq!((script.sender.snapshot().retransmits, script.sender.snapshot().timeouts), (3, 1));
}

#[test]
fn a_timeout_clears_the_scoreboard_unless_configured_otherwise() {
    for (keep, second) in [(false, 1), (true, 2)] {
        let mut config = Script::rfc(Variant::Sack, 8);
        config.recovery.keep_sack_on_timeout = keep;
        let mut script = Script::fill(config, 8);
        script.sack(0, &[(1, 2)]);
        script.drain();
        script.timeout().sends([0]);
        // The acknowledgement reports nothing new.
        script.wait(100).ack(1);
        assert_eq!(script.drain()[0], second);
    }
}

#[test]
fn the_scoreboard_beyond_a_recovery_is_kept() {
    let mut script = sack(10);
    script.sack(0, &[(1, 4)]).sends([0]);
    for end in 5..=10 {
        script.sack(0, &[(1, end)]);
    }
    script.sends(10..14);
    // 10 is lost, 11 to 13 arrive before the acknowledgement that ends the recovery.
    script.wait(100).sack(10, &[(11, 13)]);
    assert_eq!(script.sender.snapshot().phase, SenderPhase::Open);
    script.sack(10, &[(11, 14)]);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.phase, snapshot.fast_retransmits), (SenderPhase::FastRecovery, 2));
    assert_eq!(script.drain()[0], 10);
}

#[test]
fn without_blocks_to_read_sack_is_new_reno() {
    let mut config = Script::rfc(Variant::Sack, 10);
    config.receiver.sack_blocks = 0;
    config.recovery.limited_transmit = crate::tcp::LimitedTransmit::Off;
    let mut script = Script::fill(config, 10);
    script.ack(0).ack(0).ack(0).sends([0]).wait(100).ack(4).sends([4]);
}
