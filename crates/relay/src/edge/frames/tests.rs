//! Frames of three packets, 3000 units apart, of which some are lost, repaired or overtaken.

use whimbrel_rtp::{Kind, Recognizer};
use whimbrel_units::Instant;

use super::*;

/// A packet of a frame: the frame, the packet's place in it, and whether it was repaired.
type Arrival = (u16, u16, bool);

const PACKETS: u16 = 3;

fn packet((frame, place, _): Arrival, markers: bool) -> Vec<u8> {
    let [high, low] = (frame * PACKETS + place).to_be_bytes();
    let marker = if markers && place + 1 == PACKETS { 0x80 } else { 0 };
    [&[0x80, 96 | marker, high, low][..], &(u32::from(frame) * 3000).to_be_bytes(), &[0, 0, 0, 9], b"x"]
        .concat()
}

/// Ten frames: [whole, repaired, given up], after `change` has changed what arrives. The last two stay open.
fn counts(markers: bool, change: impl FnOnce(&mut Vec<Arrival>)) -> [u64; 3] {
    let mut arrivals: Vec<Arrival> =
        (0..10).flat_map(|frame| (0..PACKETS).map(move |place| (frame, place, false))).collect();
    change(&mut arrivals);
    let (mut frames, mut recognizer) = (Frames::default(), Recognizer::new(true));
    for arrival in arrivals {
        let bytes = packet(arrival, markers);
        let now = Instant::from_millis(33 * u64::from(arrival.0));
        let Kind::Media(media) = recognizer.classify(now, &bytes, None) else { panic!("RTP") };
        frames.on_received(&media, &RtpPacket::parse(&bytes).expect("RTP"), arrival.2);
    }
    let FrameCounts { whole, repaired, given_up, .. } = frames.counts();
    [whole, repaired, given_up]
}

#[test]
fn frames_are_whole_repaired_or_given_up() {
    let without = |lost: &'static [(u16, u16)]| {
        move |all: &mut Vec<Arrival>| all.retain(|(frame, place, _)| !lost.contains(&(*frame, *place)))
    };
    for (lost, expected) in [
        (&[][..], [8, 0, 0]),
        // In the middle, at the end, and at the beginning of a frame.
        (&[(3, 1)], [7, 0, 1]),
        (&[(3, 2)], [7, 0, 1]),
        (&[(3, 0)], [7, 0, 1]),
        // The end of one and the beginning of the next cannot be told from two at the end.
        (&[(3, 1), (5, 2)], [6, 0, 2]),
        (&[(3, 0), (3, 1), (3, 2)], [7, 0, 1]),
        (&[(3, 0), (3, 1), (3, 2), (4, 0), (4, 1), (4, 2)], [6, 0, 2]),
        // The end of one, and all of the next.
        (&[(3, 2), (4, 0), (4, 1), (4, 2)], [6, 0, 2]),
    ] {
        assert_eq!(counts(true, without(lost)), expected, "{lost:?}");
    }
    let repaired = |all: &mut Vec<Arrival>| all.iter_mut().for_each(|it| it.2 = (it.0, it.1) == (4, 1));
    assert_eq!(counts(true, repaired), [7, 1, 0]);
}

#[test]
fn without_marker_bits_a_gap_is_of_the_frame_before_it() {
    let lost = |all: &mut Vec<Arrival>| all.retain(|it| (it.0, it.1) != (3, 2));
    assert_eq!(counts(false, lost), [7, 0, 1]);
    // All of a frame: three packets are missing, of one frame by the timestamps.
    let lost = |all: &mut Vec<Arrival>| all.retain(|it| it.0 != 3);
    let [whole, repaired, given_up] = counts(false, lost);
    assert!((whole, repaired) == (6, 0) && given_up == 2, "{whole} {given_up}");
}

#[test]
fn an_overtaken_packet_is_not_missing() {
    assert_eq!(counts(true, |all| all.swap(10, 11)), [8, 0, 0]);
    // Over the border of two frames.
    assert_eq!(counts(true, |all| all.swap(11, 12)), [8, 0, 0]);
}

#[test]
fn frames_that_are_sent_are_counted_once_and_streams_are_bounded() {
    let mut frames = Frames::default();
    for number in [0, 0, 1, 0, 2] {
        frames.on_sent(FrameId { source: 1, number });
    }
    assert_eq!(frames.counts().sent, 3);
    for source in 2..1000 {
        frames.on_sent(FrameId { source, number: 0 });
    }
    assert_eq!((frames.counts().sent, frames.sent.len()), (1001, MAX_STREAMS));
}
