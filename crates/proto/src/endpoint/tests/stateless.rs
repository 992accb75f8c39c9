//! Stateless handshakes, and the traffic that unknown senders can cause.

use super::*;
use crate::InitCookies;
use smallvec::smallvec;
use whimbrel_wire::option::{FeatureAction, FeatureOption};
use whimbrel_wire::{DccpOption, OptionBytes};

fn stateless(init_cookies: InitCookies, max_half_open: usize) -> Net {
    let limits = EndpointConfig { init_cookies, max_half_open, ..EndpointConfig::default() };
    let mut net = Net::new(2, limits);
    net.at(1).listen(PORT, free()).unwrap();
    net
}

fn has_cookie(packet: &Packet) -> bool {
    packet.options.iter().any(|option| matches!(option, DccpOption::InitCookie(_)))
}

/// A cookie obtained by a Request, and the Response's number.
fn buy_cookie(net: &mut Net) -> (DccpOption, SeqNo) {
    let response = net.ask(request(42, PORT)).pop().expect("a Response");
    let cookie = response.options.iter().find(|option| matches!(option, DccpOption::InitCookie(_)));
    (cookie.expect("with a cookie").clone(), response.sequence)
}

fn acknowledgement(ack: SeqNo, cookie: DccpOption) -> Packet {
    Packet { options: smallvec![cookie], ..packet(Kind::Ack { ack }, 101, PORT) }
}

#[test]
fn a_stateless_server_serves_its_clients() {
    let mut net = stateless(InitCookies::Always, 10);
    let client = net.connect(2, 1);
    net.run_for(millis(20));
    assert!(net.at(1).is_empty(), "nothing is kept for a Request");
    net.run_for(millis(80));
    let server = net.accepted(1, 0);
    assert_eq!(net.at(1).connection(server).unwrap().state(), State::Open);
    assert_eq!(net.at(2).connection(client).unwrap().state(), State::Open, "the server answers at once");
    let now = net.now;
    net.at(2).send(now, client, datagram(1)).unwrap();
    net.at(1).send(now, server, datagram(2)).unwrap();
    net.run_for(millis(100));
    assert_eq!((net.datagrams_at(1), net.datagrams_at(2)), (1, 1));
    // Section 8.1.4: on every packet until one is acknowledged, and never on a Request.
    let from_client = net.sent.iter().filter(|(from, _)| *from == address(2));
    let carried: Vec<_> = from_client.map(|(_, packet)| (packet.packet_type(), has_cookie(packet))).collect();
    assert_eq!(carried[..2], [(PacketType::Request, false), (PacketType::Ack, true)]);
    assert!(carried[2..].iter().all(|(_, has_cookie)| !has_cookie), "{carried:?}");
}

/// The negotiated features, at both ends.
fn outcome(net: &mut Net, client: ConnectionHandle) -> Vec<Vec<(u8, bool, u64)>> {
    let server = net.accepted(1, 0);
    let now = net.now;
    // Every negotiation ends with packets to carry it.
    for tag in 0..20 {
        net.at(2).send(now, client, datagram(tag)).unwrap();
        net.at(1).send(now, server, datagram(tag)).unwrap();
        net.run_for(millis(300));
    }
    let mut features = Vec::new();
    for host in [1, 2] {
        let mut values: Vec<_> = net
            .events_at(host)
            .iter()
            .filter_map(|event| match event {
                EndpointEvent::Connection(Event::FeatureChanged { feature, local, value }) => {
                    Some((*feature, *local, *value))
                }
                _ => None,
            })
            .collect();
        values.sort_unstable();
        features.push(values);
    }
    features
}

#[test]
fn a_connection_from_a_cookie_equals_one_with_state() {
    let configs = [
        Config::default(),
        Config { sender_ccids: [crate::Ccid::TCP_LIKE].into(), ..Config::default() },
        Config { short_sequence_numbers: true, sequence_window: 2000, ..Config::default() },
    ];
    for config in configs {
        let run = |init_cookies| {
            let limits = EndpointConfig { init_cookies, ..EndpointConfig::default() };
            let mut net = Net::new(2, limits);
            net.at(1).listen(PORT, config.clone()).unwrap();
            let now = net.now;
            let client = net.at(2).connect(now, address(1), PORT, config.clone()).unwrap();
            net.run_for(millis(100));
            let rtt = net.at(1).connection(ConnectionHandle(0)).unwrap().snapshot().rtt.unwrap();
            assert!(rtt >= millis(20) && rtt < millis(21), "{rtt:?}");
            outcome(&mut net, client)
        };
        let (with, without) = (run(InitCookies::Always), run(InitCookies::Never));
        assert!(!without[0].is_empty(), "something is negotiated");
        assert_eq!(with, without);
    }
}

#[test]
fn cookies_come_only_under_pressure() {
    let mut net = stateless(InitCookies::UnderPressure, 2);
    for port in 1..=2 {
        let response = net.ask(Packet { source_port: port, ..request(42, PORT) });
        assert!(!has_cookie(&response[0]));
    }
    assert_eq!(net.at(1).len(), 2);
    for port in 3..100 {
        let response = net.ask(Packet { source_port: port, ..request(42, PORT) });
        assert!(has_cookie(&response[0]));
    }
    assert_eq!(net.at(1).len(), 2);
    let client = net.connect(2, 1);
    net.run_for(millis(100));
    assert_eq!(net.at(2).connection(client).unwrap().state(), State::Open);
}

#[test]
fn a_forged_cookie_gets_reset_10() {
    let mut net = stateless(InitCookies::Always, 10);
    let (cookie, iss) = buy_cookie(&mut net);
    let DccpOption::InitCookie(mut bytes) = cookie.clone() else { panic!() };
    bytes[29] ^= 1;
    let tampered = acknowledgement(iss, DccpOption::InitCookie(bytes));
    let nonsense = acknowledgement(iss, DccpOption::InitCookie(OptionBytes::from_slice(b"nonsense")));
    let other_number = acknowledgement(iss.next(), cookie.clone());
    let far_away = Packet { sequence: SeqNo::new(1_000_000), ..acknowledgement(iss, cookie.clone()) };
    let other_port = Packet { source_port: 8, ..acknowledgement(iss, cookie.clone()) };
    for packet in [tampered, nonsense, other_number, far_away, other_port] {
        let answers = net.ask(packet.clone());
        assert_eq!(code(&answers[0]), Some(ResetCode::BadInitCookie), "{packet:?}");
    }
    assert!(net.at(1).is_empty());
    // Its owner can still use it, until it expires.
    net.now += Duration::from_secs(31);
    assert_eq!(code(&net.ask(acknowledgement(iss, cookie))[0]), Some(ResetCode::BadInitCookie));
}

#[test]
fn a_cookie_on_a_request_or_data_counts_for_nothing() {
    let mut net = stateless(InitCookies::Always, 10);
    let (cookie, iss) = buy_cookie(&mut net);
    let with_cookie = |packet| Packet { options: smallvec![cookie.clone()], ..packet };
    let answers = net.ask(with_cookie(request(42, PORT)));
    assert_eq!(answers[0].packet_type(), PacketType::Response);
    let answers = net.ask(with_cookie(packet(Kind::Data, 101, PORT)));
    assert_eq!(code(&answers[0]), Some(ResetCode::NoConnection));
    assert!(net.at(1).is_empty());
    // Once the connection is there, the cookie does not matter, even one that is not genuine.
    net.ask(acknowledgement(iss, cookie.clone()));
    let forged = DccpOption::InitCookie(OptionBytes::from_slice(b"nonsense"));
    let packet = Packet { sequence: SeqNo::new(102), ..acknowledgement(iss, forged) };
    assert!(net.ask(packet).iter().all(|answer| code(answer).is_none()));
    assert_eq!(net.at(1).connection(ConnectionHandle(0)).unwrap().state(), State::Open);
}

#[test]
fn a_cookie_establishes_one_connection() {
    let mut net = stateless(InitCookies::Always, 10);
    let (cookie, iss) = buy_cookie(&mut net);
    let answers = net.ask(acknowledgement(iss, cookie.clone()));
    assert_eq!(code(&answers[0]), None);
    assert_eq!(net.at(1).len(), 1);
    let now = net.now;
    net.at(1).abort(now, ConnectionHandle(0));
    net.drain();
    assert!(net.at(1).is_empty());
    let answers = net.ask(acknowledgement(iss, cookie));
    assert_eq!(code(&answers[0]), Some(ResetCode::NoConnection));
    assert!(net.at(1).is_empty());
}

#[test]
fn a_cookie_survives_the_loss_of_the_acknowledgement() {
    let mut net = stateless(InitCookies::Always, 10);
    let client = net.connect(2, 1);
    net.run_for(millis(20));
    // The client's first Ack is under way: it gets lost.
    net.drain();
    net.in_flight.clear();
    assert!(net.at(1).is_empty());
    let now = net.now;
    net.at(2).send(now, client, datagram(1)).unwrap();
    net.run_for(millis(500));
    assert_eq!(net.datagrams_at(1), 1);
    assert_eq!(net.at(2).connection(client).unwrap().state(), State::Open);
}

#[test]
fn a_listener_that_changed_does_not_honour_old_cookies() {
    let mut net = stateless(InitCookies::Always, 10);
    let (cookie, iss) = buy_cookie(&mut net);
    net.at(1).stop_listening(PORT);
    let packet = acknowledgement(iss, cookie);
    assert_eq!(code(&net.ask(packet.clone())[0]), Some(ResetCode::BadInitCookie));
    net.at(1).listen(PORT, Config { short_sequence_numbers: true, ..free() }).unwrap();
    assert_eq!(code(&net.ask(packet)[0]), Some(ResetCode::BadInitCookie));
}

#[test]
fn data_on_a_request_that_is_not_kept_are_reported_as_dropped() {
    let mut net = stateless(InitCookies::Always, 10);
    let payload = Payload::Opaque { length: 100, tag: 1 };
    let response = net.ask(Packet { payload, ..request(42, PORT) });
    let dropped = DccpOption::DataDropped(OptionBytes::from_slice(&[0x80]));
    assert!(response[0].options.contains(&dropped), "{response:?}");
}

#[test]
fn one_address_gets_few_stateless_responses_and_another_its_own() {
    let limits = EndpointConfig {
        init_cookies: InitCookies::Always,
        stateless_responses_per_second: 80,
        ..EndpointConfig::default()
    };
    let mut net = Net::new(2, limits);
    net.at(1).listen(PORT, free()).unwrap();
    let count = (0..1000u16).map(|port| net.ask(Packet { source_port: port, ..request(42, PORT) }).len());
    assert_eq!(count.sum::<usize>(), 10);
    let client = net.connect(2, 1);
    net.run_for(millis(100));
    assert_eq!(net.at(2).connection(client).unwrap().state(), State::Open);
}

#[test]
fn a_silent_client_costs_a_server_no_more_than_it_sent() {
    // RFC 4340, Section 8.1.3 has RESPOND end with a Reset, which the small Request did not pay for.
    let mut net = Net::serving();
    net.ask(request(42, PORT));
    net.sent.clear();
    net.run_for(Duration::from_secs(481));
    assert!(net.at(1).is_empty());
    let bytes: usize = net.sent.iter().map(|(_, packet)| packet.encoded_len()).sum();
    assert!(bytes <= 60, "{bytes}");
}

#[test]
fn a_listener_serves_a_list_of_service_codes() {
    let mut net = Net::new(2, EndpointConfig::default());
    let codes = [ServiceCode::RTP_AUDIO, ServiceCode::RTP_VIDEO];
    net.at(1).listen_for(PORT, &codes, free()).unwrap();
    for code in codes {
        let now = net.now;
        let config = Config { service_code: code, ..free() };
        let handle = net.at(2).connect(now, address(1), PORT, config).unwrap();
        net.run_for(millis(100));
        assert_eq!(net.at(2).connection(handle).unwrap().state(), State::PartOpen);
    }
    let accepted = |event: &&EndpointEvent| match event {
        EndpointEvent::Accepted { service_code, .. } => Some(*service_code),
        _ => None,
    };
    assert_eq!(net.events_at(1).iter().filter_map(accepted).collect::<Vec<_>>(), codes);
    assert_eq!(code(&net.ask(request(42, PORT))[0]), Some(ResetCode::BadServiceCode));
    // All or none.
    let overlapping = [ServiceCode(7), ServiceCode::RTP_VIDEO];
    assert!(net.at(1).listen_for(PORT, &overlapping, free()).is_err());
    assert_eq!(code(&net.ask(request(7, PORT))[0]), Some(ResetCode::BadServiceCode));
}

fn any_kind() -> impl Strategy<Value = Kind> {
    (0u8..11, any::<u64>()).prop_map(|(number, ack)| {
        let (ack, service_code) = (SeqNo::new(ack), ServiceCode(42));
        match PacketType::from_number(number).unwrap() {
            PacketType::Request => Kind::Request { service_code },
            PacketType::Response => Kind::Response { ack, service_code },
            PacketType::Data => Kind::Data,
            PacketType::Ack => Kind::Ack { ack },
            PacketType::DataAck => Kind::DataAck { ack },
            PacketType::CloseReq => Kind::CloseReq { ack },
            PacketType::Close => Kind::Close { ack },
            PacketType::Reset => Kind::Reset { ack, reset: Reset::new(ResetCode::Closed) },
            PacketType::Sync => Kind::Sync { ack },
            PacketType::SyncAck => Kind::SyncAck { ack },
            PacketType::Listen => Kind::Listen { service_code },
        }
    })
}

fn any_options() -> impl Strategy<Value = Options> {
    let bytes = prop::collection::vec(any::<u8>(), 0..20);
    let option = (0u8..8, any::<u8>(), bytes).prop_map(|(which, number, bytes)| {
        let data = OptionBytes::from_slice(&bytes);
        let action = [FeatureAction::ChangeL, FeatureAction::ChangeR][usize::from(number % 2)];
        match which {
            0..=3 => DccpOption::Feature(FeatureOption { action, feature: number % 12, values: data }),
            4 => DccpOption::Timestamp(number.into()),
            5 => DccpOption::Mandatory,
            6 => DccpOption::InitCookie(data),
            _ => DccpOption::SlowReceiver,
        }
    });
    prop::collection::vec(option, 0..12).prop_map(Options::from_vec)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    // The address may be forged: no answer is larger than three times the packet answered, nor are all
    // answers together than all that was sent; and the endpoint sends nothing spontaneously.
    #[test]
    fn unknown_senders_get_at_most_three_times_the_bytes_they_sent(
        packets in prop::collection::vec(
            (any_kind(), any::<u64>(), any_options(), 0u16..3, 0u32..40, any::<bool>(), 0u64..3000), 1..60),
        always in any::<bool>(),
        ccid in 2u8..4,
        data_on_handshake in any::<bool>(),
    ) {
        let init_cookies = if always { InitCookies::Always } else { InitCookies::Never };
        let mut net = Net::new(1, EndpointConfig { init_cookies, ..EndpointConfig::default() });
        let ccids = crate::config::CcidPreference::from(crate::Ccid(ccid));
        let service_code = ServiceCode(42);
        let config = Config {
            service_code, sender_ccids: ccids.clone(), receiver_ccids: ccids, data_on_handshake, ..Config::default()
        };
        net.at(1).listen(PORT, config).unwrap();
        let (mut received, mut sent) = (0, 0);
        for (kind, sequence, options, from, length, extended, pause) in packets {
            let mut packet = packet(kind, sequence, PORT);
            (packet.source_port, packet.options, packet.extended) = (from, options, extended);
            packet.payload = Payload::Opaque { length, tag: 0 };
            // As decoded from a datagram.
            let mut bytes = Vec::new();
            if packet.encode(&mut bytes).is_err() {
                continue;
            }
            received += bytes.len();
            let answers: usize = net.ask(packet).iter().map(Packet::encoded_len).sum();
            prop_assert!(answers <= 3 * bytes.len(), "{} for {}", answers, bytes.len());
            sent += answers;
            net.sent.clear();
            net.run_for(millis(pause));
            sent += net.sent.iter().map(|(_, packet)| packet.encoded_len()).sum::<usize>();
            prop_assert!(sent <= 3 * received, "{} for {}", sent, received);
        }
        net.sent.clear();
        net.run_for(Duration::from_secs(1000));
        sent += net.sent.iter().map(|(_, packet)| packet.encoded_len()).sum::<usize>();
        prop_assert!(sent <= 3 * received, "{} for {}", sent, received);
        prop_assert!(net.at(1).is_empty());
    }
}
