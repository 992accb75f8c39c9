use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::arbitrary;

/// A Data packet with an empty option area and four bytes of data.
const DATA: [u8; 20] = [0, 1, 0, 2, 4, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 9, b'd', b'a', b't', b'a'];

#[track_caller]
fn assert_fails(bytes: &[u8], kind: DecodeErrorKind, offset: usize) {
    let error = Err(DecodeError { kind, offset });
    assert_eq!(Packet::decode_slice(bytes), error);
    assert_eq!(Packet::decode(&Bytes::copy_from_slice(bytes)), error);
}

fn changed(at: usize, byte: u8) -> [u8; 20] {
    let mut bytes = DATA;
    bytes[at] = byte;
    bytes
}

#[test]
fn fewer_than_twelve_bytes_are_rejected() {
    assert_fails(&[], DecodeErrorKind::Truncated, 0);
    assert_fails(&DATA[..11], DecodeErrorKind::Truncated, 11);
}

#[test]
fn reserved_types_are_rejected() {
    for number in 11..=15 {
        assert_fails(&changed(8, number << 1 | 1), DecodeErrorKind::ReservedType(number), 8);
    }
}

#[test]
fn only_data_ack_and_data_ack_may_have_short_sequence_numbers() {
    for number in 0..=10 {
        let packet_type = PacketType::from_number(number).unwrap();
        let bytes = changed(8, number << 1);
        if matches!(packet_type, PacketType::Data | PacketType::Ack | PacketType::DataAck) {
            let packet = Packet::decode_slice(&bytes).unwrap();
            assert!(!packet.extended);
        } else {
            assert_fails(&bytes, DecodeErrorKind::ShortSequenceNumbers(packet_type), 8);
        }
    }
}

#[test]
fn data_offset_ends_neither_inside_the_fixed_header_nor_beyond_the_packet() {
    assert_fails(&changed(4, 3), DecodeErrorKind::DataOffsetTooSmall(3), 4);
    assert_fails(&changed(4, 0), DecodeErrorKind::DataOffsetTooSmall(0), 4);
    assert!(Packet::decode_slice(&changed(4, 5)).unwrap().payload.is_empty());
    assert_fails(&changed(4, 6), DecodeErrorKind::DataOffsetTooLarge(6), 4);
    for number in 0..=10 {
        let mut bytes = [0; 64];
        bytes[8] = number << 1 | 1;
        let packet_type = PacketType::from_number(number).unwrap();
        let least = (packet_type.fixed_header_len(true) / 4) as u8;
        bytes[4] = least - 1;
        assert_fails(&bytes, DecodeErrorKind::DataOffsetTooSmall(least - 1), 4);
        bytes[4] = least;
        assert_eq!(Packet::decode_slice(&bytes).unwrap().packet_type(), packet_type);
    }
}

#[test]
fn coverage_ends_within_the_data() {
    assert_eq!(Packet::decode_slice(&changed(5, 2)).unwrap().checksum_coverage.field(), 2);
    assert_fails(&changed(5, 3), DecodeErrorKind::CoverageTooLarge(3), 5);
}

#[test]
fn reserved_bits_are_ignored() {
    let clean = Packet::decode_slice(&DATA);
    assert_eq!(Packet::decode_slice(&changed(8, 0xe0 | 5)), clean);
    assert_eq!(Packet::decode_slice(&changed(9, 0xff)), clean);
}

#[test]
fn reserved_bytes_before_the_acknowledgement_number_are_ignored() {
    let mut long = [0_u8; 24];
    (long[4], long[8], long[23]) = (6, 3 << 1 | 1, 7);
    let mut short = [0_u8; 16];
    (short[4], short[8], short[15]) = (4, 3 << 1, 7);
    for (bytes, reserved) in [(&mut long[..], 16..18), (&mut short[..], 12..13)] {
        let clean = Packet::decode_slice(bytes).unwrap();
        assert_eq!(clean.ack(), Some(SeqNo::new(7)));
        bytes[reserved].fill(0xff);
        assert_eq!(Packet::decode_slice(bytes), Ok(clean));
    }
}

#[test]
fn the_payload_is_shared_not_copied() {
    let bytes = Bytes::copy_from_slice(&DATA);
    let packet = Packet::decode(&bytes).unwrap();
    let Payload::Bytes(data) = packet.payload else { panic!("no bytes") };
    assert_eq!(data.as_ptr(), bytes[16..].as_ptr());
    assert_eq!(data, &b"data"[..]);
}

#[test]
fn errors_contain_the_offset() {
    let error = Packet::decode_slice(&changed(4, 6)).unwrap_err();
    assert_eq!(std::format!("{error}"), "data offset 6 ends beyond the packet (at byte 4)");
}

proptest! {
    #[test]
    fn a_truncated_packet_is_rejected_or_has_less_data(packet in arbitrary::packet()) {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes).unwrap();
        for length in 0..bytes.len() {
            match Packet::decode_slice(&bytes[..length]) {
                Ok(cut) => {
                    prop_assert!(length >= packet.header_len());
                    prop_assert_eq!(cut.payload.len(), length - packet.header_len());
                    prop_assert_eq!(cut.options, packet.options.clone());
                }
                Err(error) => prop_assert!(error.offset <= length),
            }
        }
    }

    #[test]
    fn decoding_any_bytes_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = Packet::decode_slice(&bytes) {
            prop_assert!(error.offset <= bytes.len());
        }
    }
}
