//! Restoring and probing by the receive rate, with the restart rule [`Restart::Following`].

use super::*;
use crate::freeze::ProbeEnd;

#[test]
fn by_the_receive_rate_losses_do_not_end_probing_and_lagging_settles() {
    let mut sender = restored(config(Restart::Following));
    assert_eq!(sender.marking(), Marking::Restoring(ProbeEnd::ReceiveRate));
    send(&mut sender, 5000, 5100);
    sender.on_feedback(ms(5100), &report(5100, 10.0, 0.02), Signs::default());
    assert_eq!(sender.state(), SenderState::Restoring, "a loss does not show the capacity");
    send(&mut sender, 5100, 5200);
    sender.on_feedback(ms(5200), &report(5200, 75_000.0, 0.02), UNFROZEN);
    assert_eq!(sender.state(), SenderState::Probing);
    // Twice the rate allowed by p = 0.02: 1000 B/(0.1 s (sqrt(0.04/3) + 12 sqrt(0.06/8) 0.02 1.0128)) = 73249
    // B/s.
    assert!((rate(&sender) - 2.0 * 73_249.0).abs() < 1.0, "{}", rate(&sender));
    let found = rate(&sender);
    send(&mut sender, 5200, 5300);
    sender.on_feedback(ms(5300), &report(5300, 75_000.0, 0.03), Signs::default());
    assert_eq!(sender.state(), SenderState::Probing, "the report covers packets from before the doubling");
    send(&mut sender, 5300, 5400);
    // Half of it was not delivered: X_recv/X = 0.5.
    sender.on_feedback(ms(5400), &report(5400, found / 2.0, 0.03), Signs::default());
    assert_eq!(sender.state(), SenderState::Settling);
    assert_eq!(sender.marking(), Marking::Settle);
    // The delivered rate, by this report or the previous one.
    assert!((rate(&sender) - 75_000.0).abs() < 1.0, "{}", rate(&sender));
    send(&mut sender, 5400, 5500);
    sender.on_feedback(ms(5450), &report(5450, found / 2.0, 0.03), Signs::default());
    assert_eq!(sender.state(), SenderState::Settling, "the receiver has not settled yet");
    sender.on_feedback(ms(5500), &report(5500, found / 2.0, 0.018), Signs::default());
    assert_eq!(sender.state(), SenderState::Normal);
}

#[test]
fn by_the_receive_rate_a_narrower_path_is_settled_without_probing() {
    let mut sender = restored(config(Restart::Following));
    send(&mut sender, 5000, 5100);
    sender.on_feedback(ms(5100), &report(5100, 10.0, 0.02), Signs::default());
    send(&mut sender, 5100, 5200);
    sender.on_feedback(ms(5200), &report(5200, 30_000.0, 0.02), UNFROZEN);
    assert_eq!(sender.state(), SenderState::Settling);
    assert!((rate(&sender) - 30_000.0).abs() < 1.0, "{}", rate(&sender));
}

#[test]
fn by_the_receive_rate_a_path_narrower_than_the_application_is_settled() {
    // The rate is 112 kB/s, the application sends 50, and the path carries 50 or 25.
    for (carried, state) in [(50_000.0, SenderState::Normal), (25_000.0, SenderState::Settling)] {
        let mut sender = restored(config(Restart::Following));
        let offer = |sender: &mut FreezingSender, from: u64| {
            (from..from + 100).step_by(20).for_each(|now| sender.on_sent(ms(now), SEGMENT));
        };
        offer(&mut sender, 5000);
        sender.on_feedback(ms(5100), &report(5100, 10.0, 0.01), Signs::default());
        offer(&mut sender, 5100);
        sender.on_feedback(ms(5200), &report(5200, carried, 0.01), UNFROZEN);
        assert_eq!(sender.state(), state, "{carried}");
    }
}

#[test]
fn by_the_receive_rate_a_data_limited_application_ends_probing() {
    let mut sender = probing(config(Restart::Following));
    // Two packets in 200 ms.
    sender.on_sent(ms(5250), SEGMENT);
    sender.on_sent(ms(5350), SEGMENT);
    sender.on_feedback(ms(5450), &report(5450, 20_000.0, 0.0099), Signs::default());
    assert_eq!(sender.state(), SenderState::Settling);
}
