//! DCCP connections that share UDP ports (RFC 6773, Section 3.8).

use super::*;
use crate::{ConnectError, PortSharing};

fn exclusive() -> Net {
    let config = EndpointConfig { port_sharing: PortSharing::OneConnection, ..EndpointConfig::default() };
    let mut net = Net::new(2, config);
    net.at(1).listen(PORT, free()).unwrap();
    net
}

/// Answer of host 1 to a packet from host 2's UDP address that belongs to no connection.
fn answer(net: &mut Net, packet: Packet) -> Option<Reset> {
    let now = net.now;
    net.at(1).handle_packet(now, address(2), ReceiveMeta::default(), packet);
    let (_, transmit) = net.at(1).poll_transmit(now)?;
    match transmit.packet.kind {
        Kind::Reset { reset, .. } => Some(reset),
        _ => None,
    }
}

#[test]
fn a_second_connection_on_the_same_udp_ports_gets_reset_12() {
    let mut net = exclusive();
    let client = net.connect(2, 1);
    net.run_for(millis(100));
    // Section 7.2: the type of the packet, and the UDP port it came from.
    let refused = |packet_type: PacketType| Reset::encapsulated_port_reuse(packet_type, 6511);
    assert_eq!(answer(&mut net, request(42, PORT)), Some(refused(PacketType::Request)));
    assert_eq!(answer(&mut net, packet(Kind::Data, 5, PORT)), Some(refused(PacketType::Data)));
    assert_eq!(refused(PacketType::Request).data, [0, 0x19, 0x6f], "6511");
    // From another UDP port it is another pair.
    assert_eq!(net.ask(request(42, PORT))[0].packet_type(), PacketType::Response);
    // The first connection does not notice.
    let now = net.now;
    net.at(2).send(now, client, datagram(1)).unwrap();
    net.run_for(millis(100));
    assert_eq!(net.datagrams_at(1), 1);
}

#[test]
fn udp_ports_are_free_again_after_a_close() {
    let mut net = exclusive();
    let client = net.connect(2, 1);
    let now = net.now;
    assert_eq!(net.at(2).connect(now, address(1), PORT, free()), Err(ConnectError::NoPort));
    net.run_for(millis(100));
    let now = net.now;
    net.at(2).close(now, client);
    net.run_for(millis(100));
    // The client keeps TIMEWAIT, which is not active.
    let second = net.connect(2, 1);
    net.run_for(millis(100));
    assert_eq!(net.at(2).connection(second).unwrap().state(), State::PartOpen);
}

#[test]
fn a_client_learns_that_its_udp_port_is_in_use() {
    let mut net = exclusive();
    net.connect(2, 1);
    net.run_for(millis(100));
    // Another program behind the same NAT, say, which gives both the same UDP port.
    let other = Endpoint::new(EndpointConfig::default(), 77);
    let first = net.endpoints.insert(address(2), other);
    let second = net.connect(2, 1);
    net.run_for(millis(100));
    let ended = net.events.iter().rev().find_map(|(_, handle, event)| match event {
        EndpointEvent::Connection(Event::Closed(ConnectionError::Reset(reset))) if *handle == second => {
            Some(reset.code)
        }
        _ => None,
    });
    assert_eq!(ended, Some(ResetCode::EncapsulatedPortReuse));
    assert!(first.is_some());
}

#[test]
fn many_connections_share_udp_ports_and_keep_apart() {
    let mut net = Net::serving();
    let handles: Vec<_> = (0..20).map(|_| net.connect(2, 1)).collect();
    net.run_for(millis(100));
    let now = net.now;
    for (tag, handle) in handles.iter().enumerate() {
        net.at(2).send(now, *handle, datagram(tag as u64)).unwrap();
    }
    net.run_for(millis(100));
    let mut received: Vec<_> = net
        .events
        .iter()
        .filter_map(|(at, handle, event)| match event {
            EndpointEvent::Connection(Event::Datagram { payload, .. }) if *at == address(1) => {
                Some((*handle, payload.clone()))
            }
            _ => None,
        })
        .collect();
    received.sort_unstable_by_key(|(handle, _)| *handle);
    received.dedup_by_key(|(handle, _)| *handle);
    assert_eq!(received.len(), 20, "one datagram on each connection");
}
