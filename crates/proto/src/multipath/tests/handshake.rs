//! The first handshake, and the fallback to a regular connection.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::multipath::{KeyType, MultipathOption};
use whimbrel_wire::option::{FeatureAction, FeatureOption};
use whimbrel_wire::{DccpOption, Kind, Packet, PacketType, ResetCode};

use super::world::{End, Line, PORT, World, config, datagram, options, path, types};
use crate::multipath::{MultipathConfig, MultipathConnection, MultipathEvent};
use crate::{Connection, ConnectionError, ReceiveMeta, State};

fn feature(packet: &Packet) -> Option<&FeatureOption> {
    packet.options.iter().find_map(|option| match option {
        DccpOption::Feature(feature) if feature.feature == 10 => Some(feature),
        _ => None,
    })
}

#[test]
fn the_first_handshake_takes_four_packets_and_exchanges_keys() {
    let mut world = World::new(&[Line::of(20)], config(), config(), Default::default());
    world.run_for(Duration::from_millis(500));
    let expected = [PacketType::Request, PacketType::Response, PacketType::Ack, PacketType::Ack];
    assert_eq!(types(&world.sent)[..4], expected);
    let [request, response] = [&world.sent[0].packet, &world.sent[1].packet];
    // Section 3.1: Change R from the client, Confirm L with the value and the list from the server.
    let change = feature(request).expect("the feature");
    assert_eq!((change.action, &change.values[..]), (FeatureAction::ChangeR, &[0][..]));
    let confirm = feature(response).expect("the feature");
    assert_eq!((confirm.action, &confirm.values[..]), (FeatureAction::ConfirmL, &[0, 0][..]));
    let keys = [request, response].map(|packet| match &options(packet)[..] {
        [MultipathOption::Key(key)] => key.clone(),
        other => panic!("{other:?}"),
    });
    for key in &keys {
        assert_eq!(key.keys.len(), 1);
        assert_eq!(key.keys[0].key_type, KeyType::PlainText);
    }
    assert_ne!(keys[0].keys[0].data, keys[1].keys[0].data);
    assert_ne!(keys[0].connection, keys[1].connection);
    assert_eq!(keys[0].connection, world.connection(End::Client).connection_id());
    assert_eq!(keys[1].connection, world.connection(End::Server).connection_id());
    assert!(world.connection(End::Client).may_join());
    // Neither keys nor the feature are sent again.
    assert!(
        world.sent[2..]
            .iter()
            .all(|sent| options(&sent.packet).is_empty() && feature(&sent.packet).is_none())
    );
}

#[test]
fn no_data_are_sent_before_the_response() {
    let mut world = World::new(&[Line::of(20)], config(), config(), Default::default());
    world.send(End::Client, 1);
    world.run_for(Duration::from_millis(500));
    assert_eq!(world.sent[0].packet.payload.len(), 0);
    assert_eq!(world.received(End::Server), [1]);
    let data = world.sent.iter().find(|sent| !sent.packet.payload.is_empty()).expect("data");
    assert!(matches!(options(&data.packet)[..], [MultipathOption::Sequence(_)]));
}

#[test]
fn the_handshake_survives_the_loss_of_any_packet() {
    for lost in 0..5 {
        let mut world = World::new(&[Line::of(20)], config(), config(), Default::default());
        let mut index = 0;
        world.script = Box::new(move |sent| {
            index += 1;
            (index != lost + 1).then_some(sent.packet)
        });
        world.run_for(Duration::from_millis(3_000));
        assert!(world.connection(End::Client).may_join(), "without packet {lost}");
        assert!(world.connection(End::Server).is_multipath());
    }
}

#[test]
fn several_key_types_are_offered_and_the_servers_choice_is_used() {
    let offering = MultipathConfig::default().key_types(vec![KeyType::Experimental, KeyType::PlainText]);
    for (accepted, length) in [(KeyType::PlainText, 8), (KeyType::Experimental, 64)] {
        let accepting = MultipathConfig::default().key_types(vec![accepted]);
        let mut world =
            World::new(&[Line::of(20), Line::of(30)], config(), config(), [offering.clone(), accepting]);
        world.run_for(Duration::from_millis(500));
        let offer = world.sent[0].packet.options.iter().find(|it| matches!(it, DccpOption::Multipath(_)));
        assert_eq!(offer.expect("MP_KEY").encoded_len(), 82);
        let [MultipathOption::Key(key)] = &options(&world.sent[1].packet)[..] else { panic!("MP_KEY") };
        assert_eq!(key.keys.iter().map(|key| key.data.len()).collect::<Vec<_>>(), [length]);
        // The keys are the same at both ends.
        world.join(1);
        world.run_for(Duration::from_millis(500));
        assert_eq!(world.connection(End::Server).subflows().count(), 2);
    }
}

fn assert_is_regular(world: &mut World) {
    let established = MultipathEvent::Established { is_multipath: false };
    assert!(world.client_events.contains(&established), "{:?}", world.client_events);
    assert!(world.server_events.contains(&established), "{:?}", world.server_events);
    world.forget();
    for end in [End::Client, End::Server] {
        world.send(end, 7);
        assert!(!world.connection(end).may_join());
    }
    world.run_for(Duration::from_millis(500));
    assert_eq!((world.received(End::Client), world.received(End::Server)), (vec![7], vec![7]));
    assert!(world.sent.iter().all(|sent| options(&sent.packet).is_empty()), "{:?}", world.sent);
    world.command(End::Client, |connection, now| connection.close(now));
    world.run_for(Duration::from_millis(1_000));
    assert!(world.server_events.contains(&MultipathEvent::Closed(ConnectionError::ClosedByPeer)));
}

#[test]
fn without_a_common_key_type_the_connection_is_regular() {
    let offering = MultipathConfig::default().key_types(vec![KeyType::Experimental]);
    let mut world = World::new(&[Line::of(20)], config(), config(), [offering, MultipathConfig::default()]);
    world.run_for(Duration::from_millis(500));
    // Section 3.1: an empty Confirm L.
    let confirm = feature(&world.sent[1].packet).expect("the feature");
    assert_eq!((confirm.action, confirm.values.len()), (FeatureAction::ConfirmL, 0));
    assert!(options(&world.sent[1].packet).is_empty());
    assert_is_regular(&mut world);
}

#[test]
fn other_versions_and_requests_without_the_feature_fall_back() {
    for values in [&[][..], &[0x10], &[0x20, 0x10]] {
        let mut world = World::new(&[Line::of(20)], config(), config(), Default::default());
        world.script = Box::new(move |mut sent| {
            if sent.packet.packet_type() == PacketType::Request {
                sent.packet.options.retain(|option| match option {
                    DccpOption::Feature(feature) if feature.feature == 10 => {
                        feature.values = values.iter().copied().collect();
                        !values.is_empty()
                    }
                    _ => true,
                });
            }
            Some(sent.packet)
        });
        world.run_for(Duration::from_millis(500));
        assert_is_regular(&mut world);
    }
}

#[test]
fn unassigned_bits_and_further_versions_do_not_matter() {
    let mut world = World::new(&[Line::of(20)], config(), config(), Default::default());
    world.script = Box::new(move |mut sent| {
        for option in &mut sent.packet.options {
            if let DccpOption::Feature(feature) = option
                && feature.feature == 10
                && feature.action == FeatureAction::ChangeR
            {
                feature.values = [0x10, 0x0f].into_iter().collect();
            }
        }
        Some(sent.packet)
    });
    world.run_for(Duration::from_millis(500));
    assert!(world.connection(End::Client).is_multipath());
}

#[test]
fn a_regular_server_gets_a_regular_client() {
    let now = Instant::from_secs(1_000);
    let entropy = [3; 32];
    let mut client = MultipathConnection::client(
        now,
        config(),
        MultipathConfig::default(),
        path(0),
        [40_000, PORT],
        entropy,
    )
    .expect("a valid configuration");
    let (_, request) = client.poll_transmit(now).expect("a Request");
    let mut server = Connection::server(now, config(), &request.packet, 5).expect("a valid configuration");
    server.handle_packet(now, ReceiveMeta::default(), request.packet);
    let mut later = now;
    client.send(now, datagram(3)).expect("room");
    for _ in 0..20 {
        later += Duration::from_millis(20);
        while let Some(transmit) = server.poll_transmit(later) {
            client.handle_packet(later, path(0), ReceiveMeta::default(), transmit.packet);
        }
        while let Some((_, transmit)) = client.poll_transmit(later) {
            assert!(options(&transmit.packet).is_empty());
            server.handle_packet(later, ReceiveMeta::default(), transmit.packet);
        }
    }
    assert_eq!(server.state(), State::Open);
    assert_eq!(client.poll_event(), Some(MultipathEvent::Established { is_multipath: false }));
    assert!(
        core::iter::from_fn(|| server.poll_event()).any(|it| matches!(it, crate::Event::Datagram { .. }))
    );
}

#[test]
fn if_multipath_is_required_others_are_refused() {
    let required = MultipathConfig::default().required(true);
    let other = MultipathConfig::default().key_types(vec![KeyType::Experimental]);
    // The server requires it.
    let mut world = World::new(&[Line::of(20)], config(), config(), [other.clone(), required.clone()]);
    world.run_for(Duration::from_millis(500));
    let Kind::Reset { reset, .. } = world.sent[1].packet.kind else { panic!("{:?}", world.sent[1]) };
    assert_eq!(reset.code, ResetCode::ConnectionRefused);
    assert!(matches!(world.client_events[..], [.., MultipathEvent::Closed(ConnectionError::Reset(_))]));
    // The client does.
    let mut world = World::new(&[Line::of(20)], config(), config(), [required, other]);
    world.run_for(Duration::from_millis(500));
    let closed = |event: &MultipathEvent| matches!(event, MultipathEvent::Closed(_));
    assert!(world.client_events.iter().any(closed));
    assert_eq!(world.received(End::Server), []);
}

#[test]
fn an_invalid_key_option_resets_the_connection() {
    for from in [End::Client, End::Server] {
        let mut world = World::new(&[Line::of(20)], config(), config(), Default::default());
        world.script = Box::new(move |mut sent| {
            for option in &mut sent.packet.options {
                if let DccpOption::Multipath(data) = option
                    && sent.from == from
                    && data[0] == 3
                {
                    data.pop();
                    *option = DccpOption::Unknown { kind: 46, data: data.clone() };
                }
            }
            Some(sent.packet)
        });
        world.run_for(Duration::from_millis(500));
        let reset = world.sent.iter().find_map(|sent| match sent.packet.kind {
            Kind::Reset { reset, .. } if sent.from != from => Some(reset),
            _ => None,
        });
        let reset = reset.expect("a Reset");
        assert_eq!((reset.code, reset.data[0]), (ResetCode::OptionError, 46));
    }
}

#[test]
fn the_feature_is_not_negotiated_again() {
    let mut world = World::connected(&[Line::of(20)], config(), MultipathConfig::default());
    let mut is_done = false;
    world.script = Box::new(move |mut sent| {
        if sent.from == End::Client && sent.packet.packet_type() != PacketType::Data && !is_done {
            is_done = true;
            sent.packet.options.push(crate::multipath::offer::change());
        }
        Some(sent.packet)
    });
    world.send(End::Server, 1);
    world.run_for(Duration::from_millis(500));
    world.send(End::Server, 2);
    world.run_for(Duration::from_millis(1_500));
    let answers: Vec<_> = world.sent.iter().filter_map(|sent| feature(&sent.packet)).collect();
    let server = answers.iter().filter(|it| it.action == FeatureAction::ConfirmL).collect::<Vec<_>>();
    assert!(server.iter().all(|answer| answer.values.is_empty()) && !server.is_empty(), "{answers:?}");
    assert!(world.connection(End::Server).is_multipath());
    assert_eq!(world.received(End::Client), [1, 2]);
}
