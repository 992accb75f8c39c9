use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn set(ranges: &[(u64, u64)]) -> RangeSet {
    let mut set = RangeSet::default();
    for &(start, end) in ranges {
        set.insert(ByteRange::new(start, end), |_| {});
    }
    set
}

fn contents(set: &RangeSet) -> Vec<(u64, u64)> {
    set.ranges.iter().map(|range| (range.start, range.end)).collect()
}

#[test]
fn touching_ranges_become_one() {
    assert_eq!(contents(&set(&[(10, 20), (20, 30)])), [(10, 30)]);
    assert_eq!(contents(&set(&[(20, 30), (10, 20)])), [(10, 30)]);
    assert_eq!(contents(&set(&[(10, 20), (30, 40), (20, 30)])), [(10, 40)]);
}

#[test]
fn an_empty_range_adds_nothing() {
    assert_eq!(contents(&set(&[(5, 5)])), []);
}

#[test]
fn a_range_over_several_reports_the_gaps_it_fills() {
    let mut set = set(&[(10, 20), (30, 40), (50, 60), (90, 95)]);
    let mut new = Vec::new();
    set.insert(ByteRange::new(15, 70), |piece| new.push((piece.start, piece.end)));
    assert_eq!(new, [(20, 30), (40, 50), (60, 70)]);
    assert_eq!(contents(&set), [(10, 70), (90, 95)]);
}

#[test]
fn removing_cuts_through_a_range() {
    let mut set = set(&[(10, 20), (30, 40), (50, 60)]);
    let mut gone = Vec::new();
    set.remove_below(35, |piece| gone.push((piece.start, piece.end)));
    assert_eq!(gone, [(10, 20), (30, 35)]);
    assert_eq!(contents(&set), [(35, 40), (50, 60)]);
}

#[test]
fn a_search_finds_the_range_at_or_above_a_byte() {
    let set = set(&[(10, 20), (30, 40)]);
    for (byte, found) in
        [(0, Some((10, 20))), (10, Some((10, 20))), (20, Some((30, 40))), (39, Some((30, 40))), (40, None)]
    {
        assert_eq!(set.containing_or_after(byte).map(|r| (r.start, r.end)), found, "byte {byte}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, u64),
    RemoveBelow(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u64..200, 0u64..30).prop_map(|(start, length)| Step::Insert(start, start + length)),
        1 => (0u64..200).prop_map(Step::RemoveBelow),
    ]
}

proptest! {
    #[test]
    fn ranges_hold_what_a_set_of_bytes_holds(steps in prop::collection::vec(step(), 0..60)) {
        let (mut ranges, mut bytes) = (RangeSet::default(), BTreeSet::new());
        for step in steps {
            let mut reported = Vec::new();
            let expected: Vec<u64> = match step {
                Step::Insert(start, end) => {
                    ranges.insert(ByteRange::new(start, end), |piece| reported.extend(piece.start..piece.end));
                    (start..end).filter(|byte| bytes.insert(*byte)).collect()
                }
                Step::RemoveBelow(limit) => {
                    ranges.remove_below(limit, |piece| reported.extend(piece.start..piece.end));
                    let kept = bytes.split_off(&limit);
                    std::mem::replace(&mut bytes, kept).into_iter().collect()
                }
            };
            prop_assert_eq!(reported, expected);
            let held: Vec<u64> = ranges.ranges.iter().flat_map(|range| range.start..range.end).collect();
            prop_assert_eq!(&held, &bytes.iter().copied().collect::<Vec<_>>());
            prop_assert!(ranges.ranges.iter().zip(ranges.ranges.iter().skip(1)).all(|(a, b)| a.end < b.start));
        }
    }
}
