extern crate std;

use super::{Random, SplitMix64};

/// The first outputs of the published generator for the state 1234567 (the reference implementation by
/// Vigna).
#[test]
fn the_outputs_are_those_of_the_published_generator() {
    let mut generator = SplitMix64 { state: 1_234_567 };
    let outputs: [u64; 3] = core::array::from_fn(|_| generator.next_u64());
    assert_eq!(outputs, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
}

#[test]
fn integers_below_a_bound_are_uniform() {
    let mut random = SplitMix64::new(1);
    let mut counts = [0_u32; 32];
    for _ in 0..320_000 {
        counts[random.below(32) as usize] += 1;
    }
    // Chi-square with 31 degrees of freedom: 61.1 is its 0.999 quantile.
    let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - 1e4).powi(2) / 1e4).sum();
    assert!(chi_square < 61.1, "{chi_square}: {counts:?}");
    assert_eq!(random.below(1), 0);
    assert_eq!(random.below(0), 0);
}

#[test]
fn streams_of_consecutive_seeds_do_not_share_outputs() {
    let first: std::vec::Vec<u64> = core::iter::repeat_with({
        let mut random = SplitMix64::new(1);
        move || random.next_u64()
    })
    .take(1_000)
    .collect();
    let mut second = SplitMix64::new(2);
    let mut derived = SplitMix64::new(1).stream(0);
    for _ in 0..1_000 {
        assert!(!first.contains(&second.next_u64()));
        assert!(!first.contains(&derived.next_u64()));
    }
}
