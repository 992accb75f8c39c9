//! Data under way when a connection is closed, above all of the end that answers.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use proptest::prelude::*;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Packet, PacketType};

use super::world::{End, Line, Sent, World, config, datagram, number, ordered};
use crate::multipath::{MultipathConfig, MultipathEvent, SchedulerKind};
use crate::{Config, ConnectionError, DropReason};

const ENDS: [End; 2] = [End::Client, End::Server];
const STEP: Duration = Duration::from_millis(5);

fn other(end: End) -> End {
    if end == End::Client { End::Server } else { End::Client }
}

/// The number of the datagram that a packet carries.
fn data(packet: &Packet) -> Option<u64> {
    (!packet.payload.is_empty()).then(|| number(&packet.payload))
}

/// The datagrams that an end sent, on that line or on any.
fn left(world: &World, from: End, line: Option<usize>) -> BTreeSet<u64> {
    let is_meant = |sent: &&Sent| sent.from == from && line.is_none_or(|line| line == sent.line);
    world.sent.iter().filter(is_meant).filter_map(|sent| data(&sent.packet)).collect()
}

fn received(world: &World, end: End) -> BTreeSet<u64> {
    world.received(end).into_iter().collect()
}

fn first(world: &World, from: End, packet_type: PacketType) -> Instant {
    let is_meant = |sent: &&Sent| sent.from == from && sent.packet.packet_type() == packet_type;
    world.sent.iter().find(is_meant).expect("such a packet").at
}

/// A configuration in which both ends close by a Close.
fn plain() -> Config {
    Config { server_sends_close_request: false, ..config() }
}

/// A configuration in which the server closes by a CloseReq.
fn requesting() -> Config {
    Config { server_sends_close_request: true, ..config() }
}

/// Two ends that use both paths in turn.
fn two(lines: [Line; 2], config: Config) -> World {
    World::joined(&lines, config, MultipathConfig::default().scheduler(SchedulerKind::Weighted))
}

/// Both ends send a datagram in each step, as long as the connection accepts them; one closes it after half a
/// second.
fn stream_and_close(world: &mut World, closing: End) {
    stream_and_close_after(world, closing, 100);
}

fn stream_and_close_after(world: &mut World, closing: End, steps: u64) {
    for step in 0..200 {
        if step == steps {
            world.command(closing, |connection, now| connection.close(now));
        }
        for end in ENDS {
            if !is_over(world, end) {
                world.command(end, |connection, now| connection.send(now, datagram(step)).is_ok());
            }
        }
        world.run_for(STEP);
    }
    // Queues empty at the pace of congestion control.
    world.run_for(Duration::from_secs(60));
}

fn is_over(world: &World, end: End) -> bool {
    world.events(end).iter().any(|event| matches!(event, MultipathEvent::Closed(_)))
}

/// The end of the connection is reported once, and no datagram after it.
fn check_end(world: &World, end: End, error: ConnectionError) {
    let events = world.events(end);
    let closed: Vec<_> =
        events.iter().enumerate().filter(|(_, it)| matches!(it, MultipathEvent::Closed(_))).collect();
    let [(place, MultipathEvent::Closed(reported))] = closed[..] else { panic!("{end:?}: {closed:?}") };
    assert_eq!(*reported, error, "{end:?}");
    let is_late = |event: &MultipathEvent| matches!(event, MultipathEvent::Datagram { .. });
    assert!(!events[place..].iter().any(is_late), "{end:?} got a datagram after the end");
}

#[test]
fn data_of_both_ends_arrive_on_paths_of_unequal_delay() {
    let in_order = Config { receive: ordered(2_000).receive, ..plain() };
    for closing in ENDS {
        for config in [plain(), in_order.clone(), requesting()] {
            for lines in [[Line::of(10), Line::of(150)], [Line::of(150), Line::of(10)]] {
                let mut world = two(lines, config.clone());
                stream_and_close(&mut world, closing);
                for from in ENDS {
                    let context = format!("{closing:?} closes, {from:?} sends, {config:?}");
                    for line in 0..2 {
                        let sent = left(&world, from, Some(line)).len();
                        assert!(sent > 5, "{sent} on line {line}: {context}");
                    }
                    assert_eq!(left(&world, from, None), received(&world, other(from)), "{context}");
                }
                check_end(&world, closing, ConnectionError::ClosedLocally);
                check_end(&world, other(closing), ConnectionError::ClosedByPeer);
            }
        }
    }
}

#[test]
fn what_the_answering_end_has_not_sent_is_dropped_and_reported() {
    let mut config = plain();
    config.send_queue.max_datagrams = 500;
    for closing in ENDS {
        let mut world = two([Line::of(10), Line::of(60)], config.clone());
        // More than congestion control lets leave.
        (0..400).for_each(|number| world.send(other(closing), number));
        world.run_for(Duration::from_millis(30));
        world.command(closing, |connection, now| connection.close(now));
        world.run_for(Duration::from_secs(5));
        let sent = left(&world, other(closing), None);
        assert_eq!(sent, received(&world, closing));
        let is_dropped = |event: &&MultipathEvent| {
            matches!(event, MultipathEvent::DatagramDropped { reason: DropReason::ConnectionEnded, .. })
        };
        let dropped = world.events(other(closing)).iter().filter(is_dropped).count();
        assert!(dropped > 100, "{dropped}");
        assert_eq!(sent.len() + dropped, 400);
    }
}

#[test]
fn the_end_is_not_delayed_by_a_path_that_is_known_to_have_failed() {
    for closing in ENDS {
        let mut world = two([Line::of(10), Line::of(30)], plain());
        world.lines[1].is_dead = true;
        // Both ends notice.
        world.stream(End::Client, 0, 100, STEP);
        world.stream(End::Server, 100, 100, STEP);
        world.run_for(Duration::from_secs(1));
        world.command(closing, |connection, now| connection.close(now));
        // A round-trip time.
        world.run_for(Duration::from_millis(20));
        check_end(&world, closing, ConnectionError::ClosedLocally);
    }
}

#[test]
fn a_path_that_dies_before_the_close_delays_the_end_by_a_second_at_most() {
    for closing in ENDS {
        let mut world = two([Line::of(10), Line::of(30)], plain());
        world.stream(other(closing), 0, 50, STEP);
        world.run_for(Duration::from_millis(500));
        world.lines[1].is_dead = true;
        let start = world.now;
        world.command(closing, |connection, now| connection.close(now));
        world.run_for(Duration::from_millis(900));
        assert!(!world.events(closing).iter().any(|it| matches!(it, MultipathEvent::Closed(_))));
        world.run_for(Duration::from_millis(150));
        check_end(&world, closing, ConnectionError::ClosedLocally);
        assert!(world.now - start < Duration::from_millis(1_100));
        assert_eq!(left(&world, other(closing), None), received(&world, closing));
    }
}

#[test]
fn a_lost_close_on_the_slower_path_loses_no_data() {
    for closing in ENDS {
        let mut world = two([Line::of(10), Line::of(150)], plain());
        world.script = Box::new(|sent| {
            let is_lost = sent.line == 1 && sent.packet.packet_type() == PacketType::Close;
            (!is_lost).then_some(sent.packet)
        });
        stream_and_close(&mut world, closing);
        for from in ENDS {
            assert_eq!(left(&world, from, None), received(&world, other(from)), "{closing:?} closes");
        }
        check_end(&world, closing, ConnectionError::ClosedLocally);
    }
}

#[test]
fn the_answer_to_a_close_request_waits_for_data_under_way_and_not_for_a_dead_path() {
    let mut world = two([Line::of(10), Line::of(150)], requesting());
    world.stream(End::Client, 0, 60, STEP);
    world.command(End::Server, |connection, now| connection.close(now));
    world.run_for(Duration::from_secs(3));
    let waited =
        first(&world, End::Client, PacketType::Close) - first(&world, End::Server, PacketType::CloseReq);
    assert!(waited > Duration::from_millis(150), "{waited}");
    assert_eq!(left(&world, End::Client, None), received(&world, End::Server));
    // Each Close has the option, and was sent once the request had arrived on its path.
    for line in 0..2 {
        let of_line = |from, packet_type| {
            let mut sent = world.sent_by(from, line).filter(move |it| it.packet.packet_type() == packet_type);
            sent.next().expect("a packet").at
        };
        assert!(of_line(End::Client, PacketType::Close) > of_line(End::Server, PacketType::CloseReq));
    }

    let mut world = two([Line::of(10), Line::of(30)], requesting());
    world.stream(End::Client, 0, 60, STEP);
    world.lines[1].is_dead = true;
    world.stream(End::Client, 60, 2, STEP);
    world.command(End::Server, |connection, now| connection.close(now));
    world.run_for(Duration::from_secs(5));
    let waited =
        first(&world, End::Client, PacketType::Close) - first(&world, End::Server, PacketType::CloseReq);
    assert!(waited < Duration::from_millis(1_020), "{waited}");
    check_end(&world, End::Server, ConnectionError::ClosedLocally);
    check_end(&world, End::Client, ConnectionError::ClosedByPeer);
}

#[test]
fn data_on_a_subflow_that_the_closing_end_does_not_know_to_have_joined_arrive() {
    let settings = MultipathConfig::default().scheduler(SchedulerKind::Weighted);
    for config in [plain(), requesting()] {
        let mut world = World::connected(&[Line::of(10), Line::of(100)], config, settings.clone());
        // The code of the client, which the server confirms, is under way.
        world.join(1);
        world.run_for(Duration::from_millis(290));
        stream_and_close_after(&mut world, End::Client, 3);
        assert!(left(&world, End::Server, Some(1)).len() > 1);
        assert_eq!(left(&world, End::Server, None), received(&world, End::Client));
        check_end(&world, End::Client, ConnectionError::ClosedLocally);
    }
}

#[test]
fn both_ends_may_close_at_once() {
    for config in [plain(), requesting()] {
        let mut world = two([Line::of(10), Line::of(150)], config);
        for end in ENDS {
            world.stream(end, 0, 40, STEP);
        }
        ENDS.iter().for_each(|end| world.command(*end, |connection, now| connection.close(now)));
        world.run_for(Duration::from_secs(5));
        for end in ENDS {
            assert_eq!(left(&world, end, None), received(&world, other(end)));
            check_end(&world, end, ConnectionError::ClosedLocally);
        }
        world.run_for(Duration::from_secs(600));
        assert!(world.client.is_empty() && world.server.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With any packets lost on the way, Closes and Resets among them, what left on a path that works
    /// arrives.
    #[test]
    fn what_is_not_lost_arrives(
        delays in [1..200_u64, 1..200_u64],
        loss in 0..50_u8,
        requests: bool,
        closing in 0..2_usize,
        seed: u64,
    ) {
        let config = Config { server_sends_close_request: requests, ..config() };
        let mut world = two(delays.map(Line::of), config);
        let passed = Rc::new(RefCell::new(Vec::new()));
        let (log, mut dice) = (passed.clone(), seed);
        world.script = Box::new(move |sent| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let is_lost = (dice >> 56) as u8 <= loss;
            if let Some(data) = data(&sent.packet).filter(|_| !is_lost) {
                log.borrow_mut().push((sent.from, data));
            }
            (!is_lost).then_some(sent.packet)
        });
        stream_and_close(&mut world, ENDS[closing]);
        for from in ENDS {
            let arrived: BTreeSet<u64> =
                passed.borrow().iter().filter(|(end, _)| *end == from).map(|(_, data)| *data).collect();
            prop_assert_eq!(arrived, received(&world, other(from)), "{:?} sends", from);
        }
    }
}
