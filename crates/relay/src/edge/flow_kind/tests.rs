//! Kinds of datagrams in flows.

use super::*;

const AUDIO: Flow = Flow { port: 0, number: 3 };
/// A receiver report without blocks.
const REPORT: [u8; 8] = [0x80, 201, 0, 1, 0, 0, 0, 9];

/// An RTP packet with that payload.
fn rtp(sequence: u16, timestamp: u32, payload: &[u8]) -> Vec<u8> {
    let [high, low] = sequence.to_be_bytes();
    [&[0x80, 96, high, low][..], &timestamp.to_be_bytes(), &[0, 0, 0, 9], payload].concat()
}

fn kinds(video: Option<Codec>, udp_ports: &[u16]) -> FlowKinds {
    FlowKinds::new(Announcement {
        sends: Sends::All(video),
        receives_rtp: false,
        udp_ports: udp_ports.to_vec(),
        streams: Vec::new(),
    })
}

/// Audio of 20 ms each, in one direction.
fn talk(mut packet: impl FnMut(Instant, &[u8])) {
    (0..20).for_each(|n| packet(Instant::from_millis(20 * n), &rtp(n as u16, 960 * n as u32, b"x")));
}

#[test]
fn with_a_codec_parameter_sets_are_essential_and_frames_without_references_disposable() {
    for (payload, codec, expected) in [
        (&[0x67, 0x42][..], Codec::H264, None),
        (&[0x01, 0x9e], Codec::H264, Some(true)),
        (&[0x65, 0x88], Codec::H264, Some(false)),
        (&[0x42, 0x01], Codec::H265, None),
        (&[0x30, 0x51], Codec::Vp8, Some(true)),
        (&[0x28, 1, 0x08, 0x30], Codec::Av1, None),
    ] {
        let kind = kinds(Some(codec), &[]).of_sent(Instant::ZERO, AUDIO, &rtp(7, 7, payload)).0;
        let disposable = match kind {
            Kind::Part { disposable, .. } => Some(disposable),
            Kind::Essential => None,
            Kind::Other => panic!("{payload:02x?} is RTP"),
        };
        assert_eq!(disposable, expected, "{codec:?} {payload:02x?}");
    }
    // Without it the first packet is no evidence; a datagram of text never is one.
    assert_eq!(kinds(None, &[]).of_sent(Instant::ZERO, AUDIO, &rtp(7, 7, &[0x67])).0, Kind::Other);
    assert_eq!(kinds(Some(Codec::H264), &[]).of_sent(Instant::ZERO, AUDIO, b"hello").0, Kind::Other);
}

#[test]
fn frames_of_different_flows_differ() {
    let mut kinds = kinds(Some(Codec::H264), &[]);
    let other = Flow { number: 4, ..AUDIO };
    let [first, second] =
        [AUDIO, other].map(|flow| kinds.of_sent(Instant::ZERO, flow, &rtp(7, 7, &[0x65])).0);
    assert_ne!(first, second);
}

#[test]
fn rtcp_is_essential_in_flows_of_rtp_alone() {
    let later = Instant::from_secs(1);
    let mut flows = kinds(None, &[]);
    assert_eq!(flows.of_sent(later, AUDIO, &REPORT).0, Kind::Other, "no stream is known");
    talk(|now, packet| {
        flows.of_sent(now, AUDIO, packet);
    });
    assert_eq!(flows.of_sent(later, AUDIO, &REPORT).0, Kind::Essential);
    // MessagePack in the same flow, whose second byte is one of RTCP's types: the length does not fit.
    let other = [&[0x93, 0xcd, 0x01, 0x00, 0xcb][..], &[0x40; 20]].concat();
    assert_eq!(flows.of_sent(later, AUDIO, &other).0, Kind::Other);
    assert_eq!(flows.of_sent(later, Flow { number: 4, ..AUDIO }, &REPORT).0, Kind::Other, "another flow");
    flows.forget(AUDIO);
    assert_eq!(flows.of_sent(later, AUDIO, &REPORT).0, Kind::Other, "another program");
    // The viewer answers the stream of the peer.
    let mut flows = kinds(None, &[]);
    talk(|now, packet| {
        flows.on_received(now, AUDIO, packet, false);
    });
    assert_eq!(flows.of_sent(later, AUDIO, &REPORT).0, Kind::Essential);
}

#[test]
fn rtcp_has_the_odd_port_after_that_of_its_stream() {
    let later = Instant::from_secs(1);
    for (ports, expected) in
        [([5004, 5005], Kind::Essential), ([5003, 5004], Kind::Other), ([5004, 5007], Kind::Other)]
    {
        let mut flows = kinds(None, &ports);
        talk(|now, packet| {
            flows.of_sent(now, AUDIO, packet);
        });
        // Its program's socket is another one: another flow.
        assert_eq!(flows.of_sent(later, Flow { port: 1, number: 9 }, &REPORT).0, expected, "{ports:?}");
    }
}

#[test]
fn encrypted_rtcp_is_known_by_its_sender() {
    let (later, mut flows) = (Instant::from_secs(1), kinds(None, &[]));
    talk(|now, packet| {
        flows.of_sent(now, AUDIO, packet);
    });
    let encrypted = |sender: u8| [&[0x80, 200, 0, 6, 0, 0, 0, sender][..], &[0xa7; 41]].concat();
    assert_eq!(flows.of_sent(later, AUDIO, &encrypted(9)).0, Kind::Essential, "that of the stream");
    let answers = [1, 2, 3].map(|_| flows.of_sent(later, AUDIO, &encrypted(5)).0);
    assert_eq!(answers, [Kind::Other, Kind::Other, Kind::Essential]);
    // A field that changes is no sender.
    assert!((10..200).all(|n| flows.of_sent(later, AUDIO, &encrypted(n)).0 == Kind::Other));
}

#[test]
fn the_state_is_bounded_and_other_datagrams_have_none() {
    let mut flows = kinds(Some(Codec::H264), &[]);
    for n in 0..=u16::MAX {
        let [port, number] = n.to_be_bytes();
        let now = Instant::from_millis(n.into());
        let datagram = if n % 2 == 0 { &[0x80; 20][..] } else { b"text" };
        flows.on_received(now, Flow { port, number }, datagram, false);
        assert!(flows.flows.len() <= MAX_FOLLOWED);
    }
    assert!(flows.flows.keys().all(|flow| flow.number % 2 == 0));
}
