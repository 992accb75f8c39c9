//! Packets and requests that are ignored or refused (RFC 4340, Sections 5, 7.5.4 and 10.5).

use bytes::Bytes;
use whimbrel_units::Duration;
use whimbrel_wire::PacketType::{Ack, Data, Sync, SyncAck};
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption};
use whimbrel_wire::{DccpOption, Kind, OptionBytes, Packet, PacketType, Payload, Reset, ResetCode, SeqNo};

use super::fixed_rate::{FIXED_RATE, FixedRate};
use super::pair::{End, Pair, config, datagram};
use crate::ccid::Registry;
use crate::feature::Location;
use crate::{Ccid, Config, ConnectionError, Event, State};

fn free() -> Config {
    config(Duration::ZERO)
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The last numbers that the client has sent and the server has sent.
fn numbers(pair: &Pair) -> (SeqNo, SeqNo) {
    (pair.client.cx.sequence.numbers.gss(), pair.server().cx.sequence.numbers.gss())
}

fn datagrams(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Datagram { .. })).count()
}

#[test]
fn the_data_of_packets_that_carry_none_are_ignored() {
    // Sections 5.4, 5.5 and 5.7: Ack, CloseReq, Close, Sync and SyncAck.
    type MakeKind = fn(SeqNo) -> Kind;
    let kinds: [(End, MakeKind, Option<PacketType>); 5] = [
        (End::Server, |ack| Kind::Ack { ack }, None),
        (End::Client, |ack| Kind::CloseReq { ack }, Some(PacketType::Close)),
        (End::Server, |ack| Kind::Close { ack }, Some(PacketType::Reset)),
        (End::Server, |ack| Kind::Sync { ack }, Some(SyncAck)),
        (End::Server, |ack| Kind::SyncAck { ack }, None),
    ];
    for (to, kind, answer) in kinds {
        let mut pair = Pair::connected(free());
        let (client, server) = numbers(&pair);
        let (from, sequence, ack) = match to {
            End::Server => (End::Client, client.next(), server),
            End::Client => (End::Server, server.next(), client),
        };
        let mut packet = pair.forge(from, kind(ack), sequence);
        packet.payload = Payload::Bytes(Bytes::from_static(b"padding"));
        pair.inject(to, packet);
        pair.drain();
        let events = if to == End::Client { &pair.client_events } else { &pair.server_events };
        assert_eq!(datagrams(events), 0, "{:?}", kind(ack));
        let answers: Vec<_> = pair.types().into_iter().map(|(_, packet_type)| packet_type).collect();
        assert_eq!(answers, Vec::from_iter(answer), "as without them");
    }
}

#[test]
fn a_packet_out_of_sequence_has_no_effect_but_a_sync() {
    // Section 7.5.4: neither its options nor its data is processed, nor is it acknowledged.
    let mut pair = Pair::connected(free());
    let (client, server) = numbers(&pair);
    let change = FeatureOption::preferences(FeatureAction::ChangeL, FeatureNumber::SendNdpCount, &[0]);
    let before = pair.server().snapshot();
    let packet = Packet {
        options: vec![
            DccpOption::Mandatory,
            DccpOption::Unknown { kind: 99, data: OptionBytes::new() },
            DccpOption::Feature(change),
            DccpOption::Timestamp(7),
            DccpOption::SlowReceiver,
        ]
        .into(),
        payload: datagram(1).payload,
        ..pair.forge(End::Client, Kind::DataAck { ack: server }, client.add(1_000_000))
    };
    pair.inject(End::Server, packet);
    pair.drain();
    assert_eq!(pair.types(), [(End::Server, Sync)]);
    assert!(pair.sent[0].packet.options.iter().all(|o| !matches!(o, DccpOption::TimestampEcho { .. })));
    assert_eq!(pair.server_events, []);
    let after = pair.server().snapshot();
    assert_eq!((after.sender, after.receiver), (before.sender, before.receiver));
    assert_eq!(pair.server().cx.sequence.numbers.gsr(), client);
}

#[test]
fn acknowledgement_options_count_only_beside_an_acknowledgement() {
    // Sections 11, 11.4 and 11.7.
    let control = FixedRate { needs_ack_vector: true, ..FixedRate::every(Duration::ZERO) };
    let mut pair = Pair::connected(Config { ccids: Registry::empty().with(control), ..free() });
    pair.send(End::Server, 1);
    pair.drain();
    let known = pair.server().snapshot().sender;
    pair.forget();
    let options = vec![
        DccpOption::AckVector { nonce: false, cells: OptionBytes::from_slice(&[5]) },
        DccpOption::DataDropped(OptionBytes::from_slice(&[0xa0])),
        DccpOption::ElapsedTime(whimbrel_wire::option::Elapsed::Short(3)),
    ];
    let sequence = pair.client.cx.sequence.numbers.gss().next();
    let data = Packet { options: options.into(), ..pair.forge(End::Client, Kind::Data, sequence) };
    pair.inject(End::Server, data);
    pair.drain();
    assert_eq!(pair.server().snapshot().sender, known);
    assert_eq!(pair.server_events.len(), 1, "the datagram: {:?}", pair.server_events);
}

#[test]
fn several_options_of_one_kind_count_one_by_one() {
    // Section 5.8: of two Timestamps the last is echoed; two Changes get two answers.
    let mut pair = Pair::connected(free());
    let (client, server) = numbers(&pair);
    let change = |feature| FeatureOption::preferences(FeatureAction::ChangeL, feature, &[1]);
    let options = vec![
        DccpOption::Timestamp(7),
        DccpOption::Feature(change(100)),
        DccpOption::Timestamp(8),
        DccpOption::Feature(change(101)),
    ];
    let packet = pair.forge(End::Client, Kind::Ack { ack: server }, client.next());
    pair.inject(End::Server, Packet { options: options.into(), ..packet });
    pair.run_for(millis(10));
    let options = &pair.sent_by(End::Server, Ack)[0].packet.options;
    assert!(options.iter().any(|o| matches!(o, DccpOption::TimestampEcho { timestamp: 8, .. })));
    for feature in [100, 101] {
        let empty = FeatureOption::empty(FeatureAction::ConfirmR, feature);
        assert!(options.contains(&DccpOption::Feature(empty)));
    }
}

#[test]
fn short_numbers_are_refused_if_disabled() {
    // Section 7.6.1. As the server the other end would have its way, if this one had no opinion.
    let short = Config { short_sequence_numbers: true, ..free() };
    for (client, server) in [(free(), short.clone()), (short, free())] {
        let mut pair = Pair::connected_with(client, server);
        for round in 0..5 {
            pair.send(End::Client, round);
            pair.send(End::Server, round);
            pair.run_for(millis(200));
        }
        assert!(pair.sent.iter().all(|sent| sent.packet.extended));
        assert_eq!(pair.received(End::Server).len(), 5);
    }
}

#[test]
fn a_reset_out_of_sequence_gives_the_reason_once_a_valid_one_confirms_it() {
    // Section 7.5.4: what has no connection cannot know the numbers at the first try.
    let reported = |second: ResetCode| {
        let mut pair = Pair::connected(free());
        let (client, server) = numbers(&pair);
        pair.lose(|_| true);
        let busy = Reset::new(ResetCode::TooBusy);
        let first = pair.forge(End::Client, Kind::Reset { ack: server, reset: busy }, SeqNo::ZERO);
        pair.inject(End::Server, first);
        pair.drain();
        assert_eq!(pair.server().state(), State::Open, "it may be forged");
        let kind = Kind::Reset { ack: server.next(), reset: Reset::new(second) };
        let reset = pair.forge(End::Client, kind, client.next());
        pair.inject(End::Server, reset);
        pair.drain();
        pair.server_events.iter().find_map(|event| match event {
            Event::Closed(ConnectionError::Reset(reset)) => Some(reset.code),
            _ => None,
        })
    };
    assert_eq!(reported(ResetCode::NoConnection), Some(ResetCode::TooBusy));
    assert_eq!(reported(ResetCode::Aborted), Some(ResetCode::Aborted), "which says more by itself");
}

#[test]
fn a_ccid_changes_no_more_than_once_a_minute() {
    // Section 10.5.
    let other = FixedRate { ccid: Ccid(250), ..FixedRate::every(millis(1)) };
    let both = Config {
        ccids: Registry::empty().with(FixedRate::every(millis(1))).with(other),
        sender_ccids: [FIXED_RATE, other.ccid].into(),
        receiver_ccids: [FIXED_RATE, other.ccid].into(),
        ..free()
    };
    let mut pair = Pair::connected(both);
    pair.lose(|sent| sent.from == End::Server);
    // The client, as another implementation might, wants nothing but that CCID for its data.
    let ask = |pair: &mut Pair, ccid: Ccid| {
        let sequence = pair.server().cx.sequence.numbers.gsr().next();
        let ack = pair.server().cx.sequence.numbers.gss();
        let change = FeatureOption::preferences(FeatureAction::ChangeL, FeatureNumber::Ccid, &[ccid.0]);
        let packet = pair.forge(End::Client, Kind::Ack { ack }, sequence);
        pair.run_for(Duration::from_secs(1));
        pair.forget();
        pair.inject(End::Server, Packet { options: vec![DccpOption::Feature(change)].into(), ..packet });
        pair.run_for(millis(500));
        let confirm = pair.sent.iter().flat_map(|sent| &sent.packet.options).find_map(|o| match o {
            DccpOption::Feature(option) if option.action == FeatureAction::ConfirmR => Some(option.values[0]),
            _ => None,
        });
        let in_force = pair.server().snapshot().receiver_ccid;
        assert_eq!(confirm, Some(in_force.0), "it says what is in force: {:?}", pair.sent);
        in_force
    };
    assert_eq!(ask(&mut pair, Ccid(250)), Ccid(250));
    assert_eq!(ask(&mut pair, FIXED_RATE), Ccid(250), "too soon");
    pair.run_for(Duration::from_secs(55));
    assert_eq!(ask(&mut pair, FIXED_RATE), Ccid(250), "still too soon");
    pair.run_for(Duration::from_secs(2));
    assert_eq!(ask(&mut pair, FIXED_RATE), FIXED_RATE);
    assert_eq!(ask(&mut pair, Ccid(250)), FIXED_RATE);
    assert_eq!(pair.server().state(), State::Open);
}

#[test]
fn a_ccid_that_is_agreed_again_does_not_begin_anew() {
    let both = Config {
        sender_ccids: [Ccid::TFRC, Ccid::TFRC_SP].into(),
        receiver_ccids: [Ccid::TFRC, Ccid::TFRC_SP].into(),
        ..Config::default()
    };
    let mut pair = Pair::connected(both);
    for round in 0..100 {
        pair.send(End::Server, round);
        pair.run_for(millis(20));
    }
    let rate = |pair: &Pair| pair.server().snapshot().sender.allowed_rate;
    let before = rate(&pair);
    // One packet asks for the other CCID and then for the one in use.
    let sequence = pair.server().cx.sequence.numbers.gsr().next();
    let ack = pair.server().cx.sequence.numbers.gss();
    let ask = |ccid: Ccid| {
        let values = [ccid.0];
        DccpOption::Feature(FeatureOption::preferences(FeatureAction::ChangeR, FeatureNumber::Ccid, &values))
    };
    let packet = pair.forge(End::Client, Kind::Ack { ack }, sequence);
    let options = vec![ask(Ccid::TFRC_SP), ask(Ccid::TFRC)].into();
    pair.inject(End::Server, Packet { options, ..packet });
    pair.drain();
    assert_eq!(pair.server().snapshot().sender_ccid, Ccid::TFRC);
    assert_eq!(rate(&pair), before);
}

#[test]
fn a_window_that_the_other_end_never_confirms_is_not_exceeded() {
    // Section 7.5.2, and Linux, which answers no Change after the handshake.
    let mut fast = config(Duration::from_micros(200));
    fast.send_queue.max_datagrams = 10_000;
    let mut pair = Pair::connected(fast);
    let is_answer = |option: &DccpOption| match option {
        DccpOption::Feature(option) => option.action == FeatureAction::ConfirmR,
        _ => false,
    };
    pair.lose(move |sent| sent.from == End::Server && sent.packet.options.iter().any(is_answer));
    for tag in 0..3_000 {
        pair.send(End::Client, tag);
    }
    let start = pair.now;
    pair.run_for(Duration::from_secs(20));
    assert_eq!(pair.client.cx.sequence.numbers.local_window(), 100);
    assert_eq!(pair.client.state(), State::Open);
    assert!(pair.received(End::Server).len() > 2_000, "{}", pair.received(End::Server).len());
    let is_change = |option: &DccpOption| match option {
        DccpOption::Feature(option) => option.feature == 3 && option.action.is_change(),
        _ => false,
    };
    let changes: Vec<_> = pair
        .sent
        .iter()
        .filter(|sent| sent.from == End::Client && sent.packet.options.iter().any(is_change))
        .map(|sent| (sent.at - start).as_millis())
        .collect();
    assert!((2..=8).contains(&changes.len()), "it asks less and less often: {changes:?}");
    // Never more than a window within a round-trip time.
    let times: Vec<_> =
        pair.sent.iter().filter(|sent| sent.from == End::Client).map(|sent| sent.at).collect();
    assert!(times.windows(102).all(|window| window[101] - window[0] >= millis(99)), "{times:?}");
}

#[test]
fn at_high_rates_and_long_round_trips_no_packet_is_out_of_sequence() {
    // 10,000 packets per second, 600 ms there and back, so 6,000 packets under way; 2 % are lost.
    let mut fast = config(Duration::from_micros(100));
    fast.send_queue.max_datagrams = 100_000;
    fast.send_queue.max_bytes = 1 << 30;
    let mut pair = Pair::new(fast);
    pair.delay = millis(300);
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(2));
    pair.send(End::Server, 0);
    pair.run_for(Duration::from_secs(2));
    let mut number = 0;
    pair.lose(move |sent| {
        number += 1;
        sent.from == End::Client && number % 50 == 0
    });
    for tag in 0..90_000 {
        pair.send(End::Client, tag);
    }
    pair.forget();
    pair.run_for(Duration::from_secs(15));
    assert_eq!(pair.sent_by(End::Server, Sync).len() + pair.sent_by(End::Client, Sync).len(), 0);
    let window = pair.client.cx.sequence.numbers.local_window();
    // About five times what is under way, if the last step was not a large one.
    assert!(window >= 2 * 6_000, "{window}");
    let last: Vec<_> = pair.sent_by(End::Client, Data).iter().rev().take(10_000).map(|s| s.at).collect();
    assert!(last[0] - last[9_999] <= millis(1_100), "at full rate in the end: {}", last[0] - last[9_999]);
}

#[test]
fn a_peer_may_make_its_window_smaller() {
    let mut pair = Pair::connected(Config { sequence_window: 1_000, ..free() });
    let (feature, location) = (FeatureNumber::SequenceWindow, Location::Local);
    pair.client.cx.features.negotiation.request_change(feature, location, &[50], false).unwrap();
    for tag in 0..30 {
        pair.send(End::Client, tag);
        pair.run_for(millis(10));
    }
    pair.run_for(millis(500));
    let numbers = &pair.server().cx.sequence.numbers;
    assert_eq!(numbers.swh().distance_from(numbers.gsr()), 38, "50 less a quarter, rounded down");
    assert_eq!(pair.client.cx.sequence.numbers.local_window(), 50);
    assert_eq!(pair.received(End::Server), (0..30).collect::<Vec<_>>());
    assert_eq!(pair.sent_by(End::Server, Sync).len(), 0);
}
