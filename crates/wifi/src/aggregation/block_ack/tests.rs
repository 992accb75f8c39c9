use std::vec::Vec;

use proptest::prelude::*;

use super::{BlockAck, Scoreboard};
use crate::aggregation::{sequence_after, sequences_between};

fn bytes(board: &Scoreboard) -> Vec<u8> {
    board.answer().bytes().collect()
}

/// ns-3's `block-ack-test-suite.cc`, numbers only.
#[test]
fn bitmaps_are_the_published_ones() {
    let mut board = Scoreboard::new(179, 64);
    for sequence in (179..=219).chain(225..=242) {
        board.receive(sequence);
    }
    assert_eq!(bytes(&board), [0xff, 0xff, 0xff, 0xff, 0xff, 0xc1, 0xff, 0xff]);
    let mut board = Scoreboard::new(4090, 64);
    for sequence in (4090..=4095).chain(0..=9).chain(22..=24) {
        board.receive(sequence);
    }
    assert_eq!(bytes(&board), [0xff, 0xff, 0x00, 0x70, 0, 0, 0, 0]);
    assert!(!board.answer().contains(80) && board.answer().contains(24));
}

#[test]
fn a_window_of_256_has_a_longer_bitmap() {
    let mut board = Scoreboard::new(100, 256);
    board.receive(100 + 255);
    let answer = board.answer();
    assert_eq!(answer.bytes().collect::<Vec<_>>()[31], 0x80);
    assert_eq!((answer.bytes().count(), BlockAck::frame_bytes(256)), (32, 56));
    assert_eq!(BlockAck::frame_bytes(64), 32);
    board.request(101);
    assert!(board.answer().contains(355));
    board.receive(500);
    assert_eq!(board.answer().start, 245);
}

proptest! {
    /// Compared with a plain set of numbers, the bitmap has exactly the received numbers of the window, which
    /// ends with the last one.
    #[test]
    fn the_bitmap_has_what_was_received(
        start in 0u16..4096,
        window in prop::sample::select(std::vec![1u16, 8, 64, 256]),
        steps in prop::collection::vec((0u16..400, any::<bool>()), 1..200),
    ) {
        let mut board = Scoreboard::new(start, window);
        let mut received = Vec::new();
        let mut first = start;
        for (ahead, is_request) in steps {
            let sequence = sequence_after(first, ahead);
            if is_request && ahead < 20 {
                board.request(sequence);
                first = sequence;
            } else {
                board.receive(sequence);
                received.push(sequence);
                if ahead >= window {
                    first = sequence_after(sequence, 4096 - window + 1);
                }
            }
            received.retain(|&sequence| sequences_between(first, sequence) < window);
            let answer = board.answer();
            prop_assert_eq!(answer.start, first);
            for place in 0..window {
                let sequence = sequence_after(first, place);
                prop_assert_eq!(answer.contains(sequence), received.contains(&sequence));
            }
        }
    }
}
