//! Messages of other implementations, and sizes and limits of our own.

use proptest::prelude::*;

use super::*;

fn encoded(message: &TransportFeedback) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).expect("a valid message");
    bytes
}

/// A message about packets with these sequence numbers and arrival times in ticks.
fn message(arrivals: &[(u16, i64)]) -> TransportFeedback {
    let base = arrivals[0].0;
    let reference = arrivals[0].1.div_euclid(REFERENCE);
    let mut before = reference * REFERENCE;
    let received = arrivals.iter().map(|(sequence, time)| {
        let delta = (time - before).try_into().expect("a delta of 16 bits");
        before = *time;
        Received { offset: sequence.wrapping_sub(base), delta }
    });
    let received: Vec<_> = received.collect();
    let count = received.last().expect("a packet").offset + 1;
    TransportFeedback { sender: 1, media: 2, base, count, reference: reference as i32, number: 0, received }
}

/// Number of chunks of an encoded message.
fn chunks(message: &TransportFeedback) -> usize {
    let deltas: usize = message.received.iter().map(|packet| usize::from(packet.symbol())).sum();
    let bytes = encoded(message);
    let padding = if bytes[0] & 0x20 == 0 { 0 } else { usize::from(*bytes.last().expect("bytes")) };
    (bytes.len() - padding - 20 - deltas) / 2
}

/// Messages of pion's tests (`transport_layer_cc_test.go`, by value), most of which browsers have sent. The
/// third one has no padding, so the bit for it is cleared here.
#[test]
fn messages_of_other_implementations_are_read_and_written() {
    type Case<'a> = (&'a [u8], u16, u16, i32, u8, &'a [(u16, i16)]);
    let cases: [Case<'_>; 6] = [
        (
            &[
                0xaf, 0xcd, 0, 5, 0xfa, 0x17, 0xfa, 0x17, 0x43, 3, 0x2f, 0xa0, 0, 0x99, 0, 1, 0x3d, 0xe8, 2,
                0x17, 0x20, 1, 0x94, 1,
            ],
            153,
            1,
            4_057_090,
            23,
            &[(0, 148)],
        ),
        (
            // Two packets; the symbols after them are padding.
            &[
                0xaf, 0xcd, 0, 6, 0xfa, 0x17, 0xfa, 0x17, 0x19, 0x3d, 0xd8, 0xbb, 1, 0x74, 0, 2, 0x45, 0xb1,
                0x5a, 0x40, 0xd8, 0, 0xd0, 0, 0, 0, 0, 3,
            ],
            372,
            2,
            4_567_386,
            64,
            &[(0, 208), (1, 0)],
        ),
        (
            &[
                0x8f, 0xcd, 0, 7, 0xfa, 0x17, 0xfa, 0x17, 0x19, 0x3d, 0xd8, 0xbb, 1, 0x74, 0, 6, 0x45, 0xb1,
                0x5a, 0x40, 0x40, 2, 0x20, 4, 0x1f, 0xfe, 0x1f, 0x9a, 0xd0, 0, 0xd0, 0,
            ],
            372,
            6,
            4_567_386,
            64,
            &[(0, 8190), (1, 8090), (2, 208), (3, 0), (4, 208), (5, 0)],
        ),
        (
            &[
                0xaf, 0xcd, 0, 7, 0xfa, 0x17, 0xfa, 0x17, 0x19, 0x3d, 0xd8, 0xbb, 0, 4, 0, 7, 0x10, 0x63,
                0x6e, 1, 0x20, 7, 0x4c, 0x24, 0x24, 0x10, 0xc, 0xc, 0x10, 0, 0, 3,
            ],
            4,
            7,
            1_074_030,
            1,
            &[(0, 76), (1, 36), (2, 36), (3, 16), (4, 12), (5, 12), (6, 16)],
        ),
        (
            &[
                0xaf, 0xcd, 0, 6, 0xfa, 0x17, 0xfa, 0x17, 0x19, 0x3d, 0xd8, 0xbb, 0, 1, 0, 0xe, 0x10, 0x63,
                0x6d, 0, 0xba, 0, 0x10, 0xc, 0xc, 0x10, 0, 2,
            ],
            1,
            14,
            1_074_029,
            0,
            &[(0, 16), (1, 12), (2, 12), (4, 16)],
        ),
        (
            // The run is longer than the number of packets that are left.
            &[
                0xaf, 0xcd, 0, 7, 0x9b, 0x74, 0xf6, 0x1f, 0x93, 0x71, 0xdc, 0xbc, 0x85, 0x3c, 0, 9, 0x63,
                0xf9, 0x16, 0xb3, 0xd5, 0x52, 0, 0x30, 0x9b, 0xaa, 0x6a, 0xaa, 0x7b, 1, 9, 1,
            ],
            34_108,
            9,
            6_551_830,
            179,
            &[(0, 155), (1, 170), (2, 106), (3, 170), (4, 123), (6, 265)],
        ),
    ];
    for (index, (bytes, base, count, reference, number, received)) in cases.into_iter().enumerate() {
        let decoded = TransportFeedback::decode(bytes).unwrap_or_else(|error| panic!("{index}: {error}"));
        assert_eq!((decoded.base, decoded.count), (base, count), "{index}");
        assert_eq!((decoded.reference, decoded.number), (reference, number), "{index}");
        let found: Vec<_> = decoded.received.iter().map(|packet| (packet.offset, packet.delta)).collect();
        assert_eq!(found, received, "{index}");
        let again = encoded(&decoded);
        assert_eq!(TransportFeedback::decode(&again), Ok(decoded), "{index}");
        // If the other encoder chose the same chunks, all bytes but the padding are equal.
        if matches!(index, 0 | 3) {
            let length = bytes.len() - usize::from(bytes[bytes.len() - 1]);
            assert_eq!(again[..length], bytes[..length], "{index}");
        }
    }
}

/// Numbers of chunks in libwebrtc's tests (`transport_feedback_unittest.cc`): received packets and arrival
/// times, by value.
#[test]
fn chunks_are_as_few_as_those_of_libwebrtc() {
    let spaced = |sequences: &[u16], delta: i64| -> Vec<(u16, i64)> {
        let first = i64::from(sequences[0]);
        let time = |sequence: u16| {
            let unwrapped = i64::from(sequence);
            delta * if unwrapped < first { unwrapped + 0x1_0000 } else { unwrapped }
        };
        sequences.iter().map(|sequence| (*sequence, time(*sequence))).collect()
    };
    let max = u16::MAX;
    let split: Vec<(u16, i64)> =
        (0..22).map(|i| (i, i64::from(i) * 4 + if i >= 8 { 256 } else { 4 })).collect();
    for (name, arrivals, expected) in [
        ("one bit", spaced(&[1, 2, 7, 8, 9, 10, 13], 4), 1),
        ("full one bit", spaced(&[1, 2, 7, 8, 9, 10, 13, 14], 4), 1),
        ("wrap received", spaced(&[max - 2, max - 1, max, 0, 1, 2], 4), 1),
        ("wrap missing", spaced(&[max - 2, max - 1, 1, 2], 4), 1),
        ("two bit", spaced(&[1, 2, 6, 7], 256), 1),
        ("full two bit", spaced(&[1, 2, 6, 7, 8], 256), 2),
        ("longest run", [(0, 4), (8191 + 14, 8)].to_vec(), 3),
        ("shortest run", [(0, 4), (29, 8)].to_vec(), 3),
        ("one to two bit", [(0, 0), (6, 256)].to_vec(), 1),
        ("simple split", [(0, 0), (7, 256)].to_vec(), 2),
        ("split", split, 3),
    ] {
        let message = message(&arrivals);
        assert_eq!(chunks(&message), expected, "{name}");
        let decoded = TransportFeedback::decode(&encoded(&message)).expect(name);
        assert!(decoded.arrivals().eq(arrivals), "{name}");
    }
}

#[test]
fn times_before_the_origin_and_negative_deltas_are_kept() {
    let arrivals = [(7, -500), (8, -600), (9, 30_000), (10, 29_999)];
    let message = message(&arrivals);
    assert_eq!(message.reference, -2);
    let decoded = TransportFeedback::decode(&encoded(&message)).expect("a message");
    assert!(decoded.arrivals().eq(arrivals));
}

#[test]
fn invalid_messages_are_errors() {
    let bytes = encoded(&message(&[(1, 4), (2, 300), (4, 304)]));
    let changed = |changes: &[(usize, u8)]| {
        let mut bytes = bytes.clone();
        changes.iter().for_each(|(at, value)| bytes[*at] = *value);
        TransportFeedback::decode(&bytes)
    };
    assert!(changed(&[]).is_ok());
    assert_eq!(changed(&[(0, 0x6f)]), Err(RtcpError::Version));
    assert_eq!(changed(&[(1, 206)]), Err(RtcpError::Type));
    assert_eq!(changed(&[(0, 0xae)]), Err(RtcpError::Type));
    assert_eq!(changed(&[(15, 0)]), Err(RtcpError::Order), "no packets");
    // The reserved symbol; a run of received packets without their deltas; more packets than chunks.
    assert_eq!(changed(&[(20, 0xf0)]), Err(RtcpError::Reserved));
    assert_eq!(changed(&[(14, 0xff), (20, 0x3f), (21, 0xff)]), Err(RtcpError::Truncated));
    assert_eq!(changed(&[(14, 0x40)]), Err(RtcpError::Truncated));
    for length in 0..bytes.len() {
        assert!(TransportFeedback::decode(&bytes[..length]).is_err(), "{length}");
    }
    let valid = message(&[(1, 4), (2, 8)]);
    let mut out = Vec::new();
    for (invalid, error) in [
        (TransportFeedback { count: 1, ..valid.clone() }, RtcpError::Order),
        (TransportFeedback { count: 0, received: Vec::new(), ..valid.clone() }, RtcpError::Order),
        (TransportFeedback { reference: 1 << 23, ..valid.clone() }, RtcpError::Reserved),
        (
            TransportFeedback { received: vec![valid.received[1], valid.received[0]], ..valid },
            RtcpError::Order,
        ),
    ] {
        assert_eq!(invalid.encode(&mut out), Err(error));
    }
    assert!(out.is_empty());
}

#[test]
fn a_short_message_about_many_lost_packets_takes_no_memory() {
    // 65,535 packets, of which none was received: nine runs.
    let all = TransportFeedback { count: u16::MAX, received: Vec::new(), ..message(&[(0, 0)]) };
    let bytes = encoded(&all);
    assert_eq!(bytes.len(), 20 + 2 * 9 + 2);
    assert_eq!(TransportFeedback::decode(&bytes), Ok(all));
}

proptest! {
    #[test]
    fn messages_survive_the_wire(
        base: u16,
        reference in -(1 << 23)..1 << 23,
        steps in prop::collection::vec((1_u16..40, prop_oneof![0_i16..256, any::<i16>()]), 1..200),
        after in 0_u16..40,
    ) {
        let mut offset = 0;
        let received: Vec<_> = steps.iter().map(|(step, delta)| {
            offset += step;
            Received { offset: offset - 1, delta: *delta }
        }).collect();
        let sent = TransportFeedback { sender: 1, media: 2, base, count: offset + after, reference, number: 3, received };
        let bytes = encoded(&sent);
        prop_assert_eq!(bytes.len() % 4, 0);
        // Four bytes for the chunks of each packet and two for its delta, as the log of arrivals presumes.
        prop_assert!(bytes.len() <= 20 + 6 * sent.received.len() + 4 + 3);
        prop_assert_eq!(TransportFeedback::decode(&bytes), Ok(sent));
    }
}
