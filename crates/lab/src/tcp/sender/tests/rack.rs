//! Loss detection by time, loss probes (RFC 8985) and rate reduction (RFC 9937).

use super::*;
use crate::tcp::config::LossDetection;

fn rack(window: u32) -> TcpConfig {
    let mut config = Script::rfc(Variant::Sack, window);
    config.recovery.detection = LossDetection::Rack;
    config
}

fn with_probes(window: u32) -> TcpConfig {
    let mut config = rack(window);
    config.recovery.loss_probe = true;
    config
}

/// A sender that has measured a round-trip time of 100 ms and has sent the segments from 1 on, `count` of
/// them, which are all that there are.
fn measured(mut config: TcpConfig, count: u64) -> Script {
    config.window.initial_threshold = Some(1.0);
    let mut script = Script::idle(config);
    script.sender.send(1000);
    script.sends([0]).wait(100).ack(1);
    script.sender.send(count * 1000);
    script.sends(1..=count);
    script
}

/// RFC 8985, Section 3.4: P1 to P3 of four segments are lost, and then the retransmission of P1.
#[test]
fn the_example_of_the_rfc_needs_no_timeout() {
    let mut script = measured(with_probes(20), 4);
    script.wait(100).ack(2);
    // 2 SRTT after the last acknowledgement, the probe repeats the last segment.
    let since = script.now;
    script.timeout().sends([4]);
    assert_eq!(script.now - since, Duration::from_millis(200));
    // Its arrival shows that the two segments before it were lost.
    script.wait(100).sack(2, &[(4, 5)]).sends([2, 3]);
    // The second of them arrives: the first, which was sent before it, is lost again.
    script.wait(100).sack(2, &[(3, 5)]).sends([2]);
    script.wait(100).ack(5).sends_nothing();
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.timeouts, snapshot.fast_retransmits, snapshot.retransmits), (0, 1, 4));
    assert!(script.sender.is_finished());
}

/// RFC 8985, Section 9.1, example 1: the first and the last of three segments are lost.
#[test]
fn a_reordering_window_suffices_without_three_duplicates() {
    let mut script = measured(rack(20), 3);
    // P2 was sent with P1 and has arrived; P1 is lost a quarter of the least round-trip time later.
    script.wait(100).sack(1, &[(2, 3)]).sends_nothing();
    let since = script.now;
    script.timeout().sends([1]);
    assert_eq!(script.now - since, Duration::from_millis(25));
    // P3 was sent before the retransmission that has arrived.
    script.wait(100).ack(3).sends([3]);
    assert_eq!(script.sender.snapshot().timeouts, 0);
}

/// Section 9.1, example 3: with reordering seen, three duplicates do not suffice.
#[test]
fn reordering_delays_detection_by_a_quarter_of_the_least_round_trip_time() {
    let mut script = measured(rack(20), 10);
    // Segment 1 arrives after 2, within the window.
    script.wait(100).sack(1, &[(2, 3)]).wait(5).ack(3).sends_nothing();
    script.wait(1).sack(3, &[(4, 5)]).sack(3, &[(4, 6)]).sack(3, &[(4, 7)]).sends_nothing();
    assert_eq!(script.sender.snapshot().phase, SenderPhase::Open);
    script.timeout().sends([3]);
    assert_eq!(script.sender.snapshot().phase, SenderPhase::FastRecovery);
}

#[test]
fn without_reordering_three_segments_received_above_suffice() {
    let mut script = measured(rack(20), 10);
    script.wait(100).sack(1, &[(2, 3)]).sack(1, &[(2, 4)]).sends_nothing();
    script.sack(1, &[(2, 5)]).sends([1]);
}

/// RFC 8985, Section 7.3: one segment beyond a full window.
#[test]
fn a_probe_sends_new_data_if_there_are_any() {
    let mut script = Script::new(with_probes(1));
    script.sends([0]).wait(100).ack(1).sends([1, 2]);
    script.timeout().sends([3]);
    assert_eq!(script.sender.snapshot().retransmits, 0);
}

/// RFC 8985, Section 7.2: a single segment may be acknowledged with delay.
#[test]
fn the_probe_of_a_single_segment_waits_for_delayed_acknowledgements() {
    let mut script = measured(with_probes(20), 1);
    let since = script.now;
    script.timeout().sends([1]);
    assert_eq!(script.now - since, Duration::from_millis(400));
}

/// Section 7.4.2: the probe repaired a loss unless a duplicate shows that both copies have arrived.
#[test]
fn a_loss_that_a_probe_repairs_reduces_the_window_once() {
    for (is_spurious, reduces) in [(false, true), (true, false)] {
        let mut script = measured(with_probes(20), 4);
        script.wait(100).ack(4).timeout().sends([4]).wait(100).ack(5);
        if is_spurious {
            script.ack(5);
        }
        let before = script.sender.snapshot().cwnd;
        script.sender.send(1000);
        script.sends([5]).wait(100).ack(6);
        let after = script.sender.snapshot();
        assert_eq!(after.cwnd < before, reduces, "{is_spurious}: {before} to {after:?}");
        assert_eq!(after.timeouts, 0);
    }
}

#[test]
fn a_second_probe_waits_for_the_first() {
    let mut script = measured(with_probes(20), 4);
    script.timeout().sends([4]);
    // The next timer is RFC 6298's.
    script.timeout();
    assert_eq!(script.sender.snapshot().timeouts, 1);
}

/// RFC 8985, Section 6.3: the first segment is lost, and others that were sent long enough ago.
#[test]
fn a_timeout_spares_what_was_just_sent() {
    let mut script = measured(rack(20), 3);
    script.wait(990).sender.send(1000);
    script.sends([4]).timeout();
    assert_eq!(script.sender.snapshot().pipe, 1000);
    assert_eq!(script.sender.snapshot().timeouts, 1);
}

/// Twenty segments outstanding, half of which is the target, as in RFC 6937, Section 3.1.
fn reducing() -> Script {
    let mut config = rack(20);
    config.recovery.rate_reduction = true;
    Script::fill(config, 20)
}

/// Number of segments sent for each acknowledgement of one more segment from `first` on.
fn sent(script: &mut Script, first: u64, until: u64) -> Vec<usize> {
    (first..until).map(|segment| script.sack(0, &[(first, segment + 1)]).drain().len()).collect()
}

/// Segment 0 is lost, and 1 to 19 arrive: as many segments are sent as half of what is delivered, rounded up,
/// until 10 are in the network.
#[test]
fn rate_reduction_spreads_the_reduction_over_a_round_trip_time() {
    let mut script = reducing();
    let sent = sent(&mut script, 1, 20);
    assert_eq!(sent, [1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]);
    script.wait(100).ack(20);
    assert_eq!(script.sender.snapshot().phase, SenderPhase::FastRecovery);
    script.ack(22);
    assert_eq!(
        (script.sender.snapshot().phase, script.sender.snapshot().ssthresh),
        (SenderPhase::Open, 10.0)
    );
}

/// RFC 6937, Section 3.1, second figure: 0 to 14 are lost. What is sent follows what is delivered
/// (Conservative Reduction Bound), and a segment more for each acknowledgement that advances (RFC 9937).
#[test]
fn rate_reduction_follows_deliveries_where_losses_exceed_the_reduction() {
    let mut script = reducing();
    assert_eq!(sent(&mut script, 15, 20), [1, 1, 1, 1, 1]);
    // Three more are delivered, and SND.UNA advances.
    script.wait(100).sack(1, &[(15, 22)]);
    assert_eq!(script.drain().len(), 4);
}

#[test]
fn a_recovery_always_sends_its_first_retransmission() {
    let mut config = rack(20);
    config.recovery.rate_reduction = true;
    let mut script = Script::fill(config, 4);
    script.sender.close();
    let sent = script.sack(0, &[(1, 4)]).drain();
    assert_eq!(sent[0], 0);
}
