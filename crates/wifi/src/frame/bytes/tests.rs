use std::vec::Vec;

use proptest::prelude::*;

use super::{Flags, Header, HeaderError, PayloadHeader, frame_check_sequence, has_valid_check_sequence};
use crate::frame::MacAddress;

fn encoded(header: &Header) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    bytes
}

const A: MacAddress = MacAddress([0x00, 0x11, 0x22, 0x33, 0x44, 0x55]);
const B: MacAddress = MacAddress([0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb]);

#[test]
fn control_frames_have_the_bytes_of_the_standard() {
    let rts = Header::Rts { duration: 0x1234, receiver: A, transmitter: B };
    let expected =
        [0xb4, 0x00, 0x34, 0x12, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb];
    assert_eq!(encoded(&rts), expected);
    assert_eq!(encoded(&Header::Cts { duration: 0, receiver: A })[0], 0xc4);
    assert_eq!(encoded(&Header::Ack { duration: 0, receiver: A }).len() + 4, 14);
}

#[test]
fn a_data_frame_carries_addresses_sequence_and_fragment() {
    let header = PayloadHeader {
        subtype: 0,
        flags: Flags::RETRY,
        duration: 314,
        receiver: A,
        transmitter: B,
        address3: MacAddress::BROADCAST,
        sequence: 0xabc,
        fragment: 5,
        address4: None,
        qos: None,
    };
    let bytes = encoded(&Header::Data(header));
    assert_eq!(bytes.len(), 24);
    assert_eq!((bytes[0], bytes[1]), (0x08, 0x08));
    assert_eq!(bytes[22..], [0xc5, 0xab]);
}

/// The check value of CRC-32 (its catalogue entry): the digits 1 to 9 give cbf43926.
#[test]
fn the_check_sequence_is_crc_32() {
    assert_eq!(frame_check_sequence(b"123456789"), 0xcbf4_3926_u32.to_le_bytes());
    let mut frame = encoded(&Header::Ack { duration: 0, receiver: A });
    frame.extend(frame_check_sequence(&frame.clone()));
    assert!(has_valid_check_sequence(&frame));
    frame[5] ^= 1;
    assert!(!has_valid_check_sequence(&frame));
    assert!(!has_valid_check_sequence(&[1, 2, 3]));
}

#[test]
fn missing_bytes_and_unknown_versions_are_errors() {
    assert_eq!(Header::parse(&[]), Err(HeaderError::Truncated { needed: 2, present: 0 }));
    assert_eq!(Header::parse(&[0xb4, 0, 0, 0, 1]), Err(HeaderError::Truncated { needed: 10, present: 5 }));
    assert_eq!(Header::parse(&[0xb5, 0, 0, 0]), Err(HeaderError::Version(1)));
}

fn address() -> impl Strategy<Value = MacAddress> {
    any::<[u8; 6]>().prop_map(MacAddress)
}

fn payload_header(is_data: bool) -> impl Strategy<Value = PayloadHeader> {
    let addresses = (address(), address(), address(), address());
    (0..16_u8, any::<u8>(), any::<u16>(), addresses, 0..4_096_u16, 0..16_u8, any::<u16>()).prop_map(
        move |(
            subtype,
            flags,
            duration,
            (receiver, transmitter, address3, fourth),
            sequence,
            fragment,
            qos,
        )| {
            let flags = Flags(flags);
            let address4 = (is_data && flags.contains(Flags(3))).then_some(fourth);
            let qos = (is_data && subtype & 8 != 0).then_some(qos);
            PayloadHeader {
                subtype,
                flags,
                duration,
                receiver,
                transmitter,
                address3,
                sequence,
                fragment,
                address4,
                qos,
            }
        },
    )
}

fn header() -> impl Strategy<Value = Header> {
    prop_oneof![
        (any::<u16>(), address(), address()).prop_map(|(duration, receiver, transmitter)| Header::Rts {
            duration,
            receiver,
            transmitter
        }),
        (any::<u16>(), address()).prop_map(|(duration, receiver)| Header::Cts { duration, receiver }),
        (any::<u16>(), address()).prop_map(|(duration, receiver)| Header::Ack { duration, receiver }),
        payload_header(true).prop_map(Header::Data),
        payload_header(false).prop_map(Header::Management),
    ]
}

proptest! {
    #[test]
    fn a_header_survives_encoding_and_parsing(header in header(), body in any::<Vec<u8>>()) {
        let mut bytes = encoded(&header);
        let length = bytes.len();
        bytes.extend(&body);
        prop_assert_eq!(Header::parse(&bytes), Ok((header, &body[..])));
        // Every shorter prefix is an error, not a panic.
        for end in 0..length {
            prop_assert!(Header::parse(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn any_bytes_that_parse_are_encoded_again_but_for_flags_of_control_frames(bytes in any::<Vec<u8>>()) {
        if let Ok((header, rest)) = Header::parse(&bytes) {
            let again = encoded(&header);
            prop_assert_eq!(again.len() + rest.len(), bytes.len());
            let is_control = matches!(header, Header::Rts { .. } | Header::Cts { .. } | Header::Ack { .. });
            for (index, (&new, &old)) in again.iter().zip(&bytes).enumerate() {
                prop_assert!(new == old || is_control && index == 1);
            }
        }
    }
}
