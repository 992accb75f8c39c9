use std::vec::Vec;

use super::*;

const SIZE: usize = 1_000;

fn path(id: u32) -> PathView {
    PathView::new(id)
}

fn with_rtt(id: u32, millis: u64) -> PathView {
    PathView { rtt: Some(Duration::from_millis(millis)), ..path(id) }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A scheduler that has nothing to probe at `now`.
fn settled(kind: SchedulerKind, now: Instant, paths: &[PathView]) -> Box<dyn Scheduler> {
    let mut scheduler = kind.build();
    scheduler.select(now, SIZE, paths);
    scheduler
}

#[test]
fn names_lead_to_schedulers() {
    for kind in SchedulerKind::ALL {
        assert_eq!(SchedulerKind::from_name(kind.name()), Some(kind));
        assert_eq!(kind.build().select(Instant::ZERO, SIZE, &[]), None);
        assert_eq!(kind.build().select(Instant::ZERO, SIZE, &[path(7)]), Some(Selection::one(0)));
    }
    assert_eq!(SchedulerKind::from_name("fastest"), None);
}

#[test]
fn no_scheduler_uses_a_path_that_must_not_be_used_or_may_not_send() {
    for kind in SchedulerKind::ALL {
        let held = PathView { may_send: false, ..path(1) };
        assert_eq!(kind.build().select(Instant::ZERO, SIZE, &[held]), None, "{kind:?}");
        let unusable = PathView { priority: 0, ..path(1) };
        assert_eq!(kind.build().select(Instant::ZERO, SIZE, &[unusable]), None, "{kind:?}");
        let dead = PathView { is_alive: false, ..with_rtt(1, 1) };
        let mut scheduler = kind.build();
        assert_eq!(scheduler.select(Instant::ZERO, SIZE, &[dead, with_rtt(2, 50)]), Some(Selection::one(1)));
        // As long as another path is alive, data waits for it.
        let busy = PathView { may_send: false, ..with_rtt(2, 50) };
        assert_eq!(kind.build().select(Instant::ZERO, SIZE, &[dead, busy]), None, "{kind:?}");
        // The last resort.
        assert_eq!(kind.build().select(Instant::ZERO, SIZE, &[dead]), Some(Selection::one(0)), "{kind:?}");
    }
}

#[test]
fn coded_data_take_the_fastest_path_and_repairs_another() {
    let paths = [with_rtt(1, 70), with_rtt(2, 20), with_rtt(3, 50)];
    let mut scheduler = SchedulerKind::Coded.build();
    // The first datagram measures all.
    assert_eq!(scheduler.select(at(0), SIZE, &paths), Some(Selection { path: 1, copies: 0b101 }));
    // Then one in ten is copied, and one in 100 ms.
    let copied = |scheduler: &mut Box<dyn Scheduler>, from: u64, step: u64| {
        let mut copied = Vec::new();
        for n in 1..=40 {
            let chosen = scheduler.select(at(from + n * step), SIZE, &paths).expect("a path");
            assert_eq!(chosen.path, 1);
            if chosen.copies != 0 {
                assert_eq!(chosen.copies, 0b101);
                copied.push(n);
            }
        }
        copied
    };
    assert_eq!(copied(&mut scheduler, 0, 5), [20, 40]);
    assert_eq!(copied(&mut scheduler, 200, 50), [11, 22, 33]);
    // A repeat takes the fastest of the others, and the data's own path if no other may send.
    let now = at(10_000);
    assert_eq!(scheduler.select_for(Purpose::Repair, now, SIZE, &paths), Some(Selection::one(2)));
    let held = paths.map(|path| PathView { may_send: path.id == 2, ..path });
    assert_eq!(scheduler.select_for(Purpose::Repair, now, SIZE, &held), Some(Selection::one(1)));
    // A failed path moves the data to the other one, which then carries repairs as well.
    let failed = paths.map(|path| PathView { is_alive: path.id != 2, ..path });
    assert_eq!(scheduler.select(now, SIZE, &failed).map(|chosen| chosen.path), Some(2));
    assert_eq!(scheduler.select_for(Purpose::Repair, now, SIZE, &failed), Some(Selection::one(0)));
    // Reports take all paths.
    let all = Selection { path: 1, copies: 0b101 };
    assert_eq!(scheduler.select_for(Purpose::Feedback, now, SIZE, &paths), Some(all));
    // Other schedulers make no difference.
    let mut other = settled(SchedulerKind::LowestRtt, now, &paths);
    assert_eq!(other.select_for(Purpose::Repair, now, SIZE, &paths), Some(Selection::one(1)));
}

#[test]
fn standby_and_secondary_paths_wait_for_their_turn() {
    for kind in [
        SchedulerKind::LowestRtt,
        SchedulerKind::Weighted,
        SchedulerKind::Redundant,
        SchedulerKind::CheapestFirst,
    ] {
        let choose = |paths: &[PathView]| kind.build().select(Instant::ZERO, SIZE, paths);
        let primary = with_rtt(1, 90);
        let secondary = PathView { priority: 2, ..with_rtt(2, 5) };
        let standby = PathView { priority: 1, ..with_rtt(3, 1) };
        assert_eq!(choose(&[primary, secondary, standby]), Some(Selection::one(0)), "{kind:?}");
        // RFC 9897, Section 3.2.10: when primary paths are congested or not available.
        let congested = PathView { may_send: false, ..primary };
        assert_eq!(choose(&[congested, secondary, standby]), Some(Selection::one(1)), "{kind:?}");
        let dead = PathView { is_alive: false, ..primary };
        assert_eq!(choose(&[dead, secondary, standby]), Some(Selection::one(1)), "{kind:?}");
        // A standby path does not help a congested one.
        assert_eq!(choose(&[congested, standby]), None, "{kind:?}");
        assert_eq!(choose(&[dead, standby]), Some(Selection::one(1)), "{kind:?}");
    }
}

#[test]
fn the_least_round_trip_time_wins_until_that_path_is_full() {
    let (slow, fast) = (with_rtt(1, 80), with_rtt(2, 20));
    let mut scheduler = settled(SchedulerKind::LowestRtt, at(0), &[slow, fast]);
    assert_eq!(scheduler.select(at(1), SIZE, &[slow, fast]), Some(Selection::one(1)));
    let full = PathView { may_send: false, ..fast };
    assert_eq!(scheduler.select(at(2), SIZE, &[slow, full]), Some(Selection::one(0)));
    // A path without a measurement is tried.
    assert_eq!(scheduler.select(at(3), SIZE, &[slow, fast, path(3)]).map(|it| it.path), Some(2));
}

#[test]
fn a_path_that_loses_gets_copies_so_that_it_can_win_again() {
    let paths = [with_rtt(1, 300), with_rtt(2, 20)];
    let mut scheduler = LowestRtt::new();
    let probes: Vec<u64> = (0..1_000)
        .map(|index| index * 10)
        .filter(|millis| {
            scheduler.select(at(*millis), SIZE, &paths) == Some(Selection { path: 1, copies: 1 })
        })
        .collect();
    // At once, and then each ten round-trip times.
    assert_eq!(probes, [0, 3_000, 6_000, 9_000]);
    let now = [with_rtt(1, 10), with_rtt(2, 20)];
    assert_eq!(scheduler.select(at(10_000), SIZE, &now).map(|it| it.path), Some(0));
    // The other path is probed now, each second.
    let probes = (1..=40)
        .filter(|step| {
            scheduler.select(at(10_000 + step * 100), SIZE, &now) == Some(Selection { path: 0, copies: 2 })
        })
        .count();
    assert_eq!(probes, 4);
}

#[test]
fn weights_are_shares_of_the_bytes() {
    let paths = [PathView { weight: 3, ..path(1) }, PathView { weight: 1, ..path(2) }];
    let mut scheduler = Weighted::new();
    let mut bytes = [0; 2];
    for index in 0..4_000_usize {
        let size = 100 + index * 7 % 900;
        bytes[scheduler.select(Instant::ZERO, size, &paths).expect("a path").path] += size;
    }
    let share = bytes[0] as f64 / (bytes[0] + bytes[1]) as f64;
    assert!((share - 0.75).abs() < 0.001, "{share}");
}

#[test]
fn a_path_that_could_not_send_does_not_make_up_for_it() {
    let paths = [path(1), path(2)];
    let blocked = [path(1), PathView { may_send: false, ..path(2) }];
    let mut scheduler = Weighted::new();
    for _ in 0..10 {
        scheduler.select(Instant::ZERO, SIZE, &paths);
    }
    for _ in 0..1_000 {
        assert_eq!(scheduler.select(Instant::ZERO, SIZE, &blocked), Some(Selection::one(0)));
    }
    let second =
        (0..100).filter(|_| scheduler.select(Instant::ZERO, SIZE, &paths) == Some(Selection::one(1)));
    assert!((49..=51).contains(&second.count()));
    // Nor does a new one.
    let three = [path(1), path(2), path(3)];
    let third = (0..99).filter(|_| scheduler.select(Instant::ZERO, SIZE, &three) == Some(Selection::one(2)));
    assert!((32..=34).contains(&third.count()));
}

#[test]
fn redundant_datagrams_take_all_paths_that_may_send() {
    let paths =
        [path(1), PathView { may_send: false, ..path(2) }, path(3), PathView { is_alive: false, ..path(4) }];
    let selection = Redundant.select(Instant::ZERO, SIZE, &paths).expect("a path");
    assert_eq!(selection.paths().collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn a_dearer_path_carries_what_the_cheaper_one_cannot() {
    let (cheap, dear) = (with_rtt(1, 90), PathView { cost: 5, ..with_rtt(2, 10) });
    assert_eq!(CheapestFirst.select(Instant::ZERO, SIZE, &[dear, cheap]), Some(Selection::one(1)));
    let full = PathView { may_send: false, ..cheap };
    assert_eq!(CheapestFirst.select(Instant::ZERO, SIZE, &[dear, full]), Some(Selection::one(0)));
    let preferred = PathView { priority: 9, ..with_rtt(3, 200) };
    assert_eq!(CheapestFirst.select(Instant::ZERO, SIZE, &[cheap, preferred]), Some(Selection::one(1)));
}

#[test]
fn a_handover_follows_priorities_and_does_not_flap() {
    let mut scheduler = Handover::new();
    let (first, second) = (with_rtt(1, 90), with_rtt(2, 10));
    assert_eq!(scheduler.select(Instant::ZERO, SIZE, &[first, second]), Some(Selection::one(0)));
    // Neither congestion nor a better round-trip time is a reason.
    let full = PathView { may_send: false, ..first };
    assert_eq!(scheduler.select(Instant::ZERO, SIZE, &[full, second]), None);
    let dead = PathView { is_alive: false, ..first };
    assert_eq!(scheduler.select(Instant::ZERO, SIZE, &[dead, second]), Some(Selection::one(1)));
    // The first path has come back, with the same priority.
    assert_eq!(scheduler.select(Instant::ZERO, SIZE, &[first, second]), Some(Selection::one(1)));
    let raised = PathView { priority: 4, ..first };
    assert_eq!(scheduler.select(Instant::ZERO, SIZE, &[raised, second]), Some(Selection::one(0)));
    // Section 3.2.10: secondary and standby paths are part of the order.
    let standby = PathView { priority: 1, ..path(3) };
    let secondary = PathView { priority: 2, ..path(4) };
    assert_eq!(scheduler.select(Instant::ZERO, SIZE, &[standby, secondary]), Some(Selection::one(1)));
}
