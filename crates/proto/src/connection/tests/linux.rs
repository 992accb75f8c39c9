//! Handshakes with Linux 6.1, as captured between two Linux kernels: each end of ours takes the
//! place of one of theirs, under its sequence numbers.

use std::path::Path;

use pcap_file::pcap::PcapReader;
use smallvec::smallvec;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Kind, Packet, PacketType};

use crate::{Ccid, Config, Connection, ReceiveMeta, State};

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
    Config {
        service_code,
        sender_ccids: smallvec![ccid],
        receiver_ccids: smallvec![ccid],
        ..Config::default()
    }
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
