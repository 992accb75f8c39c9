//! Clients whose addresses change, and attackers that imitate such changes.

use super::nat::Filter;
use super::*;
use crate::config::{DataChecksumUse, FreezeConfig, IntegrityConfig};
use crate::{ConnectionError, MobilityConfig, PathChange};
use whimbrel_wire::DccpOption;
use whimbrel_wire::option::mobility::{self, MobilityOption, Move};

mod attacks;
mod conflicts;
mod streams;

fn mobile() -> Config {
    Config { mobility: Some(MobilityConfig::default()), ..free() }
}

fn has(packet: &Packet, kind: u8) -> bool {
    packet.options.iter().any(|option| option.kind() == kind)
}

fn move_of(packet: &Packet) -> Option<Move> {
    packet.options.iter().find_map(|option| match MobilityOption::parse(option) {
        Some(MobilityOption::Move(moved)) => Some(moved),
        _ => None,
    })
}

/// The `n`th address that the NAT in front of host 2 has.
fn outside(n: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, n], 20_000 + u16::from(n)))
}

/// A client behind a NAT at host 2, and its server at host 1.
struct Pair {
    net: Net,
    client: ConnectionHandle,
    server: ConnectionHandle,
    /// Number of datagrams that each has sent.
    sent: u64,
}

impl Pair {
    fn new() -> Self {
        Self::with(EndpointConfig::default(), mobile(), mobile())
    }

    fn with(limits: EndpointConfig, client: Config, server: Config) -> Self {
        let mut net = Net::new(3, limits);
        net.at(1).listen(PORT, server).unwrap();
        net.put_behind_nat(2, Some(Filter::AddressAndPort));
        net.rebind(2, outside(1));
        let now = net.now;
        let client = net.at(2).connect(now, address(1), PORT, client).unwrap();
        net.run_for(millis(100));
        let server = net.accepted(1, 0);
        let mut pair = Self { net, client, server, sent: 0 };
        pair.exchange(3);
        assert_eq!((pair.net.datagrams_at(1), pair.net.datagrams_at(2)), (3, 3));
        pair.net.forget();
        pair
    }

    fn send_from_client(&mut self) {
        let (now, client) = (self.net.now, self.client);
        self.net.at(2).send(now, client, datagram(self.sent)).unwrap();
    }

    fn send_from_server(&mut self) {
        let (now, server) = (self.net.now, self.server);
        self.net.at(1).send(now, server, datagram(self.sent)).unwrap();
    }

    /// Each end sends a datagram every 10 ms.
    fn exchange(&mut self, count: u64) {
        for _ in 0..count {
            self.sent += 1;
            self.send_from_client();
            self.send_from_server();
            self.net.run_for(millis(10));
        }
        self.net.run_for(millis(50));
    }

    /// The client's driver reports a change of address.
    fn tell_client(&mut self, change: PathChange) {
        let (now, client) = (self.net.now, self.client);
        self.net.at(2).connection_mut(client).unwrap().path_changed(now, change);
        self.net.at(2).wake(client);
    }

    fn server_thinks(&self) -> SocketAddr {
        self.net.endpoints[&address(1)].remote(self.server).unwrap()
    }

    fn is_announcing(&self) -> bool {
        self.net.endpoints[&address(2)].connection(self.client).unwrap().is_announcing()
    }

    /// The packets that the server sent to the client's addresses, and their destinations.
    fn sent_by_server(&self) -> Vec<(SocketAddr, &Packet)> {
        let sent = self.net.sent_to.iter().zip(&self.net.sent);
        sent.filter(|(_, (from, _))| *from == address(1)).map(|(to, (_, packet))| (*to, packet)).collect()
    }

    fn sent_by_client(&self) -> Vec<&Packet> {
        self.net.sent.iter().filter(|(from, _)| *from == address(2)).map(|(_, packet)| packet).collect()
    }

    fn assert_moved(&self, from: SocketAddr, to: SocketAddr) {
        let moves: Vec<_> = self.net.events_at(1).into_iter().filter_map(moved).collect();
        assert_eq!(moves, [(from, to)]);
        assert_eq!(self.server_thinks(), to);
        assert!(!self.is_announcing());
    }
}

#[test]
fn keys_are_on_the_handshake_and_nothing_on_what_follows() {
    let mut net = Net::new(2, EndpointConfig::default());
    net.at(1).listen(PORT, mobile()).unwrap();
    let now = net.now;
    let client = net.at(2).connect(now, address(1), PORT, mobile()).unwrap();
    net.run_for(millis(100));
    let server = net.accepted(1, 0);
    assert!(net.at(1).connection(server).unwrap().may_move());
    assert!(net.at(2).connection(client).unwrap().may_move());
    for tag in 0..50 {
        let now = net.now;
        net.at(2).send(now, client, datagram(tag)).unwrap();
        net.run_for(millis(10));
    }
    assert_eq!(net.datagrams_at(1), 50);
    for (_, packet) in &net.sent {
        let is_handshake = matches!(packet.packet_type(), PacketType::Request | PacketType::Response);
        assert_eq!(has(packet, mobility::KEY), is_handshake, "{packet:?}");
        let others = [mobility::MOVE, mobility::CHALLENGE, mobility::MOVED];
        assert!(!others.into_iter().any(|kind| has(packet, kind)), "{packet:?}");
    }
}

#[test]
fn an_end_that_does_not_know_the_feature_is_left_alone() {
    for (client, server) in [(mobile(), free()), (free(), mobile())] {
        let mut pair = Pair::with(EndpointConfig::default(), client, server);
        for (host, handle) in [(1, pair.server), (2, pair.client)] {
            assert!(!pair.net.at(host).connection(handle).unwrap().may_move());
        }
        pair.tell_client(PathChange::Keep);
        pair.exchange(5);
        assert_eq!((pair.net.datagrams_at(1), pair.net.datagrams_at(2)), (5, 5));
        assert!(!pair.sent_by_client().into_iter().any(|packet| has(packet, mobility::MOVE)));
        // From then on its packets belong to no connection, as in RFC 4340.
        pair.net.rebind(2, outside(2));
        pair.send_from_client();
        pair.net.run_for(millis(100));
        assert!(pair.net.at(2).connection(pair.client).is_none_or(|it| it.state() == State::TimeWait));
    }
}

#[test]
fn a_client_whose_nat_mapping_is_lost_is_found_within_round_trips() {
    let mut pair = Pair::new();
    pair.net.rebind(2, outside(2));
    pair.sent += 1;
    pair.send_from_client();
    // 10 ms each way: a Reset, a Move, a challenge, its echo, and the confirmation.
    pair.net.run_for(millis(130));
    pair.assert_moved(outside(1), outside(2));
    // Only datagrams from nowhere are lost.
    assert_eq!(pair.net.datagrams_at(1), 0);
    pair.exchange(10);
    assert_eq!((pair.net.datagrams_at(1), pair.net.datagrams_at(2)), (10, 10));
}

#[test]
fn a_client_that_only_receives_verifies_its_address() {
    let mut pair = Pair::new();
    pair.send_from_server();
    pair.net.run_for(millis(50));
    pair.net.rebind(2, outside(2));
    for _ in 0..75 {
        pair.sent += 1;
        pair.send_from_server();
        pair.net.run_for(millis(20));
    }
    pair.net.run_for(millis(20));
    pair.assert_moved(outside(1), outside(2));
    // A second of silence, 40 ms of which had passed, then three trips of 10 ms: of 75 every 20 ms, 48 to 50
    // are lost.
    let arrived = pair.net.datagrams_at(2);
    assert!((1 + 25..=1 + 27).contains(&arrived), "{arrived}");
}

#[test]
fn silence_after_data_causes_one_sync() {
    let mut pair = Pair::new();
    pair.send_from_server();
    pair.net.run_for(Duration::from_secs(120));
    let moves = pair.sent_by_client().into_iter().filter(|packet| has(packet, mobility::MOVE)).count();
    assert_eq!(moves, 1);
    assert!(!pair.is_announcing());
    // The client had not moved: no event is reported.
    assert!(!pair.net.events_at(1).iter().any(|event| moved(event).is_some()));
    assert!(!pair.sent_by_server().iter().any(|(_, packet)| has(packet, mobility::CHALLENGE)));
}

#[test]
fn data_go_to_the_old_address_until_the_new_one_has_answered() {
    let mut pair = Pair::new();
    pair.net.rebind(2, outside(2));
    pair.tell_client(PathChange::Keep);
    for _ in 0..20 {
        pair.sent += 1;
        pair.send_from_client();
        pair.send_from_server();
        pair.net.run_for(millis(5));
    }
    pair.net.run_for(millis(100));
    pair.assert_moved(outside(1), outside(2));
    let events = pair.net.events_at(2);
    let confirmed = EndpointEvent::Connection(Event::MoveConfirmed);
    assert_eq!(events.iter().filter(|event| ***event == confirmed).count(), 1);
    // All that the client sent has arrived: its packets were authentic from the first on.
    assert_eq!(pair.net.datagrams_at(1), 20);
    let to_new: Vec<_> = pair.sent_by_server().into_iter().filter(|(to, _)| *to == outside(2)).collect();
    let first_other = to_new.iter().position(|(_, packet)| !has(packet, mobility::CHALLENGE)).unwrap();
    assert_eq!(to_new[..first_other].len(), 1, "one challenge, and nothing else, before the echo");
    // The confirmation is the first packet that the client receives besides.
    assert!(to_new[first_other..].iter().any(|(_, packet)| has(packet, mobility::MOVED)));
    // Moves end with it.
    let moves = pair.sent_by_client().into_iter().filter(|packet| has(packet, mobility::MOVE)).count();
    assert!((3..=14).contains(&moves), "{moves}");
    assert!(!has(pair.sent_by_client().last().unwrap(), mobility::MOVE));
}

#[test]
fn lost_challenges_echoes_and_confirmations_are_repeated() {
    // Each packet of the first dozen that follow the move gets lost once.
    for lost in 0..12 {
        let mut pair = Pair::new();
        let sent = pair.net.sent.len();
        pair.net.lost.insert(sent + lost);
        pair.net.rebind(2, outside(2));
        pair.tell_client(PathChange::Keep);
        pair.net.run_for(Duration::from_secs(3));
        pair.assert_moved(outside(1), outside(2));
    }
}

#[test]
fn an_outage_on_the_new_path_only_delays_the_move() {
    let mut pair = Pair::new();
    let sent = pair.net.sent.len();
    pair.net.lost.extend(sent..sent + 95);
    pair.net.rebind(2, outside(2));
    pair.tell_client(PathChange::Keep);
    // The client goes on until its Sequence Window of 100 is all but full: the server's ends 75 after what it
    // saw.
    for _ in 0..150 {
        pair.sent += 1;
        pair.send_from_client();
        pair.net.run_for(millis(10));
    }
    pair.net.run_for(Duration::from_secs(120));
    pair.assert_moved(outside(1), outside(2));
    let before = pair.net.datagrams_at(1);
    pair.exchange(10);
    assert_eq!(pair.net.datagrams_at(1), before + 10);
}

#[test]
fn a_client_goes_from_network_to_network_and_back() {
    let mut pair = Pair::new();
    for n in [2, 3, 1, 2, 1] {
        pair.net.rebind(2, outside(n));
        pair.tell_client(PathChange::Reset);
        pair.exchange(20);
        assert_eq!(pair.server_thinks(), outside(n));
        assert!(!pair.is_announcing());
    }
    let client = pair.net.at(2).connection(pair.client).unwrap();
    assert_eq!(client.state(), State::Open);
    pair.net.forget();
    pair.exchange(20);
    assert_eq!((pair.net.datagrams_at(1), pair.net.datagrams_at(2)), (20, 20));
}

#[test]
fn a_stateless_handshake_does_not_prevent_a_move() {
    let limits = EndpointConfig { init_cookies: InitCookies::Always, ..EndpointConfig::default() };
    let mut pair = Pair::with(limits, mobile(), mobile());
    assert!(pair.net.at(1).connection(pair.server).unwrap().may_move());
    pair.net.rebind(2, outside(2));
    pair.tell_client(PathChange::Keep);
    pair.exchange(20);
    pair.assert_moved(outside(1), outside(2));
}

/// A Response may be three times as long as the Request. A server that requests many features leaves room for
/// its key share, in addition to the cookie, and sends the other Changes later.
#[test]
fn many_feature_changes_leave_room_for_the_key() {
    let client = Config { mobility: Some(MobilityConfig::default()), ..Config::default() };
    let server = Config {
        ecn: false,
        sequence_window: 20_000,
        short_sequence_numbers: true,
        integrity: IntegrityConfig {
            checksum_coverage: 2,
            minimum_coverage: 1,
            data_checksum: DataChecksumUse::Require,
            ..client.integrity
        },
        freeze: FreezeConfig { offer: true, ..client.freeze },
        ..client.clone()
    };
    let limits = EndpointConfig { init_cookies: InitCookies::Always, ..EndpointConfig::default() };
    let mut net = Net::new(2, limits);
    net.at(1).listen(PORT, server).unwrap();
    let now = net.now;
    let client = net.at(2).connect(now, address(1), PORT, client).unwrap();
    net.run_for(millis(500));
    let changes = |packet: &Packet| {
        let is_change =
            |option: &&DccpOption| matches!(option, DccpOption::Feature(it) if it.action.is_change());
        packet.options.iter().filter(is_change).count()
    };
    let from_server: Vec<_> =
        net.sent.iter().filter(|(from, _)| *from == address(1)).map(|(_, packet)| packet.clone()).collect();
    assert!(has(&from_server[0], mobility::KEY), "{:?}", from_server[0]);
    assert!(
        from_server[1..].iter().any(|packet| changes(packet) > 0),
        "the Response had room for everything"
    );
    let server = net.accepted(1, 0);
    assert!(
        net.at(2).connection(client).unwrap().may_move() && net.at(1).connection(server).unwrap().may_move()
    );
}

/// A server under pressure answers a Request with a cookie, and another copy of it with state once there is
/// room.
#[test]
fn copies_of_a_request_get_the_same_key_with_and_without_state() {
    let key_for = |init_cookies| {
        let limits = EndpointConfig { init_cookies, ..EndpointConfig::default() };
        let mut net = Net::new(2, limits);
        net.at(1).listen(PORT, mobile()).unwrap();
        let now = net.now;
        net.at(2).connect(now, address(1), PORT, mobile()).unwrap();
        // The first Request is lost; the second has another number and gets an answer with another one, too.
        net.lost.extend(match init_cookies {
            InitCookies::Always => vec![],
            _ => vec![0],
        });
        net.run_for(millis(1_500));
        let response = net.sent.iter().find(|(_, packet)| packet.packet_type() == PacketType::Response);
        let response = &response.expect("a Response").1;
        let key = response.options.iter().find(|option| option.kind() == mobility::KEY).expect("with a key");
        (response.sequence, key.clone())
    };
    let (stateless, stateful) = (key_for(InitCookies::Always), key_for(InitCookies::Never));
    assert_ne!(stateless.0, stateful.0);
    assert_eq!(stateless.1, stateful.1);
}

#[test]
fn a_reset_of_a_server_without_the_connection_counts_after_an_announcement() {
    let mut pair = Pair::new();
    pair.net.endpoints.insert(address(1), Endpoint::new(EndpointConfig::default(), 1));
    pair.send_from_client();
    pair.net.run_for(millis(200));
    let ends: Vec<_> = pair.net.events_at(2).into_iter().filter_map(closed).collect();
    assert_eq!(ends, [ConnectionError::Reset(Reset::new(ResetCode::NoConnection))]);
    assert!(pair.sent_by_client().into_iter().any(|packet| has(packet, mobility::MOVE)));
}

fn moved(event: &EndpointEvent) -> Option<(SocketAddr, SocketAddr)> {
    match event {
        EndpointEvent::Connection(Event::PeerMoved { from, to }) => Some((*from, *to)),
        _ => None,
    }
}

fn closed(event: &EndpointEvent) -> Option<ConnectionError> {
    match event {
        EndpointEvent::Connection(Event::Closed(error)) => Some(*error),
        _ => None,
    }
}

#[test]
fn a_client_that_has_moved_can_close() {
    let mut pair = Pair::new();
    pair.net.rebind(2, outside(2));
    pair.tell_client(PathChange::Keep);
    let (now, client) = (pair.net.now, pair.client);
    pair.net.at(2).close(now, client);
    pair.net.run_for(Duration::from_secs(10));
    let ends: Vec<_> = pair.net.events_at(1).into_iter().filter_map(closed).collect();
    assert_eq!(ends, [ConnectionError::ClosedByPeer]);
    let ends: Vec<_> = pair.net.events_at(2).into_iter().filter_map(closed).collect();
    assert_eq!(ends, [ConnectionError::ClosedLocally]);
}

#[test]
fn a_move_is_part_of_the_encoded_packet() {
    // The authenticated bytes survive the wire.
    let mut pair = Pair::new();
    pair.tell_client(PathChange::Keep);
    pair.net.run_for(millis(5));
    let packet = pair.sent_by_client().into_iter().find(|packet| has(packet, mobility::MOVE)).unwrap();
    let mut bytes = Vec::new();
    packet.encode(&mut bytes).unwrap();
    let read = Packet::decode_slice(&bytes).unwrap();
    assert_eq!(move_of(&read), move_of(packet));
    let is_move = |option: &&DccpOption| option.kind() == mobility::MOVE;
    assert_eq!(packet.options.iter().find(is_move).unwrap().encoded_len(), 26);
}

/// The largest packet: an IPv6 packet of 1500 bytes without the headers of IPv6 and UDP.
const LARGEST: usize = 1452;

#[test]
fn the_largest_datagrams_leave_room_for_an_announcement_or_wait_for_its_end() {
    use crate::Ccid;
    use crate::config::{DataChecksumUse, IntegrityConfig};
    for data_checksum in [DataChecksumUse::Off, DataChecksumUse::Offer] {
        let config = Config {
            sender_ccids: [Ccid::TFRC].into(),
            receiver_ccids: [Ccid::TFRC].into(),
            ccids: Config::default().ccids,
            integrity: IntegrityConfig { data_checksum, ..IntegrityConfig::default() },
            ..mobile()
        };
        let mut pair = Pair::with(EndpointConfig::default(), config.clone(), config);
        let full = |pair: &mut Pair| {
            let (now, client) = (pair.net.now, pair.client);
            let datagram = crate::Datagram::new(Payload::Opaque { length: 1400, tag: 1 });
            pair.net.at(2).send(now, client, datagram).unwrap();
        };
        // After a silence, a client cannot know whether the server still has its address.
        pair.net.run_for(Duration::from_secs(30));
        for _ in 0..20 {
            full(&mut pair);
            pair.net.run_for(millis(20));
        }
        pair.net.run_for(Duration::from_secs(20));
        // And it moves, with data under way.
        pair.net.rebind(2, outside(9));
        pair.tell_client(PathChange::Keep);
        for _ in 0..20 {
            full(&mut pair);
            pair.net.run_for(millis(20));
        }
        pair.net.run_for(Duration::from_secs(300));
        assert!(!pair.is_announcing());
        assert_eq!(pair.net.datagrams_at(1), 40, "{data_checksum:?}");
        for (_, packet) in &pair.net.sent {
            assert!(packet.encoded_len() <= LARGEST, "{} bytes: {packet:?}", packet.encoded_len());
        }
    }
}
