use std::vec::Vec;

use proptest::prelude::*;

use super::{Radiotap, RadiotapError};
use crate::phy::Rate;

fn encoded(radiotap: &Radiotap) -> Vec<u8> {
    let mut bytes = Vec::new();
    radiotap.encode(&mut bytes);
    bytes
}

#[test]
fn the_header_has_the_documented_layout() {
    let radiotap = Radiotap::new(0x0102_0304_0506_0708, Rate::Hr5_5, 6, -50);
    let expected = [
        0, 0, 23, 0, // version, padding, length
        0x2f, 0, 0, 0, // TSFT, flags, rate, channel, signal
        8, 7, 6, 5, 4, 3, 2, 1, // TSFT
        0x10, 11, // the frame check sequence is included; 5.5 Mbit/s
        0x85, 0x09, 0xa0, 0x00, // 2437 MHz, CCK at 2.4 GHz
        0xce, // -50 dBm
    ];
    assert_eq!(encoded(&radiotap), expected);
    assert_eq!(Radiotap::channel_flags(Rate::Ofdm6), 0xc0);
}

#[test]
fn fields_that_are_not_interpreted_are_skipped_and_extended_words_too() {
    // Two present words; TSFT (aligned to 8), FHSS (skipped), signal, then a field of bit 12 that is not read.
    let present = 0x8000_0000_u32 | 1 | 1 << 4 | 1 << 5 | 1 << 12;
    let mut bytes = std::vec![0, 0, 29, 0];
    bytes.extend(present.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(77_u64.to_le_bytes());
    bytes.extend([9, 9, 0xd8, 1, 2]);
    bytes.extend(b"frame");
    let (radiotap, frame) = Radiotap::parse(&bytes).unwrap();
    let expected = Radiotap { tsft: Some(77), signal_dbm: Some(-40), ..Radiotap::default() };
    assert_eq!((radiotap, frame), (expected, &b"frame"[..]));
}

#[test]
fn truncated_headers_and_unknown_versions_are_errors() {
    assert_eq!(Radiotap::parse(&[0, 0, 8]), Err(RadiotapError::Truncated));
    assert_eq!(Radiotap::parse(&[1, 0, 8, 0, 0, 0, 0, 0]), Err(RadiotapError::Version(1)));
    // Shorter than the fixed part; a present word that announces a field beyond the length; an endless extension.
    assert_eq!(Radiotap::parse(&[0, 0, 4, 0, 0, 0, 0, 0]), Err(RadiotapError::Truncated));
    assert_eq!(Radiotap::parse(&[0, 0, 8, 0, 1, 0, 0, 0]), Err(RadiotapError::Truncated));
    assert_eq!(Radiotap::parse(&[0, 0, 12, 0, 0, 0, 0, 0x80, 0, 0, 0, 0x80]), Err(RadiotapError::Truncated));
}

proptest! {
    #[test]
    fn a_header_survives_encoding_and_parsing(
        tsft in any::<Option<u64>>(), flags in any::<Option<u8>>(), rate in any::<Option<u8>>(),
        channel in any::<Option<(u16, u16)>>(), signal_dbm in any::<Option<i8>>(),
        noise_dbm in any::<Option<i8>>(), frame in any::<Vec<u8>>(),
    ) {
        let radiotap = Radiotap { tsft, flags, rate, channel, signal_dbm, noise_dbm };
        let mut bytes = encoded(&radiotap);
        let length = bytes.len();
        bytes.extend(&frame);
        prop_assert_eq!(Radiotap::parse(&bytes), Ok((radiotap, &frame[..])));
        for end in 0..length {
            prop_assert!(Radiotap::parse(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn any_bytes_are_parsed_without_a_panic(bytes in any::<Vec<u8>>()) {
        if let Ok((_, frame)) = Radiotap::parse(&bytes) {
            prop_assert!(frame.len() < bytes.len());
        }
    }
}
