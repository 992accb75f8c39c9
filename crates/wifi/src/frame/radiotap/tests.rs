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
    // Two present words; TSFT (aligned to 8), FHSS (skipped), signal, then a field of bit 12, not read.
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
    // Shorter than the fixed part; a present word that announces a field beyond the length; an endless
    // extension.
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
        let radiotap = Radiotap { tsft, flags, rate, channel, signal_dbm, noise_dbm, mode: None, ampdu: None };
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

/// The fields of modes stand at their places, and the A-MPDU status is read back.
#[test]
fn an_mpdu_of_an_aggregate_names_its_mode_and_its_aggregate() {
    use crate::phy::{Format, GuardInterval, Mode, Width};
    let encoded = |format, mcs, width, guard| {
        let mode = Some(Mode::new(format, mcs, 2, width, guard).unwrap());
        let mut bytes = Vec::new();
        let radiotap = Radiotap { tsft: Some(77), mode, ampdu: Some((9, true)), ..Radiotap::default() };
        radiotap.encode(&mut bytes);
        let (parsed, rest) = Radiotap::parse(&bytes).unwrap();
        assert_eq!((parsed.tsft, parsed.ampdu, rest.len()), (Some(77), Some((9, true)), 0));
        bytes
    };
    // Two streams of HT MCS 7 are the index 15: bandwidth 40 MHz and short guard interval; then the status at
    // a multiple of 4.
    let ht = encoded(Format::Ht, 7, Width::Mhz40, GuardInterval::Ns400);
    assert_eq!(ht[4..8], (1_u32 | 1 << 19 | 1 << 20).to_le_bytes());
    assert_eq!(ht[16..], [0x0f, 0x05, 15, 0, 9, 0, 0, 0, 0x0c, 0, 0, 0]);
    let vht = encoded(Format::Vht, 9, Width::Mhz80, GuardInterval::Ns400);
    assert_eq!(vht[4..8], (1_u32 | 1 << 20 | 1 << 21).to_le_bytes());
    assert_eq!(vht[24..], [0x44, 0, 0x04, 4, 0x92, 0, 0, 0, 0, 0, 0, 0]);
    let he = encoded(Format::He, 11, Width::Mhz80, GuardInterval::Ns800);
    assert_eq!(he[4..8], (1_u32 | 1 << 20 | 1 << 23).to_le_bytes());
    assert_eq!(he[24..], [0xa0, 0x40, 0x02, 0, 0, 0x2b, 0, 0, 2, 0, 2, 0]);
}
