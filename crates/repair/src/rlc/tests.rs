use std::vec;
use std::vec::Vec;

use super::*;
use crate::kernel::Kernel;
use crate::tests_support::crc32;

fn coefficients(code: Code, key: u16, threshold: u8, count: usize) -> Vec<u8> {
    Coefficients::new(code, key, Density::new(threshold).expect("a threshold")).take(count).collect()
}

#[test]
fn the_first_coefficients_of_all_keys() {
    for (threshold, expected) in [(15, 0x1948_2e03), (7, 0xb4ea_0c03)] {
        let all = (0..=65_535).flat_map(|key| coefficients(Code::Gf256, key, threshold, 16));
        assert_eq!(crc32(all), expected, "DT {threshold}");
    }
}

/// 64 symbols of 1,200 bytes, s[i][j] = (31 i + 7 j + (i j >> 3)) mod 256; computed with another
/// implementation (swif-codec).
#[test]
fn repair_symbols_of_a_large_window() {
    let symbols: Vec<Vec<u8>> =
        (0..64_u32).map(|i| (0..1200).map(|j| (31 * i + 7 * j + ((i * j) >> 3)) as u8).collect()).collect();
    assert_eq!(crc32(symbols.iter().flatten().copied()), 0x33f9_06a4);
    for (code, threshold, expected) in [
        (Code::Gf256, 15, [0xeed8_7760, 0xbb96_0b83, 0xc011_ffc8, 0x2842_3b48]),
        (Code::Gf256, 7, [0x36db_85a3, 0x84c3_a396, 0xc6ac_c0dc, 0xc05e_6241]),
        (Code::Gf2, 7, [0x2d2a_8c9e, 0x5b79_a92c, 0xba72_132b, 0x2ac0_7bba]),
    ] {
        for kernel in [Kernel::new(), Kernel::portable()] {
            for (key, expected) in (0..).zip(expected) {
                let mut sum = vec![0; 1200];
                for (symbol, factor) in symbols.iter().zip(coefficients(code, key, threshold, 64)) {
                    kernel.multiply_add(&mut sum, symbol, factor);
                }
                assert_eq!(crc32(sum), expected, "{code:?}, DT {threshold}, key {key}");
            }
        }
    }
}

#[test]
fn encoding_ids_are_read_and_written() {
    for id in 0..=255 {
        assert_eq!(Code::from_encoding_id(id).map(Code::encoding_id), (9..=10).contains(&id).then_some(id));
        assert_eq!(Density::new(id).map(Density::threshold), (id < 16).then_some(id));
    }
}

/// Cost of random coefficients: two losses and two repair symbols with consecutive keys fail once in 255.
#[test]
fn two_keys_cannot_tell_two_symbols_apart_once_in_255() {
    let table: Vec<Vec<u8>> = (0..=65_535).map(|key| coefficients(Code::Gf256, key, 15, 18)).collect();
    for (places, expected) in [((0, 1), 256), ((0, 2), 274), ((5, 17), 255)] {
        let is_singular = |key: usize| {
            let (one, other) = (&table[key], &table[(key + 1) % 65_536]);
            crate::field::multiply(one[places.0], other[places.1])
                == crate::field::multiply(one[places.1], other[places.0])
        };
        assert_eq!((0..65_536).filter(|&key| is_singular(key)).count(), expected, "{places:?}");
    }
}
