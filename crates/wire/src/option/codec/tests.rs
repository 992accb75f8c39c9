use std::{vec, vec::Vec};

use proptest::prelude::*;

use super::*;
use crate::arbitrary;

fn bytes(data: &[u8]) -> OptionBytes {
    OptionBytes::from_slice(data)
}

/// Checks that these bytes decode to that option, and that it encodes to these bytes.
#[track_caller]
fn assert_is(option: DccpOption, wire: &[u8]) {
    let mut written = Vec::new();
    encode_option(&option, &mut written);
    assert_eq!(written, wire);
    assert_eq!(option.encoded_len(), wire.len());
    assert!(is_encodable(&option, false));
    let area = [wire, &[2]].concat();
    assert_eq!(decode_options(&area)[..], [option, DccpOption::SlowReceiver]);
}

#[test]
fn single_bytes() {
    assert_is(DccpOption::Padding, &[0]);
    assert_is(DccpOption::Mandatory, &[1]);
    assert_is(DccpOption::SlowReceiver, &[2]);
    assert_is(DccpOption::Unknown { kind: 3, data: bytes(&[]) }, &[3]);
    assert_is(DccpOption::Unknown { kind: 31, data: bytes(&[]) }, &[31]);
}

#[test]
fn features() {
    let feature = |action, feature, values: &[u8]| {
        DccpOption::Feature(FeatureOption { action, feature, values: bytes(values) })
    };
    assert_is(feature(FeatureAction::ChangeL, 1, &[3, 2]), &[32, 5, 1, 3, 2]);
    assert_is(feature(FeatureAction::ConfirmL, 1, &[2, 3, 2]), &[33, 6, 1, 2, 3, 2]);
    assert_is(feature(FeatureAction::ChangeR, 2, &[0]), &[34, 4, 2, 0]);
    assert_is(feature(FeatureAction::ConfirmR, 3, &[0, 0, 0, 0, 4, 0]), &[35, 9, 3, 0, 0, 0, 0, 4, 0]);
    assert_is(feature(FeatureAction::ConfirmR, 126, &[]), &[35, 3, 126]);
    assert_is(DccpOption::Unknown { kind: 33, data: bytes(&[]) }, &[33, 2]);
}

#[test]
fn init_cookie() {
    assert_is(DccpOption::InitCookie(bytes(&[9, 8, 7])), &[36, 5, 9, 8, 7]);
    assert_is(DccpOption::InitCookie(bytes(&[])), &[36, 2]);
    let longest = vec![5; 253];
    assert_is(DccpOption::InitCookie(bytes(&longest)), &[&[36, 255][..], &longest].concat());
}

#[test]
fn ndp_count() {
    let count = |data: &[u8]| DccpOption::NdpCount(NdpCount::from_data(data).unwrap());
    assert_is(count(&[1]), &[37, 3, 1]);
    assert_is(count(&[1, 0]), &[37, 4, 1, 0]);
    assert_is(count(&[0, 1, 0, 0]), &[37, 6, 0, 1, 0, 0]);
    assert_is(count(&[1, 2, 3, 4, 5, 6]), &[37, 8, 1, 2, 3, 4, 5, 6]);
    assert_is(DccpOption::Unknown { kind: 37, data: bytes(&[]) }, &[37, 2]);
    assert_is(DccpOption::Unknown { kind: 37, data: bytes(&[0; 7]) }, &[37, 9, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn ack_vector() {
    // The example of RFC 4340, Section 11.4.
    let cells = bytes(&[0, 192, 3, 64, 5]);
    assert_is(DccpOption::AckVector { nonce: false, cells: cells.clone() }, &[38, 7, 0, 192, 3, 64, 5]);
    assert_is(DccpOption::AckVector { nonce: true, cells }, &[39, 7, 0, 192, 3, 64, 5]);
}

#[test]
fn data_dropped() {
    assert_is(DccpOption::DataDropped(bytes(&[0, 160, 3, 162])), &[40, 6, 0, 160, 3, 162]);
}

#[test]
fn timing() {
    assert_is(DccpOption::Timestamp(0x0102_0304), &[41, 6, 1, 2, 3, 4]);
    let echo = |elapsed| DccpOption::TimestampEcho { timestamp: 0x0102_0304, elapsed };
    assert_is(echo(Elapsed::Absent), &[42, 6, 1, 2, 3, 4]);
    assert_is(echo(Elapsed::Short(0x0506)), &[42, 8, 1, 2, 3, 4, 5, 6]);
    assert_is(echo(Elapsed::Long(0x0506_0708)), &[42, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_is(DccpOption::ElapsedTime(Elapsed::Short(0x0506)), &[43, 4, 5, 6]);
    assert_is(DccpOption::ElapsedTime(Elapsed::Long(6)), &[43, 6, 0, 0, 0, 6]);
    assert_is(DccpOption::Unknown { kind: 41, data: bytes(&[0; 3]) }, &[41, 5, 0, 0, 0]);
    assert_is(DccpOption::Unknown { kind: 42, data: bytes(&[0; 5]) }, &[42, 7, 0, 0, 0, 0, 0]);
    assert_is(DccpOption::Unknown { kind: 43, data: bytes(&[]) }, &[43, 2]);
}

#[test]
fn data_checksum() {
    assert_is(DccpOption::DataChecksum(0xaa36_918a), &[44, 6, 0xaa, 0x36, 0x91, 0x8a]);
    // RFC 4340, Section 5.8, on invalid values: length 4 is one.
    assert_is(DccpOption::Unknown { kind: 44, data: bytes(&[1, 2]) }, &[44, 4, 1, 2]);
}

#[test]
fn ccid_specific_and_unknown() {
    assert_is(DccpOption::CcidSpecific { kind: 192, data: bytes(&[255; 4]) }, &[192, 6, 255, 255, 255, 255]);
    assert_is(DccpOption::CcidSpecific { kind: 255, data: bytes(&[]) }, &[255, 2]);
    assert_is(DccpOption::Unknown { kind: 45, data: bytes(&[1]) }, &[45, 3, 1]);
    assert_is(DccpOption::Unknown { kind: 127, data: bytes(&[]) }, &[127, 2]);
}

#[test]
fn bytes_after_an_invalid_length_are_not_decoded() {
    for tail in [&[41, 0, 2, 2][..], &[41, 1, 2, 2], &[41, 5, 2, 2], &[41, 255, 2, 2]] {
        let area = [&[2, 2, 2, 2][..], tail].concat();
        let options = decode_options(&area);
        assert_eq!(options.len(), 5);
        assert_eq!(options[4], DccpOption::Malformed(bytes(tail)));
    }
    assert_eq!(decode_options(&[2, 2, 2, 200])[3], DccpOption::Malformed(bytes(&[200])));
}

#[test]
fn many_padding_bytes_are_decoded() {
    assert_eq!(decode_options(&[0; 1008]).len(), 1008);
    assert!(decode_options(&[]).is_empty());
}

proptest! {
    #[test]
    fn an_option_is_decoded_as_it_was_encoded(option in arbitrary::option()) {
        prop_assert!(is_encodable(&option, false));
        let mut area = Vec::new();
        encode_option(&option, &mut area);
        prop_assert_eq!(area.len(), option.encoded_len());
        prop_assert_eq!(area[0], option.kind());
        area.push(SLOW_RECEIVER);
        let read = decode_options(&area);
        prop_assert_eq!(&read[0], &option);
        prop_assert_eq!(read.len(), 2);
    }

    #[test]
    fn an_option_area_is_decoded_as_it_was_encoded(options in arbitrary::options()) {
        let mut area = Vec::new();
        options.iter().for_each(|option| encode_option(option, &mut area));
        area.resize(area.len().next_multiple_of(4), 0);
        prop_assert_eq!(decode_options(&area), options);
    }
}
