use std::string::ToString;
use std::vec::Vec;

use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

use super::{Handover, HandoverConfig, HandoverEvent, InvalidHandover, Phase};
use crate::handover::CellIndex;
use crate::level::Decibels;
use crate::packet::{Packet, PacketId, Segment};
use crate::pdcp::Reordering;
use crate::queue::{BearerQueue, QueueConfig};
use crate::rlc::{Mode, Receiver, Sender};

const OLD: CellIndex = CellIndex(0);
const NEW: CellIndex = CellIndex(1);
const GOOD: &[(CellIndex, Decibels)] = &[(OLD, Decibels(2.0)), (NEW, Decibels(5.0))];
const LOST: &[(CellIndex, Decibels)] = &[(OLD, Decibels(-9.0)), (NEW, Decibels(-7.0))];

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn terminal() -> Handover {
    Handover::new(HandoverConfig::lte(2), OLD).unwrap()
}

fn events(handover: &mut Handover) -> Vec<(Instant, HandoverEvent)> {
    core::iter::from_fn(|| handover.poll_event()).collect()
}

/// A report at 16.656 s, with LTE's medians.
#[test]
fn a_change_has_its_preparation_and_its_gap() {
    let mut handover = terminal();
    handover.handle_report(ms(16_656), NEW).unwrap();
    assert_eq!((handover.poll_timeout(), handover.serving()), (Some(ms(16_708)), Some(OLD)));
    handover.handle_timeout(ms(16_707), GOOD);
    assert_eq!(handover.serving(), Some(OLD));
    handover.handle_timeout(ms(16_708), GOOD);
    assert_eq!((handover.poll_timeout(), handover.serving()), (Some(ms(16_742)), None));
    handover.handle_timeout(ms(16_742), GOOD);
    assert_eq!((handover.poll_timeout(), handover.serving()), (None, Some(NEW)));
    let prepared = HandoverEvent::Prepared { from: OLD, to: NEW };
    let commanded = HandoverEvent::Commanded { from: OLD, to: NEW };
    let completed = HandoverEvent::Completed { cell: NEW };
    assert_eq!(
        events(&mut handover),
        [(ms(16_656), prepared), (ms(16_708), commanded), (ms(16_742), completed)]
    );
}

#[test]
fn a_new_cell_out_of_reach_is_a_failure() {
    let mut handover = terminal();
    handover.handle_report(ms(0), NEW).unwrap();
    handover.handle_timeout(ms(52), LOST);
    handover.handle_timeout(ms(86), LOST);
    assert_eq!(handover.phase(), Phase::Searching { until: ms(586) });
    // Beyond any cell at first, then near the old one.
    handover.handle_timeout(ms(586), LOST);
    assert_eq!(handover.serving(), None);
    handover.handle_timeout(ms(1_086), &[(OLD, Decibels(3.0)), (NEW, Decibels(-7.0))]);
    assert_eq!(handover.serving(), Some(OLD));
    let found = events(&mut handover);
    assert_eq!(
        found[2..],
        [
            (ms(86), HandoverEvent::Failed { cell: NEW }),
            (ms(1_086), HandoverEvent::Reestablished { cell: OLD }),
        ]
    );
}

#[test]
fn a_link_that_fails_before_the_command_is_reestablished() {
    let mut handover = terminal();
    handover.handle_report(ms(0), NEW).unwrap();
    handover.handle_failure(ms(30));
    handover.handle_failure(ms(31));
    handover.handle_timeout(ms(52), GOOD);
    assert_eq!(handover.poll_timeout(), Some(ms(530)));
    handover.handle_timeout(ms(530), GOOD);
    assert_eq!(handover.serving(), Some(NEW), "the best of the cells");
    let failed = HandoverEvent::Failed { cell: OLD };
    let again = HandoverEvent::Reestablished { cell: NEW };
    assert_eq!(events(&mut handover)[1..], [(ms(30), failed), (ms(530), again)]);
}

#[test]
fn a_handover_to_nowhere_is_refused() {
    let mut handover = terminal();
    let refused = handover.handle_report(ms(0), CellIndex(2)).unwrap_err();
    assert_eq!(refused.to_string(), "there is no cell 2: the network has 2, numbered from 0");
    assert_eq!(handover.handle_report(ms(0), OLD), Err(InvalidHandover::Serving { target: OLD }));
    handover.handle_report(ms(0), NEW).unwrap();
    assert_eq!(handover.handle_report(ms(1), NEW), Err(InvalidHandover::InProgress));
    assert!(Handover::new(HandoverConfig::nr(2), CellIndex(7)).is_err());
}

/// A stream over a change: the packets that arrive, and the bytes that wait when the gap ends.
struct Outcome {
    delivered: Vec<(u64, f64)>,
    backlog: u64,
    last_late: f64,
}

/// Packets of 125 B over a cell of this capacity, with a change at 100 ms, in steps of 0.1 ms. Data sent
/// in the last 2 ms before the command is lost on the air.
fn stream(mode: Mode, forwarding: bool, rate: f64, capacity: f64, gap: Duration) -> Outcome {
    let config = HandoverConfig { preparation: Duration::ZERO, gap, ..HandoverConfig::lte(2) };
    let mut handover = Handover::new(config, OLD).unwrap();
    let deep = QueueConfig { limit: ByteCount::new(1 << 24), discard: None, marks: None };
    let mut queue = BearerQueue::new(deep, 0);
    let mut sender = Sender::new(mode, ByteCount::new(0));
    let mut receiver = Receiver::new(mode, Duration::from_millis(35));
    let mut order = Reordering::new(None);
    let step = Duration::from_micros(100);
    let spacing = ByteCount::new(125) / DataRate::from_megabits_per_second(rate);
    let (mut next, mut at) = (0, Instant::ZERO);
    let mut outcome = Outcome { delivered: Vec::new(), backlog: 0, last_late: 0.0 };
    let mut segments: Vec<Segment> = Vec::new();
    let mut sent = 0.0;
    for number in 0..12_000 {
        let now = Instant::ZERO + step * number;
        while at <= now && next < 4_000 {
            queue.handle_packet(
                at,
                Packet { id: PacketId(next), size: ByteCount::new(125), ecn: Ecn::NotEct },
            );
            (next, at) = (next + 1, at + spacing);
        }
        if now == ms(100) {
            handover.handle_report(now, NEW).unwrap();
        }
        handover.handle_timeout(now, GOOD);
        while let Some((_, event)) = handover.poll_event() {
            if matches!(event, HandoverEvent::Commanded { .. }) {
                receiver.reestablish(sender.reestablish(forwarding));
            } else {
                outcome.backlog = queue.bytes().as_u64() + sender.pending().as_u64();
            }
        }
        if handover.serving().is_some() {
            sent += capacity * 1e6 / 8.0 * step.as_secs_f64();
            segments.clear();
            let filled = sender.fill(now, ByteCount::new(sent as u64), &mut queue, &mut segments);
            sent = (sent - filled.used.as_f64()).min(2.0 * capacity * 12.5);
            let is_lost = now < ms(100) && now >= ms(98);
            if !is_lost {
                receiver.handle_block(now, &segments, filled.is_poll);
            }
        }
        receiver.handle_timeout(now);
        if let Some(status) = receiver.poll_status(now) {
            sender.handle_status(&status);
        }
        while let Some((number, packet)) = receiver.poll_packet() {
            order.handle_packet(now, number, packet).unwrap();
        }
        while let Some(number) = receiver.poll_given_up() {
            order.handle_given_up(now, number);
        }
        while let Some((_, packet)) = order.poll_packet() {
            let millis = (now - Instant::ZERO) / Duration::from_millis(1);
            let sent_at = packet.id.0 as f64 * (spacing / Duration::from_millis(1));
            if millis - sent_at > 0.3 {
                outcome.last_late = millis;
            }
            outcome.delivered.push((packet.id.0, millis));
        }
    }
    outcome
}

const AM: Mode = Mode::Acknowledged {
    poll_retransmit: Duration::from_millis(80),
    status_prohibit: Duration::from_millis(1),
    repetitions: 8,
};

#[test]
fn a_lossless_change_delays_and_loses_nothing() {
    for (rate, capacity, gap, backlog, drained) in
        [(5.0, 20.0, 50, 31_250.0, 16.667), (8.0, 10.0, 66, 66_000.0, 264.0)]
    {
        let found = stream(AM, true, rate, capacity, Duration::from_millis(gap));
        let ids: Vec<u64> = found.delivered.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, (0..4_000).collect::<Vec<_>>());
        // The 2 ms that were lost on the air are sent again, too.
        let repeated = rate * 1e6 / 8.0 * 2e-3;
        let waiting = found.backlog as f64;
        assert!((waiting - backlog - repeated).abs() <= 500.0, "{waiting} B, expected {backlog} B");
        let end = 100.0 + gap as f64 + drained + repeated * 8e-3 / (capacity - rate);
        let late = found.last_late;
        assert!((late - end).abs() < 3.0, "drained at {late} ms, expected {end} ms");
    }
}

#[test]
fn um_and_a_change_without_forwarding_lose_what_was_on_the_air() {
    for (mode, forwarding) in [(Mode::Unacknowledged, true), (AM, false)] {
        let found = stream(mode, forwarding, 5.0, 20.0, Duration::from_millis(50));
        let ids: Vec<u64> = found.delivered.iter().map(|(id, _)| *id).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "in order, and once");
        // 2 ms of 5 packets a millisecond; the queue keeps the packets of the gap.
        assert_eq!(4_000 - ids.len(), 10, "{mode:?}");
    }
}
