pub(crate) mod ns3;

use std::vec::Vec;

use whimbrel_units::random::{Random, SplitMix64};

use super::{Candidate, Groups, Newcomer, Policy, Scheduler, UserIndex};
use crate::amc::lte::{Direction, LteMcs};
use crate::amc::{Mcs, McsTable};
use crate::duplex::Slot;
use crate::numerology::ResourceBlocks;

/// Scheduler, users, MCS down, MCS up, and bytes per second of each user down and up.
const CELLS: &str = include_str!("../../tests/data/scheduler-cells.csv");
const NS3: Policy = Policy::ProportionalFair { memory: 99.0, newcomer: Newcomer::Nothing };

fn users(count: u32) -> Vec<UserIndex> {
    (0..count).map(UserIndex).collect()
}

/// Users with full buffers.
fn full(users: &[UserIndex]) -> Vec<Candidate> {
    users.iter().map(|user| Candidate { user: *user, backlog: f64::INFINITY }).collect()
}

/// Bytes per second of each of the users with these MCSs and full buffers, without errors. Users are compared
/// by their rates on the whole cell.
fn shares(policy: Policy, groups: Groups, direction: Direction, mcs: &[u8]) -> Vec<f64> {
    shares_by(policy, groups, direction, mcs, groups.blocks)
}

/// The same, with users compared by their rates on `compared` resource blocks. Small blocks carry another
/// share of the whole in each scheme.
fn shares_by(
    policy: Policy,
    groups: Groups,
    direction: Direction,
    mcs: &[u8],
    compared: ResourceBlocks,
) -> Vec<f64> {
    let table = LteMcs { direction, table: McsTable::Qam64 };
    let users = users(mcs.len() as u32);
    let mut scheduler = Scheduler::new(policy);
    users.iter().for_each(|user| scheduler.add(Slot(0), *user));
    let candidates = full(&users);
    let mut given = Vec::new();
    let mut bytes = std::vec![0.0; mcs.len()];
    let slots = 12_000;
    for slot in (0..slots).map(Slot) {
        let whole = |user: UserIndex| f64::from(table.block_bits(Mcs(mcs[user.0 as usize]), compared));
        scheduler.allocate(
            slot,
            &candidates,
            groups.count(),
            |place, _| whole(candidates[place].user),
            &mut given,
        );
        for user in &users {
            let own = (0..groups.count()).filter(|group| given[usize::from(*group)] == Some(*user));
            let blocks = own.map(|group| groups.blocks_of(group).0).sum();
            if blocks > 0 {
                let bits = table.block_bits(Mcs(mcs[user.0 as usize]), ResourceBlocks(blocks));
                scheduler.handle_served(slot, *user, f64::from(bits));
                bytes[user.0 as usize] += f64::from(bits / 8);
            }
        }
    }
    bytes.iter().map(|bytes| bytes * 1000.0 / slots as f64).collect()
}

const DOWN: Groups = Groups { blocks: ResourceBlocks(25), size: 2, has_incomplete: false };
const UP: Groups = Groups { blocks: ResourceBlocks(25), size: 1, has_incomplete: false };

#[test]
fn shares_are_those_of_ns3_within_a_percent() {
    let mut rows = 0;
    for line in CELLS.lines().skip(1) {
        let (name, numbers) = line.split_once(',').unwrap();
        let numbers: Vec<f64> = numbers.split(',').map(|number| number.parse().unwrap()).collect();
        let policy = if name == "pf" { NS3 } else { Policy::RoundRobin { least: 1 } };
        let check = |policy, groups, direction, mcs: f64, expected: f64| {
            for share in shares(policy, groups, direction, &std::vec![mcs as u8; numbers[0] as usize]) {
                assert!((share / expected - 1.0).abs() < 0.01, "{line}: {share}, expected {expected}");
            }
        };
        check(policy, DOWN, Direction::Down, numbers[1], numbers[3]);
        // ns-3's uplink takes turns of at least three blocks under both names.
        check(Policy::RoundRobin { least: 3 }, UP, Direction::Up, numbers[2], numbers[4]);
        rows += 1;
    }
    assert_eq!(rows, 35);
}

#[test]
fn proportional_fairness_gives_equal_time_to_constant_channels() {
    let mcs = [28, 22, 20, 14, 8];
    let table = LteMcs { direction: Direction::Down, table: McsTable::Qam64 };
    for (share, mcs) in shares(NS3, DOWN, Direction::Down, &mcs).into_iter().zip(mcs) {
        let expected = table.block_size(Mcs(mcs), ResourceBlocks(24)).as_f64() * 200.0;
        assert!((share / expected - 1.0).abs() < 0.01, "MCS {mcs}: {share}, expected {expected}");
    }
}

#[test]
fn the_maximum_rate_starves_all_but_the_best() {
    let shares = shares(Policy::MaximumRate, DOWN, Direction::Down, &[8, 22, 14]);
    assert_eq!((shares[0], shares[2]), (0.0, 0.0));
    assert_eq!(shares[1], 1_383_000.0);
}

/// Mean rates in bit/s/Hz and shares of time of users with Rayleigh channels of these mean ratios in dB.
fn rayleigh(memory: f64, means: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let users = users(means.len() as u32);
    let newcomer = Newcomer::Mean;
    let mut scheduler = Scheduler::new(Policy::ProportionalFair { memory, newcomer });
    users.iter().for_each(|user| scheduler.add(Slot(0), *user));
    let mut random = SplitMix64::new(11);
    let (mut bits, mut time) = (std::vec![0.0; means.len()], std::vec![0.0; means.len()]);
    let candidates = full(&users);
    let (slots, settling) = (120_000, 10_000);
    let mut given = Vec::new();
    for slot in 0..slots {
        let rates: Vec<f64> = means
            .iter()
            .map(|mean| {
                let gain = -libm::log(1.0 - random.uniform());
                libm::log2(1.0 + libm::pow(10.0, mean / 10.0) * gain)
            })
            .collect();
        scheduler.allocate(
            Slot(slot),
            &candidates,
            1,
            |place, _| rates[candidates[place].user.0 as usize],
            &mut given,
        );
        let served = given[0].unwrap();
        scheduler.handle_served(Slot(slot), served, rates[served.0 as usize]);
        if slot >= settling {
            bits[served.0 as usize] += rates[served.0 as usize];
            time[served.0 as usize] += 1.0;
        }
    }
    let per_slot = |sums: Vec<f64>| sums.into_iter().map(|sum| sum / (slots - settling) as f64).collect();
    (per_slot(bits), per_slot(time))
}

#[test]
fn proportional_fairness_rides_the_peaks_of_equal_users() {
    let rows = [
        (0.0, [1.199_41, 1.627_33, 1.908_31]),
        (10.0, [3.658_58, 4.398_56, 4.807_12]),
        (20.0, [6.830_83, 7.648_26, 8.078_10]),
    ];
    for (mean, expected) in rows {
        for (count, expected) in [2, 5, 10].into_iter().zip(expected) {
            let (bits, _) = rayleigh(1_000.0, &std::vec![mean; count]);
            let total: f64 = bits.iter().sum();
            assert!(
                (total / expected - 1.0).abs() < 0.01,
                "{count} of {mean} dB: {total}, expected {expected}"
            );
        }
    }
}

#[test]
fn unequal_users_do_not_have_quite_equal_time() {
    let (bits, time) = rayleigh(1_000.0, &[10.0, 0.0]);
    for (found, expected) in [(bits[0], 1.897_99), (bits[1], 0.588_33), (time[0], 0.554_30)] {
        assert!((found / expected - 1.0).abs() < 0.01, "{found}, expected {expected}");
    }
}

/// Slots in a row that a user gets after joining these equal users.
fn captured(others: u32, memory: f64, newcomer: Newcomer) -> u64 {
    let mut scheduler = Scheduler::new(Policy::ProportionalFair { memory, newcomer });
    let mut known = users(others);
    known.iter().for_each(|user| scheduler.add(Slot(0), *user));
    let mut given = Vec::new();
    let mut serve = |scheduler: &mut Scheduler, slot, users: &[UserIndex]| {
        scheduler.allocate(slot, &full(users), 1, |_, _| 1000.0, &mut given);
        let served = given[0].unwrap();
        scheduler.handle_served(slot, served, 1000.0);
        served
    };
    let start = (20.0 * memory) as u64;
    for slot in 0..start {
        serve(&mut scheduler, Slot(slot), &known);
    }
    known.push(UserIndex(others));
    scheduler.add(Slot(start), UserIndex(others));
    (0..).find(|slot| serve(&mut scheduler, Slot(start + slot), &known) != UserIndex(others)).unwrap()
}

#[test]
fn a_newcomer_of_ns3_takes_the_cell() {
    let rows = [(1, 68.97, 692.80), (2, 40.34, 405.26), (4, 22.20, 223.03), (9, 10.48, 105.31)];
    for (others, short, long) in rows {
        for (memory, expected) in [(100.0, short), (1000.0, long)] {
            let found = captured(others, memory, Newcomer::Nothing) as f64;
            // The others' means differ by up to a slot's share.
            assert!((found - expected).abs() < 2.0, "{others} users: {found} slots, expected {expected}");
        }
        assert!(captured(others, 100.0, Newcomer::Mean) <= 2);
    }
}

#[test]
fn a_mean_decays_over_slots_that_nobody_asked_for() {
    let policy = Policy::ProportionalFair { memory: 100.0, newcomer: Newcomer::Nothing };
    let (mut asked, mut idle) = (Scheduler::new(policy), Scheduler::new(policy));
    for scheduler in [&mut asked, &mut idle] {
        scheduler.add(Slot(0), UserIndex(0));
        scheduler.handle_served(Slot(0), UserIndex(0), 5000.0);
    }
    for slot in 1..300 {
        asked.handle_served(Slot(slot), UserIndex(0), 0.0);
    }
    let (asked, idle) = (asked.mean(Slot(300), UserIndex(0)), idle.mean(Slot(300), UserIndex(0)));
    assert!((asked / idle - 1.0).abs() < 1e-9, "{asked} {idle}");
    assert!((idle - 50.0 * libm::pow(0.99, 299.0)).abs() < 1e-3);
}

#[test]
fn the_incomplete_group_counts_in_the_standard() {
    let standard = Groups { has_incomplete: true, ..DOWN };
    assert_eq!((standard.count(), standard.blocks_of(12)), (13, ResourceBlocks(1)));
    assert_eq!((DOWN.count(), DOWN.blocks_of(11)), (12, ResourceBlocks(2)));
}

#[test]
fn a_group_of_use_to_nobody_is_given_to_nobody() {
    let mut scheduler = Scheduler::new(NS3);
    scheduler.add(Slot(0), UserIndex(0));
    let mut given = Vec::new();
    scheduler.allocate(Slot(0), &full(&[UserIndex(0)]), 2, |_, group| f64::from(group) * 8.0, &mut given);
    assert_eq!(given, [None, Some(UserIndex(0))]);
    scheduler.allocate(Slot(0), &[], 2, |_, _| 8.0, &mut given);
    assert_eq!(given, [None, None]);
}

#[test]
fn a_user_gets_no_more_than_the_backlog_needs() {
    for policy in [NS3, Policy::MaximumRate] {
        let mut scheduler = Scheduler::new(policy);
        let mut candidates = full(&users(2));
        candidates[0].backlog = 1_500.0;
        candidates.iter().for_each(|candidate| scheduler.add(Slot(0), candidate.user));
        let mut given = Vec::new();
        // The first user is the better one.
        let bits = |place, _| if place == 0 { 1_000.0 } else { 400.0 };
        scheduler.allocate(Slot(0), &candidates, 5, bits, &mut given);
        assert_eq!(given, [0, 0, 1, 1, 1].map(|user| Some(UserIndex(user))));
    }
}
