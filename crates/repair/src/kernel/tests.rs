use proptest::prelude::*;
use std::vec::Vec;

use super::*;
use crate::field;

proptest! {
    /// All lengths around the width of the vectors, unaligned, and slices of unequal length.
    #[test]
    fn kernels_are_equal_to_the_field(
        target in proptest::collection::vec(any::<u8>(), 0..200),
        source in proptest::collection::vec(any::<u8>(), 0..200),
        factor: u8,
        skip in 0_usize..40,
    ) {
        let target = &target[skip.min(target.len())..];
        let expected: Vec<u8> = target
            .iter()
            .enumerate()
            .map(|(i, byte)| byte ^ field::multiply(factor, source.get(i).copied().unwrap_or(0)))
            .collect();
        for kernel in [Kernel::new(), Kernel::portable()] {
            let mut sum = target.to_vec();
            kernel.multiply_add(&mut sum, &source, factor);
            prop_assert_eq!(&sum, &expected);
            let mut product = target.to_vec();
            kernel.multiply(&mut product, factor);
            let expected: Vec<u8> = target.iter().map(|byte| field::multiply(factor, *byte)).collect();
            prop_assert_eq!(product, expected);
        }
    }
}

#[test]
fn portable_kernels_do_not_use_vectors() {
    assert!(!Kernel::portable().has_shuffle);
}
