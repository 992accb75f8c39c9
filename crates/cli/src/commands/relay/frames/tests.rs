//! Kinds of datagrams in the queue.

use super::*;

/// An RTP packet with that payload.
fn rtp(timestamp: u32, payload: &[u8]) -> Vec<u8> {
    [&[0x80, 96, 0, 1][..], &timestamp.to_be_bytes(), &[0, 0, 0, 9], payload].concat()
}

fn part(disposable: bool) -> Kind {
    Kind::Part { frame: Frame { flow: 3, source: 9, timestamp: 7 }, disposable }
}

#[test]
fn parameter_sets_and_rtcp_are_essential() {
    let report = [0x80, 200, 0, 6, 0, 0, 0, 9, 0, 0, 0, 0];
    assert_eq!(Kind::of(3, &report, None), Kind::Essential);
    for (payload, codec, expected) in [
        (&[0x67, 0x42][..], Some(Codec::H264), Kind::Essential),
        (&[0x01, 0x9e], Some(Codec::H264), part(true)),
        (&[0x65, 0x88], Some(Codec::H264), part(false)),
        (&[0x67, 0x42], None, part(false)),
        (&[0x42, 0x01], Some(Codec::H265), Kind::Essential),
        (&[0x30, 0x51], Some(Codec::Vp8), part(true)),
        (&[0x28, 1, 0x08, 0x30], Some(Codec::Av1), Kind::Essential),
    ] {
        assert_eq!(Kind::of(3, &rtp(7, payload), codec), expected, "{codec:?} {payload:02x?}");
    }
    assert_eq!(Kind::of(3, b"hello", Some(Codec::H264)), Kind::Other);
}

#[test]
fn frames_of_different_flows_differ() {
    assert_ne!(Kind::of(0, &rtp(7, &[0x67]), None), Kind::of(1, &rtp(7, &[0x67]), None));
}
