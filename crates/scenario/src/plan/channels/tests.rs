use whimbrel_wifi::phy::Width;

use super::{group, overlap};
use crate::wifi::qos::Band;

/// IEEE Std 802.11-2020, Annex E: 36 to 48 are one channel of 80 MHz, 36 to 64 one of 160 MHz.
#[test]
fn channels_at_5_ghz_overlap_within_their_group() {
    let overlaps = |one, other, width| overlap(one, other, Band::Ghz5, width);
    assert!(overlaps(36, 40, Width::Mhz40) && !overlaps(40, 44, Width::Mhz40));
    assert!(overlaps(36, 48, Width::Mhz80) && !overlaps(48, 52, Width::Mhz80));
    assert!(overlaps(36, 64, Width::Mhz160) && !overlaps(64, 100, Width::Mhz160));
    assert!(!overlaps(36, 40, Width::Mhz20));
    assert_eq!([38, 68, 6, 148].map(|channel| group(channel, Width::Mhz20)), [None; 4]);
}

/// The channels 1, 6 and 11 do not overlap at 20 MHz.
#[test]
fn channels_at_2_4_ghz_overlap_if_they_are_less_than_a_width_apart() {
    let overlaps = |one, other, width| overlap(one, other, Band::Ghz2_4, width);
    assert!(!overlaps(1, 6, Width::Mhz20) && !overlaps(6, 11, Width::Mhz20));
    assert!(overlaps(1, 4, Width::Mhz20) && overlaps(1, 6, Width::Mhz40));
}
