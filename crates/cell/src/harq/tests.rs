use std::vec::Vec;

use whimbrel_units::random::{Random, SplitMix64};

use super::{Attempt, Combining, Harq, HarqTiming, Outcome};
use crate::amc::lte::Direction;
use crate::duplex::{Duplex, Pattern, Slot, SpecialSlot};
use crate::level::Decibels;

/// Share of blocks whose wait is at most so many intervals: p, transmissions, intervals of a round, wait,
/// share.
const WAITS: &str = include_str!("../../tests/data/harq-wait.csv");

fn pattern(letters: &str) -> Duplex {
    Duplex::Time(Pattern::new(letters, SpecialSlot { down: 10, gap: 2 }).unwrap())
}

fn attempt(draw: f64) -> Attempt {
    Attempt { needed: Decibels(0.0), sinr: Decibels(0.0), draw }
}

#[test]
fn rounds_last_as_the_pattern_has_it() {
    let rounds = |letters: &str, feedback| -> Vec<u64> {
        let (duplex, timing) = (pattern(letters), HarqTiming { feedback, processing: 3 });
        (0..letters.len() as u64)
            .map(Slot)
            .filter(|slot| duplex.down_symbols(*slot) > 0)
            .map(|slot| timing.repetition(&duplex, Direction::Down, slot).since(slot))
            .collect()
    };
    assert_eq!(rounds("DDDSU", 2), [7, 6, 5, 9]);
    assert_eq!(rounds("DDDSU", 4), [7, 11, 10, 9]);
    assert_eq!(rounds("DDDDDDDSUU", 4), [11, 10, 9, 8, 7, 7, 15, 14]);
    let lte = HarqTiming::LTE.repetition(&Duplex::Frequency, Direction::Up, Slot(3));
    assert_eq!(lte, Slot(11));
}

/// A sender that always has data: transmissions, received and lost blocks.
fn saturated(errors: [f64; 4], slots: u64) -> (f64, f64, f64) {
    let transmissions = 4;
    let mut harq = Harq::new(Direction::Down, HarqTiming::LTE, Combining::Fixed(errors), transmissions, 8);
    let mut random = SplitMix64::new(2);
    let duplex = Duplex::Frequency;
    let (mut sent, mut received, mut lost) = (0.0, 0.0, 0.0);
    for slot in (0..slots).map(Slot) {
        let attempt = attempt(random.uniform());
        if let Some((process, ())) = harq.due(slot) {
            harq.repeat(slot, &duplex, process, attempt);
            sent += 1.0;
        } else if harq.send(slot, &duplex, (), attempt).is_ok() {
            sent += 1.0;
        }
        while let Some((_, outcome)) = harq.poll_outcome() {
            match outcome {
                Outcome::Received { .. } => received += 1.0,
                Outcome::GivenUp { .. } => lost += 1.0,
            }
        }
    }
    (sent, received, lost)
}

#[test]
fn repetitions_cost_their_share_of_the_throughput() {
    let slots = 400_000;
    for (errors, transmissions, goodput) in
        [([0.1; 4], 1.111, 0.9), ([0.1, 0.02, 0.004, 0.0008], 1.102_008, 0.907_434)]
    {
        let (sent, received, lost) = saturated(errors, slots);
        assert_eq!(sent, slots as f64, "the processes keep the channel busy");
        let found = sent / (received + lost);
        assert!((found / transmissions - 1.0).abs() < 0.01, "{errors:?}: {found}");
        assert!((received / sent / goodput - 1.0).abs() < 0.01, "{errors:?}: {}", received / sent);
        assert!(lost / (received + lost) < 3e-4, "{errors:?}: {lost} lost");
    }
    // ns-3's test: blocks of 472 B, of which the first transmission always fails.
    let (sent, received, _) = saturated([1.0, 0.248, 0.0, 0.0], slots);
    let rate = received * 472.0 / sent * 1000.0;
    assert!((rate / 209_964.4 - 1.0).abs() < 0.01, "{rate} B/s");
}

/// In-order waits of a block in each interval, in intervals.
fn waits(error: f64, transmissions: u8, round: u64, blocks: u64) -> Vec<u64> {
    let timing = HarqTiming { feedback: round / 2, processing: round - round / 2 };
    let combining = Combining::Fixed([error; 4]);
    let mut harq = Harq::new(Direction::Down, timing, combining, transmissions, 64);
    let mut random = SplitMix64::new(8);
    let duplex = Duplex::Frequency;
    let mut done = std::vec![0; blocks as usize];
    for slot in (0..blocks + 200).map(Slot) {
        while let Some((process, _)) = harq.due(slot) {
            harq.repeat(slot, &duplex, process, attempt(random.uniform()));
        }
        if slot.0 < blocks {
            harq.send(slot, &duplex, slot.0, attempt(random.uniform())).unwrap();
        }
        while let Some((at, outcome)) = harq.poll_outcome() {
            let (Outcome::Received { block, .. } | Outcome::GivenUp { block }) = outcome;
            done[block as usize] = at.0;
        }
    }
    let mut released = 0;
    let wait = |(block, done): (usize, u64)| {
        released = done.max(released);
        released - block as u64
    };
    done.into_iter().enumerate().map(wait).skip(100).collect()
}

#[test]
fn waits_for_order_are_distributed_as_computed() {
    let sets = [8, 10].map(|round| (round, waits(0.1, 4, round, 200_000)));
    let mut rows = 0;
    for line in WAITS.lines().skip(1) {
        let numbers: Vec<f64> = line.split(',').map(|number| number.parse().unwrap()).collect();
        let (_, waits) = sets.iter().find(|(round, _)| *round as f64 == numbers[2]).unwrap();
        let share =
            waits.iter().filter(|wait| **wait as f64 <= numbers[3]).count() as f64 / waits.len() as f64;
        assert!((share - numbers[4]).abs() < 0.005, "{line}: {share}");
        rows += 1;
    }
    assert_eq!(rows, 38);
    let two = waits(0.1, 2, 8, 200_000);
    let mean = two.iter().sum::<u64>() as f64 / two.len() as f64;
    assert!((mean - 2.874_205).abs() < 0.03, "{mean}");
}

#[test]
fn the_second_of_two_combined_transmissions_arrives() {
    let mut harq = Harq::new(Direction::Down, HarqTiming::LTE, Combining::Chase, 4, 8);
    // A decibel below the point: the first fails, and both together are 2 dB above.
    let attempt = Attempt { needed: Decibels(1.0), sinr: Decibels(0.0), draw: 0.5 };
    harq.send(Slot(0), &Duplex::Frequency, "block", attempt).unwrap();
    assert_eq!(harq.poll_outcome(), None);
    assert_eq!((harq.due(Slot(7)), harq.poll_timeout()), (None, Some(Slot(8))));
    let (process, _) = harq.due(Slot(8)).unwrap();
    harq.repeat(Slot(8), &Duplex::Frequency, process, attempt);
    let received = Outcome::Received { block: "block", transmissions: 2 };
    assert_eq!(harq.poll_outcome(), Some((Slot(8), received)));
    assert_eq!(harq.poll_timeout(), None);
}

#[test]
fn a_process_is_free_again_behind_its_feedback() {
    let mut harq = Harq::new(Direction::Down, HarqTiming::LTE, Combining::Chase, 4, 1);
    let received = Attempt { needed: Decibels(0.0), sinr: Decibels(30.0), draw: 0.5 };
    let duplex = Duplex::Frequency;
    harq.send(Slot(5), &duplex, 1, received).unwrap();
    assert_eq!(harq.send(Slot(12), &duplex, 2, received), Err(2));
    assert_eq!(harq.next_free(Slot(6)), Some(Slot(13)));
    assert!(harq.is_ready(Slot(13)));
}

#[test]
fn a_terminal_that_leaves_gives_its_blocks_back() {
    let mut harq = Harq::new(Direction::Down, HarqTiming::LTE, Combining::Fixed([1.0; 4]), 4, 8);
    for block in 0..3 {
        harq.send(Slot(block), &Duplex::Frequency, block, attempt(0.5)).unwrap();
    }
    assert_eq!(harq.reset().collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(harq.poll_timeout(), None);
}
