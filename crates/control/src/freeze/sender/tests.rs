use whimbrel_units::ByteCount;

use super::*;
use crate::freeze::{PlainRate, ProbeEnd, RestoreLimit, Silence};

const SEGMENT: ByteCount = ByteCount::new(1000);
/// Rate allowed by p = 0.01 in 100 ms, in bytes per second: 1000 B/(0.1 s (sqrt(0.02/3) + 12 sqrt(0.03/8)
/// 0.01 1.0032)).
const EQUATION: f64 = 112_332.0;

mod by_link;
mod by_receive_rate;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn bytes(rate: f64) -> DataRate {
    DataRate::from_bytes_per_second(rate)
}

fn config(restart: Restart) -> FreezeConfig {
    FreezeConfig { restart, ..FreezeConfig::default() }
}

/// A report on a packet sent 100 ms ago.
fn report(now: u64, receive_rate: f64, p: f64) -> Feedback {
    Feedback {
        last_data_sent: ms(now - 100),
        delay: Duration::ZERO,
        receive_rate: bytes(receive_rate),
        loss_event_rate: LossEventRate::new(p),
        new_loss_event: false,
    }
}

const UNFROZEN: Signs = Signs { unfrozen: true, plain_rate: None, packets: None, loss: None };

/// A sender after a second at p = 0.01, R = 100 ms and X_recv = 100 kB/s, which has sent all that is allowed.
fn stationary(config: FreezeConfig) -> FreezingSender {
    let tfrc = SenderConfig { oscillation_damping: false, ..SenderConfig::default() };
    let mut sender = FreezingSender::new(ms(0), tfrc, config);
    sender.set_assisted(true);
    for round in 0..10 {
        send(&mut sender, round * 100, round * 100 + 100);
        sender.on_feedback(
            ms(round * 100 + 100),
            &report(round * 100 + 100, 100_000.0, 0.01),
            Signs::default(),
        );
    }
    assert!((rate(&sender) - EQUATION).abs() < 1.0, "{}", rate(&sender));
    sender
}

/// Sends all that is allowed, every millisecond; returns the number of packets.
fn send(sender: &mut FreezingSender, from: u64, end: u64) -> u64 {
    let mut sent = 0;
    for now in from..end {
        while sender.next_send_time().is_some_and(|at| at <= ms(now)) {
            sender.on_sent(ms(now), SEGMENT);
            sent += 1;
        }
    }
    sent
}

/// X in bytes per second.
fn rate(sender: &FreezingSender) -> f64 {
    sender.tfrc().allowed_rate().as_bytes_per_second()
}

/// The stationary sender, frozen at 1000 ms and unfrozen at 5000 ms.
fn restored(config: FreezeConfig) -> FreezingSender {
    let mut sender = stationary(config);
    sender.freeze(ms(1000));
    sender.unfreeze(ms(5000));
    sender
}

/// The restored sender after the report at 5200 ms that the path carries the rate.
fn probing(config: FreezeConfig) -> FreezingSender {
    let mut sender = restored(config);
    send(&mut sender, 5000, 5100);
    sender.on_feedback(ms(5100), &report(5100, 10.0, 0.01), Signs::default());
    send(&mut sender, 5100, 5200);
    sender.on_feedback(ms(5200), &report(5200, 110_000.0, 0.01), UNFROZEN);
    assert_eq!(sender.state(), SenderState::Probing);
    sender
}

#[test]
fn a_frozen_sender_sends_nothing_keeps_no_timer_and_ignores_feedback() {
    let mut sender = stationary(config(Restart::LossRate));
    sender.freeze(ms(1000));
    assert_eq!(sender.next_send_time(), None);
    assert_eq!(sender.tfrc().nofeedback_deadline(), None);
    let before = sender.tfrc().snapshot();
    sender.on_feedback(ms(1050), &report(1050, 1.0, 0.5), UNFROZEN);
    sender.on_nofeedback_timeout(ms(9000));
    assert_eq!(sender.tfrc().snapshot(), before);
    assert_eq!(sender.marking(), Marking::None);
}

#[test]
fn the_rate_is_restored_at_once_and_without_a_burst() {
    for pause in [1, 60, 100_000] {
        let mut sender = stationary(config(Restart::LossRate));
        sender.freeze(ms(1000));
        let back = 1000 + pause * 1000;
        sender.unfreeze(ms(back));
        assert!((rate(&sender) - EQUATION).abs() < 1.0);
        assert_eq!(sender.marking(), Marking::Restoring(ProbeEnd::Loss));
        // 1000 B at 112 kB/s are 8.9 ms: packets 0, 8.9, .. 97.9 ms after the restoration, the last a
        // millisecond late.
        assert_eq!(send(&mut sender, back, back + 1), 1);
        assert_eq!(send(&mut sender, back + 1, back + 100), 11);
    }
}

#[test]
fn restoring_uses_p_and_the_round_trip_time_but_not_the_receive_rate() {
    let mut sender = restored(config(Restart::LossRate));
    send(&mut sender, 5000, 5200);
    // 200 ms on the new path, X_recv over four seconds without packets. R = 0.9 100 + 0.1 200 = 110 ms.
    let late = Feedback { last_data_sent: ms(5000), ..report(5200, 200.0, 0.01) };
    sender.on_feedback(ms(5200), &late, Signs::default());
    assert_eq!(sender.state(), SenderState::Restoring);
    assert!((rate(&sender) - EQUATION / 1.1).abs() < 1.0, "{}", rate(&sender));
}

#[test]
fn a_rise_of_p_ends_restoring_and_the_receive_rate_applies_from_the_next_report_on() {
    let mut sender = restored(config(Restart::LossRate));
    send(&mut sender, 5000, 5100);
    sender.on_feedback(ms(5100), &report(5100, 200.0, 0.011), Signs::default());
    assert_eq!(sender.state(), SenderState::Normal);
    assert!(rate(&sender) > 0.9 * EQUATION, "p counts: {}", rate(&sender));
    assert!(rate(&sender) < EQUATION);
    for now in [5200, 5300, 5400] {
        send(&mut sender, now - 100, now);
        sender.on_feedback(ms(now), &report(now, 200.0, 0.011), Signs::default());
    }
    assert!((rate(&sender) - 400.0).abs() < 1.0, "twice X_recv: {}", rate(&sender));
}

#[test]
fn an_unchanged_p_does_not_end_restoring_but_a_known_loss_does() {
    let mut sender = restored(config(Restart::LossRate));
    send(&mut sender, 5000, 5100);
    sender.on_feedback(ms(5050), &report(5101, 200.0, 0.01), Signs::default());
    assert_eq!(sender.state(), SenderState::Restoring);
    let signs = Signs { loss: Some(true), ..UNFROZEN };
    sender.on_feedback(ms(5150), &report(5150, 200.0, 0.01), signs);
    assert_eq!(sender.state(), SenderState::Normal, "a loss before UNFROZEN prevents probing");
}

#[test]
fn a_loss_from_before_the_freeze_does_not_end_restoring() {
    let mut sender = restored(config(Restart::LossRate));
    send(&mut sender, 5000, 5100);
    let signs = Signs { loss: Some(false), ..Signs::default() };
    sender.on_feedback(ms(5100), &report(5100, 200.0, 0.02), signs);
    assert_eq!(sender.state(), SenderState::Restoring);
}

#[test]
fn an_unfrozen_signal_from_before_the_freeze_is_ignored() {
    let mut sender = restored(config(Restart::LossRate));
    let old = Feedback { last_data_sent: ms(995), ..report(5050, 100_000.0, 0.01) };
    sender.on_feedback(ms(5050), &old, UNFROZEN);
    assert_eq!(sender.state(), SenderState::Restoring);
}

#[test]
fn probing_doubles_the_rate_once_per_round_trip_time_regardless_of_the_equation() {
    let mut sender = probing(config(Restart::LossRate));
    assert_eq!(sender.marking(), Marking::Probing(ProbeEnd::Loss));
    assert!((rate(&sender) - 2.0 * 110_000.0).abs() < 1.0, "twice X_recv at most: {}", rate(&sender));
    send(&mut sender, 5200, 5300);
    // p falls by less than ten packets' worth.
    sender.on_feedback(ms(5250), &report(5250, 220_000.0, 0.009_99), Signs::default());
    assert!((rate(&sender) - 220_000.0).abs() < 1.0, "not twice in a round-trip time");
    sender.on_feedback(ms(5300), &report(5300, 220_000.0, 0.009_95), Signs::default());
    assert!((rate(&sender) - 440_000.0).abs() < 1.0, "{}", rate(&sender));
}

#[test]
fn probing_ends_when_p_is_constant_rises_or_falls_too_far() {
    // At 220 kB/s, 22 packets in 100 ms: p may fall to 6/(22 + 600) = 0.009646.
    for (p, state) in [
        (0.01, SenderState::Normal),
        (0.0101, SenderState::Normal),
        (0.009_99, SenderState::Probing),
        (0.009_65, SenderState::Probing),
        (0.009_64, SenderState::Normal),
        (0.000_1, SenderState::Normal),
    ] {
        let mut sender = probing(config(Restart::LossRate));
        send(&mut sender, 5200, 5300);
        sender.on_feedback(ms(5300), &report(5300, 220_000.0, p), Signs::default());
        assert_eq!(sender.state(), state, "{p}");
    }
}

#[test]
fn a_history_of_one_interval_lets_p_fall_six_times_as_fast_without_ending_probing() {
    for (intervals, state) in [(1, SenderState::Probing), (8, SenderState::Normal)] {
        let plain = |rate| Some(PlainRate { rate: LossEventRate::new(rate), intervals });
        let mut sender = probing(config(Restart::LossRate));
        send(&mut sender, 5200, 5300);
        sender.on_feedback(
            ms(5300),
            &report(5300, 220_000.0, 0.009_99),
            Signs { plain_rate: plain(0.009_99), ..Signs::default() },
        );
        assert_eq!(sender.state(), SenderState::Probing);
        // 44 packets arrived: 1/(1/0.00999 + 44) = 0.00694, which eight intervals would not explain.
        send(&mut sender, 5300, 5400);
        sender.on_feedback(
            ms(5400),
            &report(5400, 440_000.0, 0.006_95),
            Signs { plain_rate: plain(0.006_95), ..Signs::default() },
        );
        assert_eq!(sender.state(), state, "{intervals} intervals");
    }
}

#[test]
fn a_report_that_was_lost_does_not_end_probing() {
    // The next one covers twice the packets, and p falls by twice as much. At 440 kB/s, X R is 44 packets.
    for (packets, state) in [(Some(66), SenderState::Probing), (None, SenderState::Normal)] {
        let mut sender = probing(config(Restart::LossRate));
        send(&mut sender, 5200, 5300);
        sender.on_feedback(ms(5300), &report(5300, 220_000.0, 0.009_9), Signs::default());
        send(&mut sender, 5300, 5500);
        // 6/(6/0.0099 + 60) = 0.009008.
        sender.on_feedback(
            ms(5500),
            &report(5500, 440_000.0, 0.009_008),
            Signs { packets, ..Signs::default() },
        );
        assert_eq!(sender.state(), state, "{packets:?}");
    }
}

#[test]
fn in_the_authors_code_a_constant_p_does_not_end_probing() {
    for (p, state) in [
        (0.01, SenderState::Probing),
        (0.0101, SenderState::Normal),
        (0.009_01, SenderState::Probing),
        (0.008_99, SenderState::Normal),
    ] {
        let mut sender = probing(config(Restart::AuthorsCode));
        send(&mut sender, 5200, 5300);
        sender.on_feedback(ms(5300), &report(5300, 220_000.0, p), Signs::default());
        assert_eq!(sender.state(), state, "{p}");
    }
}

#[test]
fn in_the_authors_code_round_trip_samples_are_ignored_while_restoring() {
    let rtt_after = |restart| {
        let mut sender = restored(config(restart));
        send(&mut sender, 5000, 5200);
        let late = Feedback { last_data_sent: ms(5000), ..report(5200, 200.0, 0.01) };
        sender.on_feedback(ms(5200), &late, Signs::default());
        assert_eq!(sender.state(), SenderState::Restoring);
        sender.tfrc().rtt()
    };
    assert_eq!(rtt_after(Restart::LossRate), Some(Duration::from_millis(110)));
    assert_eq!(rtt_after(Restart::AuthorsCode), Some(Duration::from_millis(100)));
}

#[test]
fn the_synthetic_history_allows_the_rate_found_by_probing() {
    let mut sender = probing(config(Restart::LossRate));
    send(&mut sender, 5200, 5300);
    // p = 0.0028 is about the equation's for 22 packets per 100 ms; X_recv does not limit the rate.
    sender.on_feedback(ms(5300), &report(5300, 220_000.0, 0.0028), Signs::default());
    let equation = sender.tfrc().snapshot().equation_rate.as_bytes_per_second();
    assert!((rate(&sender) - equation).abs() < 1.0);
    assert!((215_000.0..230_000.0).contains(&equation), "{equation}");
    assert_eq!(sender.marking(), Marking::None);
}

#[test]
fn a_report_without_new_packets_does_not_end_probing() {
    let mut sender = probing(config(Restart::LossRate));
    let again = Feedback { last_data_sent: ms(5100), ..report(5220, 110_000.0, 0.01) };
    sender.on_feedback(ms(5220), &again, Signs::default());
    assert_eq!(sender.state(), SenderState::Probing);
}

#[test]
fn silence_ends_probing_and_halves_the_rate() {
    let mut sender = probing(config(Restart::LossRate));
    send(&mut sender, 5200, 5300);
    let Some(deadline) = sender.tfrc().nofeedback_deadline() else { panic!("the timer runs") };
    sender.on_nofeedback_timeout(deadline);
    assert_eq!(sender.state(), SenderState::Normal);
    assert!(rate(&sender) <= EQUATION / 2.0 + 1.0, "{}", rate(&sender));
}

#[test]
fn a_probe_requires_an_assisting_receiver_but_no_freeze() {
    let mut sender = stationary(config(Restart::LossRate));
    assert!(sender.probe(ms(1000)));
    send(&mut sender, 1000, 1100);
    sender.on_feedback(ms(1100), &report(1100, 110_000.0, 0.009_99), Signs::default());
    assert!((rate(&sender) - 220_000.0).abs() < 1.0, "{}", rate(&sender));
    let mut alone = stationary(config(Restart::LossRate));
    alone.set_assisted(false);
    assert!(!alone.probe(ms(1000)));
    assert_eq!(alone.state(), SenderState::Normal);
}

#[test]
fn without_the_receivers_help_restoring_ends_after_a_round_trip_time() {
    let mut sender = stationary(config(Restart::LossRate));
    sender.set_assisted(false);
    sender.freeze(ms(1000));
    sender.unfreeze(ms(5000));
    assert_eq!(sender.marking(), Marking::None);
    send(&mut sender, 5000, 5100);
    sender.on_feedback(ms(5100), &report(5100, 10.0, 0.01), Signs::default());
    assert_eq!(sender.state(), SenderState::Restoring);
    assert!((rate(&sender) - EQUATION).abs() < 1.0);
    send(&mut sender, 5100, 5200);
    sender.on_feedback(ms(5200), &report(5200, 40_000.0, 0.01), Signs::default());
    assert_eq!(sender.state(), SenderState::Normal);
    assert!(
        (rate(&sender) - EQUATION).abs() < 1.0,
        "X_recv from before the freeze is less than two round-trip times old"
    );
    for now in [5300, 5400, 5500] {
        send(&mut sender, now - 100, now);
        sender.on_feedback(ms(now), &report(now, 40_000.0, 0.01), Signs::default());
    }
    assert!((rate(&sender) - 80_000.0).abs() < 1.0, "{}", rate(&sender));
}

#[test]
fn a_freeze_while_restoring_keeps_the_saved_rate() {
    let mut sender = restored(config(Restart::LossRate));
    send(&mut sender, 5000, 5010);
    // There was no path after all: the nofeedback timer halves the rate.
    let Some(deadline) = sender.tfrc().nofeedback_deadline() else { panic!("the timer runs") };
    sender.on_nofeedback_timeout(deadline);
    assert_eq!(sender.state(), SenderState::Restoring);
    assert!(rate(&sender) < 0.6 * EQUATION * 2.0);
    sender.freeze(ms(6000));
    sender.unfreeze(ms(9000));
    assert!((rate(&sender) - EQUATION).abs() < 1.0);
}

#[test]
fn an_initial_slow_start_is_restored_and_continues_as_slow_start() {
    let tfrc = SenderConfig { oscillation_damping: false, ..SenderConfig::default() };
    let mut sender = FreezingSender::new(ms(0), tfrc, config(Restart::LossRate));
    sender.set_assisted(true);
    for round in 0..4u64 {
        send(&mut sender, round * 100, round * 100 + 100);
        let receive_rate = if round == 0 { 0.0 } else { 20_000.0 * f64::from(1 << round) };
        sender.on_feedback(
            ms(round * 100 + 100),
            &report(round * 100 + 100, receive_rate, 0.0),
            Signs::default(),
        );
    }
    let before = rate(&sender);
    assert!(before > 100_000.0, "{before}");
    sender.freeze(ms(400));
    sender.unfreeze(ms(9000));
    assert_eq!(rate(&sender), before);
    send(&mut sender, 9000, 9200);
    sender.on_feedback(ms(9100), &report(9100, 10.0, 0.0), Signs::default());
    sender.on_feedback(ms(9200), &report(9200, before, 0.0), UNFROZEN);
    assert_eq!(sender.state(), SenderState::Probing);
    sender.on_feedback(ms(9300), &report(9300, before, 0.0), Signs::default());
    assert_eq!(sender.state(), SenderState::Normal);
    assert!(sender.tfrc().loss_event_rate().is_zero());
}

#[test]
fn the_restored_rate_can_be_limited_until_the_path_has_carried_it() {
    for (restore_at_most, expected) in
        [(RestoreLimit::Fraction(0.25), EQUATION / 4.0), (RestoreLimit::Rate(bytes(50_000.0)), 50_000.0)]
    {
        let mut sender = restored(FreezeConfig { restore_at_most, ..FreezeConfig::default() });
        assert!((rate(&sender) - expected).abs() < 1.0, "{}", rate(&sender));
        send(&mut sender, 5000, 5100);
        sender.on_feedback(ms(5100), &report(5100, 10.0, 0.01), Signs::default());
        assert!((rate(&sender) - expected).abs() < 1.0, "{}", rate(&sender));
        send(&mut sender, 5100, 5200);
        sender.on_feedback(ms(5200), &report(5200, expected, 0.01), UNFROZEN);
        assert!((rate(&sender) - 2.0 * expected).abs() < 1.0, "{}", rate(&sender));
    }
}

#[test]
fn careful_resume_uses_half_of_the_old_rate() {
    let mut sender = restored(config(Restart::CarefulResume));
    assert_eq!(sender.marking(), Marking::None);
    // W_init/R = 4000 B/100 ms = 40 kB/s.
    assert!((rate(&sender) - 40_000.0).abs() < 1.0, "{}", rate(&sender));
    send(&mut sender, 5000, 5100);
    sender.on_feedback(ms(5100), &report(5100, 10.0, 0.01), Signs::default());
    assert!((rate(&sender) - EQUATION / 2.0).abs() < 1.0, "{}", rate(&sender));
    send(&mut sender, 5100, 5300);
    sender.on_feedback(ms(5200), &report(5200, 40_000.0, 0.01), Signs::default());
    assert_eq!(sender.state(), SenderState::Restoring);
    sender.on_feedback(ms(5300), &report(5300, 56_000.0, 0.01), Signs::default());
    assert_eq!(sender.state(), SenderState::Normal);
    assert!((rate(&sender) - EQUATION).abs() < 400.0, "twice what was validated: {}", rate(&sender));
}

#[test]
fn an_unannounced_silence_is_undone_when_feedback_resumes() {
    let quiet = |silence| {
        let mut sender = stationary(FreezeConfig { silence, ..FreezeConfig::default() });
        let mut now = 1000;
        while now < 4000 {
            send(&mut sender, now, now + 10);
            sender.on_nofeedback_timeout(ms(now));
            now += 10;
        }
        assert!(rate(&sender) < EQUATION / 16.0, "{}", rate(&sender));
        // The outage was one loss event, and X_recv covers it.
        sender.on_feedback(ms(4000), &report(4000, 300.0, 0.0105), Signs::default());
        sender
    };
    let sender = quiet(Some(Silence::RoundTrips(8.0)));
    assert_eq!(sender.state(), SenderState::Restoring);
    assert!(rate(&sender) > 0.9 * EQUATION, "{}", rate(&sender));
    for other in [None, Some(Silence::Time(Duration::from_secs(4)))] {
        let sender = quiet(other);
        assert_eq!(sender.state(), SenderState::Normal);
        assert!(rate(&sender) < EQUATION / 8.0, "{}", rate(&sender));
    }
}

#[test]
fn an_idle_sender_has_no_silence_to_undo() {
    let mut sender =
        stationary(FreezeConfig { silence: Some(Silence::RoundTrips(4.0)), ..FreezeConfig::default() });
    // Everything is acknowledged and no packet sent for ten seconds, in which the timer reduces the rate.
    sender.on_feedback(ms(1100), &report(1100, 100_000.0, 0.01), Signs::default());
    sender.on_nofeedback_timeout(ms(1500));
    assert!(rate(&sender) < 0.95 * EQUATION, "{}", rate(&sender));
    sender.on_sent(ms(11_000), SEGMENT);
    sender.on_feedback(ms(11_100), &report(11_100, 100.0, 0.01), Signs::default());
    assert_eq!(sender.state(), SenderState::Normal);
}
