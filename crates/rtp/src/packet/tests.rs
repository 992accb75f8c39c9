//! Packets made by hand from RFCs 3550 and 8285.

use std::vec::Vec;

use super::*;

/// A packet with these flags in its first byte, and what follows the fixed header.
fn packet(flags: u8, rest: &[u8]) -> Vec<u8> {
    [&[0x80 | flags, 0xe0, 0x12, 0x34, 0, 0, 0, 7, 0, 0, 0, 9][..], rest].concat()
}

#[test]
fn the_fields_of_the_header_are_read() {
    let bytes = packet(0, b"data");
    let packet = RtpPacket::parse(&bytes).expect("a packet");
    assert_eq!((packet.marker(), packet.payload_type(), packet.sequence()), (true, 96, 0x1234));
    assert_eq!((packet.timestamp(), packet.source(), packet.payload()), (7, 9, Some(&b"data"[..])));
}

#[test]
fn other_datagrams_are_no_packets() {
    for other in [&b""[..], b"GET / HTTP/1.1\r\n", &[0x80; 11], &[0x80, 200, 0, 6, 0, 0, 0, 9, 0, 0, 0, 0]] {
        assert_eq!(RtpPacket::parse(other), None, "{other:02x?}");
    }
}

#[test]
fn sources_extension_and_padding_surround_the_payload() {
    let bytes = packet(0x31, &[1, 2, 3, 4, 0xbe, 0xde, 0, 1, 0x10, 8, 0, 0, 0x67, 0x42, 0, 0, 3]);
    assert_eq!(RtpPacket::parse(&bytes).and_then(|packet| packet.payload()), Some(&[0x67, 0x42][..]));
    // Fewer sources than announced; an extension without its data; padding of no bytes, and of more than
    // there are.
    for (flags, rest) in
        [(0x02, &[1, 2, 3, 4][..]), (0x10, &[0xbe, 0xde, 0, 2, 0, 0, 0, 0]), (0x20, &[1, 2, 0]), (0x20, &[4])]
    {
        let bytes = packet(flags, rest);
        assert_eq!(RtpPacket::parse(&bytes).expect("a header").payload(), None, "{rest:02x?}");
    }
}

#[test]
fn elements_with_one_byte_headers_are_found() {
    // 1: one byte; padding; 5: two bytes; 15 ends the elements.
    let bytes = packet(0x10, &[0xbe, 0xde, 0, 3, 0x10, 0xaa, 0, 0x51, 0x12, 0x34, 0xf0, 0, 0x60, 0x55, 0, 0]);
    let packet = RtpPacket::parse(&bytes).expect("a packet");
    assert_eq!(packet.extension(1), Some(&[0xaa][..]));
    assert_eq!(packet.extension(5), Some(&[0x12, 0x34][..]));
    assert_eq!(packet.transport_sequence(5), Some(0x1234));
    for absent in [0, 2, 6, 15] {
        assert_eq!(packet.extension(absent), None, "{absent}");
    }
    assert_eq!(packet.transport_sequence(1), None, "it has one byte");
}

#[test]
fn elements_with_two_byte_headers_are_found() {
    let bytes = packet(0x10, &[0x10, 0x03, 0, 3, 200, 4, 0x12, 0x34, 0, 1, 7, 0, 15, 1, 9, 0]);
    let packet = RtpPacket::parse(&bytes).expect("a packet");
    assert_eq!(packet.transport_sequence(200), Some(0x1234));
    assert_eq!(packet.extension(7), Some(&[][..]));
    assert_eq!(packet.extension(15), Some(&[9][..]));
}

#[test]
fn truncated_elements_and_other_profiles_have_none() {
    for rest in [
        &[0xbe, 0xde, 0, 1, 0x53, 1, 2, 3][..],
        &[0x10, 0, 0, 1, 0, 0, 0, 5],
        &[0x10, 0, 0, 1, 5, 3, 1, 2],
        &[0x12, 0x34, 0, 1, 0x50, 1, 0, 0],
        &[0xbe, 0xde, 0, 0],
        &[0xbe],
    ] {
        let bytes = packet(0x10, rest);
        assert_eq!(RtpPacket::parse(&bytes).expect("a header").extension(5), None, "{rest:02x?}");
    }
}
