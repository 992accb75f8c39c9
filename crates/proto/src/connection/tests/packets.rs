//! Contents of sent packets, and the parts of received ones that count (RFC 4340).

use smallvec::smallvec;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::PacketType::{Ack, DataAck, Response, Sync, SyncAck};
use whimbrel_wire::option::ack_vector::{AckState, runs};
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption};
use whimbrel_wire::{DccpOption, Kind, OptionBytes, Packet, Payload, Reset, ResetCode, SeqNo, ServiceCode};

use super::fixed_rate::FIXED_RATE;
use super::pair::{End, Pair, SentPacket, config, datagram};
use crate::feature::Location;
use crate::{Ccid, Config, Connection, ReceiveMeta, State};

fn free() -> Config {
    config(Duration::ZERO)
}

fn only(ccid: Ccid) -> Config {
    Config { sender_ccids: [ccid].into(), receiver_ccids: [ccid].into(), ..Config::default() }
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn ack_ratio(ratio: u64) -> DccpOption {
    DccpOption::Feature(FeatureOption::number(FeatureAction::ChangeL, FeatureNumber::AckRatio, ratio))
}

fn change(action: FeatureAction, ccid: Ccid) -> DccpOption {
    DccpOption::Feature(FeatureOption::preferences(action, FeatureNumber::Ccid, &[ccid.0]))
}

/// Data from the client that nothing has sent.
fn forge_data(pair: &Pair, sequence: SeqNo, tag: u64) -> Packet {
    Packet { payload: Payload::Opaque { length: 100, tag }, ..pair.forge(End::Client, Kind::Data, sequence) }
}

#[test]
fn ccval_is_zero_under_ccid_2_whatever_the_packet() {
    let mut pair = Pair::new(only(Ccid::TCP_LIKE));
    pair.client.connect(pair.now);
    pair.run_for(millis(200));
    for tag in 0..20 {
        pair.send(End::Client, tag);
        pair.send(End::Server, tag);
        pair.run_for(millis(20));
    }
    pair.client.close(pair.now);
    pair.run_for(millis(300));
    assert_eq!(pair.client.state(), State::TimeWait);
    assert!(pair.sent.len() > 40);
    assert!(pair.sent.iter().all(|sent| sent.packet.ccval == 0));
}

#[test]
fn a_ccval_that_arrives_under_ccid_2_changes_nothing() {
    let run = |ccval| {
        let mut pair = Pair::connected(only(Ccid::TCP_LIKE));
        for n in 1..=4 {
            let sequence = pair.client.cx.sequence.numbers.gss().add(n);
            let packet = Packet { ccval, ..forge_data(&pair, sequence, n) };
            pair.inject(End::Server, packet);
        }
        pair.run_for(millis(40));
        assert_eq!(pair.received(End::Server), [1, 2, 3, 4]);
        pair.sent.iter().map(|sent| (sent.at, sent.packet.clone())).collect::<Vec<_>>()
    };
    assert!(!run(0).is_empty());
    assert_eq!(run(0), run(15));
}

#[test]
fn a_response_repeats_the_service_code() {
    let service_code = ServiceCode(0x5254_5056);
    let mut pair = Pair::new(Config { service_code, ..free() });
    pair.client.connect(pair.now);
    pair.run_for(millis(200));
    let response = pair.sent_by(End::Server, Response)[0];
    assert_eq!(response.packet.kind, Kind::Response { ack: SeqNo::new(1_000_000), service_code });
}

#[test]
fn every_response_has_the_data_of_the_first() {
    // RFC 4340, Section 8.1.3.
    let mut pair = Pair::new(free());
    pair.client.connect(pair.now);
    let mut request = pair.client.poll_transmit(pair.now).unwrap().packet;
    // A server does not send much more than it was sent before it knows the address.
    request.payload = Payload::Opaque { length: 100, tag: 9 };
    let config = Config { data_on_handshake: true, ..free() };
    let mut server = Connection::server(pair.now, config, &request, 7).unwrap();
    server.send(pair.now, datagram(1)).unwrap();
    server.send(pair.now, datagram(2)).unwrap();
    for step in 0..3 {
        let again = Packet { sequence: request.sequence.add(step), ..request.clone() };
        server.handle_packet(pair.now, ReceiveMeta::default(), again);
        let response = server.poll_transmit(pair.now).unwrap().packet;
        assert_eq!((response.packet_type(), response.sequence), (Response, SeqNo::new(7 + step)));
        assert_eq!(response.payload, datagram(1).payload);
    }
}

#[test]
fn packets_not_processed_are_reported_as_not_received() {
    // RFC 4340, Section 11.4: a Request in OPEN is sequence-valid, but ends at Step 7.
    let mut pair = Pair::connected(only(Ccid::TCP_LIKE));
    let gss = pair.client.cx.sequence.numbers.gss();
    let request = pair.forge(End::Client, Kind::Request { service_code: ServiceCode(0) }, gss.next());
    pair.inject(End::Server, Packet { options: smallvec![ack_ratio(7)], ..request });
    for step in [2, 3] {
        let data = forge_data(&pair, gss.add(step), step);
        pair.inject(End::Server, data);
    }
    pair.drain();
    let negotiation = &pair.server().cx.features.negotiation;
    assert_ne!(negotiation.value(FeatureNumber::AckRatio, Location::Remote), 7);
    let acks = pair.sent_by(End::Server, Ack);
    let last = &acks.last().expect("a gap is reported at once").packet;
    let mut reported = runs(last.ack().unwrap(), &last.options);
    let (newest, hole) = (reported.next().unwrap(), reported.next().unwrap());
    assert_eq!((newest.state, newest.newest, newest.oldest), (AckState::Received, gss.add(3), gss.add(2)));
    assert_eq!((hole.state, hole.newest, hole.oldest), (AckState::NotReceived, gss.next(), gss.next()));
}

#[test]
fn an_end_without_ecn_takes_no_data_from_a_request() {
    // RFC 4340, Section 12.1: the client cannot have confirmed anything yet.
    let with_data = |ecn| Config { data_on_handshake: true, ecn, ..free() };
    for (ecn, taken) in [(true, vec![1]), (false, vec![])] {
        let mut pair = Pair::with(with_data(true), with_data(ecn));
        pair.send(End::Client, 1);
        pair.client.connect(pair.now);
        pair.run_for(millis(500));
        assert_eq!(pair.server().state(), State::Open);
        assert_eq!(pair.received(End::Server), taken);
    }
}

#[test]
fn a_client_echoes_all_cookies_in_order_on_every_packet_until_one_is_acknowledged() {
    // RFC 4340, Section 8.1.4.
    let cookie = |bytes: &[u8]| DccpOption::InitCookie(OptionBytes::from_slice(bytes));
    let cookies = [cookie(&[1, 2]), cookie(&[]), cookie(&[1, 2, 3])];
    let mut pair = Pair::new(free());
    pair.lose(|sent| sent.packet.packet_type() == Response);
    pair.client.connect(pair.now);
    pair.run_for(millis(60));
    let mut response = pair.sent_by(End::Server, Response)[0].packet.clone();
    let (sequence, ack) = (response.sequence, response.ack().unwrap());
    response.options.extend(cookies.clone());
    pair.forget();
    pair.inject(End::Client, response);
    let sync = pair.forge(End::Server, Kind::Sync { ack }, sequence.next());
    pair.inject(End::Client, sync);
    pair.drain();
    pair.send(End::Client, 1);
    pair.drain();
    assert_eq!(pair.client.state(), State::PartOpen);
    let mut types: Vec<_> = pair.types().into_iter().map(|(_, packet_type)| packet_type as u8).collect();
    types.sort_unstable();
    assert_eq!(types, [Ack as u8, DataAck as u8, SyncAck as u8]);
    let carried = |packet: &Packet| {
        let is_cookie = |option: &&DccpOption| matches!(option, DccpOption::InitCookie(_));
        packet.options.iter().filter(is_cookie).cloned().collect::<Vec<_>>()
    };
    for sent in &pair.sent {
        assert_eq!(carried(&sent.packet), cookies, "{:?}", sent.packet);
    }
    pair.run_for(millis(500));
    assert_eq!(pair.client.state(), State::Open);
    pair.forget();
    pair.send(End::Client, 2);
    pair.run_for(millis(100));
    assert!(pair.sent.iter().all(|sent| carried(&sent.packet).is_empty()));
    assert_eq!(pair.received(End::Server), [2]);
}

/// Answer of a server without CCID 2 to a Request with these options.
fn answer_without_ccid_2(options: &[DccpOption]) -> Packet {
    let mut pair = Pair::new(free());
    let request = pair.forge(End::Client, Kind::Request { service_code: ServiceCode(42) }, SeqNo::new(9));
    pair.inject(End::Server, Packet { options: options.into(), ..request });
    pair.server_mut().poll_transmit(Instant::from_secs(1000)).unwrap().packet
}

#[test]
fn a_server_without_ccid_2_says_so_in_its_response() {
    // RFC 4340, Section 10.3. The client asks for nothing, which means CCID 2.
    let response = answer_without_ccid_2(&[]);
    assert_eq!(response.packet_type(), Response);
    for action in [FeatureAction::ChangeL, FeatureAction::ChangeR] {
        let at = response.options.iter().position(|option| *option == change(action, FIXED_RATE));
        let at = at.expect("it asks for both directions");
        assert_eq!(response.options[at - 1], DccpOption::Mandatory);
    }
}

#[test]
fn a_server_without_ccid_2_does_not_understand_its_options_on_a_request() {
    for kind in [128, 200, 255] {
        let option = DccpOption::CcidSpecific { kind, data: OptionBytes::from_slice(&[1]) };
        assert_eq!(answer_without_ccid_2(std::slice::from_ref(&option)).packet_type(), Response);
        let Kind::Reset { reset, .. } = answer_without_ccid_2(&[DccpOption::Mandatory, option]).kind else {
            panic!("option {kind} is not refused");
        };
        assert_eq!(reset, Reset::with_data(ResetCode::MandatoryError, [kind, 1, 0]));
    }
}

/// RFC 4341, Section 3.2.
#[test]
fn acknowledgements_are_ecn_capable_under_ccid_2_alone() {
    for (ccid, ecn, capable) in
        [(Ccid::TCP_LIKE, true, true), (Ccid::TCP_LIKE, false, false), (Ccid::TFRC, true, false)]
    {
        let incapable = Config { ecn, ..only(ccid) };
        // The client cannot read marks, say: then the server sends it nothing that could be marked.
        let mut pair = Pair::connected_with(incapable, only(ccid));
        for tag in 0..20 {
            pair.send(End::Client, tag);
            pair.run_for(millis(20));
        }
        let acks = pair.sent_by(End::Server, Ack);
        assert!(acks.len() > 3, "{ccid}");
        for ack in acks {
            assert_eq!(ack.ecn.is_capable(), capable, "{ccid}");
        }
        let has_marks = |sent: &SentPacket| sent.packet.packet_type() == Sync && sent.ecn.is_capable();
        assert!(!pair.sent.iter().any(has_marks));
    }
}
