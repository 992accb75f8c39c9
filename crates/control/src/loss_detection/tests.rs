use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::{Duration, Instant};

use super::*;

/// Records the reported results.
#[derive(Default)]
struct RecordingObserver {
    received: Vec<u64>,
    lost: Vec<u64>,
    empty: Vec<u64>,
    gaps: Vec<LossGap>,
}

impl LossObserver for RecordingObserver {
    fn classify(&mut self, gap: &LossGap) -> LossClass {
        self.gaps.push(*gap);
        LossClass::Congestion
    }

    fn on_settled(&mut self, settled: &Settled) {
        let empty_from = settled.first_lost + settled.lost;
        self.lost.extend(settled.first_lost..empty_from);
        self.empty.extend(empty_from..empty_from + settled.empty);
        self.received.push(settled.arrival.sequence);
    }
}

fn arrive(
    detector: &mut LossDetector,
    observer: &mut RecordingObserver,
    sequences: &[u64],
) -> Vec<Reception> {
    sequences
        .iter()
        .map(|&sequence| {
            detector.on_arrival(&ArrivedPacket::new(Instant::from_millis(sequence), sequence), observer)
        })
        .collect()
}

#[test]
fn the_third_arrival_above_a_hole_declares_it_lost() {
    let (mut detector, mut observer) = (LossDetector::new(Some(1)), RecordingObserver::default());
    arrive(&mut detector, &mut observer, &[1, 3, 4]);
    assert_eq!((observer.lost.len(), detector.first_open()), (0, 2));
    arrive(&mut detector, &mut observer, &[5]);
    assert_eq!(observer.lost, [2]);
    assert_eq!(observer.received, [1, 3, 4, 5]);
    assert_eq!((detector.first_open(), detector.greatest()), (6, 5));
}

#[test]
fn a_hole_filled_in_time_is_not_a_loss() {
    let (mut detector, mut observer) = (LossDetector::new(Some(1)), RecordingObserver::default());
    let receptions = arrive(&mut detector, &mut observer, &[1, 3, 4, 2, 5, 6]);
    assert_eq!(receptions[3], Reception::Reordered);
    assert_eq!(observer.lost, []);
    assert_eq!(observer.received, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_packet_declared_lost_is_late_and_then_a_duplicate() {
    let (mut detector, mut observer) = (LossDetector::new(Some(1)), RecordingObserver::default());
    let receptions = arrive(&mut detector, &mut observer, &[1, 3, 4, 5, 2, 2, 4]);
    assert_eq!(receptions[4..], [Reception::Late, Reception::Duplicate, Reception::Duplicate]);
}

#[test]
fn packets_before_the_first_arrival_are_lost_only_if_the_start_is_known() {
    for (first, lost) in [(Some(1), &[1, 2][..]), (None, &[])] {
        let (mut detector, mut observer) = (LossDetector::new(first), RecordingObserver::default());
        arrive(&mut detector, &mut observer, &[3, 4, 5]);
        assert_eq!(observer.lost, lost);
    }
}

/// RFC 5348, Section 5.1: n-1, then n+1, then n+2 with a mark: n is lost when n+2 arrives.
#[test]
fn a_mark_declares_the_hole_below_it_lost_at_once() {
    let (mut detector, mut observer) = (LossDetector::new(Some(1)), RecordingObserver::default());
    arrive(&mut detector, &mut observer, &[1, 3]);
    detector.on_arrival(
        &ArrivedPacket { marked: true, ..ArrivedPacket::new(Instant::from_millis(4), 4) },
        &mut observer,
    );
    assert_eq!(observer.lost, [2]);
    assert_eq!(observer.received, [1, 3, 4]);
}

#[test]
fn a_mark_on_a_packet_without_data_has_no_effect() {
    let (mut detector, mut observer) = (LossDetector::new(Some(1)), RecordingObserver::default());
    arrive(&mut detector, &mut observer, &[1, 3]);
    let ack =
        ArrivedPacket { marked: true, carries_data: false, ..ArrivedPacket::new(Instant::from_millis(4), 4) };
    detector.on_arrival(&ack, &mut observer);
    assert_eq!(observer.lost, []);
}

#[test]
fn packets_known_to_be_empty_are_not_lost() {
    let (mut detector, mut observer) = (LossDetector::new(Some(1)), RecordingObserver::default());
    arrive(&mut detector, &mut observer, &[1]);
    let after = ArrivedPacket { empty_before: 2, ..ArrivedPacket::new(Instant::from_millis(6), 6) };
    detector.on_arrival(&after, &mut observer);
    arrive(&mut detector, &mut observer, &[7, 8]);
    assert_eq!((&observer.lost[..], &observer.empty[..]), (&[2, 3][..], &[4, 5][..]));
}

#[test]
fn more_empty_packets_than_missing_ones_cause_no_loss() {
    let (mut detector, mut observer) = (LossDetector::new(Some(1)), RecordingObserver::default());
    arrive(&mut detector, &mut observer, &[1, 2]);
    detector.on_arrival(
        &ArrivedPacket { empty_before: 9, ..ArrivedPacket::new(Instant::from_millis(4), 4) },
        &mut observer,
    );
    arrive(&mut detector, &mut observer, &[5, 6]);
    assert_eq!((&observer.lost[..], &observer.empty[..]), (&[][..], &[3][..]));
}

/// RFC 5348, Section 5.2, by hand: packet 10 at 100 ms, packet 14 at 180 ms: each number corresponds to 20
/// ms, so 11, 12, 13 are due at 120, 140, 160 ms.
#[test]
fn arrival_times_of_lost_packets_are_interpolated() {
    let gap = Gap {
        before: (10, Instant::from_millis(100)),
        after: (14, Instant::from_millis(180)),
        first: 11,
        spacing: Duration::ZERO,
        class: LossClass::Congestion,
    };
    assert_eq!(gap.arrival_time(11), Instant::from_millis(120));
    assert_eq!(gap.arrival_time(13), Instant::from_millis(160));
    assert_eq!(gap.first_later_than(Instant::from_millis(139)), 12);
    assert_eq!(gap.first_later_than(Instant::from_millis(140)), 13);
    assert_eq!(gap.first_later_than(Instant::from_millis(20)), 10);
}

#[test]
fn the_observer_classifies_the_hole_as_it_opens() {
    let (mut detector, mut observer) = (LossDetector::new(Some(1)), RecordingObserver::default());
    arrive(&mut detector, &mut observer, &[1, 2, 5]);
    let at = Instant::from_millis;
    assert_eq!(observer.gaps, [LossGap { first: 3, count: 2, before: at(2), after: at(5) }]);
}

#[test]
fn a_jump_of_the_sequence_numbers_is_one_long_loss() {
    struct Count(u64);
    impl LossObserver for Count {
        fn classify(&mut self, _: &LossGap) -> LossClass {
            LossClass::Congestion
        }

        fn on_settled(&mut self, settled: &Settled) {
            self.0 += settled.lost;
        }
    }
    let (mut detector, mut count) = (LossDetector::new(Some(0)), Count(0));
    for sequence in [0, u64::MAX - 2, u64::MAX - 1, u64::MAX, u64::MAX, 5] {
        detector.on_arrival(&ArrivedPacket::new(Instant::from_secs(1), sequence), &mut count);
    }
    assert_eq!(count.0, u64::MAX - 3);
}

/// Reference implementation of RFC 5348, Section 5.1.
#[derive(Default)]
struct Naive {
    arrived: BTreeSet<u64>,
    lost: BTreeSet<u64>,
}

impl Naive {
    fn arrive(&mut self, first: u64, sequence: u64) -> Reception {
        let greatest = self.arrived.last().copied();
        let reception = if !self.arrived.insert(sequence) || sequence < first {
            Reception::Duplicate
        } else if self.lost.contains(&sequence) {
            Reception::Late
        } else if greatest.is_some_and(|greatest| sequence < greatest) {
            Reception::Reordered
        } else {
            Reception::Newest
        };
        let end = self.arrived.last().map_or(0, |last| last + 1);
        for missing in first..end {
            if !self.arrived.contains(&missing) && self.arrived.range(missing..).count() >= NDUPACK {
                self.lost.insert(missing);
            }
        }
        reception
    }
}

/// Arrivals of a stream with losses, duplicates and packets delayed by a few places.
fn disorderly_stream() -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec((0u64..10, 0u64..6), 1..120).prop_map(|packets| {
        let mut timed: Vec<(u64, u64)> = Vec::new();
        for (sequence, (fate, delay)) in packets.into_iter().enumerate() {
            let sequence = sequence as u64;
            match fate {
                0 | 1 => {}
                2 => timed.extend([(sequence, sequence), (sequence + delay, sequence)]),
                3 => timed.push((sequence + delay, sequence)),
                _ => timed.push((sequence, sequence)),
            }
        }
        timed.sort();
        timed.into_iter().map(|(_, sequence)| sequence).collect()
    })
}

proptest! {
    #[test]
    fn losses_match_the_definition_and_each_is_reported_once(sequences in disorderly_stream()) {
        let (mut detector, mut observer, mut naive) = (LossDetector::new(Some(0)), RecordingObserver::default(), Naive::default());
        for &sequence in &sequences {
            let arrival = ArrivedPacket::new(Instant::from_millis(sequence), sequence);
            prop_assert_eq!(detector.on_arrival(&arrival, &mut observer), naive.arrive(0, sequence));
            let lost: BTreeSet<u64> = observer.lost.iter().copied().collect();
            prop_assert_eq!(lost.len(), observer.lost.len(), "a loss was reported twice");
            prop_assert_eq!(&lost, &naive.lost);
        }
        prop_assert!(observer.received.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn any_arrivals_and_marks_settle_every_number_once(
        arrivals in proptest::collection::vec((0u64..4000, any::<bool>(), any::<bool>(), 0u64..5), 1..200)
    ) {
        let (mut detector, mut observer) = (LossDetector::new(Some(0)), RecordingObserver::default());
        for (i, (sequence, marked, carries_data, empty_before)) in arrivals.into_iter().enumerate() {
            let at = Instant::ZERO + Duration::from_micros(i as u64);
            let arrival = ArrivedPacket { marked, carries_data, empty_before, ..ArrivedPacket::new(at, sequence) };
            detector.on_arrival(&arrival, &mut observer);
        }
        let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
        for &sequence in observer.received.iter().chain(&observer.lost).chain(&observer.empty) {
            *seen.entry(sequence).or_default() += 1;
        }
        let expected: BTreeMap<u64, u32> = (0..detector.first_open()).map(|sequence| (sequence, 1)).collect();
        prop_assert_eq!(seen, expected);
    }
}
