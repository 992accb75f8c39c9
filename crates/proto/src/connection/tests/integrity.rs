//! Checksum Coverage and the Data Checksum option (RFC 4340, Section 9).

use bytes::Bytes;
use whimbrel_units::Duration;
use whimbrel_wire::PacketType::{Ack, Data, DataAck, Sync};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{ChecksumCoverage, DccpOption, Kind, Packet, Payload, ResetCode, SeqNo};

use super::pair::{End, Pair, config, datagram};
use crate::config::{DataChecksumUse, IntegrityConfig, ReceiveConfig};
use crate::feature::Location;
use crate::{Config, ConnectionError, Datagram, Event, State};

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn with(integrity: IntegrityConfig) -> Config {
    Config { integrity, ..config(Duration::ZERO) }
}

fn sends_coverage(checksum_coverage: u8) -> Config {
    with(IntegrityConfig { checksum_coverage, ..IntegrityConfig::default() })
}

fn accepts_coverage(minimum_coverage: u8) -> Config {
    with(IntegrityConfig { minimum_coverage, ..IntegrityConfig::default() })
}

fn with_checksum(data_checksum: DataChecksumUse) -> Config {
    with(IntegrityConfig { data_checksum, ..IntegrityConfig::default() })
}

/// The Checksum Coverage of the client's data once everything is negotiated.
fn coverage_sent(client: Config, server: Config, size: u32) -> u8 {
    let mut pair = Pair::connected_with(client, server);
    let payload = Payload::Opaque { length: size, tag: 3 };
    pair.client.send(pair.now, Datagram::new(payload)).unwrap();
    pair.run_for(millis(200));
    assert_eq!(pair.received(End::Server), [3], "what is sent is accepted");
    let coverage = pair.sent_by(End::Client, Data)[0].packet.checksum_coverage;
    let acks = pair.sent_by(End::Server, Ack);
    assert!(acks.iter().all(|ack| ack.packet.checksum_coverage == ChecksumCoverage::ALL));
    coverage.field()
}

#[test]
fn partial_coverage_is_used_where_the_other_end_accepts_it() {
    assert_eq!(coverage_sent(sends_coverage(1), accepts_coverage(1), 100), 1);
    assert_eq!(coverage_sent(sends_coverage(5), accepts_coverage(1), 100), 5);
    assert_eq!(coverage_sent(sends_coverage(5), accepts_coverage(5), 100), 5);
    // A minimum beyond what is sent, and the default, which accepts full coverage only.
    assert_eq!(coverage_sent(sends_coverage(4), accepts_coverage(5), 100), 0);
    assert_eq!(coverage_sent(sends_coverage(4), accepts_coverage(0), 100), 0);
    assert_eq!(coverage_sent(accepts_coverage(0), accepts_coverage(1), 100), 0);
    // (5 - 1) * 4 bytes must not be more than there are (RFC 4340, Section 9.2).
    assert_eq!(coverage_sent(sends_coverage(5), accepts_coverage(1), 16), 5);
    assert_eq!(coverage_sent(sends_coverage(5), accepts_coverage(1), 15), 0);
}

#[test]
fn data_below_the_minimum_coverage_are_dropped_and_reported() {
    // A minimum of 5 accepts 0 and 5 to 15.
    for (coverage, accepted) in [(0, true), (1, false), (4, false), (5, true), (15, true)] {
        let mut pair = Pair::connected_with(sends_coverage(5), accepts_coverage(5));
        let sequence = pair.client.cx.sequence.numbers.gss().next();
        let mut packet = pair.forge(End::Client, Kind::Data, sequence);
        packet.payload = datagram(7).payload;
        packet.checksum_coverage = ChecksumCoverage::from_field(coverage);
        pair.inject(End::Server, packet);
        pair.drain();
        assert_eq!(pair.received(End::Server).len(), usize::from(accepted), "{coverage}");
        let discarded = pair.server().snapshot().statistics.datagrams_discarded;
        assert_eq!(discarded, u64::from(!accepted), "{coverage}");
    }
}

#[test]
fn without_a_minimum_only_full_coverage_is_accepted() {
    let mut pair = Pair::connected(config(Duration::ZERO));
    let sequence = pair.client.cx.sequence.numbers.gss().next();
    for (number, coverage) in [(0, 15), (1, 1)] {
        let mut packet = pair.forge(End::Client, Kind::Data, sequence.add(number));
        packet.payload = datagram(7).payload;
        packet.checksum_coverage = ChecksumCoverage::from_field(coverage);
        pair.inject(End::Server, packet);
    }
    pair.drain();
    assert_eq!(pair.received(End::Server), []);
    assert_eq!(pair.server().snapshot().statistics.datagrams_discarded, 2);
}

#[test]
fn a_sender_whose_coverage_is_refused_after_all_covers_everything() {
    let mut pair = Pair::connected_with(sends_coverage(1), accepts_coverage(1));
    pair.send(End::Client, 1);
    pair.run_for(millis(200));
    // With a number that the server has used for another packet, which was lost.
    pair.lose(|_| true);
    pair.send(End::Server, 0);
    pair.run_for(millis(1));
    pair.deliver_all();
    let (ack, sequence) = (pair.client.cx.sequence.numbers.gss(), pair.server().cx.sequence.numbers.gss());
    let mut packet = pair.forge(End::Server, Kind::Ack { ack }, sequence);
    packet.options.push(DccpOption::DataDropped([0x80][..].into()));
    pair.inject(End::Client, packet);
    pair.forget();
    pair.send(End::Client, 2);
    pair.run_for(millis(400));
    assert_eq!(pair.received(End::Server), [2]);
    let sent = pair.sent.iter().find(|sent| !sent.packet.payload.is_empty()).unwrap();
    assert_eq!(sent.packet.checksum_coverage, ChecksumCoverage::ALL);
}

#[test]
fn data_carry_a_checksum_where_that_is_configured() {
    for (checksum, is_sent) in
        [(DataChecksumUse::Off, false), (DataChecksumUse::Offer, true), (DataChecksumUse::Require, true)]
    {
        let mut pair = Pair::connected_with(with_checksum(checksum), config(Duration::ZERO));
        let is_on = |end: &crate::Connection, location| {
            end.cx.features.negotiation.is_on(FeatureNumber::CheckDataChecksum, location)
        };
        assert_eq!(is_on(&pair.client, Location::Remote), is_sent);
        assert_eq!(is_on(pair.server(), Location::Local), is_sent);
        assert!(!is_on(&pair.client, Location::Local), "the peer did not request it of this end");
        // The check value of CRC-32c, in the byte order of RFC 3309.
        let payload = Bytes::from_static(b"123456789");
        pair.client.send(pair.now, Datagram::new(payload)).unwrap();
        pair.client.send(pair.now, Datagram::new(Bytes::new())).unwrap();
        pair.run_for(millis(300));
        let sent = pair.sent_by(End::Client, Data);
        let expected = DccpOption::DataChecksum(0xe306_9283_u32.swap_bytes());
        assert_eq!(sent[0].packet.options.contains(&expected), is_sent, "{:?}", sent[0].packet);
        let has_checksum =
            |packet: &Packet| packet.options.iter().any(|o| matches!(o, DccpOption::DataChecksum(_)));
        assert!(!has_checksum(&sent[1].packet), "the CRC of no data is zero and need not be sent");
        assert!(pair.sent_by(End::Server, Ack).iter().all(|ack| !has_checksum(&ack.packet)));
        assert_eq!(pair.server_events.iter().filter(|e| matches!(e, Event::Datagram { .. })).count(), 2);
    }
}

#[test]
fn a_peer_that_cannot_check_ends_a_connection_that_requires_it() {
    // RFC 4340, Section 9.3.1. The peer does not know the feature at all.
    let mut pair = Pair::new(with_checksum(DataChecksumUse::Require));
    pair.client.connect(pair.now);
    let request = pair.client.poll_transmit(pair.now).unwrap().packet;
    let position =
        request.options.iter().position(|o| matches!(o, DccpOption::Feature(f) if f.feature == 9)).unwrap();
    assert_eq!(request.options[position - 1], DccpOption::Mandatory);
    let kind = Kind::Response { ack: request.sequence, service_code: crate::Config::default().service_code };
    let mut response = pair.forge(End::Server, kind, SeqNo::new(77));
    let DccpOption::Feature(change) = &request.options[position] else { panic!() };
    let reply = change.action.reply().unwrap();
    response
        .options
        .push(DccpOption::Feature(whimbrel_wire::option::FeatureOption::empty(reply, change.feature)));
    pair.inject(End::Client, response);
    pair.drain();
    let closed = pair.client_events.iter().find_map(|event| match event {
        Event::Closed(ConnectionError::ResetLocally(reset)) => Some(*reset),
        _ => None,
    });
    assert_eq!(closed.unwrap().code, ResetCode::OptionError);
}

/// Treatment of data with a wrong checksum: the client's other data, and the pair.
fn corrupted(kind: fn(SeqNo) -> Kind, deliver: bool) -> (Pair, SeqNo) {
    let receive = ReceiveConfig { deliver_corrupt: deliver, ..ReceiveConfig::default() };
    let mut pair = Pair::connected(Config { receive, ..config(Duration::ZERO) });
    // Takes the number that the packet below will have, so that the client knows it as its own.
    pair.lose(|_| true);
    pair.send(End::Client, 1);
    pair.drain();
    pair.deliver_all();
    let sequence = pair.client.cx.sequence.numbers.gss();
    let ack = pair.client.cx.sequence.numbers.gsr();
    let mut packet = pair.forge(End::Client, kind(ack), sequence);
    packet.payload = Payload::Bytes(Bytes::from_static(b"whimbrel"));
    packet.options.push(DccpOption::DataChecksum(packet.payload.data_checksum() ^ 1));
    pair.forget();
    pair.inject(End::Server, packet);
    pair.send(End::Client, 2);
    pair.send(End::Client, 3);
    pair.run_for(millis(300));
    (pair, sequence)
}

#[test]
fn corrupt_data_are_dropped_and_reported_as_such() {
    let (pair, sequence) = corrupted(|_| Kind::Data, false);
    assert_eq!(pair.received(End::Server), [2, 3]);
    assert!(!pair.server_events.iter().any(|event| matches!(event, Event::CorruptDatagram { .. })));
    let expected = Event::DataDropped { sequence, code: DropCode::Corrupt };
    assert!(pair.client_events.contains(&expected), "{:?}", pair.client_events);
    assert_eq!(pair.sent_by(End::Server, Sync).len(), 0, "the packet itself is valid");
}

#[test]
fn corrupt_data_are_delivered_as_such_if_configured() {
    let (pair, sequence) = corrupted(|_| Kind::Data, true);
    let payload = Payload::Bytes(Bytes::from_static(b"whimbrel"));
    let delivered = Event::CorruptDatagram { payload, sequence, ecn: whimbrel_wire::Ecn::default() };
    assert!(pair.server_events.contains(&delivered));
    assert!(pair.client_events.contains(&Event::DataDropped { sequence, code: DropCode::DeliveredCorrupt }));
}

#[test]
fn corrupt_data_that_are_not_delivered_are_reported() {
    // RFC 4340, Section 9.3, the last paragraph.
    for deliver in [false, true] {
        let (pair, sequence) = corrupted(|ack| Kind::Ack { ack }, deliver);
        assert!(pair.client_events.contains(&Event::DataDropped { sequence, code: DropCode::Corrupt }));
        assert_eq!(pair.received(End::Server), [2, 3]);
    }
}

#[test]
fn data_that_only_have_a_length_have_a_checksum_all_the_same() {
    let mut pair = Pair::connected(with_checksum(DataChecksumUse::Offer));
    for tag in 0..3 {
        pair.send(End::Client, tag);
    }
    pair.run_for(millis(200));
    assert_eq!(pair.received(End::Server), [0, 1, 2]);
    assert_eq!(pair.server().snapshot().statistics.datagrams_discarded, 0);
    assert!(pair.sent_by(End::Client, DataAck).is_empty());
    assert_eq!(pair.client.state(), State::Open);
}
