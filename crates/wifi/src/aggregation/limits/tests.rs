use whimbrel_units::Duration;

use super::{AggregateLimits, amsdu_bytes};
use crate::phy::{Format, GuardInterval, Mode, Width};

/// MSDUs that fit into an A-MSDU.
fn fitting(msdu: u32, limit: u32) -> u32 {
    let (mut count, mut bytes) = (0, 0);
    while amsdu_bytes(bytes, msdu) <= limit {
        bytes = amsdu_bytes(bytes, msdu);
        count += 1;
    }
    count
}

#[test]
fn as_many_msdus_fit_as_published() {
    for (limit, counts) in [(3_839, [2, 3, 12, 33]), (7_935, [5, 7, 25, 68]), (11_398, [7, 10, 37, 98])] {
        assert_eq!([1_508, 1_060, 292, 100].map(|msdu| fitting(msdu, limit)), counts);
    }
}

#[test]
fn the_start_spacing_lengthens_subframes() {
    let spaced = |micros| AggregateLimits {
        start_spacing: Duration::from_micros(micros),
        ..AggregateLimits::of(Format::He)
    };
    let ht = Mode::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let he = Mode::new(Format::He, 11, 2, Width::Mhz80, GuardInterval::Ns800).unwrap();
    // At least 33 and 1201 bytes, in multiples of 4.
    assert_eq!((spaced(4).step(ht, 10), spaced(8).step(he, 322)), (36, 1_204));
    assert_eq!((spaced(4).step(ht, 1_538), spaced(0).step(he, 322)), (1_544, 328));
}
