use std::vec;

use bytes::{Bytes, BytesMut};

use super::*;
use crate::{
    ChecksumCoverage, DccpOption, OptionBytes, Options, PacketType, Payload, SeqNo, option::Elapsed,
};

fn data() -> Packet {
    Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(9),
        kind: Kind::Data,
        options: Options::new(),
        payload: Bytes::from_static(b"data").into(),
    }
}

#[track_caller]
fn assert_fails(packet: &Packet, error: EncodeError) {
    let mut out = vec![0xaa];
    assert_eq!(packet.encode(&mut out), Err(error));
    assert_eq!(out, [0xaa], "nothing is written");
}

#[track_caller]
fn assert_option_fails(option: DccpOption) {
    let mut packet = data();
    packet.options = Options::from_vec(vec![DccpOption::SlowReceiver, option]);
    assert_fails(&packet, EncodeError::InvalidOption(1));
}

#[test]
fn most_types_cannot_have_short_sequence_numbers() {
    let mut packet = data();
    packet.extended = false;
    packet.kind = Kind::Sync { ack: SeqNo::ZERO };
    assert_fails(&packet, EncodeError::ShortSequenceNumbers(PacketType::Sync));
}

#[test]
fn fields_beyond_their_limits_are_rejected() {
    let mut packet = data();
    packet.ccval = 16;
    assert_fails(&packet, EncodeError::CcvalTooLarge(16));
    let mut packet = data();
    packet.checksum_coverage = ChecksumCoverage::from_field(3);
    assert_fails(&packet, EncodeError::CoverageTooLarge(3));
}

#[test]
fn options_beyond_their_limits_are_rejected() {
    let long = OptionBytes::from_elem(0, 254);
    assert_option_fails(DccpOption::InitCookie(long.clone()));
    assert_option_fails(DccpOption::AckVector { nonce: false, cells: long.clone() });
    assert_option_fails(DccpOption::DataDropped(long.clone()));
    assert_option_fails(DccpOption::CcidSpecific { kind: 128, data: long.clone() });
    assert_option_fails(DccpOption::Unknown { kind: 45, data: long.clone() });
    let feature =
        crate::option::FeatureOption::preferences(crate::option::FeatureAction::ChangeL, 1, &long[..253]);
    assert_option_fails(DccpOption::Feature(feature));
}

#[test]
fn an_option_that_would_be_decoded_differently_is_rejected() {
    let data = OptionBytes::from_slice(&[0; 4]);
    assert_option_fails(DccpOption::ElapsedTime(Elapsed::Absent));
    assert_option_fails(DccpOption::CcidSpecific { kind: 127, data: data.clone() });
    assert_option_fails(DccpOption::Unknown { kind: 2, data: OptionBytes::new() });
    assert_option_fails(DccpOption::Unknown { kind: 3, data: data.clone() });
    assert_option_fails(DccpOption::Unknown { kind: 41, data: data.clone() });
    assert_option_fails(DccpOption::Unknown { kind: 128, data });
    assert_option_fails(DccpOption::Malformed(OptionBytes::new()));
    assert_option_fails(DccpOption::Malformed(OptionBytes::from_slice(&[41, 3, 0])));
    assert_option_fails(DccpOption::Malformed(OptionBytes::from_slice(&[2, 2, 2])));
}

#[test]
fn a_malformed_option_fills_the_end_of_the_area() {
    let malformed = DccpOption::Malformed(OptionBytes::from_slice(&[41, 6, 0, 0]));
    let mut packet = data();
    packet.options = Options::from_vec(vec![malformed.clone()]);
    assert!(packet.encode(&mut Vec::new()).is_ok());
    packet.options = Options::from_vec(vec![malformed.clone(), DccpOption::SlowReceiver]);
    assert_fails(&packet, EncodeError::InvalidOption(0));
    packet.options = Options::from_vec(vec![DccpOption::SlowReceiver, malformed]);
    assert_fails(&packet, EncodeError::InvalidOption(1));
}

#[test]
fn a_header_beyond_1020_bytes_is_rejected() {
    let mut packet = data();
    packet.options = Options::from_elem(DccpOption::SlowReceiver, 1020 - 16);
    assert!(packet.encode(&mut Vec::new()).is_ok());
    packet.options.push(DccpOption::SlowReceiver);
    assert_eq!(packet.header_len(), 1024);
    assert_fails(&packet, EncodeError::HeaderTooLong(1024));
}

#[test]
fn every_kind_of_buffer_receives_the_same_bytes() {
    let packet = data();
    let mut vector = Vec::new();
    packet.encode(&mut vector).unwrap();
    let mut bytes = BytesMut::new();
    packet.encode(&mut bytes).unwrap();
    assert_eq!(vector, bytes);
    let mut array = [0xaa; 21];
    packet.encode(&mut &mut array[..]).unwrap();
    assert_eq!(array[..20], vector);
    assert_eq!(array[20], 0xaa);
    let mut small = [0; 19];
    assert_eq!(packet.encode(&mut &mut small[..]), Err(EncodeError::NoRoom(20)));
    assert_eq!(small, [0; 19]);
}

#[test]
fn existing_bytes_are_kept_and_not_summed() {
    let packet = data();
    let pseudo_header = PseudoHeader::v4([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let mut out = vec![0xaa; 3];
    packet.encode_with_checksum(&pseudo_header, &mut out).unwrap();
    assert_eq!(out[..3], [0xaa; 3]);
    assert!(checksum::verify(&out[3..], &pseudo_header));
}

#[test]
fn opaque_data_is_encoded_as_a_tag_and_zeros() {
    let mut packet = data();
    packet.payload = Payload::Opaque { length: 10, tag: 0x0102_0304_0506_0708 };
    let mut out = Vec::new();
    packet.encode(&mut out).unwrap();
    assert_eq!(out[16..], [1, 2, 3, 4, 5, 6, 7, 8, 0, 0]);
}
