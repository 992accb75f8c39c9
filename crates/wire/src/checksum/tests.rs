use std::{vec, vec::Vec};

use proptest::prelude::*;

use super::*;
use crate::{Packet, arbitrary};

fn addresses() -> PseudoHeader {
    PseudoHeader::v4([10, 44, 0, 2].into(), [10, 44, 0, 1].into())
}

/// The definition, word by word: RFC 4340, Section 9.1, over a complete pseudo-header.
fn by_definition(pseudo_header: &[u8], covered: &[u8]) -> u16 {
    let mut bytes = [pseudo_header, covered].concat();
    if !bytes.len().is_multiple_of(2) {
        bytes.push(0);
    }
    let sum = bytes.chunks(2).fold(0u32, |sum, word| {
        let sum = sum + u32::from(word[0]) * 256 + u32::from(word[1]);
        (sum & 0xffff) + (sum >> 16)
    });
    !(sum as u16)
}

fn encoded(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.encode(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_example_of_rfc_1071_is_reproduced() {
    // RFC 1071, Section 3: these bytes sum up to ddf2.
    assert_eq!(internet_checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
}

#[test]
fn both_pseudo_headers_match_a_manual_computation() {
    // A Sync of 24 bytes: its words sum up to 0x1 + 0x2 + 0x0600 + 0x1100 + 0x9 + 0x7.
    let mut sync = vec![0, 1, 0, 2, 6, 0, 0xde, 0xad, 0x11, 0, 0, 0, 0, 0, 0, 9];
    sync.extend([0, 0, 0, 0, 0, 0, 0, 7]);
    let v4 = PseudoHeader::v4([1, 2, 3, 4].into(), [5, 6, 7, 8].into());
    // 0102 + 0304 + 0506 + 0708 + 0021 (33) + 0018 (24) + 1713 = 2760
    assert_eq!(fill(&mut sync, &v4), Some(!0x2760));
    assert_eq!(sync[6..8], (!0x2760u16).to_be_bytes());
    assert!(verify(&sync, &v4));
    let v6 = PseudoHeader::v6("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
    // 2 * (2001 + 0db8) + 1 + 2 + 0018 + 0021 + 1713 = 72c1
    assert!(!verify(&sync, &v6));
    assert_eq!(fill(&mut sync, &v6), Some(!0x72c1));
    assert!(verify(&sync, &v6));
}

#[test]
fn addresses_of_two_families_make_no_pseudo_header() {
    let v4: IpAddr = "192.0.2.1".parse().unwrap();
    let mapped: IpAddr = "::ffff:192.0.2.2".parse().unwrap();
    let v6: IpAddr = "2001:db8::1".parse().unwrap();
    assert_eq!(PseudoHeader::between(v4, v6), None);
    let expected = PseudoHeader::v4([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    assert_eq!(PseudoHeader::between(v4, mapped), Some(expected));
}

#[test]
fn impossible_headers_have_no_checksum() {
    let mut short = [0; 11];
    assert_eq!(fill(&mut short, &addresses()), None);
    // Data Offset 2, then 4 in a packet of twelve bytes, then CsCov 2 without data.
    for (words, coverage) in [(2, 0), (4, 0), (3, 2)] {
        let mut bytes = [0xff; 12];
        (bytes[4], bytes[5]) = (words, coverage);
        assert_eq!(fill(&mut bytes, &addresses()), None);
        assert!(!verify(&bytes, &addresses()));
        assert_eq!(bytes[6..8], [0xff; 2], "untouched");
    }
}

#[test]
fn every_change_of_one_byte_is_detected() {
    let mut packet = [7; 64];
    packet[4] = 6;
    packet[5] = 0;
    fill(&mut packet, &addresses());
    let mut missed = Vec::new();
    for at in 0..packet.len() {
        for change in 1..=255 {
            let mut corrupt = packet;
            corrupt[at] ^= change;
            if verify(&corrupt, &addresses()) {
                missed.push((at, change));
            }
        }
    }
    // No one-byte change is a multiple of 65,535. Even a change of CsCov, which excludes data from the sum,
    // is detected here.
    assert_eq!(missed, []);
}

#[test]
fn random_damage_is_missed_once_in_65535_times() {
    let mut packet = [0; 48];
    packet[4] = 4;
    let mut state = 1u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()
    };
    packet[16..].chunks_mut(4).for_each(|word| word.copy_from_slice(&random()));
    fill(&mut packet, &addresses());
    let trials = 1 << 20;
    let missed = (0..trials)
        .filter(|_| {
            let mut corrupt = packet;
            corrupt[20..24].copy_from_slice(&random());
            corrupt != packet && verify(&corrupt, &addresses())
        })
        .count();
    // 16 are expected; 40 would be six standard deviations more.
    assert!((1..40).contains(&missed), "missed {missed} of {trials}");
}

proptest! {
    #[test]
    fn the_fast_sum_is_the_defined_one(
        packet in arbitrary::packet(),
        v4 in any::<[[u8; 4]; 2]>(),
        v6 in any::<[[u8; 16]; 2]>(),
    ) {
        let mut bytes = encoded(&packet);
        let covered = covered_len(&bytes).unwrap();
        let expected = packet.checksum_coverage.covered(packet.payload.len()).unwrap();
        prop_assert_eq!(covered, packet.header_len() + expected);
        let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();

        let laid_out = [&v4.concat()[..], &[0, 33], &length[2..]].concat();
        let expected = by_definition(&laid_out, &bytes[..covered]);
        let pseudo_header = PseudoHeader::v4(v4[0].into(), v4[1].into());
        prop_assert_eq!(fill(&mut bytes, &pseudo_header), Some(expected));
        prop_assert_eq!(&bytes[6..8], &expected.to_be_bytes()[..]);
        prop_assert!(verify(&bytes, &pseudo_header));

        bytes[6..8].fill(0);
        let laid_out = [&v6.concat()[..], &length, &[0, 0, 0, 33]].concat();
        let expected = by_definition(&laid_out, &bytes[..covered]);
        let pseudo_header = PseudoHeader::v6(v6[0].into(), v6[1].into());
        prop_assert_eq!(fill(&mut bytes, &pseudo_header), Some(expected));
        prop_assert!(verify(&bytes, &pseudo_header));
    }

    #[test]
    fn damage_beyond_the_coverage_is_ignored(packet in arbitrary::packet(), at: prop::sample::Index) {
        let mut bytes = encoded(&packet);
        fill(&mut bytes, &addresses());
        let covered = covered_len(&bytes).unwrap();
        if covered < bytes.len() {
            let at = covered + at.index(bytes.len() - covered);
            bytes[at] ^= 0x5a;
            prop_assert!(verify(&bytes, &addresses()));
        }
    }
}
