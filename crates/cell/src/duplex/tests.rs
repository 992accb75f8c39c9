use std::string::ToString;

use whimbrel_units::Instant;

use super::{Duplex, InvalidPattern, Pattern, Slot, SlotKind, SpecialSlot};
use crate::numerology::Numerology;

const SPECIAL: SpecialSlot = SpecialSlot { down: 10, gap: 2 };

#[test]
fn a_pattern_has_its_share_of_downlink() {
    let pattern = Pattern::new("DDDSU", SPECIAL).unwrap();
    assert!((pattern.down_share() - 0.742_857).abs() < 1e-6);
}

#[test]
fn the_next_slot_of_a_direction() {
    let duplex = Duplex::Time(Pattern::new("DDDSU", SPECIAL).unwrap());
    assert_eq!(duplex.next_up(Slot(0)), Slot(4));
    assert_eq!(duplex.next_up(Slot(5)), Slot(9));
    assert_eq!(duplex.next_down(Slot(4)), Slot(5));
    assert_eq!([3, 4, 5].map(|slot| duplex.down_symbols(Slot(slot))), [10, 0, 14]);
    assert_eq!(Duplex::Frequency.next_up(Slot(7)), Slot(7));
    assert_eq!(Duplex::Frequency.next_down(Slot(7)), Slot(7));
}

#[test]
fn a_special_slot_without_downlink_is_skipped() {
    let duplex = Duplex::Time(Pattern::new("DSU", SpecialSlot { down: 0, gap: 14 }).unwrap());
    assert_eq!(duplex.next_down(Slot(1)), Slot(3));
}

#[test]
fn patterns_that_do_not_exist_are_refused() {
    let refused = |letters| Pattern::new(letters, SPECIAL).unwrap_err();
    assert_eq!(refused("DDXU"), InvalidPattern::Letter { position: 2, letter: 'X' });
    assert_eq!(refused("DDD").to_string(), "the pattern has no uplink slot (U)");
    assert_eq!(refused("SU"), InvalidPattern::Missing(SlotKind::Down));
    assert_eq!(refused(""), InvalidPattern::Missing(SlotKind::Down));
    let long = SpecialSlot { down: 12, gap: 4 };
    assert_eq!(Pattern::new("DSU", long), Err(InvalidPattern::TooManySymbols { symbols: 16 }));
}

#[test]
fn a_packet_waits_for_the_beginning_of_a_slot() {
    let slot = |nanos| Slot::from_instant(Instant::from_nanos(nanos), Numerology::KHZ_30);
    assert_eq!([0, 1, 500_000, 500_001].map(slot), [0, 1, 1, 2].map(Slot));
    assert_eq!(Slot(3).start(Numerology::KHZ_30), Instant::from_nanos(1_500_000));
}
