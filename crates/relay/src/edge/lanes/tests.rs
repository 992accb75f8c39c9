//! Order of datagrams, and replacement of older by newer ones.

use proptest::prelude::*;
use std::collections::BTreeMap;

use super::*;
use crate::edge::ledger::Losses;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn lanes() -> Lanes {
    Lanes::new(Duration::from_millis(200))
}

fn keys(all: &[u64]) -> Keys {
    let mut keys = Keys::default();
    all.iter().for_each(|key| assert!(keys.push(*key)));
    keys
}

fn value(lanes: &mut Lanes, now: u64, of: &[u64], content: u8) {
    lanes.push(ms(now), Lane::Newest, keys(of), Bytes::copy_from_slice(&[content; 50]));
}

fn plain(lanes: &mut Lanes, now: u64, lane: Lane, size: usize) {
    lanes.push(ms(now), lane, Keys::default(), Bytes::from(vec![0; size]));
}

fn media(lanes: &mut Lanes, now: u64, size: usize) {
    let bytes = Bytes::from(vec![0; size]);
    lanes.push_media(Waiting { bytes, kind: Kind::Other, mark: Mark::SINGLE, arrived: ms(now) });
}

/// Drops: datagrams of all streams, and frames.
fn dropped(lanes: &mut Lanes) -> (Losses, u64) {
    let (mut drops, mut losses) = (Drops::default(), Losses::default());
    lanes.take_drops(&mut drops);
    drops.datagrams.iter().for_each(|(_, each)| losses += *each);
    (losses, drops.frames)
}

/// The first bytes of what leaves.
fn contents(lanes: &mut Lanes, now: u64) -> Vec<u8> {
    std::iter::from_fn(|| lanes.pop(ms(now))).map(|next| next.waiting.bytes[0]).collect()
}

#[test]
fn the_newest_value_of_a_key_takes_the_place_of_the_older_one() {
    let mut lanes = lanes();
    for (n, key) in [1, 2, 3, 1, 1, 2].into_iter().enumerate() {
        value(&mut lanes, n as u64, &[key], n as u8);
    }
    assert_eq!(dropped(&mut lanes).0[Reason::Superseded], 3);
    assert_eq!((lanes.len(), lanes.bytes()), (3, 150));
    // Of the value, not of the place.
    assert_eq!(lanes.age(ms(10)), Duration::from_millis(8));
    assert_eq!(contents(&mut lanes, 10), [4, 5, 2]);
}

#[test]
fn a_datagram_of_several_values_goes_when_all_of_them_are_old() {
    let mut lanes = lanes();
    value(&mut lanes, 0, &[1, 2], 10);
    value(&mut lanes, 1, &[1], 11);
    assert_eq!(dropped(&mut lanes).0.sum(), 0);
    value(&mut lanes, 2, &[3], 12);
    // The first leaves for the sake of 2, with an old 1: a new 1 follows it, although an older one was ahead.
    value(&mut lanes, 3, &[3, 1], 13);
    assert_eq!(dropped(&mut lanes).0[Reason::Superseded], 2);
    value(&mut lanes, 4, &[2], 14);
    assert_eq!(dropped(&mut lanes).0[Reason::Superseded], 1);
    assert_eq!(contents(&mut lanes, 5), [14, 13]);
}

#[test]
fn commands_precede_values_media_and_bulk() {
    let mut lanes = lanes();
    plain(&mut lanes, 0, Lane::Bulk, 100);
    media(&mut lanes, 1, 100);
    value(&mut lanes, 2, &[1], 0);
    plain(&mut lanes, 3, Lane::Command, 100);
    let order: Vec<_> = std::iter::from_fn(|| lanes.pop(ms(4))).map(|next| next.lane).collect();
    assert_eq!(order, Lane::ALL);
    assert!(lanes.is_urgent(ms(1000)) && !lanes.is_urgent(ms(3000)));
}

/// A heartbeat each second can wait for a packet; telemetry at 4 Hz, and each command, should not.
#[test]
fn values_that_are_rare_do_not_keep_the_queue_short() {
    let mut lanes = lanes();
    for second in 1..10 {
        value(&mut lanes, second * 1000, &[1], 0);
        assert!(!lanes.is_urgent(ms(second * 1000)));
    }
    (40..44).for_each(|n| value(&mut lanes, n * 250, &[1], 0));
    assert!(lanes.is_urgent(ms(12_000)) && !lanes.is_urgent(ms(13_000)));
    plain(&mut lanes, 20_000, Lane::Command, 40);
    assert!(lanes.is_urgent(ms(20_000)));
}

#[test]
fn a_flood_of_what_is_urgent_starves_nothing() {
    let mut lanes = lanes();
    let mut bytes = [0; 4];
    for n in 0..10_000_u64 {
        let now = 5000 + n;
        // All lanes have always something to send.
        plain(&mut lanes, now, Lane::Command, 1000);
        plain(&mut lanes, now, Lane::Bulk, 1000);
        value(&mut lanes, now, &[n % 50], 0);
        media(&mut lanes, now, 1000);
        // A busy path.
        lanes.set_budget(Some(Duration::from_millis(if n == 0 { 150 } else { 40 })));
        let next = lanes.pop(ms(now)).expect("one");
        // Datagrams returned count once.
        let lane = next.lane;
        lanes.put_back(next);
        let next = lanes.pop(ms(now)).expect("one");
        assert_eq!(next.lane, lane);
        bytes[lane as usize] += next.waiting.bytes.len();
    }
    let of_commands = |lane: Lane| bytes[lane as usize] as f64 / bytes[0] as f64;
    assert!((0.2..0.35).contains(&of_commands(Lane::Newest)), "{bytes:?}");
    assert!((0.1..0.2).contains(&of_commands(Lane::Media)), "{bytes:?}");
    assert!((0.03..0.06).contains(&of_commands(Lane::Bulk)), "{bytes:?}");
}

#[test]
fn bulk_data_wait_for_a_path_without_a_queue_but_not_for_ever() {
    let mut lanes = lanes();
    lanes.set_budget(Some(Duration::from_millis(150)));
    (0..4).for_each(|_| plain(&mut lanes, 5000, Lane::Bulk, 1000));
    assert!(lanes.pop(ms(5000)).is_some());
    lanes.set_budget(Some(Duration::from_millis(100)));
    assert!(!lanes.is_ready(ms(5999)) && lanes.pop(ms(5999)).is_none());
    assert!(lanes.pop(ms(6000)).is_some());
    assert!(!lanes.is_ready(ms(6000)));
    lanes.set_budget(Some(Duration::from_millis(113)));
    assert!(lanes.pop(ms(6001)).is_some());
    // Without repair nothing is known of the path's queue.
    lanes.set_budget(None);
    assert!(lanes.pop(ms(6001)).is_some());
}

#[test]
fn memory_of_each_lane_is_bounded() {
    let mut lanes = lanes();
    for n in 0..2000_u64 {
        plain(&mut lanes, n, Lane::Command, 100);
        value(&mut lanes, n, &[n], n as u8);
        plain(&mut lanes, n, Lane::Bulk, 100);
    }
    assert_eq!(lanes.plains.each_ref().map(|plains| plains.waiting.len()), MOST);
    assert_eq!(dropped(&mut lanes).0[Reason::Overflow], 6000 - 1024 - 256 - 1024);
    // The oldest value made room, and of bulk data the newest.
    assert_eq!(lanes.plains[1].waiting[0].bytes[0], (2000_u64 - 256) as u8);
    assert_eq!(lanes.plains[2].waiting[0].arrived, ms(0));
    for lane in [Lane::Command, Lane::Newest, Lane::Bulk] {
        (0..2000).for_each(|_| plain(&mut lanes, 2000, lane, 60_000));
    }
    assert!(lanes.bytes() <= 3 * MOST_BYTES);
    lanes.expire(ms(40_000));
    assert!(lanes.is_empty() && lanes.bytes() == 0);
}

proptest! {
    /// Of each key the last value arrives, and no older one after a newer one; everything is sent or counted.
    #[test]
    fn values_arrive_in_their_order_and_the_last_of_each_key_does(
        pushed in prop::collection::vec((prop::collection::vec(0..6_u64, 1..4), any::<bool>()), 1..60),
    ) {
        let mut lanes = lanes();
        let (mut sent, mut last, mut seen) = (0, BTreeMap::new(), BTreeMap::new());
        let mut all = Vec::new();
        let mut take = |lanes: &mut Lanes, all: &[Vec<u64>]| {
            let Some(next) = lanes.pop(ms(1)) else { return false };
            let n = usize::from(next.waiting.bytes[0]);
            sent += 1;
            for key in &all[n] {
                let before = seen.insert(*key, n);
                assert!(before.is_none_or(|before| before < n), "{key}: {n} after {before:?}");
            }
            true
        };
        for (n, (mut of, pops)) in pushed.into_iter().enumerate() {
            of.sort_unstable();
            of.dedup();
            value(&mut lanes, 1, &of, n as u8);
            of.iter().for_each(|key| _ = last.insert(*key, n));
            all.push(of);
            if pops {
                take(&mut lanes, &all);
            }
        }
        while take(&mut lanes, &all) {}
        prop_assert_eq!(&seen, &last);
        prop_assert_eq!(sent + dropped(&mut lanes).0[Reason::Superseded], all.len() as u64);
    }
}
