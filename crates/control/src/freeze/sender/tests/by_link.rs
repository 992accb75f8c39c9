//! Restoring the estimated rate of the local link, with the restart rules [`Restart::LinkCapacity`] and
//! [`Restart::LinkAvailable`].

use super::*;
use crate::capacity::Estimate;

/// 400 kB/s, half of which is available.
fn link() -> Option<Estimate> {
    Some(Estimate { capacity: bytes(400_000.0), available: bytes(200_000.0) })
}

/// W_init/R at 1000 bytes and 100 ms.
const INITIAL: f64 = 40_000.0;

/// Unfrozen at 5000 ms with the estimate that was set during the freeze.
fn restored_with(restart: Restart, estimate: Option<Estimate>) -> FreezingSender {
    let mut sender = stationary(config(restart));
    sender.freeze(ms(1000));
    sender.set_link_estimate(ms(4000), estimate);
    sender.unfreeze(ms(5000));
    sender
}

/// The reports after a round-trip time and after two, the second with `receive_rate`.
fn assessed(sender: &mut FreezingSender, receive_rate: f64) {
    send(sender, 5000, 5100);
    sender.on_feedback(ms(5100), &report(5100, 10.0, 0.01), Signs::default());
    assert_eq!(sender.state(), SenderState::Restoring);
    send(sender, 5100, 5200);
    sender.on_feedback(ms(5200), &report(5200, receive_rate, 0.01), UNFROZEN);
}

#[test]
fn the_restored_rate_is_that_of_the_link_whatever_the_old_rate_and_p_are() {
    let sender = restored_with(Restart::LinkCapacity, link());
    assert!((rate(&sender) - 400_000.0).abs() < 1.0, "{}", rate(&sender));
    let sender = restored_with(Restart::LinkAvailable, link());
    assert!((rate(&sender) - 200_000.0).abs() < 1.0, "{}", rate(&sender));
    let narrow = Estimate { capacity: bytes(25_000.0), available: bytes(25_000.0) };
    let mut sender = restored_with(Restart::LinkCapacity, Some(narrow));
    assert!((rate(&sender) - 25_000.0).abs() < 1.0, "below the old rate: {}", rate(&sender));
    send(&mut sender, 5000, 5100);
    sender.on_feedback(ms(5100), &report(5100, 10.0, 0.01), Signs::default());
    assert!((rate(&sender) - 25_000.0).abs() < 1.0, "no report raises it: {}", rate(&sender));
}

#[test]
fn a_path_that_carries_the_rate_of_the_link_is_not_probed() {
    let mut sender = restored_with(Restart::LinkCapacity, link());
    assessed(&mut sender, 390_000.0);
    assert_eq!(sender.state(), SenderState::Settling);
    assert_eq!(sender.marking(), Marking::Settle);
    assert!((rate(&sender) - 390_000.0).abs() < 1.0, "{}", rate(&sender));
}

#[test]
fn a_path_narrower_than_the_link_limits_the_rate_to_what_it_carries_with_the_first_assessed_report() {
    let mut sender = restored_with(Restart::LinkCapacity, link());
    assessed(&mut sender, 30_000.0);
    assert_eq!(sender.state(), SenderState::Settling);
    assert!((rate(&sender) - 30_000.0).abs() < 1.0, "{}", rate(&sender));
    // The rate of the link is no receive rate: it permits no increase later.
    send(&mut sender, 5200, 5300);
    sender.on_feedback(ms(5300), &report(5300, 30_000.0, 0.001), Signs::default());
    assert_eq!(sender.state(), SenderState::Normal);
    assert!(rate(&sender) < 60_001.0, "{}", rate(&sender));
}

#[test]
fn without_feedback_the_rate_of_the_link_is_halved() {
    let mut sender = restored_with(Restart::LinkCapacity, link());
    let (mut before, mut now) = (rate(&sender), ms(5000));
    for _ in 0..3 {
        sender.on_sent(now, SEGMENT);
        now = sender.tfrc().nofeedback_deadline().expect("a packet awaits feedback");
        sender.on_nofeedback_timeout(now);
        assert!(rate(&sender) <= before / 2.0 + 1.0, "{} after {before}", rate(&sender));
        before = rate(&sender);
    }
}

#[test]
fn without_an_estimate_the_sender_restarts_at_the_initial_rate_and_probes() {
    let mut sender = restored_with(Restart::LinkCapacity, None);
    assert!((rate(&sender) - INITIAL).abs() < 1.0, "{}", rate(&sender));
    assessed(&mut sender, 39_000.0);
    assert_eq!(sender.state(), SenderState::Probing);
    sender.set_link_estimate(ms(5210), link());
    assert!(rate(&sender) < 3.0 * INITIAL, "the path has been assessed: {}", rate(&sender));
}

#[test]
fn an_estimate_that_arrives_while_the_initial_rate_is_restored_raises_it_once() {
    let mut sender = restored_with(Restart::LinkCapacity, None);
    send(&mut sender, 5000, 5010);
    sender.set_link_estimate(ms(5010), link());
    assert!((rate(&sender) - 400_000.0).abs() < 1.0, "{}", rate(&sender));
    let other = Estimate { capacity: bytes(800_000.0), available: bytes(800_000.0) };
    sender.set_link_estimate(ms(5020), Some(other));
    assert!((rate(&sender) - 400_000.0).abs() < 1.0, "{}", rate(&sender));
    // A report on the packets before does not assess the rate.
    sender.on_feedback(ms(5105), &report(5105, 40_000.0, 0.01), UNFROZEN);
    assert_eq!(sender.state(), SenderState::Restoring);
}

#[test]
fn the_limit_of_restored_rates_applies_to_the_rate_of_the_link() {
    let config = FreezeConfig {
        restore_at_most: RestoreLimit::Rate(bytes(150_000.0)),
        ..config(Restart::LinkCapacity)
    };
    let mut sender = stationary(config);
    sender.freeze(ms(1000));
    sender.set_link_estimate(ms(4000), link());
    sender.unfreeze(ms(5000));
    assert!((rate(&sender) - 150_000.0).abs() < 1.0, "{}", rate(&sender));
}

#[test]
fn other_rules_do_not_use_the_estimate() {
    let sender = restored_with(Restart::Following, link());
    assert!((rate(&sender) - EQUATION).abs() < 1.0, "{}", rate(&sender));
}

#[test]
fn without_a_receiver_that_assists_the_rate_of_the_link_lasts_a_round_trip_time() {
    let mut sender = restored_with(Restart::LinkCapacity, link());
    sender.set_assisted(false);
    send(&mut sender, 5000, 5100);
    sender.on_feedback(ms(5100), &report(5100, 10.0, 0.01), Signs::default());
    send(&mut sender, 5100, 5200);
    sender.on_feedback(ms(5200), &report(5200, 30_000.0, 0.01), Signs::default());
    assert_eq!(sender.state(), SenderState::Normal);
    assert!((rate(&sender) - EQUATION).abs() < 1.0, "p applies: {}", rate(&sender));
    for now in [5300, 5400, 5500] {
        send(&mut sender, now - 100, now);
        sender.on_feedback(ms(now), &report(now, 30_000.0, 0.01), Signs::default());
    }
    assert!(rate(&sender) <= 60_001.0, "X_recv applies: {}", rate(&sender));
}
