use std::net::Ipv4Addr;

use bytes::Bytes;
use proptest::prelude::*;
use whimbrel_wire::checksum::internet_checksum;
use whimbrel_wire::{ChecksumCoverage, Ecn, Kind, Options, Payload, SeqNo, ServiceCode};

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
    let dccp = |(segment, _)| match segment {
        AnySegment::Dccp(segment) => segment,
        other => panic!("{other:?}"),
    };
    assert_eq!((&dissected.malformed[..], dissected.not_read), (&[][..], None));
    dissected.segments.into_iter().map(dccp).collect()
}

#[track_caller]
fn only(dissected: Dissected) -> Segment {
    let [segment] = <[Segment; 1]>::try_from(segments(dissected)).unwrap();
    segment
}

#[track_caller]
fn malformed(dissected: Dissected) -> Malformed {
    assert_eq!((dissected.segments.len(), dissected.not_read), (0, None));
    let [malformed] = <[Malformed; 1]>::try_from(dissected.malformed).unwrap();
    malformed
}

/// The only packet of a frame, which is no DCCP.
#[track_caller]
fn other(dissected: Dissected) -> AnySegment {
    let [(segment, _)] = <[_; 1]>::try_from(dissected.segments).unwrap();
    assert!(!matches!(segment, AnySegment::Dccp(_)), "{segment:?}");
    segment
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
    other(dissect(&elsewhere));
    only(Dissector::new(&[4000]).dissect(&record(&elsewhere)));
}

#[test]
fn dccp_in_udp_is_found_on_other_ports_once_a_connection_is_opened() {
    let mut dissector = Dissector::default();
    let data = in_udp(&packet(Kind::Data, 8, b"datum"), 1024, 4000);
    other(dissector.dissect(&record(&data)));
    only(dissector.dissect(&record(&in_udp(&request(), 1024, 4000))));
    only(dissector.dissect(&record(&data)));
    let elsewhere = in_udp(&packet(Kind::Data, 8, b"datum"), 1025, 4000);
    other(dissector.dissect(&record(&elsewhere)));
}

#[test]
fn other_protocols_on_udp_are_not_mistaken_for_dccp() {
    // A DNS query and an RTP packet.
    let dns = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01";
    let rtp = [&[0x80, 0x60, 0, 1, 0, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef][..], &[7; 160]].concat();
    for payload in [&dns[..], &rtp] {
        let length = (8 + payload.len() as u16).to_be_bytes();
        let datagram = [&[0, 53, 0, 54][..], &length, &[0, 0], payload].concat();
        let AnySegment::Udp(segment) = other(dissect(&ip(17, &datagram))) else { panic!("UDP") };
        assert_eq!(segment.packet.size as usize, payload.len());
        assert_eq!(segment.packet.head.as_ref().map(|head| &head[..]), payload.get(..12));
        assert_eq!(segment.udp, Some(UdpPorts { source: 53, destination: 54 }));
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
    assert!(!segment.is_whole && segment.has_all_options);
    // Without the acknowledgement number, nothing is known that could be followed.
    for length in 20..44 {
        let dissected = dissect(&whole[..length]);
        assert_eq!((dissected.segments.len(), dissected.not_read), (0, Some(NotRead::Cut)), "{length}");
    }
    let record = Record { original_length: whole.len() as u32, ..record(&whole[..12]) };
    assert_eq!(Dissector::default().dissect(&record).not_read, Some(NotRead::Cut));
}

/// An option that was cut off is absent, with all behind it: zeros in its place would be a loss event rate of
/// 100 %, or an Ack Vector without losses.
#[test]
fn options_that_were_cut_off_are_unknown() {
    use whimbrel_wire::DccpOption;
    let mut sent = packet(Kind::Ack { ack: SeqNo::new(1) }, 8, b"");
    let rate =
        |value: u32| DccpOption::CcidSpecific { kind: 192, data: value.to_be_bytes().into_iter().collect() };
    sent.options = [DccpOption::Timestamp(77), rate(10), DccpOption::Timestamp(78)].into_iter().collect();
    let native = native(&sent);
    let in_udp = in_udp(&sent, 6511, 6511);
    for (whole, start) in [(&native, 20 + 24), (&in_udp, 28 + 24)] {
        // The two Timestamps have six bytes each, and so has the rate.
        for (length, known) in [(0, 0), (5, 0), (6, 1), (11, 1), (12, 2), (17, 2)] {
            let segment = only(dissect(&whole[..start + length]));
            assert!(!segment.has_all_options, "{length}");
            let options: Vec<_> =
                segment.packet.options.into_iter().filter(|option| *option != DccpOption::Padding).collect();
            assert_eq!(options, sent.options[..known], "{length}");
        }
        // Only the Padding at the end is missing.
        assert!(!only(dissect(&whole[..start + 18])).has_all_options);
        assert!(only(dissect(whole)).has_all_options);
    }
}

#[test]
fn tcp_segments_are_dissected() {
    let mut header = vec![0x1f, 0x90, 0, 80, 0, 0, 0, 7, 0, 0, 0, 9, 0x60, 0x18, 1, 1, 0, 0, 0, 0];
    header.extend([1, 1, 1, 0]);
    let whole = ip(6, &[&header[..], &[7; 100]].concat());
    for length in [20 + 20, 20 + 24, whole.len()] {
        let AnySegment::Tcp(segment) = other(dissect(&whole[..length])) else { panic!("TCP") };
        let expected = TcpHeader {
            source_port: 8080,
            destination_port: 80,
            sequence: 7,
            ack: Some(9),
            flags: 0x18,
            size: 100,
        };
        assert_eq!((segment.packet, segment.is_whole), (expected, length == whole.len()));
    }
    assert_eq!(dissect(&whole[..39]).not_read, Some(NotRead::Cut));
    let mut wrong = whole;
    wrong[32] = 0x40;
    assert_eq!(dissect(&wrong).not_read, Some(NotRead::Invalid));
}

#[test]
fn sizes_of_datagrams_follow_the_udp_length_as_far_as_the_packet_has_room() {
    let size = |announced: u16| {
        let payload = [&[0, 53, 0, 54][..], &announced.to_be_bytes(), &[0, 0], &[0xff; 100]].concat();
        match dissect(&ip(17, &payload)) {
            Dissected { not_read: Some(reason), .. } => Err(reason),
            dissected => match other(dissected) {
                AnySegment::Udp(segment) => Ok(segment.packet.size),
                other => panic!("{other:?}"),
            },
        }
    };
    assert_eq!(size(58), Ok(50), "padded by Ethernet");
    assert_eq!(size(0), Ok(100), "left to the network card");
    assert_eq!(size(8), Ok(0));
    for announced in [1, 7, 60_000] {
        assert_eq!(size(announced), Err(NotRead::Invalid), "{announced}");
    }
}

/// The whole identifies a packet: not its time to live, its mark of congestion and its checksum, which change
/// on the way.
#[test]
fn copies_of_a_packet_have_one_identity() {
    let identity = |bytes: &[u8]| dissect(bytes).segments[0].1.identity;
    let sent = native(&packet(Kind::Data, 8, b"datum"));
    let change = |at: &[usize]| {
        let mut changed = sent.clone();
        at.iter().for_each(|at| changed[*at] ^= 3);
        // The header's checksum is left to the network card.
        changed[10..12].copy_from_slice(&[0, 0]);
        identity(&changed)
    };
    assert_eq!(change(&[1, 8]), identity(&sent), "ECN and time to live");
    assert_eq!(change(&[26, 27]), identity(&sent), "DCCP checksum");
    assert_ne!(change(&[35]), identity(&sent), "sequence number");
    assert_ne!(change(&[5]), identity(&sent), "identification");
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
fn fragments_become_a_packet_when_they_are_complete() {
    let whole = native(&packet(Kind::Data, 8, &[7; 60]));
    let part = |offset: usize, bytes: &[u8], more: u8| {
        let mut part = ip(33, bytes);
        (part[6], part[7]) = (more, (offset / 8) as u8);
        part[10..12].copy_from_slice(&[0, 0]);
        part
    };
    let mut dissector = Dissector::default();
    let first = dissector.dissect(&record(&part(0, &whole[20..60], 0x20)));
    assert_eq!((first.segments.len(), first.not_read), (0, Some(NotRead::Fragment)));
    assert_eq!(dissector.reassembly().incomplete(), (1, vec![9]));
    let segment = only(dissector.dissect(&record(&part(40, &whole[60..], 0))));
    assert_eq!((segment.packet.payload.len(), segment.checksum), (60, Checksum::Good));
    assert_eq!(dissector.reassembly().incomplete(), (0, vec![]));
}

#[test]
fn what_is_not_read_has_a_reason() {
    let request = native(&request());
    let record = Record { link_type: 147, ..record(&request) };
    let unknown = NotRead::Link(NoPacket::UnknownLink(147));
    assert_eq!(Dissector::default().dissect(&record).not_read, Some(unknown));
    assert_eq!(dissect(&ip(1, &[8, 0, 0, 0])).not_read, Some(NotRead::Protocol(1)));
}

proptest! {
    #[test]
    fn dissecting_any_frame_does_not_panic(
        link_type in prop::sample::select(vec![0u16, 1, 101, 105, 113, 119, 127, 192, 276, 999]),
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
        let dissected = Dissector::default().dissect(&record);
        let found = dissected.segments.len() + dissected.malformed.len();
        prop_assert!((found > 0) != dissected.not_read.is_some(), "{dissected:?}");
    }
}

/// An Ethernet frame of an IPv4 packet.
fn ethernet(packet: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &[8, 0], packet].concat()
}

/// A datagram between two tunnels.
fn udp_to(port: u16, payload: &[u8]) -> Vec<u8> {
    let words = [50_000, port, 8 + payload.len() as u16, 0];
    ip(17, &[&words.map(u16::to_be_bytes).concat()[..], payload].concat())
}

/// Tunnels that carry an IPv4 packet, each with its name.
fn tunnels(inner: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let vxlan = |inner: &[u8]| [&[8, 0, 0, 0, 0, 0, 42, 0][..], &ethernet(inner)].concat();
    let gtp = |first: u8, fields: &[u8]| [&[first, 255, 0, 0, 0, 0, 0, 1][..], fields, inner].concat();
    let gre = |header: &[u8], inner: &[u8]| ip(47, &[header, inner].concat());
    vec![
        ("IP in IP", ip(4, inner)),
        ("GRE", gre(&[0, 0, 8, 0], inner)),
        (
            "GRE with checksum, key and number",
            gre(&[0xb0, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], inner),
        ),
        ("GRE with Ethernet", gre(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 7], &ethernet(inner))),
        ("VXLAN", udp_to(4789, &vxlan(inner))),
        ("VXLAN of Linux", udp_to(8472, &vxlan(inner))),
        ("GTP-U", udp_to(2152, &gtp(0x30, &[]))),
        ("GTP-U with a number", udp_to(2152, &gtp(0x32, &[0, 9, 0, 0]))),
        // The PDU session container of 5G, and one more.
        ("GTP-U with extensions", udp_to(2152, &gtp(0x34, &[0, 0, 0, 0x85, 1, 0x10, 9, 0x40, 1, 0, 0, 0]))),
        ("GRE in IP in VXLAN", udp_to(4789, &vxlan(&ip(4, &gre(&[0, 0, 8, 0], inner))))),
    ]
}

#[test]
fn packets_in_tunnels_are_those_that_are_followed() {
    let inner = in_udp(&request(), 40_000, 6511);
    let outside = dissect(&inner).segments[0].1;
    for (name, bytes) in tunnels(&inner) {
        let dissected = dissect(&bytes);
        let inside = dissected.segments[0].1;
        assert_eq!(only(dissected).packet, request(), "{name}");
        // The same packet, at another place of the interface.
        assert_eq!((inside.identity, inside.place == outside.place), (outside.identity, false), "{name}");
    }
}

#[test]
fn what_is_no_tunnel_or_cannot_be_opened_is_counted() {
    let protocol = |bytes: &[u8]| dissect(bytes).not_read;
    // GRE with PPP (RFC 2637), with another protocol, and cut.
    for payload in [&[0x30, 1, 0x88, 0x0b, 0, 0, 0, 0][..], &[0, 0, 0x12, 0x34, 1, 2, 3, 4], &[0, 0, 8]] {
        assert_eq!(protocol(&ip(47, payload)), Some(NotRead::Protocol(47)), "{payload:?}");
    }
    let mut nested = in_udp(&request(), 40_000, 6511);
    for _ in 0..100 {
        nested = ip(4, &nested);
    }
    assert_eq!(protocol(&nested), Some(NotRead::Protocol(4)));
    // Datagrams of others to these ports: RTP, an echo of GTP-U, an extension without a length.
    for (port, payload) in [
        (4789, &[0x80, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 7, 7][..]),
        (2152, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]),
        (2152, &[0x34, 255, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0x85, 0, 0, 0, 0]),
    ] {
        assert!(matches!(other(dissect(&udp_to(port, payload))), AnySegment::Udp(_)), "{port} {payload:?}");
    }
}
