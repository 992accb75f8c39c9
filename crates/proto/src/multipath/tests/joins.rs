//! Joining subflows.

use whimbrel_units::Duration;
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{DccpOption, Kind, Packet, PacketType, ResetCode};

use super::world::{End, Line, PORT, World, config, options, ordered, path, reversed, types};
use crate::Ccid;
use crate::multipath::{Dialect, JoinError, MultipathConfig, MultipathEvent, SubflowId, SubflowStage};

const LINES: [Line; 2] = [
    Line { delay: Duration::from_millis(20), is_dead: false, loss: 0, duplication: 0, reordering: 0 },
    Line { delay: Duration::from_millis(35), is_dead: false, loss: 0, duplication: 0, reordering: 0 },
];

/// Changes the Multipath options of packets of one type on line 1.
fn tamper(
    from: End,
    packet_type: PacketType,
    change: impl Fn(&mut Packet) + 'static,
) -> super::world::ScriptOf {
    Box::new(move |mut sent| {
        if sent.from == from && sent.line == 1 && sent.packet.packet_type() == packet_type {
            change(&mut sent.packet);
        }
        Some(sent.packet)
    })
}

fn flip(mp_opt: u8) -> impl Fn(&mut Packet) {
    move |packet| {
        for option in &mut packet.options {
            if let DccpOption::Multipath(data) = option
                && data[0] == mp_opt
            {
                let last = data.len() - 1;
                data[last] ^= 1;
            }
        }
    }
}

fn reset_of(world: &World, end: End) -> Option<ResetCode> {
    world.sent_by(end, 1).find_map(|sent| match sent.packet.kind {
        Kind::Reset { reset, .. } => Some(reset.code),
        _ => None,
    })
}

#[test]
fn a_subflow_joins_with_a_nonce_and_a_code_of_each_host() {
    let mut world = World::connected(&LINES, config(), MultipathConfig::default());
    let id = world.join(1);
    world.run_for(Duration::from_millis(500));
    let line: Vec<_> = world.sent.iter().filter(|sent| sent.line == 1).collect();
    let expected = [PacketType::Request, PacketType::Response, PacketType::Ack, PacketType::Ack];
    assert_eq!(types(line.iter().copied())[..4], expected);
    let [MultipathOption::Join(request)] = options(&line[0].packet)[..] else { panic!("MP_JOIN") };
    let [MultipathOption::Join(response), MultipathOption::Hmac(_)] = options(&line[1].packet)[..] else {
        panic!("MP_JOIN and MP_HMAC")
    };
    assert!(matches!(options(&line[2].packet)[..], [MultipathOption::Hmac(_)]));
    assert!(options(&line[3].packet).is_empty());
    // Each names the identifier of the other.
    assert_eq!(request.connection, world.connection(End::Server).connection_id());
    assert_eq!(response.connection, world.connection(End::Client).connection_id());
    // A further address of the client, the first one of the server.
    assert_eq!((request.address_id, response.address_id), (1, 0));
    assert_eq!(world.client_events, [MultipathEvent::SubflowUp(id)]);
    assert_eq!(world.server_events, [MultipathEvent::SubflowUp(SubflowId(1))]);
    let snapshot = world.connection(End::Server).snapshot();
    assert_eq!(snapshot.subflows[1].address_ids, [0, 1]);
}

#[test]
fn data_take_both_subflows_and_arrive_in_order() {
    for dialect in [Dialect::Rfc9897, Dialect::Draft2024] {
        let settings =
            MultipathConfig::default().dialect(dialect).scheduler(crate::multipath::SchedulerKind::Weighted);
        let mut world = World::joined(&LINES, ordered(200), settings);
        for end in [End::Client, End::Server] {
            world.stream(end, 1, 200, Duration::from_millis(5));
        }
        world.run_for(Duration::from_millis(500));
        for end in [End::Client, End::Server] {
            assert_eq!(world.received(end), (1..=200).collect::<Vec<_>>(), "{dialect:?}");
            let data = |line| world.sent_by(end, line).filter(|it| !it.packet.payload.is_empty()).count();
            assert!(data(0) >= 90 && data(1) >= 90, "{} {}", data(0), data(1));
        }
        // Section 3.2.5: all data has a number, and the numbers are consecutive.
        let data = world.sent.iter().filter(|it| it.from == End::Client && !it.packet.payload.is_empty());
        let numbers: Vec<u64> = data
            .map(|sent| match options(&sent.packet)[..] {
                [MultipathOption::Sequence(sequence), ..] => sequence.value(),
                ref other => panic!("{other:?}"),
            })
            .collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
        assert!(numbers[0] > 1 << 20, "a random start");
    }
}

#[test]
fn the_dialects_do_not_accept_each_others_codes() {
    let draft = MultipathConfig::default().dialect(Dialect::Draft2024);
    let mut world = World::new(&LINES, config(), config(), [draft, MultipathConfig::default()]);
    world.run_for(Duration::from_millis(500));
    assert!(world.connection(End::Client).is_multipath());
    let id = world.join(1);
    world.run_for(Duration::from_millis(500));
    assert_eq!(reset_of(&world, End::Client), Some(ResetCode::OptionError));
    let down = |event: &MultipathEvent| matches!(event, MultipathEvent::SubflowDown { subflow, .. } if *subflow == id);
    assert!(world.client_events.iter().any(down));
}

#[test]
fn a_wrong_code_closes_the_subflow_and_nothing_else() {
    let cases =
        [(End::Server, PacketType::Response, End::Client), (End::Client, PacketType::Ack, End::Server)];
    for (from, packet_type, refuses) in cases {
        let mut world = World::connected(&LINES, config(), MultipathConfig::default());
        world.script = tamper(from, packet_type, flip(5));
        world.join(1);
        world.run_for(Duration::from_millis(500));
        assert_eq!(reset_of(&world, refuses), Some(ResetCode::OptionError), "{packet_type:?}");
        let ups = |event: &MultipathEvent| matches!(event, MultipathEvent::SubflowUp(_));
        assert!(!world.server_events.iter().any(ups));
        world.send(End::Client, 1);
        world.send(End::Server, 2);
        world.run_for(Duration::from_millis(200));
        assert_eq!((world.received(End::Server), world.received(End::Client)), (vec![1], vec![2]));
        assert_eq!(world.connection(End::Client).subflows().count(), 1);
    }
}

#[test]
fn a_code_or_a_join_that_is_missing_closes_the_subflow() {
    let without = |mp_opt: u8| {
        move |packet: &mut Packet| {
            packet
                .options
                .retain(|option| !matches!(option, DccpOption::Multipath(data) if data[0] == mp_opt));
        }
    };
    for (from, packet_type, mp_opt) in [
        (End::Server, PacketType::Response, 5),
        (End::Server, PacketType::Response, 1),
        (End::Client, PacketType::Ack, 5),
    ] {
        let mut world = World::connected(&LINES, config(), MultipathConfig::default());
        world.script = tamper(from, packet_type, without(mp_opt));
        world.join(1);
        world.run_for(Duration::from_millis(500));
        let refuses = if from == End::Client { End::Server } else { End::Client };
        assert_eq!(reset_of(&world, refuses), Some(ResetCode::OptionError), "{packet_type:?} {mp_opt}");
        assert_eq!(world.connection(End::Client).subflows().count(), 1);
    }
}

#[test]
fn an_unknown_connection_or_another_version_is_refused_with_a_reset() {
    let identifier = |packet: &mut Packet| {
        for option in &mut packet.options {
            if let DccpOption::Multipath(data) = option {
                data[2] ^= 1;
            }
        }
    };
    let version = |packet: &mut Packet| {
        for option in &mut packet.options {
            if let DccpOption::Feature(feature) = option
                && feature.feature == 10
            {
                feature.values = [0x10].into_iter().collect();
            }
        }
    };
    let changes: [fn(&mut Packet); 2] = [identifier, version];
    for change in changes {
        let mut world = World::connected(&LINES, config(), MultipathConfig::default());
        world.script = tamper(End::Client, PacketType::Request, change);
        world.join(1);
        world.run_for(Duration::from_millis(500));
        assert_eq!(reset_of(&world, End::Server), Some(ResetCode::OptionError));
        assert_eq!(world.connection(End::Server).subflows().count(), 1);
        // A Reset is no larger than the Request.
        let reset = world.sent_by(End::Server, 1).next().expect("a Reset").packet.encoded_len();
        let request = world.sent_by(End::Client, 1).next().expect("a Request").packet.encoded_len();
        assert!(reset <= request, "{reset} > {request}");
    }
}

#[test]
fn the_answer_to_a_forged_join_is_at_most_three_times_as_long() {
    let mut world = World::connected(&LINES, config(), MultipathConfig::default());
    world.join(1);
    // Nothing arrives at the client: the address may be forged.
    world.script = Box::new(|sent| {
        (sent.from == End::Client && sent.packet.packet_type() == PacketType::Request).then_some(sent.packet)
    });
    world.run_for(Duration::from_secs(20));
    let bytes = |end| world.sent_by(end, 1).map(|sent| sent.packet.encoded_len()).sum::<usize>();
    assert!(bytes(End::Server) > 0 && bytes(End::Server) <= 3 * bytes(End::Client));
}

#[test]
fn further_subflows_than_allowed_are_refused_without_effect_on_others() {
    let lines = [LINES[0], LINES[1], LINES[1]];
    let few = MultipathConfig::default().max_subflows(2);
    let mut world = World::new(&lines, config(), config(), [MultipathConfig::default(), few.clone()]);
    world.run_for(Duration::from_millis(500));
    world.join(1);
    world.run_for(Duration::from_millis(500));
    world.join(2);
    world.run_for(Duration::from_millis(500));
    let reset = world.sent_by(End::Server, 2).next().map(|sent| sent.packet.kind);
    assert!(matches!(reset, Some(Kind::Reset { reset, .. }) if reset.code == ResetCode::TooBusy));
    assert_eq!(world.connection(End::Client).subflows().count(), 2);
    // The other end does not ask for more than it may have.
    let mut world = World::joined(&LINES, config(), few);
    let result = world.client.join(world.now, world.at_client, path(2), None);
    assert_eq!(result, Err(JoinError::TooMany(2)));
}

#[test]
fn a_subflow_waits_for_the_fourth_packet_of_the_first_handshake() {
    let mut world = World::new(&LINES, config(), config(), Default::default());
    assert_eq!(world.client.join(world.now, world.at_client, path(1), None), Err(JoinError::NotReady));
    // The Response has arrived, and the acknowledgement has not.
    world.run_for(Duration::from_millis(50));
    assert!(world.connection(End::Client).is_multipath());
    assert_eq!(world.client.join(world.now, world.at_client, path(1), None), Err(JoinError::NotReady));
    world.run_for(Duration::from_millis(100));
    assert!(world.client.join(world.now, world.at_client, path(1), None).is_ok());
}

#[test]
fn a_join_survives_the_loss_of_any_packet() {
    for lost in 0..5 {
        let mut world = World::connected(&LINES, config(), MultipathConfig::default());
        let mut index = 0;
        world.script = Box::new(move |sent| {
            index += usize::from(sent.line == 1);
            (sent.line == 0 || index != lost + 1).then_some(sent.packet)
        });
        world.join(1);
        world.run_for(Duration::from_millis(3_000));
        for end in [End::Client, End::Server] {
            let stages: Vec<_> =
                world.connection(end).snapshot().subflows.iter().map(|it| it.stage).collect();
            assert_eq!(stages, [SubflowStage::Established; 2], "{end:?} without packet {lost}");
        }
    }
}

#[test]
fn a_second_subflow_of_the_same_addresses_takes_another_port() {
    let mut world = World::connected(&LINES, config(), MultipathConfig::default());
    let joined = world.client.join(world.now, world.at_client, path(0), None).expect("another port");
    world.run_for(Duration::from_millis(500));
    assert!(world.client_events.contains(&MultipathEvent::SubflowUp(joined)));
    let ports = world.connection(End::Client).ports();
    let other = world.connection(End::Client).subflow(joined).expect("a subflow");
    assert_ne!(other.source_port(), ports[0]);
    assert_eq!(other.destination_port(), PORT);
    let again = world.command(End::Client, |connection, now| connection.join(now, path(0), ports));
    assert_eq!(again, Err(JoinError::InUse));
}

#[test]
fn a_copied_join_from_another_address_does_not_get_far() {
    let mut world = World::connected(&LINES, config(), MultipathConfig::default());
    world.join(1);
    world.run_for(Duration::from_millis(500));
    let copies: Vec<Packet> = world.sent_by(End::Client, 1).take(2).map(|sent| sent.packet.clone()).collect();
    world.forget();
    // An attacker that saw the Request and the code, at an address of its own.
    let there = reversed(path(9));
    for copy in copies {
        world.deliver(End::Server, there, copy);
        world.run_for(Duration::from_millis(300));
    }
    let ups = |event: &MultipathEvent| matches!(event, MultipathEvent::SubflowUp(_));
    assert!(!world.server_events.iter().any(ups), "{:?}", world.server_events);
}

#[test]
fn subflows_that_are_gone_leave_no_routes() {
    let mut world = World::joined(&LINES, config(), MultipathConfig::default());
    for round in 0..60 {
        let (client, server) = (world.client.snapshot().addresses, world.server.snapshot().addresses);
        assert!(client <= 40 && server <= 40, "{client} and {server} routes after {round} joins");
        let id = world.join(1);
        world.run_for(Duration::from_secs(1));
        world.command(End::Client, |connection, now| connection.close_subflow(now, id));
        world.run_for(Duration::from_secs(10));
    }
}

#[test]
fn a_lost_acknowledgement_of_the_code_is_repeated_with_the_code() {
    // Under CCID 2 a server without data has no other reason to send an acknowledgement.
    let config = config().sender_ccids([Ccid(2)]).receiver_ccids([Ccid(2)]);
    let mut world = World::connected(&LINES, config, MultipathConfig::default());
    let mut is_first = true;
    world.script = Box::new(move |sent| {
        let completes =
            (sent.from, sent.line, sent.packet.packet_type()) == (End::Server, 1, PacketType::Ack);
        (!(completes && std::mem::take(&mut is_first))).then_some(sent.packet)
    });
    world.join(1);
    world.run_for(Duration::from_secs(2));
    assert!(world.client_events.contains(&MultipathEvent::SubflowUp(SubflowId(1))));
    let count = |end| world.sent_by(end, 1).filter(|it| it.packet.packet_type() == PacketType::Ack).count();
    assert!(count(End::Client) >= 2 && count(End::Server) == 2);
}

/// A late copy of the first packet that `of` sends on a path makes the other end ask by a Sync while the path
/// loses the code.
fn sync_before_the_code(of: End, packet_type: PacketType) {
    let config = config().sender_ccids([Ccid(2)]).receiver_ccids([Ccid(2)]);
    let mut world = World::connected(&LINES, config, MultipathConfig::default());
    world.forget();
    let (delayed, receiver) = std::sync::mpsc::channel();
    let (mut is_first, heals_at) = (true, world.now + Duration::from_secs(2));
    world.script = Box::new(move |sent| match (sent.from, sent.line, sent.packet.packet_type()) {
        (from, 1, kind) if (from, kind) == (of, packet_type) && std::mem::take(&mut is_first) => {
            delayed.send(sent.packet).expect("the test runs");
            None
        }
        (End::Client, 1, PacketType::Ack) => (sent.at > heals_at).then_some(sent.packet),
        _ => Some(sent.packet),
    });
    world.join(1);
    let is_asked = |world: &World| {
        let responses =
            world.sent_by(End::Server, 1).filter(|it| it.packet.packet_type() == PacketType::Response);
        responses.count() > usize::from(of == End::Server)
    };
    while !is_asked(&world) {
        world.run_for(Duration::from_millis(10));
    }
    world.run_for(Duration::from_millis(100));
    let other = if of == End::Client { End::Server } else { End::Client };
    let route = if of == End::Client { reversed(path(1)) } else { path(1) };
    world.deliver(other, route, receiver.recv().expect("a packet"));
    world.run_for(Duration::from_millis(300));
    assert!(world.sent_by(of, 1).any(|sent| sent.packet.packet_type() == PacketType::SyncAck));
    assert_eq!((&world.client_events[..], &world.server_events[..]), (&[][..], &[][..]));
    world.run_for(Duration::from_secs(3));
    let is_up = |events: &[MultipathEvent]| events.contains(&MultipathEvent::SubflowUp(SubflowId(1)));
    assert!(is_up(&world.client_events) && is_up(&world.server_events));
}

#[test]
fn a_sync_ack_without_the_code_completes_no_join() {
    // The server, in RESPOND, asks about the older Request.
    sync_before_the_code(End::Client, PacketType::Request);
}

/// The client took the answer for the acknowledgement of its code, repeated the code no more, and the server
/// reset the path for want of it.
#[test]
fn the_servers_sync_ack_completes_no_join() {
    sync_before_the_code(End::Server, PacketType::Response);
}
