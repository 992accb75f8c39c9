use std::string::ToString;

use whimbrel_units::Duration;

use super::{InvalidCarrier, Numerology, ResourceBlocks, Standard};

#[test]
fn slots_halve_with_each_numerology() {
    let slots = [Numerology::KHZ_15, Numerology::KHZ_30, Numerology::KHZ_60, Numerology::KHZ_120]
        .map(Numerology::slot);
    assert_eq!(slots, [1_000, 500, 250, 125].map(Duration::from_micros));
}

#[test]
fn carriers_have_their_resource_blocks() {
    let blocks = |standard, numerology, megahertz| {
        ResourceBlocks::of_carrier(standard, numerology, megahertz).unwrap().0
    };
    assert_eq!(blocks(Standard::Lte, Numerology::KHZ_15, 1.4), 6);
    assert_eq!(blocks(Standard::Lte, Numerology::KHZ_15, 20.0), 100);
    assert_eq!(blocks(Standard::Nr, Numerology::KHZ_15, 20.0), 106);
    assert_eq!(blocks(Standard::Nr, Numerology::KHZ_30, 100.0), 273);
    assert_eq!(blocks(Standard::Nr, Numerology::KHZ_60, 100.0), 135);
    assert_eq!(ResourceBlocks(273).hertz(Numerology::KHZ_30), 98.28e6);
}

#[test]
fn a_carrier_that_does_not_exist_is_named() {
    let refused = ResourceBlocks::of_carrier(Standard::Lte, Numerology::KHZ_15, 100.0).unwrap_err();
    assert_eq!(refused.to_string(), "LTE has no carrier of 100 MHz with subcarriers of 15 kHz");
    let refused = Numerology::from_spacing(Standard::Lte, 30).unwrap_err();
    assert!(matches!(refused, InvalidCarrier::Spacing { kilohertz: 30, .. }));
    assert!(Numerology::from_spacing(Standard::Nr, 45).is_err());
    assert_eq!(Numerology::from_spacing(Standard::Nr, 120), Ok(Numerology::KHZ_120));
}

#[test]
fn groups_of_lte_grow_with_the_carrier() {
    let groups = [6, 15, 25, 50, 75, 100].map(|blocks| ResourceBlocks(blocks).lte_group().0);
    assert_eq!(groups, [1, 2, 2, 3, 4, 4]);
}
