use super::*;
use std::string::ToString;

fn at(seconds: u64) -> Instant {
    Instant::from_secs(seconds)
}

#[test]
fn an_outage_contains_its_beginning_and_not_its_end() {
    let presence = Presence::except(&[(at(10), at(20))]).unwrap();
    let states = [9, 10, 19, 20].map(|second| presence.is_on(at(second)));
    assert_eq!(states, [true, false, false, true]);
}

#[test]
fn overlapping_and_touching_outages_are_one() {
    let presence =
        Presence::except(&[(at(30), at(40)), (at(10), at(20)), (at(15), at(25)), (at(25), at(30))]);
    assert_eq!(presence, Presence::except(&[(at(10), at(40))]));
}

#[test]
fn changes_are_found_in_order() {
    let presence = Presence::except(&[(at(10), at(20)), (at(30), at(40))]).unwrap();
    let mut now = Instant::ZERO;
    let mut changes = std::vec::Vec::new();
    while let Some(next) = presence.next_change(now) {
        assert_ne!(presence.is_on(now), presence.is_on(next));
        changes.push(next);
        now = next;
    }
    assert_eq!(changes, [at(10), at(20), at(30), at(40)]);
    assert_eq!(Presence::ALWAYS.next_change(at(0)), None);
    assert!(Presence::ALWAYS.is_on(Instant::FAR_FUTURE));
}

#[test]
fn an_outage_must_end_after_its_beginning() {
    let error = Presence::except(&[(at(5), at(5))]).unwrap_err();
    assert!(error.to_string().contains("expected an end after the beginning"));
}
