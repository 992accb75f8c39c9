use proptest::prelude::*;

use super::*;
use crate::arbitrary::seq_no;

const LAST: SeqNo = SeqNo::new(SeqNo::MODULUS - 1);
const HALF: u64 = 1 << 47;

/// RFC 4340, Section 7.6, comparison by comparison.
fn extend_by_the_rfc(low24: u32, reference: SeqNo) -> SeqNo {
    let modulus = 1 << 24;
    let s = u64::from(low24);
    let ref_low = reference.value() % modulus;
    let ref_hi = reference.value() / modulus;
    // "The circular comparison REF_low (<) S": (S - REF_low) mod 2^24 is at most 2^23.
    let circular_before = |a: u64, b: u64| b.wrapping_sub(a) % modulus <= 1 << 23;
    let high = if circular_before(ref_low, s) && s < ref_low {
        (ref_hi + 1) % modulus
    } else if circular_before(s, ref_low) && ref_low < s {
        ref_hi.wrapping_sub(1) % modulus
    } else {
        ref_hi
    };
    SeqNo::new(high * modulus + s)
}

#[test]
fn numbers_wrap_at_48_bits() {
    assert_eq!(LAST.next(), SeqNo::ZERO);
    assert_eq!(SeqNo::ZERO.previous(), LAST);
    assert!(SeqNo::ZERO.is_after(LAST));
    assert!(LAST.is_before(SeqNo::ZERO));
    assert_eq!(SeqNo::new(3).distance_from(LAST.sub(4)), 8);
    assert_eq!(LAST.sub(4).distance_from(SeqNo::new(3)), -8);
    assert_eq!(LAST.max(SeqNo::new(5)), SeqNo::new(5));
}

#[test]
fn a_window_may_span_the_wrap() {
    let (low, high) = (LAST.sub(2), SeqNo::new(2));
    for inside in [low, LAST, SeqNo::ZERO, high] {
        assert!(inside.is_between(low, high));
    }
    assert!(!low.previous().is_between(low, high));
    assert!(!high.next().is_between(low, high));
}

#[test]
fn short_numbers_extend_across_a_wrap_of_24_bits() {
    let reference = SeqNo::new(0x0000_12ff_fffe);
    assert_eq!(SeqNo::extend(0xff_ffff, reference), SeqNo::new(0x0000_12ff_ffff));
    assert_eq!(SeqNo::extend(0x00_0001, reference), SeqNo::new(0x0000_1300_0001));
    let reference = SeqNo::new(0x0000_1300_0001);
    assert_eq!(SeqNo::extend(0xff_ffff, reference), SeqNo::new(0x0000_12ff_ffff));
}

#[test]
fn short_numbers_extend_across_a_wrap_of_48_bits() {
    assert_eq!(SeqNo::extend(3, LAST), SeqNo::new(3));
    assert_eq!(SeqNo::extend(0xff_fff0, SeqNo::new(7)), SeqNo::new(SeqNo::MODULUS - 16));
}

proptest! {
    #[test]
    fn before_and_after_are_opposite(a in seq_no(), b in seq_no()) {
        let opposite = b.distance_from(a) == -(HALF as i64);
        prop_assert_eq!(a.is_after(b), b.is_before(a) && !opposite);
        prop_assert_eq!(usize::from(a == b) + usize::from(a.is_after(b)) + usize::from(a.is_before(b)), 1);
    }

    #[test]
    fn the_order_depends_on_the_distance_alone(a in seq_no(), b in seq_no(), by: u64) {
        prop_assert_eq!(a.add(by).distance_from(b.add(by)), a.distance_from(b));
    }

    #[test]
    fn the_distance_leads_back(a in seq_no(), b in seq_no()) {
        let distance = a.distance_from(b);
        prop_assert!((-(HALF as i64)..HALF as i64).contains(&distance));
        prop_assert_eq!(b.add(distance as u64), a);
        prop_assert_eq!(a.sub(distance as u64), b);
    }

    #[test]
    fn between_counts_upwards(low in seq_no(), width in 0..SeqNo::MODULUS, step in 0..SeqNo::MODULUS) {
        let inside = low.add(step).is_between(low, low.add(width));
        prop_assert_eq!(inside, step <= width);
    }

    #[test]
    fn extension_matches_the_rfc(low24 in 0..1u32 << 24, reference in seq_no()) {
        // At a distance of exactly 2^23 both comparisons of the RFC hold, and the low bits determine which of
        // the two equally near numbers results; packets at that distance are outside any window.
        prop_assume!(low24.wrapping_sub(reference.low24()) & 0xff_ffff != 1 << 23);
        prop_assert_eq!(SeqNo::extend(low24, reference), extend_by_the_rfc(low24, reference));
    }

    #[test]
    fn a_near_number_is_restored_from_its_low_bits(reference in seq_no(), offset in -(1i64 << 23) + 1..1 << 23) {
        let number = reference.add(offset as u64);
        prop_assert_eq!(SeqNo::extend(number.low24(), reference), number);
    }

    #[test]
    fn an_unwrapped_number_is_the_nearest(last in SeqNo::MODULUS..1 << 60, step in -(HALF as i64)..HALF as i64) {
        let number = last.wrapping_add_signed(step);
        prop_assert_eq!(SeqNo::new(number).unwrap_near(last), number);
        prop_assert_eq!(SeqNo::new(number).unwrap_or_first(last), number);
    }

    #[test]
    fn there_is_room_before_the_first_number_for_reordered_packets(first in seq_no(), back in 0..HALF) {
        let number = first.unwrap_or_first(0);
        prop_assert_eq!(SeqNo::new(number), first);
        prop_assert_eq!(first.sub(back).unwrap_or_first(number), number - back);
    }
}
