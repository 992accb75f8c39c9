//! Messages made by hand from the draft, and the rounding of rates.

use std::vec;

use super::*;

fn encoded(message: &Remb) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).expect("few streams");
    bytes
}

#[test]
fn a_message_has_the_bytes_of_the_draft() {
    // 1,000,000 bit/s: mantissa 250,000 (0x3d090), exponent 2.
    let message = Remb { sender: 0x0102_0304, bitrate: 1_000_000, streams: vec![0x0506_0708] };
    let bytes = encoded(&message);
    let expected =
        [0x8f, 206, 0, 5, 1, 2, 3, 4, 0, 0, 0, 0, b'R', b'E', b'M', b'B', 1, 0x0b, 0xd0, 0x90, 5, 6, 7, 8];
    assert_eq!(bytes, expected);
    assert_eq!(Remb::decode(&bytes), Ok(message));
}

/// A message of libwebrtc's tests (`remb_unittest.cc`, by value) and one of pion's
/// (`receiver_estimated_maximum_bitrate_test.go`).
#[test]
fn messages_of_other_implementations_are_read() {
    let bytes = [
        0x8f, 206, 0, 7, 0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, b'R', b'E', b'M', b'B', 3, 0x07, 0xfb, 0x93,
        0x23, 0x45, 0x67, 0x89, 0x23, 0x45, 0x67, 0x8a, 0x23, 0x45, 0x67, 0x8b,
    ];
    let message =
        Remb { sender: 0x1234_5678, bitrate: 522_022, streams: vec![0x2345_6789, 0x2345_678a, 0x2345_678b] };
    assert_eq!((Remb::decode(&bytes), encoded(&message)), (Ok(message), bytes.to_vec()));
    let bytes = [143, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 82, 69, 77, 66, 1, 26, 32, 223, 72, 116, 237, 22];
    let message = Remb { sender: 1, bitrate: 8_927_168, streams: vec![1_215_622_422] };
    assert_eq!((Remb::decode(&bytes), encoded(&message)), (Ok(message), bytes.to_vec()));
}

#[test]
fn rates_are_rounded_down_to_18_bits() {
    for (rate, expected) in
        [(0, 0), (262_143, 262_143), (262_145, 262_144), (2_500_001, 2_500_000), (u64::MAX, 0x3ffff << 46)]
    {
        let message = Remb { sender: 1, bitrate: rate, streams: vec![] };
        assert_eq!(Remb::decode(&encoded(&message)).map(|message| message.bitrate), Ok(expected), "{rate}");
    }
}

#[test]
fn invalid_messages_are_errors() {
    let bytes = encoded(&Remb { sender: 1, bitrate: 1 << 20, streams: vec![2] });
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        Remb::decode(&bytes)
    };
    assert_eq!(changed(0, 0x4f), Err(RtcpError::Version));
    assert_eq!(changed(0, 0x8e), Err(RtcpError::Type));
    assert_eq!(changed(1, 205), Err(RtcpError::Type));
    assert_eq!(changed(12, b'r'), Err(RtcpError::Type));
    assert_eq!(changed(3, 6), Err(RtcpError::Truncated));
    assert_eq!(changed(3, 3), Err(RtcpError::Truncated));
    assert_eq!(changed(16, 2), Err(RtcpError::Truncated), "two streams, of which one is there");
    assert_eq!(changed(17, 0xff), Err(RtcpError::Reserved), "2^63 times the mantissa");
    assert_eq!(
        changed(0, 0xaf),
        Err(RtcpError::Truncated),
        "the last byte of the stream's number is its padding"
    );
    for length in 0..bytes.len() {
        assert_eq!(Remb::decode(&bytes[..length]), Err(RtcpError::Truncated));
    }
    assert_eq!(
        Remb { sender: 1, bitrate: 1, streams: vec![0; 256] }.encode(&mut Vec::new()),
        Err(RtcpError::TooLong)
    );
}
