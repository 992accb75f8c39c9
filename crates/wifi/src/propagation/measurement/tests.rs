use std::vec::Vec;

use super::*;
use crate::SplitMix64;
use crate::random::Random;

#[test]
fn neighbours_in_any_order_are_sorted() {
    let near = |order: &u64| Near { order: *order, power: 0.0, is_sensed: true };
    let mut random = SplitMix64::new(6);
    for count in [0, 1, 2, 20, 200] {
        let ascending: Vec<u64> = (0..count).collect();
        let descending: Vec<u64> = (0..count).rev().collect();
        let arbitrary: Vec<u64> = (0..count).map(|_| random.below(50)).collect();
        for orders in [ascending, descending, arbitrary] {
            let mut sorted: Vec<Near> = orders.iter().map(near).collect();
            sort_nearly_sorted(&mut sorted);
            let mut expected = orders;
            expected.sort_unstable();
            assert_eq!(sorted.iter().map(|near| near.order).collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn delays_are_rounded_up_to_whole_nanoseconds() {
    let mut random = SplitMix64::new(8);
    for exponent in -12..9 {
        for _ in 0..2_000 {
            let distance = random.uniform() * libm::exp2(f64::from(exponent) * 3.0);
            let expected = libm::ceil(distance / SPEED_OF_LIGHT * 1e9);
            assert_eq!(f64::from(delay(distance)), expected, "{distance} m");
        }
    }
    // A nanosecond is 0.3 m: whole ones, half ones and their neighbours.
    for halves in 0..2_000u32 {
        let distance = f64::from(halves) * 0.15;
        for distance in [distance.next_down(), distance, distance.next_up()] {
            let nanos = distance / SPEED_OF_LIGHT * 1e9;
            assert_eq!(f64::from(delay(distance)), libm::ceil(nanos).max(0.0), "{distance} m");
        }
    }
    assert_eq!(delay(1e30), u32::MAX);
}
