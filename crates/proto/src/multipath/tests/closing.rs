//! The ends of subflows and of connections.

use whimbrel_units::Duration;
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{DccpOption, Kind, PacketType, ResetCode};

use super::world::{End, Line, Sent, World, config, options, ordered};
use crate::config::TimerConfig;
use crate::multipath::{MultipathConfig, MultipathEvent, PathPriority, SchedulerKind, SubflowId};
use crate::{Config, ConnectionError};

fn two(config: Config) -> World {
    World::joined(&[Line::of(20), Line::of(35)], config, MultipathConfig::default())
}

fn closed(world: &World, end: End) -> Vec<ConnectionError> {
    let of = |event: &MultipathEvent| match event {
        MultipathEvent::Closed(error) => Some(*error),
        _ => None,
    };
    world.events(end).iter().filter_map(of).collect()
}

/// The types of the packets of an end on a line that have an option with that MP_OPT.
fn carriers(world: &World, end: End, line: usize, mp_opt: u8) -> Vec<PacketType> {
    let has = |packet| options(packet).iter().any(|option| option.mp_opt() == mp_opt);
    world.sent_by(end, line).filter(|sent| has(&sent.packet)).map(|sent| sent.packet.packet_type()).collect()
}

#[test]
fn a_client_closes_all_subflows_with_the_servers_key() {
    let mut world = two(config());
    world.send(End::Client, 5);
    world.command(End::Client, |connection, now| connection.close(now));
    world.run_for(Duration::from_millis(500));
    // Data queued before still leaves.
    assert_eq!(world.received(End::Server), [5]);
    for line in 0..2 {
        assert_eq!(carriers(&world, End::Client, line, 10), [PacketType::Close]);
        let reset = world.sent_by(End::Server, line).last().expect("a Reset");
        assert!(matches!(reset.packet.kind, Kind::Reset { reset, .. } if reset.code == ResetCode::Closed));
    }
    assert_eq!(closed(&world, End::Client), [ConnectionError::ClosedLocally]);
    assert_eq!(closed(&world, End::Server), [ConnectionError::ClosedByPeer]);
    // The server has nothing left, the client waits out TIMEWAIT, in which only a deadline is kept.
    assert!(world.server.is_empty() && world.client.connection(world.at_client).is_none());
    assert_eq!((world.client.len(), world.client.snapshot().time_wait), (1, 1));
    world.run_for(Duration::from_secs(500));
    assert!(world.client.is_empty());
    assert_eq!(world.client_events.last(), Some(&MultipathEvent::Drained));
}

#[test]
fn a_close_does_not_overtake_data_on_a_slower_path() {
    let lines = [Line::of(10), Line::of(120)];
    let settings = MultipathConfig::default().scheduler(SchedulerKind::Weighted);
    for from in [End::Client, End::Server] {
        for config in [config(), ordered(2_000)] {
            let mut world = World::joined(&lines, config, settings.clone());
            let other = if from == End::Client { End::Server } else { End::Client };
            (1..=20).for_each(|number| world.send(from, number));
            world.command(from, |connection, now| connection.close(now));
            world.run_for(Duration::from_secs(5));
            let with_data =
                |line| world.sent_by(from, line).filter(|sent| !sent.packet.payload.is_empty()).count();
            assert!(with_data(0) >= 5 && with_data(1) >= 1, "{} and {}", with_data(0), with_data(1));
            let mut received = world.received(other);
            received.sort_unstable();
            assert_eq!(received, (1..=20).collect::<Vec<_>>(), "{from:?}");
            assert_eq!(closed(&world, from), [ConnectionError::ClosedLocally]);
            assert_eq!(closed(&world, other), [ConnectionError::ClosedByPeer]);
        }
    }
}

/// Two ends with a second subflow that the server knows to be complete, and the client does not: its
/// confirmations were lost.
fn with_an_unconfirmed_subflow() -> World {
    let mut world = World::connected(&[Line::of(120), Line::of(10)], config(), MultipathConfig::default());
    world.script = Box::new(|sent: Sent| {
        let is_confirmation =
            (sent.from, sent.line, sent.packet.packet_type()) == (End::Server, 1, PacketType::Ack);
        (!is_confirmation).then_some(sent.packet)
    });
    let subflow = world.join(1);
    world.run_for(Duration::from_secs(5));
    let up = MultipathEvent::SubflowUp(subflow);
    assert!(world.events(End::Server).contains(&up) && !world.events(End::Client).contains(&up));
    world
}

/// The Close of a subflow of which only the peer knows that it is complete is the end of the connection for
/// the peer, too.
#[test]
fn a_close_on_a_subflow_that_is_not_confirmed_does_not_overtake_data() {
    let mut world = with_an_unconfirmed_subflow();
    (1..=3).for_each(|number| world.send(End::Client, number));
    world.run_for(Duration::from_millis(20));
    world.command(End::Client, |connection, now| connection.close(now));
    world.run_for(Duration::from_secs(5));
    assert_eq!(world.received(End::Server), [1, 2, 3]);
    assert_eq!(closed(&world, End::Client), [ConnectionError::ClosedLocally]);
    assert_eq!(closed(&world, End::Server), [ConnectionError::ClosedByPeer]);
}

/// Data under way on a subflow that the peer uses arrive, although all confirmations of its join were lost.
#[test]
fn a_close_does_not_abort_a_subflow_on_which_the_peer_sends() {
    let mut world = with_an_unconfirmed_subflow();
    world.send(End::Server, 1);
    world.run_for(Duration::from_millis(1));
    assert!(world.sent_by(End::Server, 1).any(|sent| !sent.packet.payload.is_empty()));
    world.command(End::Client, |connection, now| connection.close(now));
    world.run_for(Duration::from_secs(5));
    assert_eq!(world.received(End::Client), [1]);
    assert_eq!(closed(&world, End::Client), [ConnectionError::ClosedLocally]);
}

/// Closing takes up to four MSL, and TIMEWAIT two more (RFC 4340, Section 8.3).
#[test]
fn a_close_that_is_answered_late_holds_the_connection_for_six_msl_at_most() {
    let mut world = two(config());
    let (start, msl) = (world.now, TimerConfig::rfc4340().msl);
    // The Close of the last minute arrives: it is repeated every 64 seconds.
    let heals_at = start + (msl * 4 - Duration::from_secs(65));
    world.script = Box::new(move |sent: Sent| (sent.at >= heals_at).then_some(sent.packet));
    world.command(End::Client, |connection, now| connection.close(now));
    world.run_for(msl * 4);
    assert_eq!(closed(&world, End::Client), [ConnectionError::ClosedLocally]);
    let answer = world.sent.iter().find(|sent| sent.from == End::Server && sent.at >= heals_at);
    let answered_at = answer.expect("a Reset").at;
    world.run_for(answered_at + msl * 2 - world.now);
    assert_eq!(world.client.len(), 1);
    world.run_for(start + (msl * 6 + Duration::from_secs(1)) - world.now);
    assert!(world.client.is_empty() && world.server.is_empty());
}

#[test]
fn data_on_a_path_that_has_died_delay_a_close_by_its_timeout_at_most() {
    let settings = MultipathConfig::default().scheduler(SchedulerKind::Weighted);
    let mut world = World::joined(&[Line::of(10), Line::of(30)], config(), settings);
    (1..=20).for_each(|number| world.send(End::Client, number));
    world.run_for(Duration::from_millis(5));
    world.lines[1].is_dead = true;
    let start = world.now;
    world.command(End::Client, |connection, now| connection.close(now));
    world.run_for(Duration::from_secs(5));
    let close = world.sent_by(End::Client, 0).find(|sent| sent.packet.packet_type() == PacketType::Close);
    let waited = close.expect("a Close").at - start;
    // RFC 6298: a second before the first sample, and 200 ms are the lower bound of the configuration.
    assert!(waited < Duration::from_millis(1_100), "{waited}");
    assert_eq!(closed(&world, End::Server), [ConnectionError::ClosedByPeer]);
}

#[test]
fn a_server_asks_on_all_subflows_with_the_clients_key() {
    let mut config = config();
    config.server_sends_close_request = true;
    let mut world = two(config);
    world.command(End::Server, |connection, now| connection.close(now));
    world.run_for(Duration::from_millis(500));
    for line in 0..2 {
        assert!(carriers(&world, End::Server, line, 10).contains(&PacketType::CloseReq));
        assert!(carriers(&world, End::Client, line, 10).contains(&PacketType::Close));
    }
    // Section 3.2.11: the keys differ.
    let key = |end| {
        world.sent_by(end, 0).flat_map(|sent| options(&sent.packet)).find_map(|option| match option {
            MultipathOption::Close(key) => Some(key),
            _ => None,
        })
    };
    assert_ne!(key(End::Client), key(End::Server));
    assert_eq!(closed(&world, End::Client), [ConnectionError::ClosedByPeer]);
    assert_eq!(closed(&world, End::Server), [ConnectionError::ClosedLocally]);
}

#[test]
fn the_connection_is_closed_although_one_path_is_dead() {
    for from in [End::Client, End::Server] {
        let mut world = two(config());
        world.lines[0].is_dead = true;
        world.command(from, |connection, now| connection.close(now));
        world.run_for(Duration::from_secs(10));
        assert_eq!(closed(&world, End::Client).len(), 1, "{from:?}");
        assert_eq!(closed(&world, End::Server).len(), 1, "{from:?}");
        world.run_for(Duration::from_secs(600));
        assert!(world.client.is_empty() && world.server.is_empty(), "{from:?}");
    }
}

#[test]
fn a_close_of_one_subflow_leaves_the_others() {
    for end in [End::Client, End::Server] {
        let mut world = two(config());
        assert!(world.command(end, |connection, now| connection.close_subflow(now, SubflowId(0))));
        world.run_for(Duration::from_millis(500));
        assert!(carriers(&world, End::Client, 0, 10).is_empty());
        let down = |event: &MultipathEvent| {
            matches!(event, MultipathEvent::SubflowDown { subflow: SubflowId(0), .. })
        };
        for end in [End::Client, End::Server] {
            assert!(world.events(end).iter().any(down), "{end:?}");
            assert!(closed(&world, end).is_empty());
            world.send(end, 3);
        }
        world.run_for(Duration::from_millis(200));
        assert_eq!((world.received(End::Client), world.received(End::Server)), (vec![3], vec![3]));
        // The last one ends the connection.
        world.command(end, |connection, now| connection.close_subflow(now, SubflowId(1)));
        world.run_for(Duration::from_millis(500));
        let other = if end == End::Client { End::Server } else { End::Client };
        assert_eq!(closed(&world, other), [ConnectionError::ClosedByPeer]);
    }
}

#[test]
fn a_fast_close_resets_all_subflows_and_is_answered_on_all() {
    for from in [End::Client, End::Server] {
        let mut world = two(config());
        let other = if from == End::Client { End::Server } else { End::Client };
        world.command(from, |connection, now| connection.abort(now));
        world.run_for(Duration::from_millis(500));
        for line in 0..2 {
            assert_eq!(carriers(&world, from, line, 2), [PacketType::Reset]);
            for end in [from, other] {
                let resets: Vec<_> = world
                    .sent_by(end, line)
                    .filter_map(|sent| match sent.packet.kind {
                        Kind::Reset { reset, .. } => Some(reset.code),
                        _ => None,
                    })
                    .collect();
                assert_eq!(resets, [ResetCode::AbruptMultipathTermination], "{end:?} on line {line}");
            }
            // The answer proves nothing, and needs no key.
            assert!(carriers(&world, other, line, 2).is_empty());
        }
        assert_eq!(closed(&world, from), [ConnectionError::AbortedLocally]);
        let [ConnectionError::Reset(reset)] = closed(&world, other)[..] else { panic!("a Reset") };
        assert_eq!(reset.code, ResetCode::AbruptMultipathTermination);
        world.run_for(Duration::from_secs(10));
        assert!(world.client.is_empty() && world.server.is_empty());
    }
}

#[test]
fn a_wrong_key_ends_its_subflow_only() {
    for (mp_opt, abort) in [(2, true), (10, false)] {
        let mut world = two(config());
        world.script = Box::new(move |mut sent| {
            for option in &mut sent.packet.options {
                if let DccpOption::Multipath(data) = option
                    && data[0] == mp_opt
                {
                    data[1] ^= 1;
                }
            }
            // The other path is not attacked.
            (sent.line == 0 || sent.from == End::Server).then_some(sent.packet)
        });
        world.command(
            End::Client,
            |connection, now| {
                if abort { connection.abort(now) } else { connection.close(now) }
            },
        );
        world.run_for(Duration::from_millis(200));
        assert!(closed(&world, End::Server).is_empty(), "MP_OPT {mp_opt}");
        assert_eq!(world.connection(End::Server).subflows().count(), 1);
    }
}

#[test]
fn joins_are_ignored_while_the_connection_closes() {
    let mut world = World::connected(&[Line::of(20), Line::of(35)], config(), MultipathConfig::default());
    world.join(1);
    // The Request is under way when the server closes.
    world.run_for(Duration::from_millis(1));
    world.command(End::Server, |connection, now| connection.close(now));
    world.run_for(Duration::from_millis(100));
    assert_eq!(world.sent_by(End::Server, 1).count(), 0);
}

#[test]
fn an_unanswered_first_request_gives_up() {
    let mut world = World::new(&[Line::of(20)], config(), config(), Default::default());
    world.lines[0].is_dead = true;
    world.run_for(Duration::from_secs(1_000));
    assert!(matches!(
        world.client_events[..],
        [.., MultipathEvent::Closed(ConnectionError::TimedOut), MultipathEvent::Drained]
    ));
    assert!(world.client.is_empty());
}

#[test]
fn a_signal_that_waits_does_not_keep_an_ended_connection_awake() {
    let mut world = two(config());
    // The other path dies before the client's signal on it, and before its Close.
    world.lines[1].is_dead = true;
    world.command(End::Client, |connection, now| {
        assert!(connection.set_priority(now, SubflowId(1), PathPriority::new(2)));
    });
    world.command(End::Server, |connection, now| {
        assert!(connection.set_priority(now, SubflowId(1), PathPriority::new(1)));
    });
    world.run_for(Duration::from_millis(200));
    world.command(End::Client, |connection, now| connection.close(now));
    // The world checks that each drain ends, and that the next timeout lies ahead.
    world.run_for(Duration::from_secs(600));
    assert!(world.client.is_empty() && world.server.is_empty());
}
