use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn seq(value: u64) -> SeqNo {
    SeqNo::new(value)
}

#[test]
fn holes_are_opened_and_filled() {
    let mut numbers = Sequence::default();
    assert_eq!(numbers.on_packet(seq(10), Some(100)), SequencePlace::First);
    assert_eq!(numbers.on_packet(seq(11), Some(100)), SequencePlace::New { missing: 0 });
    assert_eq!(numbers.on_packet(seq(16), Some(100)), SequencePlace::New { missing: 4 });
    assert_eq!(numbers.on_packet(seq(14), Some(100)), SequencePlace::Late);
    assert_eq!(numbers.on_packet(seq(14), Some(100)), SequencePlace::Old);
    assert_eq!((numbers.holes, numbers.late, numbers.repeated), (3, 1, 1));
    for late in [12, 13, 15] {
        assert_eq!(numbers.on_packet(seq(late), Some(100)), SequencePlace::Late);
    }
    assert_eq!((numbers.holes, numbers.late, numbers.repeated), (0, 4, 1));
}

#[test]
fn the_window_is_that_of_section_7_5_1() {
    let mut numbers = Sequence::default();
    numbers.on_packet(seq(1000), Some(100));
    // Not below the first number: 1000 + 1 - 25 would be.
    assert_eq!(numbers.window(100), Some((seq(1000), seq(1075))));
    assert_eq!(numbers.on_packet(seq(1075), Some(100)), SequencePlace::New { missing: 74 });
    assert_eq!(numbers.window(100), Some((seq(1051), seq(1150))));
    assert_eq!(numbers.on_packet(seq(1151), Some(100)), SequencePlace::Stray);
    assert_eq!(numbers.greatest(), Some(seq(1075)), "a stray packet has no effect");
    // A Sync may exceed the window.
    assert_eq!(numbers.on_packet(seq(1151), None), SequencePlace::New { missing: 75 });
}

#[test]
fn three_strays_in_a_row_show_that_the_capture_has_a_gap() {
    let mut numbers = Sequence::default();
    numbers.on_packet(seq(1), Some(100));
    assert_eq!(numbers.on_packet(seq(9_000_000), Some(100)), SequencePlace::Stray, "an attacker's");
    assert_eq!(numbers.on_packet(seq(5000), Some(100)), SequencePlace::Stray);
    assert_eq!(numbers.on_packet(seq(5001), Some(100)), SequencePlace::Stray);
    assert_eq!(numbers.on_packet(seq(5002), Some(100)), SequencePlace::Jump);
    assert_eq!(numbers.on_packet(seq(5003), Some(100)), SequencePlace::New { missing: 0 });
    assert_eq!(numbers.holes, 0, "the packets in between are unknown");
}

proptest! {
    /// In any order, the counters match a set of sequence numbers.
    #[test]
    fn the_counters_match_a_set_of_numbers(start in any::<u64>(), steps in prop::collection::vec(0u64..60, 1..200)) {
        let mut numbers = Sequence::default();
        let (mut seen, mut repeated) = (BTreeSet::from([1000]), 0);
        numbers.on_packet(seq(start), Some(1000));
        for step in steps {
            // Close to the greatest number, so never far beyond it.
            let next = seen.last().unwrap() + 30 - step;
            if next < 1000 {
                continue;
            }
            repeated += u64::from(!seen.insert(next));
            numbers.on_packet(seq(start).add(next - 1000), Some(1000));
        }
        let span = seen.last().unwrap() - 1000 + 1;
        prop_assert_eq!(numbers.holes, span - seen.len() as u64);
        prop_assert_eq!(numbers.repeated, repeated);
    }
}
