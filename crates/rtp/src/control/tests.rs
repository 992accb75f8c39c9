//! Datagrams with and without the structure of RTCP.

use super::*;

const fn whole(sender: u32) -> Option<ControlPacket> {
    Some(ControlPacket { sender, is_whole: true })
}

/// A sender report without blocks.
const REPORT: [u8; 28] =
    [0x80, 200, 0, 6, 0, 0, 0, 9, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5];
/// A source description with a name of two bytes.
const DESCRIPTION: [u8; 16] = [0x81, 202, 0, 3, 0, 0, 0, 9, 1, 2, b'm', b'e', 0, 0, 0, 0];

#[test]
fn compound_packets_are_walked_to_their_end() {
    assert_eq!(ControlPacket::parse(&REPORT), whole(9));
    assert_eq!(ControlPacket::parse(&[&REPORT[..], &DESCRIPTION].concat()), whole(9));
    // A receiver report without blocks, a picture loss indication alone (RFC 5506), and padding at the end.
    assert_eq!(ControlPacket::parse(&[0x80, 201, 0, 1, 0, 0, 0, 7]), whole(7));
    assert_eq!(ControlPacket::parse(&[0x81, 206, 0, 2, 0, 0, 0, 7, 0, 0, 0, 9]), whole(7));
    assert_eq!(ControlPacket::parse(&[0xa0, 201, 0, 2, 0, 0, 0, 7, 0, 0, 0, 4]), whole(7));
}

#[test]
fn encrypted_ones_have_a_first_header_that_fits() {
    // All after the first eight bytes is encrypted; the index and a tag of 80 bits follow (RFC 3711, Section
    // 3.4).
    let mut bytes = [&REPORT[..], &DESCRIPTION, &[0x80, 0, 0, 1], &[0x5a; 10]].concat();
    bytes[8..44].iter_mut().for_each(|byte| *byte ^= 0xa7);
    assert_eq!(ControlPacket::parse(&bytes), Some(ControlPacket { sender: 9, is_whole: false }));
}

#[test]
fn other_formats_whose_second_byte_is_a_packet_type_are_none() {
    for other in [
        // MessagePack: arrays with a number of 16 bits, a number of 64 bits, and a string in front.
        &[0x93, 0xcd, 0x01, 0x00, 0xcb, 0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18, 0xc0][..],
        &[0x92, 0xcf, 0, 0, 1, 0x8c, 0x1f, 0x2e, 0x3d, 0x4c, 0xc3],
        &[0x82, 0xd9, 0x20, b't', b'e', b'm', b'p', b'e', b'r', b'a', b't', b'u', b'r', b'e'],
        // CBOR: an array whose first item is a tag.
        &[0x84, 0xc1, 0x1a, 0x66, 0x10, 0x22, 0x33, 0xfb, 0x40, 0x45, 0, 0, 0, 0, 0, 0],
        // A sender report with more blocks than bytes; one that is cut; padding before the end; a type that
        // is not assigned.
        &[0x82, 200, 0, 6, 0, 0, 0, 9, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5],
        &REPORT[..27],
        &[&[0xa0], &REPORT[1..], &DESCRIPTION[..]].concat(),
        &[0x80, 199, 0, 1, 0, 0, 0, 9],
        &[0x40, 200, 0, 1, 0, 0, 0, 9],
        &[0x80, 201, 0, 1, 0, 0, 0],
        b"",
    ] {
        assert_eq!(ControlPacket::parse(other), None, "{other:02x?}");
    }
}
