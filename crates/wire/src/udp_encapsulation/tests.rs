use std::{vec, vec::Vec};

use proptest::prelude::*;

use super::*;
use crate::{ChecksumCoverage, DecodeErrorKind, EncodeError, Kind, Options, Payload, SeqNo, arbitrary};

const PORTS: UdpPorts = UdpPorts { source: 40123, destination: PORT };

fn addresses() -> PseudoHeader {
    PseudoHeader::v4([192, 0, 2, 1].into(), [198, 51, 100, 2].into())
}

fn datagram(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    encapsulate(packet, PORTS, &addresses(), &mut bytes).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<(UdpPorts, Packet), DecapsulationError> {
    decapsulate(&Bytes::copy_from_slice(bytes), &addresses())
}

fn ack() -> Packet {
    Packet {
        source_port: 5004,
        destination_port: 9,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: false,
        sequence: SeqNo::new(1),
        kind: Kind::Ack { ack: SeqNo::new(2) },
        options: Options::new(),
        payload: Payload::EMPTY,
    }
}

#[test]
fn a_datagram_matches_a_manual_encoding() {
    let expected = [
        40123u16.to_be_bytes(), // UDP
        6511u16.to_be_bytes(),
        [0, 24],
        // c000 + 0201 + c633 + 6402 + 0011 (17) + 0018 (24), the UDP header 9cbb + 196f + 0018,
        // and DCCP 138c + 0009 + 0400 + 0600 + 0001 + 0002: 2c039, folded c03b.
        (!0xc03bu16).to_be_bytes(),
        5004u16.to_be_bytes(), // DCCP
        [0, 9],
        [4, 0],
        [0, 0],
        [3 << 1, 0],
        [0, 1],
        [0, 0],
        [0, 2],
    ]
    .concat();
    assert_eq!(datagram(&ack()), expected);
    assert_eq!(read(&expected), Ok((PORTS, ack())));
}

#[test]
fn the_dccp_checksum_is_zero_when_sent_and_ignored_when_received() {
    let mut bytes = datagram(&ack());
    assert_eq!(bytes[14..16], [0, 0]);
    // A change and its complement elsewhere preserve the UDP checksum.
    bytes[14] = 0x12;
    bytes[6] = bytes[6].checked_sub(0x12).unwrap();
    assert_eq!(read(&bytes), Ok((PORTS, ack())));
}

#[test]
fn damage_is_detected_regardless_of_the_coverage() {
    let mut packet = ack();
    packet.payload = Bytes::from_static(b"not covered by DCCP itself").into();
    packet.checksum_coverage = ChecksumCoverage::from_field(1);
    let good = datagram(&packet);
    assert_eq!(read(&good), Ok((PORTS, packet)));
    for at in (0..good.len()).filter(|at| !(4..6).contains(at)) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x40;
        assert_eq!(read(&bytes), Err(DecapsulationError::BadChecksum), "byte {at}");
    }
}

#[test]
fn the_rules_of_section_3_3_are_applied() {
    let good = datagram(&ack());
    assert_eq!(read(&good[..19]), Err(DecapsulationError::Truncated));
    assert_eq!(read(&good[..7]), Err(DecapsulationError::Truncated));
    assert_eq!(read(&good[..23]), Err(DecapsulationError::LengthTooLarge(24)));
    let with_length = |length: u8| {
        let mut bytes = good.clone();
        bytes[5] = length;
        bytes
    };
    assert_eq!(read(&with_length(19)), Err(DecapsulationError::LengthTooSmall(19)));
    assert_eq!(read(&with_length(25)), Err(DecapsulationError::LengthTooLarge(25)));
    let mut unsummed = good.clone();
    unsummed[6..8].fill(0);
    assert_eq!(read(&unsummed), Err(DecapsulationError::NoChecksum));
    let mut padded = good.clone();
    padded.push(0xff);
    assert_eq!(read(&padded), Ok((PORTS, ack())), "what follows the UDP Length is not part of it");
}

#[test]
fn a_dccp_header_longer_than_the_datagram_is_rejected() {
    let mut packet = ack();
    packet.payload = Bytes::from_static(&[0; 4]).into();
    let mut bytes = datagram(&packet);
    // Data Offset 6 instead of 4; the checksum sees 0x0200 more.
    bytes[12] = 6;
    let checksum = u16::from_be_bytes([bytes[6], bytes[7]]) - 0x0200;
    bytes[6..8].copy_from_slice(&checksum.to_be_bytes());
    let kind = DecodeErrorKind::DataOffsetTooLarge(6);
    assert_eq!(read(&bytes), Err(DecapsulationError::Packet(DecodeError { kind, offset: 4 })));
}

#[test]
fn a_checksum_of_zero_is_sent_as_all_ones() {
    let mut packet = ack();
    let bytes = datagram(&packet);
    // Adding the checksum to the sum makes it all ones, whose complement is zero.
    let checksum = u16::from_be_bytes([bytes[6], bytes[7]]);
    packet.destination_port += checksum;
    let bytes = datagram(&packet);
    assert_eq!(bytes[6..8], [0xff, 0xff]);
    assert_eq!(read(&bytes), Ok((PORTS, packet)));
}

#[test]
fn packets_too_long_for_udp_are_rejected() {
    let mut packet = ack();
    let room = 65_535 - 8 - 16;
    packet.payload = Payload::Opaque { length: room, tag: 0 };
    assert_eq!(datagram(&packet).len(), 65_535);
    packet.payload = Payload::Opaque { length: room + 1, tag: 0 };
    let mut out = vec![0xaa];
    let result = encapsulate(&packet, PORTS, &addresses(), &mut out);
    assert_eq!(result, Err(EncodeError::DatagramTooLong(65_536)));
    packet.payload = Payload::EMPTY;
    packet.ccval = 16;
    let result = encapsulate(&packet, PORTS, &addresses(), &mut out);
    assert_eq!(result, Err(EncodeError::CcvalTooLarge(16)));
    assert_eq!(out, [0xaa]);
}

proptest! {
    #[test]
    fn a_packet_is_decapsulated_unchanged(packet in arbitrary::packet(), source: u16, destination: u16) {
        let ports = UdpPorts { source, destination };
        let mut bytes = Vec::new();
        encapsulate(&packet, ports, &addresses(), &mut bytes).unwrap();
        prop_assert_eq!(bytes.len(), HEADER_LEN + packet.encoded_len());
        prop_assert_eq!(decapsulate(&bytes.into(), &addresses()), Ok((ports, packet)));
    }

    #[test]
    fn decoding_any_bytes_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = read(&bytes);
    }
}
