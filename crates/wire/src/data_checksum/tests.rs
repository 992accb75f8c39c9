use bytes::Bytes;
use proptest::prelude::*;

use super::*;

#[test]
fn empty_data_has_a_checksum_of_zero() {
    // RFC 4340, Section 9.3.
    assert_eq!(data_checksum(&[]), 0);
    assert_eq!(Payload::EMPTY.data_checksum(), 0);
}

#[test]
fn the_known_values_of_crc_32c_are_reproduced() {
    // RFC 3720, Appendix B.4, with the bytes in the order of transmission.
    assert_eq!(data_checksum(&[0; 32]).to_be_bytes(), [0xaa, 0x36, 0x91, 0x8a]);
    assert_eq!(data_checksum(&[0xff; 32]).to_be_bytes(), [0x43, 0xab, 0xa8, 0x62]);
    let ascending: [u8; 32] = core::array::from_fn(|index| index as u8);
    assert_eq!(data_checksum(&ascending).to_be_bytes(), [0x4e, 0x79, 0xdd, 0x46]);
    // The check value of the catalogue is e3069283.
    assert_eq!(data_checksum(b"123456789"), 0x8392_06e3);
}

proptest! {
    #[test]
    fn opaque_data_has_the_checksum_of_its_bytes(length in 0..2000u32, tag: u64) {
        let payload = Payload::Opaque { length, tag };
        prop_assert_eq!(payload.data_checksum(), data_checksum(&payload.to_bytes()));
    }

    #[test]
    fn a_changed_bit_changes_the_checksum(
        mut data in proptest::collection::vec(any::<u8>(), 1..300),
        at: prop::sample::Index,
        bit in 0..8u32,
    ) {
        let before = Payload::from(Bytes::copy_from_slice(&data)).data_checksum();
        let at = at.index(data.len());
        data[at] ^= 1 << bit;
        prop_assert_ne!(data_checksum(&data), before);
    }
}
