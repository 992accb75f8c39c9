use std::{vec, vec::Vec};

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::{
    DccpOption, OptionBytes, ResetCode, arbitrary,
    option::{Elapsed, FeatureAction, FeatureNumber, FeatureOption},
};

// The simulator stores packets by value, and a queue of them should fit in the cache.
const _: () = assert!(size_of::<DccpOption>() <= 40);
const _: () = assert!(size_of::<Packet>() <= 256);

fn packet(kind: Kind) -> Packet {
    Packet {
        source_port: 0x1234,
        destination_port: 0x5678,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(0x0102_0304_0506),
        kind,
        options: Options::new(),
        payload: Payload::EMPTY,
    }
}

fn encode(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.encode(&mut bytes).unwrap();
    assert_eq!(bytes.len(), packet.encoded_len());
    bytes
}

/// Checks that the packet encodes to these bytes, and that they decode to the packet.
#[track_caller]
fn assert_is(packet: &Packet, bytes: &[u8]) {
    assert_eq!(encode(packet), bytes);
    assert_eq!(Packet::decode(&Bytes::copy_from_slice(bytes)).as_ref(), Ok(packet));
}

/// A long generic header with `words` as Data Offset and `type_and_x` as the byte of Type and X.
fn long(words: u8, type_and_x: u8) -> Vec<u8> {
    vec![0x12, 0x34, 0x56, 0x78, words, 0, 0, 0, type_and_x, 0, 1, 2, 3, 4, 5, 6]
}

const ACK: SeqNo = SeqNo::new(0x0a0b_0c0d_0e0f);
const ACK_BYTES: [u8; 8] = [0, 0, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f];

#[test]
fn request_has_a_service_code_and_no_acknowledgement() {
    let request = packet(Kind::Request { service_code: ServiceCode(0x5254_5056) });
    assert_is(&request, &[&long(5, 1)[..], b"RTPV"].concat());
}

#[test]
fn response_has_an_acknowledgement_and_a_service_code() {
    let response = packet(Kind::Response { ack: ACK, service_code: ServiceCode(42) });
    assert_is(&response, &[&long(7, 1 << 1 | 1)[..], &ACK_BYTES, &[0, 0, 0, 42]].concat());
}

#[test]
fn data_is_the_generic_header_and_the_data() {
    let mut data = packet(Kind::Data);
    data.payload = Bytes::from_static(b"song").into();
    assert_is(&data, &[&long(4, 2 << 1 | 1)[..], b"song"].concat());
}

#[test]
fn types_with_only_an_acknowledgement() {
    for (number, kind) in [
        (3, Kind::Ack { ack: ACK }),
        (4, Kind::DataAck { ack: ACK }),
        (5, Kind::CloseReq { ack: ACK }),
        (6, Kind::Close { ack: ACK }),
        (8, Kind::Sync { ack: ACK }),
        (9, Kind::SyncAck { ack: ACK }),
    ] {
        assert_is(&packet(kind), &[&long(6, number << 1 | 1)[..], &ACK_BYTES].concat());
    }
}

#[test]
fn reset_has_a_code_three_bytes_and_a_text() {
    let reset = Reset::with_data(ResetCode::MandatoryError, [0x20, 10, 1]);
    let mut packet = packet(Kind::Reset { ack: ACK, reset });
    packet.payload = Bytes::from_static(b"no multipath").into();
    assert_is(&packet, &[&long(7, 7 << 1 | 1)[..], &ACK_BYTES, &[6, 0x20, 10, 1], b"no multipath"].concat());
}

#[test]
fn listen_looks_like_a_request() {
    let listen = packet(Kind::Listen { service_code: ServiceCode(42) });
    assert_is(&listen, &[&long(5, 10 << 1 | 1)[..], &[0, 0, 0, 42]].concat());
}

#[test]
fn short_sequence_numbers_take_three_bytes() {
    let short = |words, number: u8| [0x12, 0x34, 0x56, 0x78, words, 0, 0, 0, number << 1, 4, 5, 6];
    let mut data = packet(Kind::Data);
    data.extended = false;
    data.sequence = SeqNo::new(0x04_0506);
    assert_is(&data, &short(3, 2));
    for (number, kind) in
        [(3, Kind::Ack { ack: SeqNo::new(0x0d_0e0f) }), (4, Kind::DataAck { ack: SeqNo::new(0x0d_0e0f) })]
    {
        data.kind = kind;
        assert_is(&data, &[&short(4, number)[..], &[0, 0x0d, 0x0e, 0x0f]].concat());
    }
}

#[test]
fn a_short_form_writes_the_low_bits_of_a_long_number() {
    let mut ack = packet(Kind::Ack { ack: ACK });
    ack.extended = false;
    let read = Packet::decode_slice(&encode(&ack)).unwrap();
    assert_eq!(read.sequence, SeqNo::new(0x04_0506));
    assert_eq!(read.ack(), Some(SeqNo::new(0x0d_0e0f)));
}

#[test]
fn ccval_and_checksum_coverage_share_a_byte() {
    let mut data = packet(Kind::Data);
    data.ccval = 0xb;
    data.checksum_coverage = ChecksumCoverage::from_field(2);
    data.payload = Bytes::from_static(b"four").into();
    let mut bytes = [&long(4, 2 << 1 | 1)[..], b"four"].concat();
    bytes[5] = 0xb2;
    assert_is(&data, &bytes);
}

#[test]
fn options_are_padded_to_a_word() {
    let mut request = packet(Kind::Request { service_code: ServiceCode(42) });
    request.options.push(DccpOption::Mandatory);
    request.options.push(DccpOption::Feature(FeatureOption::preferences(
        FeatureAction::ChangeL,
        FeatureNumber::Ccid,
        &[3, 2],
    )));
    request.options.push(DccpOption::SlowReceiver);
    request.payload = Bytes::from_static(&[0xff]).into();
    let options = [1, 32, 5, 1, 3, 2, 2, 0];
    assert_is(&request, &[&long(7, 1)[..], &[0, 0, 0, 42], &options, &[0xff]].concat());
}

#[test]
fn padding_between_options_and_whole_words_after_them_survive() {
    let mut data = packet(Kind::Data);
    data.options = Options::from_vec(vec![
        DccpOption::Padding,
        DccpOption::SlowReceiver,
        DccpOption::Padding,
        DccpOption::Padding,
        DccpOption::SlowReceiver,
        DccpOption::Padding,
        DccpOption::Padding,
        DccpOption::Padding,
        DccpOption::Padding,
    ]);
    assert_is(&data, &[&long(7, 5)[..], &[0, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]].concat());
}

#[test]
fn a_mandatory_at_the_very_end_differs_from_one_with_padding_after_it() {
    let mut ack = packet(Kind::Ack { ack: ACK });
    let elapsed = DccpOption::ElapsedTime(Elapsed::Short(7));
    let slow = DccpOption::SlowReceiver;
    ack.options = Options::from_vec(vec![
        elapsed.clone(),
        slow.clone(),
        slow.clone(),
        slow.clone(),
        DccpOption::Mandatory,
    ]);
    let header = [&long(8, 3 << 1 | 1)[..], &ACK_BYTES, &[43, 4, 0, 7]].concat();
    assert_is(&ack, &[&header[..], &[2, 2, 2, 1]].concat());
    ack.options =
        Options::from_vec(vec![elapsed, slow.clone(), slow, DccpOption::Mandatory, DccpOption::Padding]);
    assert_is(&ack, &[&header[..], &[2, 2, 1, 0]].concat());
}

#[test]
fn the_option_area_is_kept_from_an_invalid_length_on() {
    for tail in [&[41, 6, 1, 2][..], &[41, 1, 0, 0], &[200, 0, 0, 0], &[2, 2, 2, 41]] {
        let bytes = [&long(6, 5)[..], &[2, 37, 3, 9], tail].concat();
        let packet = Packet::decode_slice(&bytes).unwrap();
        let start = tail.iter().position(|byte| *byte > 31).unwrap();
        assert_eq!(
            packet.options.last(),
            Some(&DccpOption::Malformed(OptionBytes::from_slice(&tail[start..])))
        );
        assert_is(&packet, &bytes);
    }
}

#[test]
fn the_header_has_room_for_1020_bytes() {
    let mut data = packet(Kind::Data);
    data.options = (0..3).map(|_| DccpOption::InitCookie(OptionBytes::from_elem(7, 253))).collect();
    data.options.push(DccpOption::InitCookie(OptionBytes::from_elem(8, 1020 - 16 - 3 * 255 - 2)));
    let bytes = encode(&data);
    assert_eq!(bytes[4], 255);
    assert_eq!(bytes.len(), 1020);
    assert_is(&data, &bytes);
}

proptest! {
    #[test]
    fn a_packet_is_decoded_as_it_was_encoded(packet in arbitrary::packet()) {
        let bytes = encode(&packet);
        prop_assert_eq!(packet.header_len(), usize::from(bytes[4]) * 4);
        prop_assert_eq!(Packet::decode_slice(&bytes), Ok(packet.clone()));
        prop_assert_eq!(Packet::decode(&Bytes::from(bytes)), Ok(packet));
    }

    /// Valid bytes decode to the same packet after one round, and encode to the same bytes after two.
    #[test]
    fn decoding_and_encoding_converge(
        mut bytes in proptest::collection::vec(any::<u8>(), 12..120),
        packet_type in 0..11u8,
        words in 3..20u8,
    ) {
        bytes[8] = bytes[8] & 0xe1 | packet_type << 1;
        bytes[4] = words;
        if let Ok(packet) = Packet::decode_slice(&bytes) {
            let again = encode(&packet);
            prop_assert_eq!(&again[24.min(again.len())..], &bytes[24.min(again.len())..], "options and payload");
            prop_assert_eq!(Packet::decode_slice(&again), Ok(packet));
        }
    }
}
