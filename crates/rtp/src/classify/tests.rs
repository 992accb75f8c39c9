//! Kinds of datagrams.

use std::vec::Vec;

use super::*;

/// An RTP packet with that payload.
fn rtp(timestamp: u32, payload: &[u8]) -> Vec<u8> {
    [&[0x80, 96, 0, 1][..], &timestamp.to_be_bytes(), &[0, 0, 0, 9], payload].concat()
}

fn media(content: Content) -> Kind {
    Kind::Media(Media { frame: FrameId { source: 9, timestamp: 7 }, content })
}

#[test]
fn without_a_codec_frames_are_told_apart_by_their_timestamps() {
    let first = classify(&rtp(7, &[0x67]), None);
    assert_eq!(first, media(Content::default()));
    assert_ne!(first, classify(&rtp(8, &[0x67]), None));
}

#[test]
fn contents_follow_sources_and_extensions() {
    let parameters = Content { has_parameters: true, ..Content::default() };
    let mut packet = rtp(7, &[1, 2, 3, 4, 0xbe, 0xde, 0, 1, 5, 6, 7, 8, 0x67]);
    packet[0] = 0x91;
    assert_eq!(classify(&packet, Some(Codec::H264)), media(parameters));
    // Truncated ones are of their frame.
    packet.truncate(20);
    assert_eq!(classify(&packet, Some(Codec::H264)), media(Content::default()));
    packet[0] = 0x9f;
    assert_eq!(classify(&packet, Some(Codec::H264)), media(Content::default()));
}

#[test]
fn other_datagrams_are_recognized() {
    // A sender report, and a receiver report without blocks, which is shorter than a header of RTP.
    for control in [&[0x80, 200, 0, 6, 0, 0, 0, 9, 0, 0, 0, 0][..], &[0x80, 201, 0, 1, 0, 0, 0, 9]] {
        assert_eq!(classify(control, Some(Codec::H264)), Kind::Control);
    }
    for other in [
        &b""[..],
        b"hello",
        b"GET / HTTP/1.1\r\n",
        &[0x80; 11],
        &[0x80, 201, 0, 1, 0, 0, 0],
        &[0x40, 200, 0, 1, 0, 0, 0, 9],
    ] {
        assert_eq!(classify(other, Some(Codec::H264)), Kind::Other, "{other:02x?}");
    }
}
