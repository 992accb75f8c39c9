//! Resequenced packets: processing on arrival, and in order.

use super::*;

fn ordered_receiver() -> Receiver {
    let mut config = Config::default();
    config.receive.reorder_delay = Some(Duration::from_millis(100));
    receiver_of(&config)
}

/// Packet n is sent at 10 n ms and arrives 50 ms later, except those in `late`, which take as much more.
fn arrivals(count: u64, late: &[(u64, u64)]) -> Vec<(Instant, u64)> {
    let delay = |n| late.iter().find(|(number, _)| *number == n).map_or(0, |(_, delay)| *delay);
    let mut arrivals: Vec<(Instant, u64)> = (1..=count).map(|n| (ms(n * 10 + 50 + delay(n)), n)).collect();
    arrivals.sort();
    arrivals
}

/// Passes packets as they arrive, and again in order as given by `order`: after each arrival, those that
/// follow.
fn arrive_in_order(receiver: &mut Receiver, arrivals: &[(Instant, u64)]) -> Vec<ReceiverReport> {
    let mut reports = Vec::new();
    let mut waiting: Vec<(Instant, u64)> = Vec::new();
    let mut next = 1;
    for &(now, n) in arrivals {
        while let Some(deadline) = receiver.poll_timeout().filter(|deadline| *deadline <= now) {
            receiver.handle_timeout(deadline);
            if receiver.feedback_due(deadline) {
                let greatest = SeqNo::new(receiver.law.tfrc().greatest()).value();
                reports.push(report(receiver, deadline, greatest));
            }
        }
        receiver.on_arrival(now, &data(n));
        waiting.push((now, n));
        waiting.sort_by_key(|(_, n)| *n);
        while waiting.first().is_some_and(|(_, n)| *n == next) {
            let (arrived, n) = waiting.remove(0);
            receiver.on_received_in_order(now, arrived, &data(n));
            next += 1;
        }
        if receiver.feedback_due(now) {
            let greatest = SeqNo::new(receiver.law.tfrc().greatest()).value();
            reports.push(report(receiver, now, greatest));
        }
    }
    reports
}

/// 24 and 52 come 45 ms late, behind four others.
const LATE: &[(u64, u64)] = &[(24, 45), (52, 45)];

#[test]
fn measurements_use_arrival_times() {
    let mut forgiving = receiver();
    let arrivals = arrivals(100, LATE);
    let mut plain = Vec::new();
    for &(now, n) in &arrivals {
        while let Some(deadline) = forgiving.poll_timeout().filter(|deadline| *deadline <= now) {
            forgiving.handle_timeout(deadline);
            assert!(!forgiving.feedback_due(deadline), "the counter is first");
        }
        forgiving.on_received(now, data(n));
        // Reports of a loss that is none come besides.
        if forgiving.feedback_due(now) && forgiving.snapshot().loss_event_rate == Some(0.0) {
            let greatest = SeqNo::new(forgiving.law.tfrc().greatest()).value();
            plain.push(report(&mut forgiving, now, greatest));
        }
    }
    let mut receiver = ordered_receiver();
    let ordered = arrive_in_order(&mut receiver, &arrivals);
    assert!(ordered.len() > 8);
    for report in &ordered {
        assert!(report.elapsed < Duration::from_millis(1), "the newest has just arrived: {report:?}");
        assert!((report.receive_rate == 0) == (report.at == 60), "{report:?}");
        assert_eq!(report.intervals.len(), 1, "{report:?}");
        assert!(report.skip <= 3);
    }
    // Over 100 ms come ten packets; one less where one is late, and one more where it comes.
    let rates: Vec<u32> = ordered.iter().skip(2).map(|report| report.receive_rate).collect();
    assert!(rates.iter().all(|rate| (90_000..=110_000).contains(rate)), "{rates:?}");
    assert_eq!(
        plain.last().map(|report| report.receive_rate),
        ordered.last().map(|report| report.receive_rate)
    );
}

#[test]
fn a_late_packet_is_no_loss_and_one_missing_in_order_is_one() {
    let mut receiver = ordered_receiver();
    arrive_in_order(&mut receiver, &arrivals(60, LATE));
    assert_eq!((receiver.snapshot().lost, receiver.snapshot().loss_event_rate), (0, Some(0.0)));
    // 61 is missing, and 62 has waited for it.
    receiver.on_arrival(ms(670), &data(62));
    assert_eq!(receiver.snapshot().lost, 0);
    receiver.on_received_in_order(ms(770), ms(670), &data(62));
    assert_eq!(receiver.snapshot().lost, 1, "at once, not three packets later");
    assert!(receiver.feedback_due(ms(770)));
    let report = report(&mut receiver, ms(770), 62);
    assert_eq!((report.elapsed, report.skip), (Duration::from_millis(100), 0));
    assert_eq!(report.intervals[0].1, 1);
}

#[test]
fn a_packet_given_up_revokes_its_loss_if_configured() {
    for forgive_late in [true, false] {
        let mut config = Config::default();
        config.receive.reorder_delay = Some(Duration::from_millis(100));
        config.tune_tfrc(|tfrc| tfrc.forgive_late = forgive_late);
        let mut receiver = receiver_of(&config);
        arrive_in_order(&mut receiver, &arrivals(60, &[]));
        receiver.on_arrival(ms(670), &data(62));
        receiver.on_received_in_order(ms(770), ms(670), &data(62));
        report(&mut receiver, ms(770), 62);
        receiver.on_arrival(ms(780), &data(61));
        receiver.on_received_in_order(ms(780), ms(780), &data(61));
        assert_eq!(receiver.snapshot().loss_event_rate == Some(0.0), forgive_late);
        assert_eq!(receiver.feedback_due(ms(780)), forgive_late);
    }
}

/// A hole of many packets with many waiting behind it: the option has room for three.
#[test]
fn queued_packets_count_as_received() {
    let mut receiver = ordered_receiver();
    arrive_in_order(&mut receiver, &arrivals(19, &[]));
    for n in 25..=35 {
        receiver.on_arrival(ms(n * 10 + 50), &data(n));
    }
    assert!(receiver.feedback_due(ms(400)));
    let report = report(&mut receiver, ms(400), 35);
    assert_eq!((report.skip, &report.intervals[..]), (3, &[(32, 0, 0)][..]));
}

#[test]
fn losses_are_classified_after_resequencing() {
    let mut config = Config::default();
    config.receive.reorder_delay = Some(Duration::from_millis(100));
    config.tune_tfrc(|tfrc| tfrc.differentiation = Some(Differentiation::unguarded(Scheme::Omniscient)));
    let mut receiver = receiver_of(&config);
    receiver.on_loss_cause(seq(33), LossClass::Wireless);
    // 30 is late, 33 is lost on the radio.
    let mut arrivals = arrivals(60, &[(30, 35)]);
    arrivals.retain(|(_, n)| *n != 33);
    let before: Vec<_> = arrivals.iter().copied().filter(|(_, n)| *n < 33).collect();
    arrive_in_order(&mut receiver, &before);
    for &(arrived, n) in arrivals.iter().filter(|(_, n)| *n > 33) {
        receiver.on_arrival(arrived, &data(n));
    }
    for &(arrived, n) in arrivals.iter().filter(|(_, n)| *n > 33) {
        receiver.on_received_in_order(ms(700), arrived, &data(n));
    }
    let snapshot = receiver.snapshot();
    assert_eq!((snapshot.lost, snapshot.lost_wireless, snapshot.loss_event_rate), (1, 1, Some(0.0)));
}
