//! Simultaneous opening through NATs (RFC 5596).

use super::*;
use crate::ConnectError;

const CLIENT_PORT: u16 = 40_000;
const CODE: ServiceCode = ServiceCode(42);

fn filtered(client: Option<Filter>, server: Option<Filter>) -> Net {
    let mut net = Net::new(2, EndpointConfig::default());
    net.put_behind_nat(1, server);
    net.put_behind_nat(2, client);
    net
}

fn invite(net: &mut Net) -> ConnectionHandle {
    let (now, remote) = (net.now, net.seen(2));
    net.at(1).invite(now, remote, PORT, CLIENT_PORT, free()).unwrap()
}

fn connect(net: &mut Net) -> ConnectionHandle {
    let (now, remote) = (net.now, net.seen(1));
    net.at(2).connect_from(now, remote, CLIENT_PORT, PORT, free()).unwrap()
}

fn state(net: &mut Net, host: u8, handle: ConnectionHandle) -> State {
    net.at(host).connection(handle).expect("it exists").state()
}

fn types(net: &Net, host: u8) -> Vec<PacketType> {
    let from = net.sent.iter().filter(|(from, _)| *from == address(host));
    from.map(|(_, packet)| packet.packet_type()).collect()
}

#[test]
fn a_server_that_starts_first_opens_its_nat_for_the_client() {
    // RFC 5596, Figure 4. Both NATs let in only what answers something.
    let mut net = filtered(Some(Filter::Address), Some(Filter::Address));
    let server = invite(&mut net);
    net.run_for(millis(50));
    assert_eq!(state(&mut net, 1, server), State::Invited);
    let client = connect(&mut net);
    net.run_for(millis(50));
    assert_eq!(state(&mut net, 1, server), State::Open);
    let now = net.now;
    net.at(2).send(now, client, datagram(1)).unwrap();
    net.run_for(millis(50));
    assert_eq!(net.datagrams_at(1), 1);
    assert_eq!(types(&net, 1)[..2], [PacketType::Listen, PacketType::Response]);
}

#[test]
fn without_an_invitation_the_client_never_gets_in() {
    for filter in [Filter::Address, Filter::AddressAndPort] {
        let mut net = filtered(None, Some(filter));
        net.at(1).listen(PORT, free()).unwrap();
        let client = connect(&mut net);
        net.run_for(Duration::from_secs(60));
        assert_eq!(state(&mut net, 2, client), State::Request);
    }
    // One that filters nothing needs no invitation, once it has a mapping.
    let mut net = filtered(None, Some(Filter::None));
    net.at(1).listen(PORT, free()).unwrap();
    let client = connect(&mut net);
    net.run_for(millis(100));
    assert_eq!(state(&mut net, 2, client), State::PartOpen);
}

#[test]
fn a_listen_packet_makes_the_client_repeat_its_request_at_once() {
    // RFC 5596, Figure 6: the Request finds the server's NAT closed.
    let mut net = filtered(Some(Filter::AddressAndPort), Some(Filter::AddressAndPort));
    let client = connect(&mut net);
    net.run_for(millis(100));
    let server = invite(&mut net);
    net.run_for(millis(60));
    assert_eq!(state(&mut net, 2, client), State::PartOpen, "long before the first second is over");
    assert_eq!(state(&mut net, 1, server), State::Open);
    let requests = types(&net, 2).into_iter().filter(|kind| *kind == PacketType::Request).count();
    assert_eq!(requests, 2);
}

#[test]
fn listens_are_three_and_have_the_form_of_the_rfc() {
    let mut net = filtered(None, None);
    let server = invite(&mut net);
    let start = net.now;
    let mut times = Vec::new();
    for _ in 0..100 {
        net.drain();
        times.extend(core::iter::repeat_n(net.now - start, net.sent.len() - times.len()));
        net.run_for(millis(10));
    }
    assert_eq!(times, [0, 200, 400].map(millis));
    for (_, listen) in &net.sent {
        assert_eq!(listen.kind, Kind::Listen { service_code: CODE });
        assert_eq!((listen.source_port, listen.destination_port), (PORT, CLIENT_PORT));
        assert_eq!((listen.sequence, listen.extended, listen.ccval), (SeqNo::ZERO, true, 0));
        assert_eq!((listen.checksum_coverage, listen.encoded_len()), (ChecksumCoverage::ALL, 20));
    }
    // LISTEN1: it waits on, and does not mind that the client was late.
    assert_eq!(state(&mut net, 1, server), State::Listen1);
    net.run_for(Duration::from_secs(30));
    let client = connect(&mut net);
    net.run_for(millis(100));
    assert_eq!(state(&mut net, 1, server), State::Open);
    assert_eq!(state(&mut net, 2, client), State::PartOpen);
}

#[test]
fn invited_becomes_listen1_after_600_ms() {
    let mut net = filtered(None, None);
    let server = invite(&mut net);
    net.run_for(millis(599));
    assert_eq!(state(&mut net, 1, server), State::Invited);
    net.run_for(millis(1));
    assert_eq!(state(&mut net, 1, server), State::Listen1);
}

#[test]
fn many_listens_trigger_one_request() {
    let mut net = Net::new(2, EndpointConfig::default());
    let client = connect(&mut net);
    net.drain();
    for _ in 0..3 {
        let now = net.now;
        let mut listen = packet(Kind::Listen { service_code: CODE }, 0, CLIENT_PORT);
        listen.source_port = PORT;
        net.at(2).handle_packet(now, address(1), ReceiveMeta::default(), listen);
        net.drain();
    }
    assert_eq!(types(&net, 2), [PacketType::Request; 2]);
    // Host 1 has no server to answer. The Request counts as a retransmission: the next comes after two
    // seconds.
    net.endpoints.remove(&address(1));
    net.run_for(millis(1900));
    assert_eq!(types(&net, 2).len(), 2);
    net.run_for(millis(200));
    assert_eq!(types(&net, 2).len(), 3);
    assert_eq!(state(&mut net, 2, client), State::Request);
}

#[test]
fn a_listen_for_another_service_is_ignored() {
    let mut net = Net::new(2, EndpointConfig::default());
    connect(&mut net);
    net.drain();
    let mut listen = packet(Kind::Listen { service_code: ServiceCode(43) }, 0, CLIENT_PORT);
    listen.source_port = PORT;
    let now = net.now;
    net.at(2).handle_packet(now, address(1), ReceiveMeta::default(), listen);
    net.drain();
    assert_eq!(types(&net, 2), [PacketType::Request]);
}

#[test]
fn nothing_but_the_request_ends_the_waiting() {
    let mut net = Net::new(1, EndpointConfig::default());
    let now = net.now;
    let server = net.at(1).invite(now, address(99), PORT, 7, free()).unwrap();
    assert!(
        net.at(1).invite(now, address(99), PORT, 7, free()) == Err(ConnectError::PortInUse { port: PORT })
    );
    net.drain();
    let ack = SeqNo::new(1);
    let refused = |net: &mut Net, packet| net.ask(packet).first().and_then(code);
    let cases = [
        (packet(Kind::Ack { ack }, 5, PORT), Some(ResetCode::NoConnection)),
        (packet(Kind::Reset { ack, reset: Reset::new(ResetCode::Closed) }, 5, PORT), None),
        (packet(Kind::Listen { service_code: CODE }, 0, PORT), None),
        (request(43, PORT), Some(ResetCode::BadServiceCode)),
    ];
    for (packet, answer) in cases {
        assert_eq!(refused(&mut net, packet.clone()), answer, "{packet:?}");
        assert_eq!(state(&mut net, 1, server), State::Invited);
    }
    // ICMP errors are no reason either (RFC 5596, Section 2.2.2).
    net.at(1).handle_unreachable(now, address(99), PORT, 7);
    assert_eq!(state(&mut net, 1, server), State::Invited);
    assert_eq!(net.ask(request(42, PORT))[0].packet_type(), PacketType::Response);
}

#[test]
fn an_unanswered_invitation_ends_after_the_connect_time() {
    let mut net = Net::new(1, EndpointConfig::default());
    let now = net.now;
    net.at(1).invite(now, address(99), PORT, 7, free()).unwrap();
    net.run_for(Duration::from_secs(181));
    assert!(net.at(1).is_empty());
    let ended = EndpointEvent::Connection(Event::Closed(ConnectionError::TimedOut));
    assert!(net.events_at(1).contains(&&ended));
    assert_eq!(types(&net, 1), [PacketType::Listen; 3], "no event is reported");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    // For either end starting first, any filters of the NATs and any loss of a few packets.
    #[test]
    fn both_ends_meet(
        client_filter in prop::option::of(0usize..3),
        server_filter in prop::option::of(0usize..3),
        client_late in 0u64..2000,
        server_late in 0u64..2000,
        lost in prop::collection::btree_set(0usize..8, 0..4),
    ) {
        let filters = [Filter::None, Filter::Address, Filter::AddressAndPort];
        let mut net = filtered(client_filter.map(|n| filters[n]), server_filter.map(|n| filters[n]));
        // Without a filter, a Request to a server that is not there yet is refused.
        let is_open = matches!(server_filter, None | Some(0));
        let client_late = if is_open { client_late.max(server_late) } else { client_late };
        net.lost = lost;
        let (mut server, mut client) = (None, None);
        for step in 0..2000 {
            if step == server_late {
                server = Some(invite(&mut net));
            }
            if step == client_late {
                client = Some(connect(&mut net));
            }
            if step >= server_late.max(client_late) {
                break;
            }
            net.run_for(millis(1));
        }
        let (server, client) = (server.unwrap(), client.unwrap());
        // Requests that get lost are repeated ever later: the seventh comes after 63 seconds, the eighth
        // after 127.
        net.run_for(Duration::from_secs(130));
        // At most three of them are lost.
        for tag in 0..4 {
            let now = net.now;
            net.at(2).send(now, client, datagram(tag)).unwrap();
        }
        net.run_for(Duration::from_secs(2));
        prop_assert!(net.datagrams_at(1) >= 1);
        prop_assert_eq!(net.at(1).connection(server).unwrap().state(), State::Open);
    }
}
