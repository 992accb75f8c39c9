use std::{vec, vec::Vec};

use bytes::BytesMut;

use super::*;
use crate::option::{decode_options, encode_option};

fn bytes(option: MobilityOption) -> Vec<u8> {
    let mut out = BytesMut::new();
    encode_option(&option.into(), &mut out);
    out.to_vec()
}

#[test]
fn each_option_has_the_documented_bytes() {
    // Type and length, then the fields in network order.
    let mut key = vec![122, 42, 1, 2, 3, 4, 5, 6, 7, 8];
    key.extend([9; 32]);
    let identifier = 0x0102_0304_0506_0708;
    assert_eq!(bytes(MobilityOption::Key(MobilityKey { identifier, public: [9; 32] })), key);

    let tag = 0x1011_1213_1415_1617_1819_1a1b_1c1d_1e1f;
    let mut moved = vec![123, 26, 1, 2, 3, 4, 5, 6, 7, 8];
    moved.extend(0x10..=0x1f);
    assert_eq!(bytes(MobilityOption::Move(Move { identifier, echo: None, tag })), moved);
    let mut answer = vec![123, 34, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 5];
    answer.extend(0x10..=0x1f);
    assert_eq!(bytes(MobilityOption::Move(Move { identifier, echo: Some(5), tag })), answer);

    assert_eq!(bytes(MobilityOption::Challenge(7)), [124, 10, 0, 0, 0, 0, 0, 0, 0, 7]);
    let sequence = SeqNo::new(0x0a0b_0c0d_0e0f);
    assert_eq!(bytes(MobilityOption::Moved(sequence)), [125, 8, 10, 11, 12, 13, 14, 15]);
}

#[test]
fn mobility_options_are_decoded_as_they_were_encoded() {
    for option in [
        MobilityOption::Key(MobilityKey { identifier: 1, public: [2; 32] }),
        MobilityOption::Move(Move { identifier: u64::MAX, echo: None, tag: 3 }),
        MobilityOption::Move(Move { identifier: 0, echo: Some(0), tag: u128::MAX }),
        MobilityOption::Challenge(4),
        MobilityOption::Moved(SeqNo::new(5)),
    ] {
        let mut area = bytes(option);
        area.resize(area.len().next_multiple_of(4), 0);
        let options = decode_options(&area);
        assert_eq!(options.len(), 1, "{options:?}");
        assert_eq!(MobilityOption::parse(&options[0]), Some(option));
    }
}

#[test]
fn other_lengths_are_rejected() {
    let right = |kind, length| match kind {
        KEY => length == 40,
        MOVE => length == 24 || length == 32,
        CHALLENGE => length == 8,
        _ => length == 6,
    };
    for kind in KEY..=MOVED {
        for length in 0..=64 {
            let data = vec![1; length];
            let read = MobilityOption::from_data(kind, &data);
            assert_eq!(read.is_some(), right(kind, length), "type {kind}, {length} bytes");
        }
    }
    assert_eq!(MobilityOption::from_data(126, &[0; 8]), None);
}
