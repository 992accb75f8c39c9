use super::*;

use whimbrel_wire::checksum::PROTOCOL;
use whimbrel_wire::{ChecksumCoverage, Kind, Options, Packet, Payload, SeqNo};

fn v4() -> (IpAddr, IpAddr) {
    ([192, 0, 2, 1].into(), [198, 51, 100, 7].into())
}

fn v6() -> (IpAddr, IpAddr) {
    ("2001:db8::1".parse().unwrap(), "2001:db8::7".parse().unwrap())
}

/// A packet that carries these bytes.
fn packet((source, destination): (IpAddr, IpAddr), ecn: Ecn, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(write(source, destination, PROTOCOL, ecn.bits(), body.len(), &mut out));
    out.extend_from_slice(body);
    out
}

/// An IPv4 packet whose header was changed, with the checksum that goes with it.
fn changed(change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = packet(v4(), Ecn::NotEct, b"body");
    change(&mut bytes);
    bytes[10..12].fill(0);
    let length = usize::from(bytes[0] & 0xf) * 4;
    let sum = internet_checksum(&bytes[..length.min(bytes.len())]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes
}

#[test]
fn what_is_written_is_read() {
    for addresses in [v4(), v6()] {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let bytes = packet(addresses, ecn, b"body");
            let header = parse(&bytes).unwrap();
            assert_eq!((header.source, header.destination), addresses);
            assert_eq!((header.protocol, header.ecn), (33, ecn));
            assert_eq!(&bytes[header.start..header.end], b"body");
        }
    }
    let (source, _) = v4();
    let (_, destination) = v6();
    assert!(!write(source, destination, PROTOCOL, 0, 4, &mut Vec::new()), "two families");
    assert!(!write(v4().0, v4().1, PROTOCOL, 0, 65_516, &mut Vec::new()), "too long");
}

#[test]
fn packets_must_not_be_fragmented() {
    // RFC 4340, Section 14. RFC 791, Section 3.1: bit 1 of the flags is Don't Fragment.
    assert_eq!(packet(v4(), Ecn::NotEct, b"body")[6..8], [0x40, 0]);
}

#[test]
fn padding_after_the_packet_is_removed() {
    for addresses in [v4(), v6()] {
        let mut bytes = packet(addresses, Ecn::NotEct, b"body");
        bytes.extend(b"padding of a short frame");
        let header = parse(&bytes).unwrap();
        assert_eq!(&bytes[header.start..header.end], b"body");
    }
}

#[test]
fn a_packet_cut_anywhere_is_malformed() {
    for addresses in [v4(), v6()] {
        let bytes = packet(addresses, Ecn::NotEct, b"body");
        for end in 0..bytes.len() {
            assert_eq!(parse(&bytes[..end]), Err(Refusal::Malformed), "{end}");
        }
    }
    assert_eq!(parse(&changed(|bytes| bytes[0] = 0x44)), Err(Refusal::Malformed), "a header of 16 bytes");
    assert_eq!(parse(&changed(|bytes| bytes[3] = 19)), Err(Refusal::Malformed), "shorter than its header");
    assert_eq!(parse(&changed(|bytes| bytes[0] = 0x55)), Err(Refusal::Malformed), "version 5");
}

#[test]
fn a_damaged_ipv4_header_is_refused() {
    for byte in [1, 8, 12, 15, 16, 19] {
        let mut bytes = packet(v4(), Ecn::NotEct, b"body");
        bytes[byte] ^= 4;
        assert_eq!(parse(&bytes), Err(Refusal::Checksum), "byte {byte}");
        // ICMP quotes headers that routers have changed.
        assert!(parse_quoted(&bytes).is_ok());
    }
}

#[test]
fn fragments_are_refused() {
    // More Fragments; an offset; both.
    for flags in [0x2000_u16, 0x0001, 0x2005] {
        let bytes = changed(|bytes| bytes[6..8].copy_from_slice(&flags.to_be_bytes()));
        assert_eq!(parse(&bytes), Err(Refusal::Fragment), "{flags:#x}");
    }
    let mut bytes = packet(v6(), Ecn::NotEct, &[33, 0, 0, 1, 0, 0, 0, 9, b'x']);
    bytes[6] = 44;
    assert_eq!(parse(&bytes), Err(Refusal::Fragment));
}

#[test]
fn options_and_extension_headers_are_passed_over() {
    let mut bytes = packet(v4(), Ecn::NotEct, &[1, 1, 1, 0, b'x']);
    bytes[0] = 0x46;
    bytes[10..12].fill(0);
    let sum = internet_checksum(&bytes[..24]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    let header = parse(&bytes).unwrap();
    assert_eq!((header.protocol, &bytes[header.start..header.end]), (33, &b"x"[..]));

    // Hop-by-Hop Options of 8 bytes, Destination Options of 16, then DCCP (RFC 8200, Section 4.1).
    let mut body = vec![60, 0, 1, 4, 0, 0, 0, 0, 33, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    body.push(b'x');
    let mut bytes = packet(v6(), Ecn::Ce, &body);
    bytes[6] = 0;
    let header = parse(&bytes).unwrap();
    assert_eq!((header.protocol, header.ecn), (33, Ecn::Ce));
    assert_eq!(&bytes[header.start..header.end], b"x");
    // An extension that claims to be longer than the packet.
    bytes[41] = 200;
    assert_eq!(parse(&bytes), Err(Refusal::Malformed));
}

#[test]
fn a_packet_to_another_host_is_refused() {
    // Section 4.4: a Routing header with segments left.
    for (segments_left, expected) in [(0, Ok(33)), (1, Err(Refusal::Malformed))] {
        let mut bytes = packet(v6(), Ecn::NotEct, &[33, 0, 4, segments_left, 0, 0, 0, 0, b'x']);
        bytes[6] = 43;
        assert_eq!(parse(&bytes).map(|header| header.protocol), expected);
    }
}

#[test]
fn a_dccp_packet_with_a_wrong_checksum_is_refused() {
    let dccp = Packet {
        source_port: 5001,
        destination_port: 40_000,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(77),
        kind: Kind::Data,
        options: Options::new(),
        payload: Payload::Bytes(bytes::Bytes::from_static(b"payload")),
    };
    for (source, destination) in [v4(), v6()] {
        let mut bytes = Vec::new();
        let sum = PseudoHeader::between(source, destination).unwrap();
        dccp.encode_with_checksum(&sum, &mut bytes).unwrap();
        assert!(is_intact(source, destination, &bytes));
        for i in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[i] ^= 0x10;
            assert!(!is_intact(source, destination, &damaged), "byte {i}");
        }
        // The addresses are covered.
        let elsewhere = if source.is_ipv4() { IpAddr::from([203, 0, 113, 5]) } else { v6().0 };
        assert!(!is_intact(source, elsewhere, &bytes));
    }
    assert!(!is_intact(v4().0, v6().0, b"families"));
}
