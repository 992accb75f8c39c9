use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_place_is_found_from_any_position(
        destinations in prop::collection::btree_set(0..200u32, 0..80),
        looked_for in prop::collection::vec((0..100usize, 0..200u32), 1..40),
    ) {
        let mut table = Table::default();
        for &destination in &destinations {
            let address = Address(destination);
            table.insert(address, Entry::own(address, destination, Instant::ZERO));
        }
        for (next, destination) in looked_for {
            let place = table.place(next, Address(destination));
            prop_assert_eq!(place.0.is_ok(), destinations.contains(&destination));
            let before: BTreeSet<u32> = destinations.range(..destination).copied().collect();
            prop_assert_eq!(place.position(), before.len());
            prop_assert_eq!(table.at(place).map(|entry| entry.sequence), place.0.ok().map(|_| destination));
        }
    }
}
