//! Kinds of RTP packets, made by hand from RFCs 3550, 6184 and 7798.

use super::*;

/// An RTP packet with that payload.
fn rtp(timestamp: u32, payload: &[u8]) -> Vec<u8> {
    [&[0x80, 96, 0, 1][..], &timestamp.to_be_bytes(), &[0, 0, 0, 9], payload].concat()
}

fn kind(payload: &[u8], codec: Codec) -> Kind {
    classify(3, &rtp(7, payload), Some(codec))
}

fn part(disposable: bool) -> Kind {
    Kind::Part { frame: Frame { flow: 3, source: 9, timestamp: 7 }, disposable }
}

#[test]
fn parameter_sets_are_essential_and_frames_without_references_disposable() {
    use Codec::{H264, H265};
    for (payload, codec, expected) in [
        // SPS, PPS, IDR, P slice, B slice without references.
        (&[0x67, 0x42][..], H264, Kind::Essential),
        (&[0x68, 0xce], H264, Kind::Essential),
        (&[0x65, 0x88], H264, part(false)),
        (&[0x41, 0x9a], H264, part(false)),
        (&[0x01, 0x9e], H264, part(true)),
        // STAP-A of SEI and SPS, of two slices, and a truncated one.
        (&[0x78, 0, 1, 0x06, 0, 2, 0x67, 0x42], H264, Kind::Essential),
        (&[0x18, 0, 1, 0x01, 0, 1, 0x01], H264, part(true)),
        (&[0x78, 0, 9, 0x67], H264, part(false)),
        // FU-A of an IDR, and of a slice without references.
        (&[0x7c, 0x85, 0x88], H264, part(false)),
        (&[0x1c, 0x81, 0x9e], H264, part(true)),
        (&[], H264, part(false)),
        // VPS, SPS, PPS, IDR_W_RADL, TRAIL_R, TRAIL_N.
        (&[0x40, 0x01], H265, Kind::Essential),
        (&[0x42, 0x01], H265, Kind::Essential),
        (&[0x44, 0x01], H265, Kind::Essential),
        (&[0x26, 0x01], H265, part(false)),
        (&[0x02, 0x01], H265, part(false)),
        (&[0x00, 0x01], H265, part(true)),
        // AP of VPS and SPS; FU of TRAIL_N; too short.
        (&[0x60, 0x01, 0, 2, 0x40, 0x01, 0, 2, 0x42, 0x01], H265, Kind::Essential),
        (&[0x62, 0x01, 0x80, 0xff], H265, part(true)),
        (&[0x40], H265, part(false)),
    ] {
        assert_eq!(kind(payload, codec), expected, "{codec:?} {payload:02x?}");
    }
}

#[test]
fn without_a_codec_frames_are_told_apart_by_their_timestamps() {
    let first = classify(0, &rtp(7, &[0x67]), None);
    assert_eq!(first, Kind::Part { frame: Frame { flow: 0, source: 9, timestamp: 7 }, disposable: false });
    assert_ne!(first, classify(0, &rtp(8, &[0x67]), None));
    assert_ne!(first, classify(1, &rtp(7, &[0x67]), None));
}

#[test]
fn other_datagrams_are_recognized() {
    let report = [0x80, 200, 0, 6, 0, 0, 0, 9, 0, 0, 0, 0];
    assert_eq!(classify(0, &report, Some(Codec::H264)), Kind::Essential);
    for other in [&b""[..], b"hello", b"GET / HTTP/1.1\r\n", &[0x80; 11]] {
        assert_eq!(classify(0, other, Some(Codec::H264)), Kind::Other, "{other:02x?}");
    }
}

#[test]
fn sources_and_extensions_precede_the_payload() {
    let mut packet = rtp(7, &[1, 2, 3, 4, 0xbe, 0xde, 0, 1, 5, 6, 7, 8, 0x67]);
    packet[0] = 0x91;
    assert_eq!(classify(3, &packet, Some(Codec::H264)), Kind::Essential);
    // Truncated ones are parts of frames.
    packet.truncate(20);
    assert_eq!(classify(3, &packet, Some(Codec::H264)), part(false));
    packet[0] = 0x9f;
    assert_eq!(classify(3, &packet, Some(Codec::H264)), part(false));
}

#[test]
fn bytes_of_any_kind_are_classified() {
    let mut word = 1_u64;
    let mut next = move || {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (word >> 33) as usize
    };
    let mut parts = 0;
    for _ in 0..200_000 {
        // Mostly RTP's version; few sources and extension words, so that a payload is often left; aggregations with short units.
        let mut datagram: Vec<u8> = (0..next() % 64).map(|_| next() as u8).collect();
        if let Some(first) = datagram.first_mut().filter(|_| next() % 8 != 0) {
            *first = 0x80 | (next() as u8 & 0x13);
        }
        for (at, most) in [(14, 0), (15, 3), (25, 0), (26, 9)] {
            if let Some(byte) = datagram.get_mut(at).filter(|_| next() % 2 == 0) {
                *byte = (next() % (most + 1)) as u8;
            }
        }
        for codec in [None, Some(Codec::H264), Some(Codec::H265)] {
            let kind = classify(7, &datagram, codec);
            if datagram.len() < 12 || datagram[0] >> 6 != 2 {
                assert_eq!(kind, Kind::Other);
            }
            if let Kind::Part { frame, disposable } = kind {
                parts += 1;
                assert_eq!(frame.source.to_be_bytes(), datagram[8..12]);
                assert_eq!(frame.timestamp.to_be_bytes(), datagram[4..8]);
                assert!(codec.is_some() || !disposable);
            }
        }
    }
    assert!(parts > 100_000, "{parts}");
}
