//! Handshakes with Linux 6.1, as captured between two Linux kernels: each end of ours takes the
//! place of one of theirs, under its sequence numbers.

use std::path::Path;

use bytes::Bytes;
use pcap_file::pcap::PcapReader;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::{FeatureAction, FeatureOption};
use whimbrel_wire::{DccpOption, Kind, Packet, PacketType};

use crate::{Ccid, Config, Connection, Datagram, FreezeScope, ReceiveMeta, State};

/// The first three packets of a capture: Request, Response, and what completes the handshake.
fn handshake(capture: &str) -> [Packet; 3] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/data").join(capture);
    let mut reader = PcapReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(frame) = reader.next_packet() {
        let frame = frame.unwrap();
        // Ethernet, IPv4, protocol 33.
        let ip = &frame.data[14..];
        if frame.data[12..14] == [8, 0] && ip[9] == 33 {
            let length = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
            packets.push(Packet::decode_slice(&ip[20..length]).unwrap());
        }
        if packets.len() == 3 {
            break;
        }
    }
    packets.try_into().unwrap()
}

fn config(request: &Packet, ccid: Ccid) -> Config {
    let Kind::Request { service_code } = request.kind else { panic!("{request:?} is no Request") };
    Config { service_code, sender_ccids: [ccid].into(), receiver_ccids: [ccid].into(), ..Config::default() }
}
const CAPTURES: [(&str, Ccid); 4] = [
    ("ccid2-loss0.pcap", Ccid::TCP_LIKE),
    ("ccid2-closereq.pcap", Ccid::TCP_LIKE),
    ("ccid3-loss3.pcap", Ccid::TFRC),
    ("ccid3-both-ways.pcap", Ccid::TFRC),
];

#[test]
fn a_linux_client_connects_to_our_server() {
    for (capture, ccid) in CAPTURES {
        let [request, response, third] = handshake(capture);
        let now = Instant::from_secs(5);
        let config = config(&request, ccid);
        let mut server = Connection::server(now, config, &request, response.sequence.value()).unwrap();
        server.handle_packet(now, ReceiveMeta::default(), request.clone());
        let ours = server.poll_transmit(now).unwrap().packet;
        assert_eq!(ours.packet_type(), PacketType::Response, "{capture}");
        assert_eq!((ours.sequence, ours.ack()), (response.sequence, response.ack()));
        server.handle_packet(now + Duration::from_millis(20), ReceiveMeta::default(), third);
        assert_eq!(server.state(), State::Open, "{capture}");
        let snapshot = server.snapshot();
        assert_eq!((snapshot.sender_ccid, snapshot.receiver_ccid), (ccid, ccid), "{capture}");
        assert_eq!(snapshot.rtt, Some(Duration::from_millis(20)));
    }
}

#[test]
fn our_client_connects_to_a_linux_server() {
    for (capture, ccid) in CAPTURES {
        let [request, response, _] = handshake(capture);
        let now = Instant::from_secs(5);
        let seed = request.sequence.value();
        let config = config(&request, ccid);
        let (source, destination) = (request.source_port, request.destination_port);
        let mut client = Connection::client(now, config, source, destination, seed).unwrap();
        client.connect(now);
        assert_eq!(client.poll_transmit(now).unwrap().packet.sequence, request.sequence);
        client.handle_packet(now, ReceiveMeta::default(), response.clone());
        assert_eq!(client.state(), State::PartOpen, "{capture}");
        let third = client.poll_transmit(now).unwrap().packet;
        assert_eq!((third.packet_type(), third.ack()), (PacketType::Ack, Some(response.sequence)));
        let snapshot = client.snapshot();
        assert_eq!((snapshot.sender_ccid, snapshot.receiver_ccid), (ccid, ccid), "{capture}");
    }
}

/// A Linux end's answer to features that it does not know: empty Confirms (RFC 4340, Section 6.6.7), which
/// its `dccp_push_empty_confirm` makes for any number that is not in its table.
fn knows_nothing_of_freezing(connection: &mut Connection, now: Instant, acknowledgement: &Packet) {
    let mut packet = acknowledgement.clone();
    packet.options = [FeatureAction::ConfirmL, FeatureAction::ConfirmR]
        .map(|action| DccpOption::Feature(FeatureOption::empty(action, 120)))
        .into_iter()
        .collect();
    connection.handle_packet(now, ReceiveMeta::default(), packet);
}

/// `true` if a packet has an option that only an end with the feature Freezing understands.
fn speaks_of_freezing(packet: &Packet) -> bool {
    packet.options.iter().any(|option| match option {
        DccpOption::Freeze | DccpOption::Unfreeze => true,
        DccpOption::CcidSpecific { kind, .. } => matches!(*kind, 184 | 185 | 248),
        _ => false,
    })
}

#[test]
fn a_linux_peer_is_left_alone_by_an_end_that_offers_to_freeze() {
    for (capture, ccid) in CAPTURES {
        let [request, response, third] = handshake(capture);
        let mut now = Instant::from_secs(5);
        let mut config = config(&request, ccid);
        config.freeze.offer = true;
        let mut server = Connection::server(now, config, &request, response.sequence.value()).unwrap();
        server.handle_packet(now, ReceiveMeta::default(), request.clone());
        assert!(server.poll_transmit(now).is_some());
        server.handle_packet(now, ReceiveMeta::default(), third.clone());
        let next = Packet { sequence: third.sequence.next(), ..third.clone() };
        knows_nothing_of_freezing(&mut server, now, &next);
        assert_eq!(server.state(), State::Open, "{capture}");
        assert!(!server.snapshot().freeze.is_agreed);
        assert!(!server.probe(now), "the peer would not help");
        // The end stops at its own application's request, and resumes; no option is sent.
        server.freeze(now, FreezeScope::Both);
        server.send(now, Datagram::new(Bytes::from_static(b"later"))).unwrap();
        for _ in 0..40 {
            now += Duration::from_secs(1);
            server.handle_timeout(now);
            while let Some(transmit) = server.poll_transmit(now) {
                assert!(!speaks_of_freezing(&transmit.packet), "{capture}: {:?}", transmit.packet);
                assert!(!transmit.packet.packet_type().carries_data(), "{capture}: it is frozen");
            }
        }
        server.unfreeze(now, FreezeScope::Both);
        let mut data = 0;
        while let Some(transmit) = server.poll_transmit(now) {
            assert!(!speaks_of_freezing(&transmit.packet), "{capture}: {:?}", transmit.packet);
            data += usize::from(!transmit.packet.payload.is_empty());
        }
        assert_eq!(data, 1, "{capture}");
    }
}
