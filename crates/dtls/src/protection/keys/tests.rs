use super::*;

fn keys() -> Keys {
    Keys::new(Zeroizing::new([7; SECRET]))
}

#[test]
fn rarely_used_keys_are_not_kept_expanded_and_protect_alike() {
    let (mut rare, mut often) = (keys(), keys());
    for _ in 0..OFTEN {
        assert!(!often.keeps_expanded());
        often.seal(3, 0, [b"data", &[23]]);
    }
    assert!(often.keeps_expanded());
    assert_eq!(rare.seal(3, 9, [b"data", &[23]]), often.seal(3, 9, [b"data", &[23]]));
    assert_ne!(often.next().seal(4, 9, [b"data", &[23]]), often.seal(4, 9, [b"data", &[23]]));
}

#[test]
fn a_number_is_the_nearest_with_its_low_bits() {
    for (low, modulus, expected, number) in [
        (0, 1 << 16, 0, 0),
        (65_535, 1 << 16, 0, 65_535),
        (65_535, 1 << 16, 65_536, 65_535),
        (1, 1 << 16, 65_535, 65_537),
        (5, 1 << 16, 200_000, 196_613),
        (255, 1 << 8, 1, 255),
        (255, 1 << 8, 300, 255),
        (200, 1 << 8, 300, 200),
        (172, 1 << 8, 300, 428),
    ] {
        assert_eq!(nearest(low, modulus, expected), number, "{low} {expected}");
    }
}

/// Headers that this end does not send, as a peer may: 8 bits of the number, no length (RFC 9147, Section 4).
#[test]
fn all_forms_of_the_header_are_read() {
    let expanded = Expanded::new(&Zeroizing::new([7; SECRET]));
    for number in [0_u64, 200, 70_000] {
        for (flags, size) in [(0x20_u8, 1), (0x28, 2), (0x24, 1), (0x2c, 2)] {
            let mut record = vec![flags | 3];
            record.extend(&number.to_be_bytes()[8 - size..]);
            if flags & HAS_LENGTH != 0 {
                record.extend(22_u16.to_be_bytes());
            }
            let header = record.clone();
            let mut content = b"data\x17\0".to_vec();
            let tag = expanded.record.seal_in_place_separate_tag(
                expanded.nonce(number),
                Aad::from(&header),
                &mut content,
            );
            record.extend(content);
            record.extend(tag.expect("sealed").as_ref());
            expanded.mask(&mut record, header.len(), size);
            let opened = keys().open(&record, number.saturating_sub(3), |_| true);
            assert_eq!(opened, Some((number, b"data\x17\0".to_vec())), "{flags:x} {number}");
            // With a connection ID, which is not negotiated.
            record[0] |= HAS_CONNECTION_ID;
            assert_eq!(keys().open(&record, number, |_| true), None);
        }
    }
    for size in 0..HEADER + TAG {
        assert_eq!(keys().open(&vec![0x2f; size], 0, |_| true), None);
    }
}
