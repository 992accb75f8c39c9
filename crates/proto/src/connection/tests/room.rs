//! A datagram of the largest size leaves in a packet that the path carries, with any other options that are
//! due.
//!
//! Every packet of every pair is measured ([`audit_size`](super::audit::audit_size)); here both ways are
//! full.

use whimbrel_control::loss_differentiation::{Differentiation, Scheme};
use whimbrel_units::Duration;
use whimbrel_wire::PacketType::{Ack, Data, DataAck};
use whimbrel_wire::{DccpOption, PacketType, Payload};

use super::fixed_rate::FixedRate;
use super::pair::{End, Pair, Treatment};
use crate::ccid::Registry;
use crate::config::{DataChecksumUse, FreezeConfig, IntegrityConfig, TfrcConfig};
use crate::{Ccid, Config, Datagram, FreezeScope};

fn config(ccid: Ccid, data_checksum: DataChecksumUse) -> Config {
    let mut config = Config {
        sender_ccids: [ccid].into(),
        receiver_ccids: [ccid].into(),
        integrity: IntegrityConfig { data_checksum, ..IntegrityConfig::default() },
        ..Config::default()
    };
    config.receive.max_datagrams = 1 << 16;
    config.receive.max_bytes = 1 << 30;
    config
}

/// A congestion control that cannot do without Ack Vectors, and lets everything go.
fn with_ack_vectors() -> Config {
    let control = FixedRate { needs_ack_vector: true, ..FixedRate::every(Duration::ZERO) };
    let ccids = Registry::empty().with(control);
    Config { ccids, sequence_window: 2000, ..super::pair::config(Duration::ZERO) }
}

fn fill(pair: &mut Pair, length: usize) {
    for end in [End::Client, End::Server] {
        let now = pair.now;
        let datagram = Datagram::new(Payload::Opaque { length: length as u32, tag: 1 });
        pair.end(end).send(now, datagram).unwrap();
    }
}

/// Sends a datagram of the largest size from both ends every 2 ms.
fn both_ways_full(pair: &mut Pair, count: usize) {
    for _ in 0..count {
        let largest = pair.client.snapshot().max_datagram;
        fill(pair, largest);
        pair.run_for(Duration::from_millis(2));
    }
    pair.run_for(Duration::from_secs(3));
}

fn count(pair: &Pair, end: End, packet_type: PacketType) -> usize {
    pair.sent_by(end, packet_type).len()
}

#[test]
fn with_both_ways_full_no_packet_is_larger_than_the_path() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        for data_checksum in [DataChecksumUse::Off, DataChecksumUse::Offer] {
            let mut pair = Pair::connected(config(ccid, data_checksum));
            let mut number = 0;
            pair.script = Box::new(move |_| {
                number += 1;
                if number % 97 == 0 { Treatment::Lose } else { Treatment::Deliver }
            });
            both_ways_full(&mut pair, 1500);
            for end in [End::Client, End::Server] {
                let sent = |packet_type| count(&pair, end, packet_type);
                let full = |packet_type| {
                    let sent = pair.sent_by(end, packet_type);
                    sent.iter().filter(|sent| sent.packet.payload.len() == 1400).count()
                };
                assert_eq!(full(Data) + full(DataAck), sent(Data) + sent(DataAck), "{ccid} {end:?}");
                assert!(sent(Ack) > 10 && full(Data) + full(DataAck) > 100, "{ccid} {end:?}");
                // RFC 4340, Section 11.5.
                let mut acknowledgements = pair.sent_by(end, Ack);
                acknowledgements.extend(pair.sent_by(end, DataAck));
                let is_vector = |option: &DccpOption| matches!(option, DccpOption::AckVector { .. });
                let have_vectors =
                    acknowledgements.iter().all(|sent| sent.packet.options.iter().any(is_vector));
                assert!(ccid != Ccid::TCP_LIKE || have_vectors, "{end:?}");
            }
        }
    }
}

#[test]
fn a_data_ack_has_an_ack_vector_and_may_fill_the_path() {
    let mut largest = 0;
    for short in 0..28 {
        let mut pair = Pair::connected(with_ack_vectors());
        // Holes make Ack Vectors long.
        let mut number = 0;
        pair.script = Box::new(move |_| {
            number += 1;
            if number % 5 == 0 { Treatment::Lose } else { Treatment::Deliver }
        });
        for _ in 0..200 {
            fill(&mut pair, 1400 - short);
            pair.run_for(Duration::from_millis(5));
        }
        let sent = pair.sent_by(End::Client, DataAck);
        largest = largest.max(sent.iter().map(|sent| sent.packet.encoded_len()).max().unwrap_or(0));
        // RFC 4340, Section 11.5: a packet without room for the Ack Vector does not acknowledge.
        let is_vector = |option: &DccpOption| matches!(option, DccpOption::AckVector { .. });
        let bare = sent.iter().filter(|sent| !sent.packet.options.iter().any(is_vector)).count();
        assert_eq!(bare, 0, "{short} bytes short: {bare} of {}", sent.len());
    }
    assert!((1444..=1452).contains(&largest), "{largest}");
}

/// RFC 4340, Sections 11.2 and 11.5: where the Ack Vector leaves no room for the data, they leave in two
/// packets.
#[test]
fn an_acknowledgement_with_a_long_ack_vector_leaves_before_a_full_datagram() {
    let mut pair = Pair::connected(with_ack_vectors());
    // Every second packet is lost: each one that arrives takes two bytes of an Ack Vector.
    let mut number = 0;
    pair.script = Box::new(move |_| {
        number += 1;
        if number % 4 < 2 { Treatment::Lose } else { Treatment::Deliver }
    });
    for _ in 0..60 {
        for _ in 0..12 {
            fill(&mut pair, 1400);
        }
        pair.run_for(Duration::from_millis(4));
    }
    for end in [End::Client, End::Server] {
        let is_vector = |option: &DccpOption| matches!(option, DccpOption::AckVector { .. });
        let mut acknowledgements = pair.sent_by(end, Ack);
        let ahead = acknowledgements.len();
        acknowledgements.extend(pair.sent_by(end, DataAck));
        let bare = acknowledgements.iter().filter(|sent| !sent.packet.options.iter().any(is_vector)).count();
        assert_eq!(bare, 0, "{end:?}: {bare} of {}", acknowledgements.len());
        assert!(ahead > 10 && count(&pair, end, Data) > 10, "{end:?}: {ahead}");
    }
}

#[test]
fn timestamps_and_marks_of_a_restored_rate_have_their_room() {
    let differentiation = Differentiation::guarded(Scheme::Spike);
    let tfrc = TfrcConfig { differentiation: Some(differentiation), ..TfrcConfig::default() };
    let freeze = FreezeConfig { offer: true, ..FreezeConfig::default() };
    let mut pair =
        Pair::connected(Config { freeze, ..config(Ccid::TFRC, DataChecksumUse::Offer).tfrc(tfrc) });
    both_ways_full(&mut pair, 300);
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Both);
    pair.run_for(Duration::from_millis(500));
    let now = pair.now;
    pair.client.unfreeze(now, FreezeScope::Both);
    both_ways_full(&mut pair, 300);
    let on_data = |is_wanted: fn(&DccpOption) -> bool| {
        let data = pair.sent_by(End::Client, Data);
        let sent = data.into_iter().chain(pair.sent_by(End::Client, DataAck));
        sent.filter(|sent| sent.packet.options.iter().any(is_wanted)).count()
    };
    assert!(on_data(|option| matches!(option, DccpOption::Timestamp(_))) > 100);
    assert!(on_data(|option| matches!(option, DccpOption::CcidSpecific { kind: 184 | 185, .. })) > 5);
}

#[test]
fn data_on_the_handshake_leave_room_for_its_longer_header() {
    let config = Config { data_on_handshake: true, ..config(Ccid::TCP_LIKE, DataChecksumUse::Offer) };
    for short in 0..60 {
        let mut pair = Pair::new(config.clone());
        let datagram = Datagram::new(Payload::Opaque { length: 1400 - short, tag: 1 });
        pair.client.send(pair.now, datagram).unwrap();
        pair.client.connect(pair.now);
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.received(End::Server), [1]);
    }
}

#[test]
fn acknowledgements_keep_within_a_narrow_path() {
    // Every other packet is lost, so that the Ack Vectors would grow to two full options.
    let mut pair = Pair::connected(with_ack_vectors());
    let now = pair.now;
    pair.server_mut().set_max_datagram(now, 400);
    pair.script = Box::new(move |sent| {
        let number = u64::from(sent.packet.sequence.low24());
        let is_lost = match sent.from {
            End::Client => number % 2 == 0,
            // No acknowledgement lets the server drop its history.
            End::Server => true,
        };
        if is_lost { Treatment::Lose } else { Treatment::Deliver }
    });
    for _ in 0..600 {
        let datagram = Datagram::new(Payload::Opaque { length: 100, tag: 1 });
        let _ = pair.client.send(pair.now, datagram);
        pair.run_for(Duration::from_millis(1));
    }
    let longest = pair.sent_by(End::Server, Ack).iter().map(|sent| sent.packet.encoded_len()).max();
    assert!(longest.is_some_and(|longest| longest > 300), "{longest:?}");
}

#[test]
fn a_retransmitted_request_leaves_out_data_that_the_path_no_longer_carries() {
    let mut pair = Pair::new(Config { data_on_handshake: true, ..super::pair::config(Duration::ZERO) });
    pair.lose(|sent| sent.packet.sequence.value() == 1_000_000);
    let now = pair.now;
    pair.client.send(now, Datagram::new(Payload::Opaque { length: 200, tag: 1 })).unwrap();
    pair.client.connect(now);
    pair.run_for(Duration::from_millis(500));
    pair.client.set_max_datagram(pair.now, 50);
    pair.run_for(Duration::from_secs(2));
    let sizes: Vec<usize> =
        pair.sent_by(End::Client, PacketType::Request).iter().map(|sent| sent.packet.payload.len()).collect();
    assert_eq!(sizes, [200, 0]);
}
