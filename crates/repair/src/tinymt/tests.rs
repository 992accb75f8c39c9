use std::vec::Vec;

use super::*;
use crate::tests_support::crc32;

#[test]
fn words_are_those_of_rfc_8682() {
    let mut generator = TinyMt32::new(1);
    let words: Vec<u32> = (0..50).map(|_| generator.next_u32()).collect();
    assert_eq!(words[..5], [2_545_341_989, 981_918_433, 3_715_302_833, 2_387_538_352, 3_591_001_365]);
    assert_eq!(words[49], 2_292_524_454);
    assert_eq!(crc32(words.iter().flat_map(|word| word.to_be_bytes())), 0x0a54_3143);
    assert_eq!(TinyMt32::new(0).next_u32(), 2_081_790_247);
    assert_eq!(TinyMt32::new(65_535).next_u32(), 3_042_199_092);
}

/// RFC 8681, Appendix A.
#[test]
fn small_numbers_are_those_of_rfc_8681() {
    let (mut bytes, mut halves) = (TinyMt32::new(1), TinyMt32::new(1));
    let bytes: Vec<u8> = (0..50).map(|_| bytes.next_256()).collect();
    let halves: Vec<u8> = (0..50).map(|_| halves.next_16()).collect();
    assert_eq!(bytes[..10], [37, 225, 177, 176, 21, 246, 54, 139, 168, 237]);
    assert_eq!(halves[..10], [5, 1, 1, 0, 5, 6, 6, 11, 8, 13]);
    assert_eq!((bytes[49], halves[49]), (166, 6));
}
