use proptest::prelude::*;
use rustc_hash::FxHashSet;

use super::*;

#[test]
fn a_second_copy_is_not_the_first() {
    let mut seen = Duplicates::new(SeqNo::new(10));
    assert!(seen.is_first(SeqNo::new(10)));
    assert!(!seen.is_first(SeqNo::new(10)));
    assert!(seen.is_first(SeqNo::new(12)));
    assert!(seen.is_first(SeqNo::new(11)));
    assert!(!seen.is_first(SeqNo::new(11)));
    assert!(!seen.is_first(SeqNo::new(12)));
}

#[test]
fn what_is_older_than_the_map_counts_as_a_copy() {
    let mut seen = Duplicates::new(SeqNo::ZERO);
    assert!(seen.is_first(SeqNo::new(2000)));
    assert!(seen.is_first(SeqNo::new(977)));
    assert!(!seen.is_first(SeqNo::new(976)));
}

#[test]
fn a_leap_forgets_what_was_before() {
    let mut seen = Duplicates::new(SeqNo::ZERO);
    for n in 0..1024 {
        assert!(seen.is_first(SeqNo::new(n)));
    }
    assert!(seen.is_first(SeqNo::new(1 << 40)));
    assert!(seen.is_first(SeqNo::new((1 << 40) - 1)));
    assert!(!seen.is_first(SeqNo::new(5)));
}

proptest! {
    #[test]
    fn it_agrees_with_a_set(
        start in prop_oneof![Just(0u64), Just((1 << 48) - 300), any::<u64>()],
        steps in prop::collection::vec(-1200i64..1200, 1..300),
    ) {
        let mut seen = Duplicates::new(SeqNo::new(start));
        let mut set = FxHashSet::default();
        let mut newest = SeqNo::new(start).previous();
        let mut position = SeqNo::new(start);
        for step in steps {
            position = SeqNo::new(position.value().wrapping_add_signed(step));
            let is_old = newest.distance_from(position) >= 1024;
            let expected = !is_old && !set.contains(&position);
            prop_assert_eq!(seen.is_first(position), expected);
            if expected {
                set.insert(position);
            }
            newest = newest.max(position);
        }
    }
}
