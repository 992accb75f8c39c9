use super::*;
use crate::tests_support::crc32;

#[test]
fn products_and_inverses_are_those_of_rfc_8681() {
    assert_eq!((multiply(2, 0x80), multiply(0x53, 0xca)), (0x1d, 0x8f));
    assert_eq!((inverse(2), inverse(0x53)), (0x8e, 0x8c));
    assert!((1..=255).all(|a| multiply(a, inverse(a)) == 1));
    let products = (0..=255_u8).flat_map(|a| (0..=255_u8).map(move |b| multiply(a, b)));
    assert_eq!(crc32(products), 0xd119_2868);
}

#[test]
#[should_panic(expected = "zero has no inverse")]
fn zero_has_no_inverse() {
    let _ = inverse(core::hint::black_box(0));
}

#[test]
fn products_of_halves_add_up_to_products() {
    for (factor, [low, high]) in (0..=255_u8).zip(&HALVES) {
        for b in 0..=255_u8 {
            let sum = low[usize::from(b & 15)] ^ high[usize::from(b >> 4)];
            assert_eq!(sum, multiply(factor, b));
        }
    }
}
