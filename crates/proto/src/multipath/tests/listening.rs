//! An application that no longer takes datagrams, or cannot keep up, or discards some (RFC 4340, Sections
//! 11.6 and 11.7).

use whimbrel_units::Duration;
use whimbrel_wire::option::data_dropped::DropCode;

use super::world::{End, Line, World, config, datagram, ordered};
use crate::multipath::{MultipathConfig, MultipathEvent, SubflowId};
use crate::{DropReason, OverflowPolicy, SendError};

fn lines() -> [Line; 2] {
    [Line::of(20), Line::of(40)]
}

/// Number of datagrams that an end has dropped because its peer no longer listens.
fn given_up(world: &World, end: End) -> usize {
    let is_meant = |event: &&MultipathEvent| {
        matches!(event, MultipathEvent::DatagramDropped { reason: DropReason::PeerNotListening, .. })
    };
    world.events(end).iter().filter(is_meant).count()
}

/// `true` if the peer has notified an end on that subflow.
fn is_notified(world: &World, end: End, subflow: u32) -> bool {
    let subflow = world.connection(end).subflow(SubflowId(subflow));
    !subflow.expect("it exists").is_peer_listening()
}

#[test]
fn the_sender_gives_up_and_the_other_direction_goes_on() {
    for mut config in [config(), ordered(100)] {
        config.send_queue.max_datagrams = 1000;
        let mut world = World::joined(&lines(), config, MultipathConfig::default());
        world.stream(End::Client, 0, 50, Duration::from_millis(10));
        world.run_for(Duration::from_millis(300));
        assert_eq!(world.received(End::Server).len(), 50);
        world.command(End::Server, |connection, now| connection.stop_receiving(now));
        // More than the windows permit at once.
        (50..250).for_each(|number| world.send(End::Client, number));
        world.run_for(Duration::from_millis(300));
        assert_eq!(world.received(End::Server).len(), 50);
        assert!(is_notified(&world, End::Client, 0));
        let waiting = world.connection(End::Client).snapshot().queued_datagrams;
        let sent = world.connection(End::Client).snapshot().statistics.datagrams_sent;
        let dropped = given_up(&world, End::Client);
        assert_eq!((waiting, sent as usize + dropped), (0, 250));
        assert!(dropped > 50, "{dropped}");
        let refused = world.command(End::Client, |connection, now| connection.send(now, datagram(1)));
        assert_eq!(refused, Err(SendError::PeerNotListening));
        world.stream(End::Server, 0, 20, Duration::from_millis(10));
        world.run_for(Duration::from_millis(300));
        assert_eq!(world.received(End::Client).len(), 20);
        world.command(End::Client, |connection, now| connection.close(now));
        world.run_for(Duration::from_secs(1));
        for end in [End::Client, End::Server] {
            assert!(
                world.events(end).iter().any(|event| matches!(event, MultipathEvent::Closed(_))),
                "{end:?}"
            );
        }
    }
}

#[test]
fn a_subflow_that_joins_later_delivers_nothing_either() {
    let mut world = World::connected(&lines(), config(), MultipathConfig::default());
    world.command(End::Server, |connection, now| connection.stop_receiving(now));
    world.join(1);
    world.run_for(Duration::from_millis(300));
    // The first datagrams take one path; the other one is the only one left.
    world.lines[0].is_dead = true;
    for number in 0..20 {
        world.command(End::Client, |connection, now| connection.send(now, datagram(number)).is_ok());
        world.run_for(Duration::from_millis(100));
    }
    assert_eq!(world.received(End::Server), Vec::<u64>::new());
    assert!(is_notified(&world, End::Client, 1));
    let refused = world.command(End::Client, |connection, now| connection.send(now, datagram(1)));
    assert_eq!(refused, Err(SendError::PeerNotListening));
}

#[test]
fn a_send_that_waits_for_room_is_woken() {
    let mut config = config();
    config.send_queue.max_datagrams = 4;
    config.send_queue.overflow = OverflowPolicy::Refuse;
    let mut world = World::joined(&lines(), config, MultipathConfig::default());
    world.command(End::Server, |connection, now| connection.stop_receiving(now));
    world.forget();
    while world.command(End::Client, |connection, now| connection.send(now, datagram(1)).is_ok()) {}
    world.run_for(Duration::from_millis(5));
    while world.command(End::Client, |connection, now| connection.send(now, datagram(1)).is_ok()) {}
    world.run_for(Duration::from_millis(300));
    assert!(world.events(End::Client).contains(&MultipathEvent::SendReady));
    let refused = world.command(End::Client, |connection, now| connection.make_room(now, 8));
    assert_eq!(refused, Err(SendError::PeerNotListening));
}

#[test]
fn a_slow_receiver_is_reported_on_every_path_also_on_one_that_joins_later() {
    let mut world = World::connected(&lines(), config(), MultipathConfig::default());
    world.command(End::Server, |connection, _| connection.set_slow_receiver(true));
    world.join(1);
    world.stream(End::Client, 0, 50, Duration::from_millis(10));
    let slow_at = |world: &World, subflow: u32| {
        let connection = world.connection(End::Client);
        connection.subflow(SubflowId(subflow)).expect("it exists").snapshot().peer_slow_at
    };
    assert!(slow_at(&world, 0).is_some());
    world.lines[0].is_dead = true;
    world.stream(End::Client, 50, 100, Duration::from_millis(10));
    assert!(slow_at(&world, 1).is_some());
}

#[test]
fn a_datagram_that_the_application_discards_is_reported_on_its_path() {
    let mut world = World::joined(&lines(), config(), MultipathConfig::default());
    world.stream(End::Client, 0, 10, Duration::from_millis(10));
    let arrived = world.events(End::Server).iter().find_map(|event| match event {
        MultipathEvent::Datagram { subflow, packet, .. } => Some((*subflow, *packet)),
        _ => None,
    });
    let (subflow, packet) = arrived.expect("a datagram");
    let discard = |world: &mut World, subflow| {
        world.command(End::Server, |connection, _| {
            connection.datagram_discarded(subflow, packet, DropCode::Corrupt)
        })
    };
    assert!(discard(&mut world, subflow));
    assert!(!discard(&mut world, subflow), "once");
    assert!(!discard(&mut world, SubflowId(9)), "no such subflow");
    world.stream(End::Client, 10, 10, Duration::from_millis(10));
    let connection = world.connection(End::Client).subflow(subflow).expect("it exists");
    assert_eq!(connection.snapshot().statistics.datagrams_lost_at_peer, 1);
}
