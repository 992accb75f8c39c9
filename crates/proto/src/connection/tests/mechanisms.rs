//! CCIDs 2 and 3 in a connection: negotiated features, and data transfer.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::PacketType::{Ack, Data, DataAck};
use whimbrel_wire::option::{FeatureAction, FeatureNumber, FeatureOption};
use whimbrel_wire::{DccpOption, Kind, Packet, PacketType, SeqNo};

use super::pair::{End, Pair, Treatment, datagram};
use crate::feature::Location;
use crate::{Ccid, Config, Event, OverflowPolicy, ReceiveMeta, State};

fn only(ccid: Ccid) -> Config {
    Config { sender_ccids: [ccid].into(), receiver_ccids: [ccid].into(), ..Config::default() }
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Keeps the client's queue full for a while.
fn stream(pair: &mut Pair, time: Duration) {
    let end = pair.now + time;
    while pair.now < end {
        while pair.client.snapshot().queued_datagrams < 10 {
            pair.client.send(pair.now, datagram(0)).unwrap();
        }
        pair.run_for(millis(1));
    }
}

/// Lets one packet pass per `interval`, towards the server, and keeps up to `buffer` waiting.
fn bottleneck(pair: &mut Pair, interval: Duration, buffer: u64) {
    let mut free_at = Instant::ZERO;
    pair.script = Box::new(move |sent| {
        if sent.from == End::Server {
            return Treatment::Deliver;
        }
        free_at = free_at.max(sent.at) + interval;
        let wait = free_at - sent.at;
        if wait > interval * buffer {
            free_at = free_at.saturating_sub(interval);
            return Treatment::Lose;
        }
        Treatment::Delay(wait)
    });
}

#[test]
fn two_default_configurations_agree_on_ccid_3() {
    let mut pair = Pair::new(Config::default());
    pair.client.connect(pair.now);
    pair.run_for(millis(151));
    assert_eq!(pair.types().len(), 3, "and it takes no more than a handshake");
    for snapshot in [pair.client.snapshot(), pair.server().snapshot()] {
        assert_eq!((snapshot.sender_ccid, snapshot.receiver_ccid), (Ccid::TFRC, Ccid::TFRC));
    }
    let connected = Event::Connected { sender_ccid: Ccid::TFRC, receiver_ccid: Ccid::TFRC };
    assert!(pair.client_events.contains(&connected) && pair.server_events.contains(&connected));
}

#[test]
fn the_servers_preference_decides_between_common_ccids() {
    let both = |first, second| Config {
        sender_ccids: [first, second].into(),
        receiver_ccids: [first, second].into(),
        ..Config::default()
    };
    let client = both(Ccid::TFRC, Ccid::TCP_LIKE);
    let server = both(Ccid::TCP_LIKE, Ccid::TFRC);
    let mut pair = Pair::with(client, server);
    pair.client.connect(pair.now);
    pair.run_for(millis(500));
    assert_eq!(pair.client.snapshot().sender_ccid, Ccid::TCP_LIKE);
    assert_eq!(pair.server().snapshot().sender_ccid, Ccid::TCP_LIKE);
}

#[test]
fn the_two_directions_may_differ() {
    let client = Config {
        sender_ccids: [Ccid::TCP_LIKE].into(),
        receiver_ccids: [Ccid::TFRC].into(),
        ..Config::default()
    };
    let mut pair = Pair::connected_with(client, Config::default());
    for tag in 0..5 {
        pair.send(End::Client, tag);
        pair.send(End::Server, tag);
    }
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.received(End::Server), [0, 1, 2, 3, 4]);
    assert_eq!(pair.received(End::Client), [0, 1, 2, 3, 4]);
    let snapshot = pair.server().snapshot();
    assert_eq!((snapshot.sender_ccid, snapshot.receiver_ccid), (Ccid::TFRC, Ccid::TCP_LIKE));
}

#[test]
fn ends_without_a_common_ccid_do_not_connect() {
    let mut pair = Pair::with(only(Ccid::TCP_LIKE), only(Ccid::TFRC));
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.server().state(), State::Closed);
    assert_eq!(pair.client.state(), State::TimeWait);
}

#[test]
fn ccid_2_turns_on_ack_vectors_and_uses_them() {
    let mut pair = Pair::connected(only(Ccid::TCP_LIKE));
    let negotiation = &pair.server().cx.features.negotiation;
    assert!(negotiation.is_on(FeatureNumber::SendAckVector, Location::Local));
    stream(&mut pair, Duration::from_secs(1));
    let has_vector = |packet_type| {
        pair.sent_by(End::Server, packet_type).iter().all(|sent| {
            sent.packet.options.iter().any(|option| matches!(option, DccpOption::AckVector { .. }))
        })
    };
    assert!(has_vector(Ack));
    assert!(pair.received(End::Server).len() > 100);
}

#[test]
fn under_ccid_2_no_data_leave_before_ack_vectors_are_agreed_on() {
    let mut pair = Pair::new(only(Ccid::TCP_LIKE));
    let now = pair.now;
    pair.client.connect(now);
    let request = pair.client.poll_transmit(now).expect("a Request").packet;
    pair.client.send(now, datagram(0)).unwrap();
    // A server that answers, and leaves the Request's Changes for later.
    let said = |sequence, kind, options: &[DccpOption]| Packet {
        source_port: request.destination_port,
        destination_port: request.source_port,
        sequence: SeqNo::new(sequence),
        kind,
        options: options.into(),
        ..request.clone()
    };
    let response = Kind::Response { ack: request.sequence, service_code: pair.client.service_code() };
    pair.client.handle_packet(now, ReceiveMeta::default(), said(500, response, &[]));
    let sent = |pair: &mut Pair| -> Vec<PacketType> {
        core::iter::from_fn(|| pair.client.poll_transmit(now)).map(|it| it.packet.packet_type()).collect()
    };
    assert_eq!(sent(&mut pair), [Ack]);
    let agreed = FeatureOption::confirmation(FeatureAction::ConfirmL, FeatureNumber::SendAckVector, 1, &[1]);
    let kind = Kind::Ack { ack: pair.client.cx.sequence.numbers.gss() };
    let agreed = said(501, kind, &[DccpOption::Feature(agreed)]);
    pair.client.handle_packet(now, ReceiveMeta::default(), agreed);
    assert!(matches!(sent(&mut pair)[..], [Data | DataAck]));
}

#[test]
fn ccid_3_turns_on_what_it_is_configured_for() {
    let pair = Pair::connected(only(Ccid::TFRC));
    for end in [&pair.client, pair.server()] {
        let is_on = |feature, location| end.cx.features.negotiation.is_on(feature, location);
        for location in Location::BOTH {
            assert!(is_on(FeatureNumber::SendLossEventRate, location));
            assert!(is_on(FeatureNumber::SendRttEstimate, location));
            assert!(is_on(FeatureNumber::SendNdpCount, location));
            assert!(!is_on(FeatureNumber::SendAckVector, location));
        }
    }
}

#[test]
fn both_fill_a_bottleneck() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let mut pair = Pair::connected(only(ccid));
        // 500 packets per second, and a buffer of one bandwidth-delay product.
        bottleneck(&mut pair, millis(2), 50);
        stream(&mut pair, Duration::from_secs(10));
        pair.forget();
        stream(&mut pair, Duration::from_secs(30));
        let rate = pair.received(End::Server).len() as f64 / 30.0;
        assert!(rate > 400.0, "{ccid} carries {rate} of 500 packets per second");
        assert_eq!(pair.sent_by(End::Server, PacketType::Sync).len(), 0, "{ccid} stays in step");
        assert_eq!(pair.sent_by(End::Client, PacketType::Sync).len(), 0, "{ccid} stays in step");
    }
}

#[test]
fn both_survive_losses_everywhere() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let mut pair = Pair::connected(only(ccid));
        let mut count = 0;
        pair.lose(move |_| {
            count += 1;
            count % 10 == 0
        });
        stream(&mut pair, Duration::from_secs(20));
        let received = pair.received(End::Server).len();
        assert!(received > 100, "{ccid}: {received}");
        pair.client.close(pair.now);
        pair.run_for(Duration::from_secs(60));
        assert_eq!(pair.client.state(), State::TimeWait, "{ccid}");
        assert_eq!(pair.server().state(), State::Closed, "{ccid}");
    }
}

#[test]
fn both_recover_after_an_outage() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let mut pair = Pair::connected(Config { sequence_window: 100, ..only(ccid) });
        bottleneck(&mut pair, millis(2), 50);
        stream(&mut pair, Duration::from_secs(5));
        pair.lose(|_| true);
        stream(&mut pair, Duration::from_secs(10));
        bottleneck(&mut pair, millis(2), 50);
        pair.forget();
        stream(&mut pair, Duration::from_secs(60));
        let received = pair.received(End::Server).len();
        assert!(received > 10_000, "{ccid}: {received} packets in the minute after");
    }
}

#[test]
fn media_over_ccid_3_drop_what_is_late() {
    let mut config = only(Ccid::TFRC);
    config.send_queue.overflow = OverflowPolicy::DropOldest;
    let mut pair = Pair::connected(config);
    // The path carries 50 packets per second, the application makes 100.
    bottleneck(&mut pair, millis(20), 10);
    for tag in 0..3_000 {
        let deadline = pair.now + millis(200);
        pair.client.send(pair.now, datagram(tag).with_deadline(deadline)).unwrap();
        pair.run_for(millis(10));
    }
    let received = pair.received(End::Server).len();
    assert!((1_000..=1_500).contains(&received), "{received} of 3000 datagrams on half the capacity");
    let data = pair.sent_by(End::Client, Data).len() + pair.sent_by(End::Client, DataAck).len();
    let statistics = pair.client.snapshot().statistics;
    assert_eq!(data as u64, statistics.datagrams_sent);
    assert_eq!(
        statistics.datagrams_sent
            + statistics.datagrams_dropped
            + pair.client.snapshot().queued_datagrams as u64,
        3_000
    );
}
