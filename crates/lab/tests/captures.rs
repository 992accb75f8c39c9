//! Capture files of simulated links and 802.11 media: real packets that decode.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;

use bytes::Bytes;
use pcap_file::pcapng::{Block, PcapNgReader};
use whimbrel_lab::{Document, Run};
use whimbrel_wifi::frame::bytes::{Header, has_valid_check_sequence};
use whimbrel_wifi::frame::radiotap::Radiotap;
use whimbrel_wire::checksum::{self, PseudoHeader};
use whimbrel_wire::{Packet, PacketType, udp_encapsulation};

const SCENARIO: &str = concat!(
    pair!(
        r#"
name = "radio"
rate = "2 Mbit/s"
delay = "15 ms"
queue = "20 packets"
mark_at = 10
loss = { model = "bernoulli", rate = 0.02 }
"#
    ),
    r#"
[simulation]
duration = "10 s"
[[flow]]
name = "native"
from = "a"
to = "b"
transport = "dccp"
stop = "6 s"
[[flow]]
name = "encapsulated"
from = "a"
to = "b"
transport = "dccp"
ccid = 2
dccp = { udp_encapsulation = true }
[[flow]]
name = "tcp"
from = "a"
to = "b"
transport = "tcp"
tcp = { handshake = true, timestamps = true }
[[flow]]
name = "voice"
from = "a"
to = "b"
transport = "udp"
packet_size = "200 B"
traffic = { kind = "cbr", rate = "80 kbit/s" }
"#
);

#[test]
fn every_captured_packet_decodes() {
    let plan = Document::from_toml(SCENARIO).unwrap().plan().unwrap();
    let mut run = Run::new(&plan, 1);
    run.capture(|_| true);
    run.execute(|_| ControlFlow::Continue(()));
    let file = run.take_capture();
    let delivered: u64 =
        run.links().iter().map(|link| run.simulator().link_stats(*link).delivered.packets).sum();

    let mut packets = 0;
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let mut marked = 0;
    let mut reader = PcapNgReader::new(file.as_slice()).unwrap();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(block) = block.unwrap() else { continue };
        packets += 1;
        let bytes = Bytes::copy_from_slice(&block.data);
        assert_eq!((bytes[0], checksum::internet_checksum(&bytes[..20])), (0x45, 0));
        let length = u16::from_be_bytes([bytes[2], bytes[3]]);
        assert_eq!(u32::from(length), block.original_len);
        marked += u64::from(bytes[1] & 3 == 3);
        let address = |at: usize| Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
        let pseudo_header = PseudoHeader::v4(address(12), address(16));
        let body = bytes.slice(20..);
        let kind = match bytes[9] {
            33 => {
                assert_eq!(bytes.len(), usize::from(length));
                assert!(checksum::verify(&body, &pseudo_header));
                format!("dccp {:?}", Packet::decode(&body).unwrap().packet_type())
            }
            17 if u16::from_be_bytes([body[0], body[1]]) == udp_encapsulation::PORT => {
                let (_, packet) = udp_encapsulation::decapsulate(&body, &pseudo_header).unwrap();
                format!("udp {:?}", packet.packet_type())
            }
            17 => {
                assert_eq!((body.len(), usize::from(length)), (180, 200));
                "voice".to_owned()
            }
            6 => {
                let header = usize::from(body[12] >> 4) * 4;
                assert_eq!(body.len(), header);
                if length as usize > 20 + header { "tcp data".to_owned() } else { "tcp ack".to_owned() }
            }
            other => panic!("IP protocol {other}"),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    assert_eq!(packets, delivered);
    assert!(marked > 0);
    let count = |kind: &str| kinds.get(kind).copied().unwrap_or(0);
    let [_, sink] = run.flows()[3];
    assert_eq!(count("voice"), run.simulator().agent(sink).meter().counters().received_packets, "{kinds:?}");
    assert!(count("voice") > 450, "{kinds:?}");
    for packet_type in [PacketType::Request, PacketType::Response, PacketType::Close, PacketType::Reset] {
        assert!(count(&format!("dccp {packet_type:?}")) >= 1, "{kinds:?}");
    }
    for kind in ["dccp Data", "dccp Ack", "udp Data", "udp Ack", "tcp data", "tcp ack"] {
        assert!(count(kind) > 20, "{kind}: {kinds:?}");
    }
}

const HOTSPOT: &str = r#"
[simulation]
duration = "5 s"
[[wifi]]
name = "air"
rts_threshold = "500 B"
[[node]]
name = "ap"
wifi = "air"
position = [0, 0]
access_point = { ssid = "lab" }
[[node]]
name = "phone"
wifi = "air"
position = [30, 0]
client = { ssid = "lab" }
[[flow]]
name = "video"
from = "ap"
to = "phone"
transport = "dccp"
start = "1 s"
"#;

/// Every frame on the air is in the capture, with a valid check sequence; packets in data frames decode.
#[test]
fn frames_on_the_air_decode() {
    let plan = Document::from_toml(HOTSPOT).unwrap().plan().unwrap();
    let mut run = Run::new(&plan, 1);
    run.capture(|name| name == "air");
    run.record_replay(usize::MAX);
    run.execute(|_| ControlFlow::Continue(()));
    let file = run.take_capture();
    let transmitted = run.replay().unwrap()["frames"]["t"].as_array().unwrap().len() as u64;

    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let mut last = 0;
    let mut reader = PcapNgReader::new(file.as_slice()).unwrap();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(block) = block.unwrap() else { continue };
        let (radiotap, frame) = Radiotap::parse(&block.data).unwrap();
        assert!(has_valid_check_sequence(frame));
        assert_eq!(block.data.len(), block.original_len as usize);
        let at = radiotap.tsft.expect("a time");
        assert!(at >= last, "{at} us after {last} us");
        last = at;
        // The record's time is the beginning of the frame, radiotap's the beginning of the MPDU.
        let is_ofdm = radiotap.channel.expect("a channel").1 & 0x0040 != 0;
        let is_short = radiotap.flags.expect("flags") & Radiotap::SHORT_PREAMBLE != 0;
        let plcp = if is_ofdm {
            20
        } else if is_short {
            96
        } else {
            192
        };
        assert_eq!(u128::from(at), (block.timestamp + std::time::Duration::from_micros(plcp)).as_micros());
        let (header, body) = Header::parse(&frame[..frame.len() - 4]).unwrap();
        let kind = match header {
            Header::Rts { .. } => "rts",
            Header::Cts { .. } => "cts",
            Header::Ack { .. } => "ack",
            Header::Management(_) => "management",
            Header::Data(header) => {
                assert_eq!(header.address4, None);
                let ip = body.strip_prefix(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]).expect("LLC and SNAP headers");
                assert_eq!((ip[0], checksum::internet_checksum(&ip[..20])), (0x45, 0));
                let length = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
                let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
                let packet = Bytes::copy_from_slice(&ip[20..length]);
                assert!(checksum::verify(&packet, &PseudoHeader::v4(address(12), address(16))));
                Packet::decode(&packet).unwrap();
                "data"
            }
            Header::Unknown { kind, .. } => panic!("kind {kind:#x}"),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    assert_eq!(kinds.values().sum::<u64>(), transmitted);
    let count = |kind: &str| kinds.get(kind).copied().unwrap_or(0);
    assert!(count("data") > 500 && count("rts") > 200, "{kinds:?}");
    assert!(count("cts") <= count("rts") && count("ack") <= count("data") + count("management"), "{kinds:?}");
    assert!((45..=70).contains(&count("management")), "{kinds:?}");
}

const PEERS: &str = r#"
[simulation]
duration = "2 s"
[[wifi]]
name = "air"
arp = true
[[node]]
name = "left"
wifi = "air"
position = [0, 0]
[[node]]
name = "right"
wifi = "air"
position = [30, 0]
[[flow]]
name = "video"
from = "left"
to = "right"
transport = "dccp"
"#;

/// The first two data frames are the request and the reply (RFC 826), with the addresses of later packets.
#[test]
fn address_resolution_precedes_the_first_packet_on_the_air() {
    let plan = Document::from_toml(PEERS).unwrap().plan().unwrap();
    let mut run = Run::new(&plan, 1);
    run.capture(|name| name == "air");
    run.record_replay(usize::MAX);
    run.execute(|_| ControlFlow::Continue(()));
    let file = run.take_capture();
    let mut bodies: Vec<Vec<u8>> = Vec::new();
    let mut reader = PcapNgReader::new(file.as_slice()).unwrap();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(block) = block.unwrap() else { continue };
        let (_, frame) = Radiotap::parse(&block.data).unwrap();
        assert!(has_valid_check_sequence(frame));
        let (header, body) = Header::parse(&frame[..frame.len() - 4]).unwrap();
        if let Header::Data(_) = header {
            bodies.push(body.to_vec());
        }
    }
    let [request, reply, packets @ ..] = &bodies[..] else { panic!("{} data frames", bodies.len()) };
    let is_arp = |body: &[u8]| body[6..8] == [8, 6];
    assert!(is_arp(request) && is_arp(reply) && packets.len() > 100);
    assert!(packets.iter().all(|body| body[6..8] == [8, 0]), "one resolution serves the run");
    assert_eq!((request.len(), reply.len()), (36, 36));
    // Operation, then the addresses of the sender and of the target, each of 6 and 4 bytes.
    let fields = |body: &[u8]| (body[15], body[22..26].to_vec(), body[32..36].to_vec());
    let (source, destination) = (packets[0][20..24].to_vec(), packets[0][24..28].to_vec());
    assert_eq!(fields(request), (1, source.clone(), destination.clone()));
    assert_eq!(fields(reply), (2, destination, source));
    assert_eq!(request[26..32], [0; 6]);
    assert_eq!((&reply[16..22], &reply[26..32]), (&[2, 0, 0, 0, 0, 1][..], &request[16..22]));
}
