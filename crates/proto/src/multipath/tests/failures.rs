//! Paths that fail and recover, and handovers between them.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::PacketType;

use super::world::{End, Line, World, config, ordered, path};
use crate::Ccid;
use crate::multipath::{MultipathConfig, MultipathEvent, PathPriority, SchedulerKind, SubflowId};

fn lines() -> [Line; 2] {
    [Line::of(20), Line::of(40)]
}

/// Times of the data that an end sent on a line after `from`.
fn data_after(world: &World, line: usize, from: Instant) -> Vec<Instant> {
    let data = world.sent_by(End::Client, line).filter(|sent| !sent.packet.payload.is_empty());
    data.map(|sent| sent.at).filter(|at| *at >= from).collect()
}

#[test]
fn a_dead_path_loses_its_traffic_within_its_timeout() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        for scheduler in SchedulerKind::ALL {
            let settings = MultipathConfig::default().scheduler(scheduler);
            let config = config().sender_ccids(ccid).receiver_ccids(ccid);
            let mut world = World::joined(&lines(), config, settings);
            world.stream(End::Client, 0, 200, Duration::from_millis(10));
            let line = usize::from(
                data_after(&world, 1, Instant::ZERO).len() > data_after(&world, 0, Instant::ZERO).len(),
            );
            let timeout = world.connection(End::Client).snapshot().subflows[line].timeout;
            world.forget();
            let broken = world.now;
            world.lines[line].is_dead = true;
            world.stream(End::Client, 200, 400, Duration::from_millis(10));
            // A round-trip time may have been left when the path died.
            let last = data_after(&world, line, broken).last().copied().unwrap_or(broken);
            let bound = timeout + world.lines[line].delay * 2;
            assert!(
                last - broken <= bound,
                "{ccid:?} {scheduler:?}: {} after, timeout {timeout}",
                last - broken
            );
            assert!(timeout <= Duration::from_millis(400), "{ccid:?} {scheduler:?}: {timeout}");
            assert!(world.client_events.contains(&MultipathEvent::PathFailed(SubflowId(line as u32))));
            // The other path carries everything sent afterwards.
            let received = world.received(End::Server);
            let after = ((bound.as_millis() / 10) + 2) + 200;
            let missing: Vec<u64> = (after..590).filter(|number| !received.contains(number)).collect();
            assert!(missing.is_empty(), "{ccid:?} {scheduler:?}: {missing:?}");
        }
    }
}

#[test]
fn a_path_that_answers_again_is_used_again() {
    let mut world = World::joined(&lines(), config(), MultipathConfig::default());
    world.stream(End::Client, 0, 50, Duration::from_millis(10));
    world.lines[0].is_dead = true;
    world.stream(End::Client, 50, 300, Duration::from_millis(10));
    assert!(world.client_events.contains(&MultipathEvent::PathFailed(SubflowId(0))));
    let probes =
        world.sent_by(End::Client, 0).filter(|it| it.packet.packet_type() == PacketType::Sync).count();
    assert!((2..=8).contains(&probes), "{probes} probes in three seconds");
    world.lines[0].is_dead = false;
    world.forget();
    let repaired = world.now;
    world.stream(End::Client, 350, 600, Duration::from_millis(10));
    assert!(world.client_events.contains(&MultipathEvent::PathRecovered(SubflowId(0))));
    let back = data_after(&world, 0, repaired);
    assert!(back[0] - repaired <= Duration::from_millis(4_100), "{}", back[0] - repaired);
    assert!(back.len() > 150, "{}", back.len());
}

#[test]
fn without_another_path_data_wait_for_the_one_that_failed() {
    let mut world = World::connected(&lines()[..1], config(), MultipathConfig::default());
    world.stream(End::Client, 0, 50, Duration::from_millis(10));
    world.lines[0].is_dead = true;
    world.stream(End::Client, 50, 20, Duration::from_millis(100));
    world.lines[0].is_dead = false;
    world.forget();
    world.run_for(Duration::from_secs(10));
    world.send(End::Client, 100);
    world.run_for(Duration::from_secs(5));
    assert!(world.received(End::Server).contains(&100));
    assert!(world.client_events.contains(&MultipathEvent::PathRecovered(SubflowId(0))));
}

#[test]
fn break_before_make_keeps_the_connection() {
    let mut world = World::connected(&lines(), ordered(100), MultipathConfig::default());
    world.stream(End::Client, 0, 50, Duration::from_millis(10));
    world.lines[0].is_dead = true;
    // The interface has disappeared: two seconds without any path.
    assert!(world.command(End::Client, |connection, now| connection.abandon_subflow(now, SubflowId(0))));
    world.stream(End::Client, 50, 20, Duration::from_millis(100));
    assert!(world.client.join(world.now, world.at_client, path(1), None).is_ok());
    world.run_for(Duration::from_millis(500));
    // The server does not know that the address is gone.
    let gone = path(0).local.ip();
    assert!(world.command(End::Client, |connection, now| connection.remove_address(now, gone)));
    world.stream(End::Client, 100, 50, Duration::from_millis(10));
    world.stream(End::Server, 500, 50, Duration::from_millis(10));
    world.run_for(Duration::from_millis(500));
    let received = world.received(End::Server);
    assert_eq!(received[received.len() - 50..], (100..150).collect::<Vec<_>>());
    assert!(received.windows(2).all(|pair| pair[0] < pair[1]), "in order");
    // Data queued in the outage was sent afterwards.
    assert!((50..70).all(|number| received.contains(&number)), "{received:?}");
    assert_eq!(world.received(End::Client), (500..550).collect::<Vec<_>>());
}

#[test]
fn a_connection_without_subflows_ends_after_a_while() {
    let settings = MultipathConfig::default().orphan_timeout(Duration::from_secs(5));
    let mut world = World::connected(&lines(), config(), settings);
    world.command(End::Client, |connection, now| connection.abandon_subflow(now, SubflowId(0)));
    world.run_for(Duration::from_secs(4));
    assert!(!world.client_events.iter().any(|event| matches!(event, MultipathEvent::Closed(_))));
    world.run_for(Duration::from_secs(2));
    assert!(matches!(
        world.client_events[..],
        [.., MultipathEvent::Closed(crate::ConnectionError::TimedOut), MultipathEvent::Drained]
    ));
    assert!(world.client.is_empty());
}

#[test]
fn the_largest_datagram_is_the_least_of_all_subflows() {
    let mut world = World::joined(&lines(), config(), MultipathConfig::default());
    assert_eq!(world.connection(End::Client).max_datagram(), 1_400);
    world.command(End::Client, |connection, now| {
        connection.on_path(now, SubflowId(1), |path| path.set_max_datagram(now, 700))
    });
    assert_eq!(world.connection(End::Client).max_datagram(), 700);
    let too_large = crate::Datagram::new(bytes::Bytes::from(vec![0; 701]));
    let refused = world.command(End::Client, |connection, now| connection.send(now, too_large));
    assert_eq!(refused, Err(crate::SendError::TooLarge { size: 701, limit: 700 }));
    // The limit is the established subflows'.
    world.command(End::Client, |connection, now| connection.close_subflow(now, SubflowId(1)));
    world.run_for(Duration::from_millis(500));
    assert_eq!(world.connection(End::Client).max_datagram(), 1_400);
}

#[test]
fn make_before_break_loses_nothing() {
    let settings = MultipathConfig::default().scheduler(SchedulerKind::Handover);
    let mut world = World::joined(&lines(), ordered(100), settings);
    world.stream(End::Client, 0, 50, Duration::from_millis(10));
    // The old path is left in order before it disappears.
    let priority = PathPriority::new(5);
    world.command(End::Client, |connection, now| connection.set_priority(now, SubflowId(1), priority));
    world.stream(End::Client, 50, 10, Duration::from_millis(10));
    world.command(End::Client, |connection, now| connection.close_subflow(now, SubflowId(0)));
    world.stream(End::Client, 60, 10, Duration::from_millis(10));
    world.lines[0].is_dead = true;
    world.stream(End::Client, 70, 50, Duration::from_millis(10));
    world.run_for(Duration::from_millis(500));
    assert_eq!(world.received(End::Server), (0..120).collect::<Vec<_>>());
}

#[test]
fn an_address_that_was_lost_and_returns_is_not_removed_by_the_old_withdrawal() {
    let mut world = World::connected(&lines(), ordered(100), MultipathConfig::default());
    world.stream(End::Client, 0, 50, Duration::from_millis(10));
    let (lost, first) = (path(0).local.ip(), SubflowId(0));
    // The withdrawal of the only address cannot be sent before the address is back.
    world.lines[0].is_dead = true;
    assert!(world.command(End::Client, |connection, now| connection.lose_address(now, lost)));
    assert!(!world.command(End::Client, |connection, now| connection.lose_address(now, lost)));
    world.run_for(Duration::from_secs(2));
    world.lines[0].is_dead = false;
    world.forget();
    let second = world.join(0);
    world.run_for(Duration::from_secs(2));
    let server: Vec<_> = world.connection(End::Server).subflows().map(|(id, _)| id).collect();
    assert_eq!(server.len(), 1, "the old subflow is closed, the new one is not: {server:?}");
    assert_ne!((server[0], second), (first, first));
    world.stream(End::Client, 100, 50, Duration::from_millis(10));
    world.stream(End::Server, 200, 50, Duration::from_millis(10));
    world.run_for(Duration::from_millis(500));
    assert_eq!(world.received(End::Server), (100..150).collect::<Vec<_>>());
    assert_eq!(world.received(End::Client), (200..250).collect::<Vec<_>>());
}

#[test]
fn a_datagram_that_returns_from_a_failed_path_too_late_is_dropped() {
    let mut world = World::connected(&lines()[..1], config(), MultipathConfig::default());
    world.stream(End::Client, 0, 20, Duration::from_millis(10));
    world.command(End::Client, |connection, now| connection.abandon_subflow(now, SubflowId(0)));
    let soon = world.now + Duration::from_millis(300);
    world.command(End::Client, |connection, now| {
        connection.send(now, super::world::datagram(20).with_deadline(soon)).expect("room");
    });
    world.run_for(Duration::from_secs(1));
    let dropped = |event: &MultipathEvent| {
        matches!(event, MultipathEvent::DatagramDropped { reason: crate::DropReason::Expired, .. })
    };
    assert_eq!(world.client_events.iter().filter(|event| dropped(event)).count(), 1);
    let statistics = world.connection(End::Client).snapshot().statistics;
    assert_eq!((statistics.datagrams_sent, statistics.datagrams_dropped), (20, 1));
}

#[test]
fn packets_that_do_not_arrive_are_counted_once_whichever_path_they_took() {
    let settings = MultipathConfig::default().scheduler(SchedulerKind::Redundant);
    let mut world = World::joined(&lines(), ordered(100), settings);
    world.stream(End::Client, 0, 100, Duration::from_millis(10));
    // One path fails: its copies are lost, the datagrams are not.
    world.lines[0].is_dead = true;
    world.stream(End::Client, 100, 100, Duration::from_millis(10));
    world.run_for(Duration::from_millis(500));
    let sent = world.connection(End::Client).snapshot().statistics;
    let received = world.connection(End::Server).snapshot().statistics;
    assert_eq!((sent.datagrams_sent, received.datagrams_received, received.missing), (200, 200, 0));
    assert_eq!(sent.bytes_sent, received.bytes_received);
    world.lines[1].is_dead = true;
    world.stream(End::Client, 200, 5, Duration::from_millis(10));
    world.lines = lines().to_vec();
    world.stream(End::Client, 205, 100, Duration::from_millis(50));
    world.run_for(Duration::from_millis(500));
    let (sent, received) =
        (world.connection(End::Client).snapshot(), world.connection(End::Server).snapshot());
    let lost = sent.statistics.datagrams_sent - received.statistics.datagrams_received;
    assert!(lost > 0 && lost == received.statistics.missing, "{lost} {:?}", received.statistics);
}

#[test]
fn packets_that_were_overtaken_on_another_path_are_not_missing() {
    let settings = MultipathConfig::default().scheduler(SchedulerKind::Weighted);
    let lines = [Line::of(10), Line::of(80)];
    let mut world = World::joined(&lines, ordered(200), settings);
    world.stream(End::Client, 0, 100, Duration::from_millis(10));
    // Datagrams on the slower path are under way.
    let missing = |world: &World| world.connection(End::Server).snapshot().statistics.missing;
    assert!((2..=6).contains(&missing(&world)), "{}", missing(&world));
    world.run_for(Duration::from_millis(500));
    assert_eq!((missing(&world), world.received(End::Server).len()), (0, 100));
}
