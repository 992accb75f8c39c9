use proptest::prelude::*;

use super::*;

#[test]
fn all_empty_payloads_are_equal() {
    assert_eq!(Payload::from(Bytes::new()), Payload::EMPTY);
    assert_eq!(Payload::Opaque { length: 0, tag: 7 }, Payload::EMPTY);
    assert!(Payload::default().is_empty());
    assert_eq!(Payload::EMPTY.to_bytes().len(), 0);
}

#[test]
fn opaque_data_contains_as_much_of_its_tag_as_fits() {
    let opaque = |length| Payload::Opaque { length, tag: 0x0102_0304_0506_0708 };
    assert_eq!(opaque(3).to_bytes(), &[1, 2, 3][..]);
    assert_eq!(opaque(9).to_bytes(), &[1, 2, 3, 4, 5, 6, 7, 8, 0][..]);
    assert_eq!(opaque(3), Payload::Opaque { length: 3, tag: 0x0102_03ff_ffff_ffff });
    assert_ne!(opaque(3), opaque(4));
}

proptest! {
    #[test]
    fn payloads_are_equal_when_their_bytes_are(
        lengths in any::<[u8; 2]>(),
        tags in any::<[[bool; 2]; 2]>(),
    ) {
        let payload = |index: usize| Payload::Opaque {
            length: u32::from(lengths[index] % 12),
            tag: u64::from(tags[index][0]) << 56 | u64::from(tags[index][1]),
        };
        let (one, other) = (payload(0), payload(1));
        let equal = one.to_bytes() == other.to_bytes();
        prop_assert_eq!(one == other, equal);
        prop_assert_eq!(one == Payload::Bytes(other.to_bytes()), equal);
        prop_assert_eq!(Payload::Bytes(one.to_bytes()) == other, equal);
        prop_assert_eq!(one.len(), one.to_bytes().len());
    }
}
