use super::super::plan::Direction;
use super::super::plan::tests::plan_with;
use super::*;

fn plan(direction: Direction, streams: u16) -> Plan {
    plan_with(|plan| {
        (plan.direction, plan.streams) = (direction, streams);
        (plan.load.size, plan.times.time_s) = (1000, 2.0);
    })
}

fn received(datagrams: u64, lost: i64, seconds: f64) -> ReceiverFigures {
    ReceiverFigures { datagrams, bytes: datagrams * 1000, lost, seconds, ..ReceiverFigures::default() }
}

fn sent(datagrams: u64, seconds: f64) -> SenderFigures {
    SenderFigures { datagrams, bytes: datagrams * 1000, seconds, ..SenderFigures::default() }
}

#[test]
fn each_direction_joins_its_sender_with_its_receiver() {
    let here = (received(10, 0, 1.0), sent(50, 1.0));
    let there = (received(40, 10, 1.0), sent(20, 1.0));
    let row = Row::new(&plan(Direction::Both, 1), 3.0, here, there);
    let (up, down) = (row.up.unwrap(), row.down.unwrap());
    assert_eq!((up.sent.datagrams, up.received.datagrams, up.loss), (50, 40, 0.2));
    assert_eq!((down.sent.datagrams, down.received.datagrams, down.goodput_bps), (20, 10, 80e3));
    assert_eq!((row.start_s, row.end_s), (3.0, 4.0));
}

#[test]
fn datagrams_that_the_sender_dropped_are_not_lost() {
    let expired = SenderFigures { dropped: 40, expired: 30, ..sent(65, 1.0) };
    let span = Span::new(received(60, 35, 1.0), expired);
    assert_eq!((span.lost, span.loss), (5, 5.0 / 65.0));
    // Datagrams dropped after the last one that arrived are not in a gap.
    assert_eq!(Span::new(received(60, 10, 1.0), expired).lost, 0);
}

#[test]
fn of_a_vanished_server_only_the_measured_intervals_count() {
    let mut plan = plan(Direction::Up, 1);
    plan.times.omit_s = 1.0;
    let mut outcome = Outcome::default();
    let there = |datagrams| (received(datagrams, 0, 1.0), SenderFigures::default());
    assert!(outcome.push_interval(&plan, Figures::default(), there(7), false).omitted);
    outcome.begin_measuring();
    assert!(!outcome.push_interval(&plan, Figures::default(), there(9), true).omitted);
    let summary = outcome.totals(&plan).1;
    assert_eq!((summary.start_s, summary.up.unwrap().received.datagrams), (1.0, 9));
}

#[test]
fn streams_add_up() {
    let outcome = Outcome {
        sent_here: vec![sent(10, 2.0), sent(30, 2.0)],
        received_there: vec![received(9, 1, 2.0), received(30, 0, 2.0)],
        ..Outcome::default()
    };
    let (rows, sum) = outcome.totals(&plan(Direction::Up, 2));
    assert_eq!(rows.iter().map(|row| row.up.unwrap().sent.datagrams).collect::<Vec<_>>(), [10, 30]);
    let up = sum.up.unwrap();
    assert_eq!((up.sent.datagrams, up.received.datagrams, up.received.lost), (40, 39, 1));
    assert_eq!((up.goodput_bps, sum.end_s), (39.0 * 4000.0, 2.0));
    assert!(sum.down.is_none());
}

#[test]
fn of_a_server_that_vanished_the_intervals_remain() {
    let plan = plan(Direction::Up, 1);
    let mut outcome = Outcome::default();
    for _ in 0..2 {
        let here = (ReceiverFigures::default(), sent(100, 1.0));
        outcome.push_interval(&plan, here, (received(95, 5, 1.0), SenderFigures::default()), true);
    }
    outcome.sent_here = vec![sent(230, 2.3)];
    let up = outcome.totals(&plan).1.up.unwrap();
    assert_eq!((up.sent.datagrams, up.received.datagrams, up.received.lost), (230, 190, 10));
    assert_eq!(up.goodput_bps, 95.0 * 8000.0);
}
