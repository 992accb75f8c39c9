use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::Instant;

use super::Deadlines;

fn earliest(times: &[Option<u64>]) -> Option<(usize, Instant)> {
    let known = times.iter().enumerate().filter_map(|(machine, at)| Some((machine, (*at)?)));
    known.min_by_key(|&(machine, at)| (at, machine)).map(|(machine, at)| (machine, Instant::from_nanos(at)))
}

#[test]
fn without_machines_there_is_no_deadline() {
    assert_eq!(Deadlines::default().first(), None);
    let mut one = Deadlines::default();
    one.add();
    assert_eq!(one.first(), None);
    one.set(0, Some(Instant::from_nanos(3)));
    assert_eq!(one.first(), Some((0, Instant::from_nanos(3))));
}

proptest! {
    #[test]
    fn the_first_is_that_of_a_search(
        count in 1usize..200,
        changes in proptest::collection::vec((0usize..200, proptest::option::of(0u64..20)), 0..600),
    ) {
        let mut deadlines = Deadlines::default();
        let mut times: Vec<Option<u64>> = vec![];
        for (step, (machine, at)) in changes.into_iter().enumerate() {
            if times.len() < count && step % 2 == 0 || times.is_empty() {
                prop_assert_eq!(deadlines.add(), times.len());
                times.push(None);
            }
            let machine = machine % times.len();
            times[machine] = at;
            deadlines.set(machine, at.map(Instant::from_nanos));
            prop_assert_eq!(deadlines.first(), earliest(&times));
        }
    }
}
