//! Streams among datagrams.

use std::vec::Vec;

use super::*;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// An RTP packet; marked if it ends a frame.
fn rtp(source: u32, sequence: u16, timestamp: u32, marker: bool, payload: &[u8]) -> Vec<u8> {
    let kind = 96 | u8::from(marker) << 7;
    let [high, low] = sequence.to_be_bytes();
    [&[0x80, kind, high, low][..], &timestamp.to_be_bytes(), &source.to_be_bytes(), payload].concat()
}

/// Frame numbers of datagrams that come every 10 ms; `None` for those that are no RTP.
fn frames(flow: &mut Recognizer, datagrams: impl IntoIterator<Item = Vec<u8>>) -> Vec<Option<u32>> {
    let classify = |(n, datagram): (u64, Vec<u8>)| match flow.classify(ms(10 * n), &datagram, None) {
        Kind::Media(media) => Some(media.frame.number),
        Kind::Other | Kind::Control(_) => None,
    };
    (0..).zip(datagrams).map(classify).collect()
}

/// The number of the first datagram that is RTP.
fn recognized_at(datagrams: impl IntoIterator<Item = Vec<u8>>) -> Option<usize> {
    frames(&mut Recognizer::new(false), datagrams).iter().position(Option::is_some)
}

/// Numbers of packets, and what a format has in that field.
fn numbered(field: impl Fn(u32) -> Vec<u8>) -> Vec<Vec<u8>> {
    (0..200).map(field).collect()
}

#[test]
fn streams_are_recognized_by_their_packets() {
    // Video of three packets in 40 ms, at 90 kHz; audio of 20 ms at 48 and at 8 kHz; a start before the
    // numbers wrap.
    let video = |n: u32| rtp(9, n as u16, n / 3 * 3600, n % 3 == 2, b"x");
    assert_eq!(recognized_at(numbered(video)), Some(5));
    assert_eq!(
        recognized_at(numbered(|n| rtp(9, 65_533_u16.wrapping_add(n as u16), n * 960, false, b"x"))),
        Some(5)
    );
    assert_eq!(
        recognized_at(numbered(|n| rtp(9, n as u16, (u32::MAX - 300).wrapping_add(n * 160), false, b"x"))),
        Some(5)
    );
    // A key frame of 100 packets comes first: the timestamp moves with the next frame.
    assert_eq!(recognized_at(numbered(|n| rtp(9, n as u16, n / 100 * 90_000, false, b"x"))), Some(100));
    // Pictures in the order in which they are decoded, timestamps back and forth; each packet twice; pairs in
    // reverse order.
    let order = [0, 3, 1, 2, 4, 7, 5, 6];
    let decoded = numbered(|n| rtp(9, n as u16, 3600 * (order[n as usize % 8] + n / 8 * 8), true, b"x"));
    assert!(recognized_at(decoded).is_some_and(|at| at < 8));
    assert!(
        recognized_at(numbered(|n| rtp(9, (n / 2) as u16, n / 2 * 960, false, b"x")))
            .is_some_and(|at| at < 16)
    );
    assert!(
        recognized_at(numbered(|n| rtp(9, (n ^ u32::from(n % 8 < 2)) as u16, n * 960, false, b"x")))
            .is_some()
    );
    // Contributing sources and a header extension.
    let extended = |n: u32| {
        let mut packet = rtp(9, n as u16, n * 960, false, &[1, 2, 3, 4, 0xbe, 0xde, 0, 1, 0x10, 1, 0, 0, 5]);
        packet[0] = 0x91;
        packet
    };
    assert_eq!(recognized_at(numbered(extended)), Some(5));
}

#[test]
fn other_formats_are_not() {
    let be = |n: u32| n.to_be_bytes();
    for (name, datagrams) in [
        // CBOR: a map, an array with a number of 16 bits and a time of 32 bits, one whose value stands still.
        ("map", numbered(|n| [&b"\xa3\x63seq\x19"[..], &be(n)[2..], b"\x61x\xfb@E\0\0\0\0\0\0"].concat())),
        (
            "time",
            numbered(|n| {
                [&[0x83, 0x19][..], &be(n)[2..], &[0x1a], &be((1 << 24) | (10 * n)), &[0xfb], &be(n), &be(n)]
                    .concat()
            }),
        ),
        (
            "still",
            numbered(|n| {
                [&[0x82, 0x19][..], &be(n)[2..], b"\x83\xfb@E\x11\x12\x13\x14\x15\x16\x17\x18\x19"].concat()
            }),
        ),
        // MessagePack: an array that begins with a number of 16 bits.
        (
            "array",
            numbered(|n| {
                [&[0x93, 0xcd][..], &be(n)[2..], &[0xcb, 0x40, 9, 33, 251, 84, 68, 45, 24, 192]].concat()
            }),
        ),
        // SRT's acknowledgements: a number, and a time in microseconds.
        ("SRT", numbered(|n| [&[0x80, 2, 0, 0][..], &be(n), &be(10_000 * n), &be(77), &[0; 24]].concat())),
        // ENet at 60 Hz: a time of 16 bits in milliseconds, and a number that is no clock.
        (
            "ENet",
            numbered(|n| [&[0x80, 1][..], &be(16 * n)[2..], &[0x86, 0], &be(n)[2..], &[0, 9, 0, 9]].concat()),
        ),
        ("counter", numbered(|n| [&[0x80, 1][..], &be(n)[2..], &be(n), &[0, 9, 0, 9]].concat())),
        ("constant", numbered(|_| [0x80; 40].to_vec())),
        (
            "random",
            numbered(|n| {
                let x = n.wrapping_add(1).wrapping_mul(0x9e37_79b9);
                [&[0x80 | x as u8 & 0x0f, 7][..], &be(x), &be(x.wrapping_mul(x)), &be(!x), &[0; 64]].concat()
            }),
        ),
    ] {
        assert_eq!(recognized_at(datagrams.clone()), None, "{name}");
        // An announcement does not make RTP of it for long.
        let announced = frames(&mut Recognizer::new(true), datagrams);
        let last = announced.iter().rposition(Option::is_some);
        assert!(name == "ENet" || name == "counter" || last.is_none_or(|last| last < 20), "{name}: {last:?}");
    }
}

#[test]
fn a_timestamp_that_stands_still_is_no_evidence_and_no_frame_for_ever() {
    assert_eq!(recognized_at(numbered(|n| rtp(9, n as u16, 0, true, b"x"))), None);
    // An announced one is RTP: its frames end with the marker bit, or after 250 ms.
    let mut flow = Recognizer::new(true);
    let marked = frames(&mut flow, numbered(|n| rtp(9, n as u16, 0, n % 4 == 3, b"x")));
    assert_eq!(marked[..9], [0, 0, 0, 0, 1, 1, 1, 1, 2].map(Some));
    let mut flow = Recognizer::new(true);
    let unmarked = frames(&mut flow, numbered(|n| rtp(9, n as u16, 0, false, b"x")));
    assert_eq!((unmarked[24], unmarked[25], unmarked[199]), (Some(0), Some(1), Some(7)));
}

#[test]
fn packets_that_were_overtaken_are_of_their_frame() {
    let mut flow = Recognizer::new(true);
    let order =
        [(0, false), (1, false), (3, true), (4, false), (2, false), (5, false), (6, true), (7, false)];
    let packets = order.map(|(n, marker)| rtp(9, n, u32::from(n / 4) * 3600, marker, b"x"));
    assert_eq!(frames(&mut flow, packets), [0, 0, 0, 1, 0, 1, 1, 2].map(Some));
}

#[test]
fn evidence_is_lost_again_and_a_restart_is_not_the_end_of_it() {
    let mut flow = Recognizer::new(false);
    let stream = numbered(|n| rtp(9, n as u16, n * 960, false, b"x"));
    assert_eq!(frames(&mut flow, stream).last(), Some(&Some(194)));
    // The same SSRC with other numbers: two packets show a restart.
    let restarted = numbered(|n| rtp(9, 40_000 + n as u16, 0x7000_0000 + n * 960, false, b"x"));
    assert!(frames(&mut flow, restarted).iter().all(Option::is_some));
    // A new SSRC has its own evidence; the flow stays one of RTP.
    let renewed = numbered(|n| rtp(10, n as u16, n * 960, false, b"x"));
    assert_eq!(frames(&mut flow, renewed).iter().position(Option::is_some), Some(5));
    assert!(flow.is_rtp() && flow.has_source(10));
    // Equal headers in each datagram are no stream.
    let mut flow = Recognizer::new(false);
    frames(&mut flow, numbered(|n| rtp(9, n as u16, n * 960, false, b"x")));
    let constant = frames(&mut flow, numbered(|_| rtp(9, 7, 7, false, b"x")));
    assert_eq!(constant.iter().rposition(Option::is_some), Some(3));
    assert!(!flow.is_rtp());
}

#[test]
fn datagrams_beside_the_stream_and_many_streams_change_nothing() {
    let mut flow = Recognizer::new(false);
    // STUN, DTLS, ZRTP and a channel of TURN (RFC 7983), and another format that begins as RTP does.
    let beside = [
        &b"\x00\x01\x00\x00\x21\x12\xa4\x42 a transaction"[..],
        &[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        b"\x10\x00\x00\x01ZRTP    ",
        &[0x40, 0, 0, 4, 1, 2, 3, 4],
        b"\xa3\x63seq\x19\x12\x34\x61x\xfb@E\0\0\0\0\0\0",
    ];
    let mixed = (0..200).map(|n: u32| match beside.get(n as usize % 6) {
        Some(other) => other.to_vec(),
        None => rtp(9, (n / 6) as u16, n / 6 * 5400, true, b"x"),
    });
    let mixed = frames(&mut flow, mixed);
    let media: Vec<usize> = (0..200).filter(|n| mixed[*n].is_some()).collect();
    assert!(media.iter().all(|n| n % 6 == 5) && media.len() == 200 / 6 - 5, "{media:?}");
    // 10,000 SSRCs of one packet each do not displace it, and take no memory.
    for n in 0..10_000_u32 {
        flow.classify(ms(3000), &rtp(1000 + n, 1, 1, false, b"x"), None);
        assert!(flow.streams.len() <= MAX_STREAMS);
    }
    assert!(flow.has_source(9));
    assert_eq!(flow.active_sources(ms(1500)).collect::<Vec<_>>(), [9]);
    assert_eq!(flow.active_sources(ms(2500)).count(), 0);
}

#[test]
fn contents_follow_sources_and_extensions() {
    let content = |datagram: &[u8]| match Recognizer::new(true).classify(ms(0), datagram, Some(Codec::H264)) {
        Kind::Media(media) => Some(media.content),
        _ => None,
    };
    let parameters = Content { has_parameters: true, ..Content::default() };
    let mut packet = rtp(9, 1, 7, false, &[1, 2, 3, 4, 0xbe, 0xde, 0, 1, 5, 6, 7, 8, 0x67]);
    packet[0] = 0x91;
    assert_eq!(content(&packet), Some(parameters));
    // Padding that is encrypted, or longer than the payload, hides the contents; a header that is cut is
    // none.
    packet[0] = 0xb1;
    assert_eq!(content(&packet), Some(Content::default()));
    packet.truncate(20);
    assert_eq!(content(&packet), None);
}
