use std::net::Ipv4Addr;

use proptest::prelude::*;
use whimbrel_wire::checksum::internet_checksum;
use whimbrel_wire::{ChecksumCoverage, Kind, Options, Payload, SeqNo, ServiceCode};

use super::*;

const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
const RAW: u16 = 101;

fn packet(kind: Kind, sequence: u64, payload: &[u8]) -> Packet {
    Packet {
        source_port: 40_000,
        destination_port: 5004,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(sequence),
        kind,
        options: Options::new(),
        payload: Payload::from(Bytes::copy_from_slice(payload)),
    }
}

fn request() -> Packet {
    packet(Kind::Request { service_code: ServiceCode(42) }, 7, b"")
}

/// An IPv4 packet from client to server.
fn ip(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 2, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
    bytes[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    bytes.extend(CLIENT.octets());
    bytes.extend(SERVER.octets());
    let checksum = internet_checksum(&bytes);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn native(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.encode_with_checksum(&PseudoHeader::v4(CLIENT, SERVER), &mut bytes).unwrap();
    ip(33, &bytes)
}

fn in_udp(packet: &Packet, source: u16, destination: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let ports = UdpPorts { source, destination };
    udp_encapsulation::encapsulate(packet, ports, &PseudoHeader::v4(CLIENT, SERVER), &mut bytes).unwrap();
    ip(17, &bytes)
}

fn record(data: &[u8]) -> Record<'_> {
    Record {
        number: 9,
        offset: 1234,
        at: Instant::from_millis(5),
        interface: 0,
        interface_name: None,
        link_type: RAW,
        data,
        original_length: data.len() as u32,
    }
}

fn dissect(data: &[u8]) -> Dissected {
    Dissector::default().dissect(&record(data))
}

#[track_caller]
fn segments(dissected: Dissected) -> Vec<Segment> {
    match dissected {
        Dissected::Dccp(segments) => segments,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn only(dissected: Dissected) -> Segment {
    let [segment] = <[Segment; 1]>::try_from(segments(dissected)).unwrap();
    segment
}

#[track_caller]
fn malformed(dissected: Dissected) -> Malformed {
    match dissected {
        Dissected::Malformed(malformed) => malformed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn dccp_over_ip_is_dissected() {
    let segment = only(dissect(&native(&request())));
    assert_eq!((segment.packet, segment.checksum, segment.is_whole), (request(), Checksum::Good, true));
    assert_eq!((segment.number, segment.at, segment.ecn), (9, Instant::from_millis(5), Ecn::Ect0));
    assert_eq!((segment.source, segment.destination), (CLIENT.into(), SERVER.into()));
    assert_eq!(segment.udp, None);
    let mut wrong = native(&request());
    *wrong.last_mut().unwrap() ^= 1;
    assert_eq!(only(dissect(&wrong)).checksum, Checksum::Bad);
}

#[test]
fn dccp_in_udp_is_found_on_the_known_and_the_given_ports() {
    let segment = only(dissect(&in_udp(&packet(Kind::Data, 8, b"datum"), 1024, 6511)));
    assert_eq!(segment.udp, Some(UdpPorts { source: 1024, destination: 6511 }));
    assert_eq!((segment.checksum, segment.packet.payload.len()), (Checksum::Good, 5));
    let elsewhere = in_udp(&packet(Kind::Data, 8, b"datum"), 1024, 4000);
    assert!(matches!(dissect(&elsewhere), Dissected::Other));
    only(Dissector::new(&[4000]).dissect(&record(&elsewhere)));
}

#[test]
fn dccp_in_udp_is_found_on_other_ports_once_a_connection_is_opened() {
    let mut dissector = Dissector::default();
    let data = in_udp(&packet(Kind::Data, 8, b"datum"), 1024, 4000);
    assert!(matches!(dissector.dissect(&record(&data)), Dissected::Other));
    only(dissector.dissect(&record(&in_udp(&request(), 1024, 4000))));
    only(dissector.dissect(&record(&data)));
    let other = in_udp(&packet(Kind::Data, 8, b"datum"), 1025, 4000);
    assert!(matches!(dissector.dissect(&record(&other)), Dissected::Other));
}

#[test]
fn other_protocols_on_udp_are_not_mistaken_for_dccp() {
    // A DNS query and an RTP packet.
    let dns = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01";
    let rtp = [&[0x80, 0x60, 0, 1, 0, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef][..], &[7; 160]].concat();
    for payload in [&dns[..], &rtp] {
        let length = (8 + payload.len() as u16).to_be_bytes();
        let datagram = [&[0, 53, 0, 54][..], &length, &[0, 0], payload].concat();
        assert!(matches!(dissect(&ip(17, &datagram)), Dissected::Other));
    }
}

#[test]
fn udp_checksums_are_classified() {
    let good = in_udp(&request(), 6511, 6511);
    let with = |field: [u8; 2]| {
        let mut bytes = good.clone();
        bytes[26..28].copy_from_slice(&field);
        only(dissect(&bytes)).checksum
    };
    assert_eq!(with([0, 0]), Checksum::Absent);
    assert_eq!(with([1, 2]), Checksum::Bad);
    // Value left in the field by Linux for the network card: the sum over the pseudo-header.
    let mut pseudo = [CLIENT.octets(), SERVER.octets()].concat();
    pseudo.extend([0, 17, 0, good.len() as u8 - 20]);
    assert_eq!(with((!internet_checksum(&pseudo)).to_be_bytes()), Checksum::Unfinished);
}

#[test]
fn coalesced_packets_are_split() {
    let mut together = Vec::new();
    for (sequence, length) in [(u64::MAX >> 16, 100), (0, 100), (1, 100), (2, 30)] {
        // The application data contain the ports.
        let payload = [40_000u16.to_be_bytes(), 5004u16.to_be_bytes()].concat().repeat(25);
        packet(Kind::Data, sequence, &payload[..length]).encode(&mut together).unwrap();
    }
    let length = (8 + together.len() as u16).to_be_bytes();
    let datagram = [&[0x19, 0x6f, 4, 0][..], &length, &[9, 9], &together].concat();
    let found = segments(dissect(&ip(17, &datagram)));
    let summary: Vec<_> =
        found.iter().map(|one| (one.packet.sequence.value(), one.packet.payload.len())).collect();
    assert_eq!(summary, [((1 << 48) - 1, 100), (0, 100), (1, 100), (2, 30)]);
    assert!(found.iter().all(|segment| segment.checksum == Checksum::Unfinished));
    // One datagram that contains such data is not split.
    let alone = in_udp(&packet(Kind::Data, 5, &together), 6511, 1024);
    assert_eq!(only(dissect(&alone)).packet.payload.len(), together.len());
}

#[test]
fn truncated_packets_are_read_up_to_their_header() {
    let whole = native(&packet(Kind::DataAck { ack: SeqNo::new(1) }, 8, &[7; 500]));
    let segment = only(dissect(&whole[..96]));
    assert_eq!((segment.packet.payload.len(), segment.checksum), (500, Checksum::Unknown));
    assert!(!segment.is_whole);
    // The options are truncated and replaced by zeros; a missing header is an error.
    let error = malformed(dissect(&whole[..24]));
    assert!(error.reason.ends_with("the capture has 4 of its 524 bytes"), "{error:?}");
}

#[test]
fn malformed_packets_are_reported_with_the_offset() {
    let mut reserved = native(&request());
    reserved[28] = 0x1f;
    let error = malformed(dissect(&reserved));
    assert_eq!((error.number, error.record_offset, error.layer, error.offset), (9, 1234, "DCCP", 8));
    assert_eq!(error.reason, "reserved packet type 15");
    assert_eq!(error.addresses, Some((CLIENT.into(), SERVER.into())));
    let mut long = in_udp(&request(), 6511, 1);
    long[25] = 200;
    let error = malformed(dissect(&long));
    assert_eq!(
        (error.layer, error.offset, &error.reason[..]),
        ("UDP", 4, "UDP length 200: expected 8 to 28")
    );
    for good in [native(&request()), in_udp(&request(), 6511, 1)] {
        let mut wrong = good;
        wrong[8] ^= 1;
        let error = malformed(dissect(&wrong));
        assert_eq!((error.layer, error.offset), ("IP", 10));
        assert!(error.reason.starts_with("wrong header checksum"));
    }
    let error = malformed(dissect(&[0x45]));
    assert_eq!((error.layer, error.offset), ("IP", 1));
}

#[test]
fn fragments_and_unknown_links_are_reported() {
    let mut part = native(&request());
    part[6] = 0x20;
    assert!(matches!(dissect(&part), Dissected::Fragment(Fragment { more: true, .. })));
    let record = Record { link_type: 147, ..record(&part) };
    assert!(matches!(Dissector::default().dissect(&record), Dissected::UnknownLink(147)));
}

proptest! {
    #[test]
    fn dissecting_any_frame_does_not_panic(
        link_type in prop::sample::select(vec![0u16, 1, 101, 113, 276, 999]),
        which in 0..4usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let mut bytes = match which {
            0 => native(&request()),
            1 => in_udp(&packet(Kind::Data, 8, &[7; 60]), 6511, 9),
            2 => in_udp(&request(), 4, 9),
            _ => noise,
        };
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let record = Record { link_type, ..record(&bytes) };
        if let Dissected::Dccp(segments) = Dissector::default().dissect(&record) {
            prop_assert!(!segments.is_empty());
        }
    }
}
