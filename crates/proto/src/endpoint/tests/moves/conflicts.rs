//! Addresses used by several clients.

use super::*;
use crate::PortSharing;

impl Pair {
    fn moved() -> Self {
        let mut pair = Self::new();
        pair.net.rebind(2, outside(2));
        pair.tell_client(PathChange::Keep);
        pair.net.run_for(millis(100));
        pair.assert_moved(outside(1), outside(2));
        pair.net.forget();
        pair
    }
}

#[test]
fn packets_in_flight_from_the_old_address_arrive() {
    let mut pair = Pair::new();
    // The old path is much slower than the new one.
    pair.net.lost.insert(pair.net.sent.len());
    pair.send_from_client();
    pair.net.drain();
    let (_, late) = pair.net.sent.last().unwrap().clone();
    pair.net.rebind(2, outside(2));
    pair.tell_client(PathChange::Keep);
    pair.net.run_for(millis(100));
    pair.assert_moved(outside(1), outside(2));
    let now = pair.net.now;
    pair.net.at(1).handle_packet(now, outside(1), ReceiveMeta::default(), late.clone());
    pair.net.drain();
    assert_eq!(pair.net.datagrams_at(1), 1);
    assert_eq!(pair.server_thinks(), outside(2));
    // Long afterwards, it belongs to no connection.
    pair.net.run_for(Duration::from_secs(2));
    let sent = pair.net.sent.len();
    let now = pair.net.now;
    pair.net.at(1).handle_packet(now, outside(1), ReceiveMeta::default(), late);
    pair.net.drain();
    assert_eq!(code(&pair.net.sent[sent].1), Some(ResetCode::NoConnection));
    assert_eq!(pair.net.sent_to[sent], outside(1));
}

#[test]
fn a_late_echo_does_not_revoke_the_return() {
    let mut pair = Pair::new();
    pair.net.rebind(2, outside(2));
    pair.tell_client(PathChange::Keep);
    // A Sync to the server and the challenge back, 10 ms each. The echo takes a path of its own.
    pair.net.run_for(millis(15));
    pair.net.lost.insert(pair.net.sent.len());
    pair.net.run_for(millis(6));
    let (_, answer) = pair.net.sent.last().unwrap().clone();
    assert!(move_of(&answer).unwrap().echo.is_some());
    // Meanwhile the client is back.
    pair.net.rebind(2, outside(1));
    pair.tell_client(PathChange::Keep);
    pair.net.run_for(millis(100));
    assert!(!pair.is_announcing());
    let now = pair.net.now;
    pair.net.at(1).handle_packet(now, outside(2), ReceiveMeta::default(), answer);
    assert_eq!(pair.server_thinks(), outside(1));
    pair.exchange(5);
    assert_eq!((pair.net.datagrams_at(1), pair.net.datagrams_at(2)), (5, 5));
}

#[test]
fn another_client_gets_the_old_address_at_once() {
    let mut pair = Pair::moved();
    let source_port = pair.net.at(2).connection(pair.client).unwrap().source_port();
    let mut request = request(42, PORT);
    request.source_port = source_port;
    let now = pair.net.now;
    pair.net.at(1).handle_packet(now, outside(1), ReceiveMeta::default(), request);
    pair.net.drain();
    let accepted =
        |event: &&EndpointEvent| matches!(event, EndpointEvent::Accepted { from, .. } if *from == outside(1));
    assert_eq!(pair.net.events_at(1).into_iter().filter(accepted).count(), 1);
    assert_eq!(pair.net.at(1).len(), 2);
    pair.exchange(5);
    assert_eq!((pair.net.datagrams_at(1), pair.net.datagrams_at(2)), (5, 5));
}

#[test]
fn a_client_that_proves_an_address_replaces_its_previous_user() {
    let mut pair = Pair::new();
    // Another client, with the same DCCP ports, at the address that the client will get.
    let source_port = pair.net.at(2).connection(pair.client).unwrap().source_port();
    let now = pair.net.now;
    pair.net.put_behind_nat(3, Some(Filter::AddressAndPort));
    pair.net.rebind(3, outside(2));
    pair.net.at(3).connect_from(now, address(1), source_port, PORT, free()).unwrap();
    pair.net.run_for(millis(100));
    let other = pair.net.accepted(1, 0);
    assert_eq!(pair.net.at(1).connection(other).unwrap().state(), State::Open);
    pair.net.rebind(3, outside(9));
    pair.net.rebind(2, outside(2));
    pair.tell_client(PathChange::Keep);
    pair.net.run_for(millis(100));
    assert_eq!(pair.server_thinks(), outside(2));
    let closed = EndpointEvent::Connection(Event::Closed(ConnectionError::Unreachable));
    assert!(pair.net.events.contains(&(address(1), other, closed)));
    pair.exchange(5);
    assert_eq!((pair.net.datagrams_at(1), pair.net.datagrams_at(2)), (5, 5));
}

#[test]
fn udp_ports_that_have_one_connection_take_no_second_by_a_move() {
    let limits = EndpointConfig { port_sharing: PortSharing::OneConnection, ..EndpointConfig::default() };
    let mut pair = Pair::with(limits, mobile(), mobile());
    let now = pair.net.now;
    pair.net.put_behind_nat(3, Some(Filter::None));
    pair.net.rebind(3, outside(2));
    pair.net.at(3).connect(now, address(1), PORT, free()).unwrap();
    pair.net.run_for(millis(100));
    pair.tell_client(PathChange::Keep);
    pair.net.drain();
    let (_, packet) = pair.net.sent.last().unwrap().clone();
    assert!(has(&packet, mobility::MOVE));
    let now = pair.net.now;
    pair.net.at(1).handle_packet(now, outside(2), ReceiveMeta::default(), packet);
    let (to, answer) = pair.net.at(1).poll_transmit(now).unwrap();
    assert_eq!((to, code(&answer.packet)), (outside(2), Some(ResetCode::EncapsulatedPortReuse)));
    // An unused address is another matter.
    pair.net.rebind(2, outside(5));
    pair.tell_client(PathChange::Keep);
    pair.net.run_for(millis(200));
    assert_eq!(pair.server_thinks(), outside(5));
    // The ports that it left are free, those that it has are not.
    let now = pair.net.now;
    for (remote, expected) in [(outside(1), false), (outside(5), true)] {
        pair.net.at(1).handle_packet(now, remote, ReceiveMeta::default(), request(42, PORT));
        let answers = core::iter::from_fn(|| pair.net.at(1).poll_transmit(now));
        let is_refused =
            answers.map(|(_, it)| code(&it.packet)).any(|it| it == Some(ResetCode::EncapsulatedPortReuse));
        assert_eq!(is_refused, expected, "{remote}");
    }
}

#[test]
fn icmp_errors_for_the_old_address_are_ignored() {
    let mut pair = Pair::moved();
    let (server, client) = (pair.server, pair.client);
    let port = pair.net.at(2).connection(client).unwrap().source_port();
    assert_eq!(pair.net.at(1).find(outside(1), PORT, port), None);
    assert_eq!(pair.net.at(1).find(outside(2), PORT, port), Some(server));
    // A closing connection would end there and then.
    let now = pair.net.now;
    pair.net.at(1).close(now, server);
    pair.net.at(1).handle_unreachable(now, outside(1), PORT, port);
    let connection = pair.net.at(1).connection(server).unwrap();
    assert!(connection.state() != State::Closed);
    pair.net.run_for(millis(200));
    assert!(pair.net.at(1).is_empty());
}

#[test]
fn nothing_is_left_of_a_connection_that_has_moved() {
    let mut pair = Pair::moved();
    let (now, client) = (pair.net.now, pair.client);
    pair.net.at(2).close(now, client);
    pair.net.run_for(Duration::from_secs(300));
    assert!(pair.net.at(1).is_empty() && pair.net.at(2).is_empty());
    // Its old address, its new one and its identifier are free.
    for (remote, packet) in
        pair.net.sent.clone().into_iter().filter(|(_, packet)| has(packet, mobility::MOVE))
    {
        let now = pair.net.now;
        pair.net.at(1).handle_packet(now, remote, ReceiveMeta::default(), packet);
    }
    assert!(pair.net.at(1).is_empty());
}
