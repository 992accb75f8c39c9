//! Reports of arrivals.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use proptest::prelude::*;

use super::*;

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

/// The range of a report, and its arrivals in ms.
type Report = (u16, u16, Vec<(u16, i64)>);

/// The next report.
fn report(log: &mut ArrivalLog) -> Option<Report> {
    let feedback = log.poll(1, 2)?;
    let arrivals = feedback.arrivals().map(|(sequence, time)| (sequence, time / 4)).collect();
    Some((feedback.base, feedback.count, arrivals))
}

#[test]
fn reports_follow_each_other_without_gaps() {
    let mut log = ArrivalLog::new();
    assert_eq!(report(&mut log), None);
    log.record(65_534, at(1000));
    log.record(65_535, at(1010));
    log.record(1, at(1020));
    assert_eq!(report(&mut log), Some((65_534, 4, [(65_534, 1000), (65_535, 1010), (1, 1020)].to_vec())));
    assert_eq!(report(&mut log), None);
    // 2 and 3 are lost, which the next report states.
    log.record(4, at(1100));
    assert_eq!(report(&mut log), Some((2, 3, [(4, 1100)].to_vec())));
}

#[test]
fn a_late_packet_has_a_report_of_its_own() {
    let mut log = ArrivalLog::new();
    for sequence in [10, 12, 13, 16] {
        log.record(sequence, at(u64::from(sequence)));
    }
    assert!(report(&mut log).is_some());
    for (sequence, time) in [(14, 20), (11, 21), (15, 22), (17, 23)] {
        log.record(sequence, at(time));
    }
    assert_eq!(report(&mut log), Some((11, 1, [(11, 21)].to_vec())));
    assert_eq!(report(&mut log), Some((14, 2, [(14, 20), (15, 22)].to_vec())));
    assert_eq!(report(&mut log), Some((17, 1, [(17, 23)].to_vec())));
    assert_eq!(report(&mut log), None);
}

#[test]
fn packets_before_the_first_one_are_reported() {
    let mut log = ArrivalLog::new();
    log.record(3, at(1));
    log.record(65_535, at(2));
    assert_eq!(report(&mut log), Some((65_535, 1, [(65_535, 2)].to_vec())));
    assert_eq!(report(&mut log), Some((3, 1, [(3, 1)].to_vec())));
}

#[test]
fn the_first_arrival_of_a_number_counts() {
    let mut log = ArrivalLog::new();
    log.record(5, at(1));
    log.record(5, at(9));
    assert_eq!(report(&mut log), Some((5, 1, [(5, 1)].to_vec())));
}

#[test]
fn a_sender_that_begins_again_gets_reports_about_its_new_packets() {
    let mut log = ArrivalLog::new();
    log.record(20_000, at(1));
    assert!(report(&mut log).is_some());
    log.record(100, at(500));
    log.record(101, at(501));
    assert_eq!(report(&mut log), Some((100, 2, [(100, 500), (101, 501)].to_vec())));
}

#[test]
fn pauses_longer_than_a_delta_divide_reports() {
    let mut log = ArrivalLog::new();
    log.record(1, at(64));
    log.record(2, at(64 + 8191));
    log.record(3, at(64 + 8191 + 8192));
    assert_eq!(report(&mut log), Some((1, 2, [(1, 64), (2, 8255)].to_vec())));
    assert_eq!(report(&mut log), Some((3, 1, [(3, 16_447)].to_vec())));
}

#[test]
fn times_beyond_24_bits_of_the_reference_wrap_with_their_sign() {
    let mut log = ArrivalLog::new();
    // 2^23 units of 64 ms: 6.2 days.
    log.record(1, at(64 << 23));
    assert_eq!(log.poll(1, 2).map(|feedback| feedback.reference), Some(-(1 << 23)));
    log.record(2, at((64 << 24) + 64));
    assert_eq!(log.poll(1, 2).map(|feedback| feedback.reference), Some(1));
}

#[test]
fn the_log_is_bounded_and_many_arrivals_take_several_reports() {
    let mut log = ArrivalLog::new();
    // Every other packet is lost.
    for n in 0..20_000_u16 {
        log.record(n.wrapping_mul(2), at(u64::from(n)));
        assert!(log.waiting.len() <= MAX_WAITING);
    }
    let mut reported = 0;
    while let Some(feedback) = log.poll(1, 2) {
        let mut bytes = Vec::new();
        feedback.encode(&mut bytes).expect("a valid message");
        assert!(bytes.len() <= 1100, "{}", bytes.len());
        reported += feedback.received.len();
    }
    assert_eq!(reported, MAX_WAITING);
}

proptest! {
    /// Each arrival is reported once, with its time, regardless of the order, and no report repeats what
    /// another has covered.
    #[test]
    fn every_arrival_is_reported_once(
        start: u16,
        steps in prop::collection::vec((-30_i32..60, 0_u64..200_000_000, prop::bool::weighted(0.1)), 1..300),
    ) {
        let (mut log, mut number, mut now) = (ArrivalLog::new(), i32::from(start) + 0x1_0000, 0);
        let (mut expected, mut found) = (BTreeMap::new(), BTreeMap::new());
        let last = steps.len() - 1;
        for (index, (step, pause, is_due)) in steps.into_iter().enumerate() {
            number += step;
            now += pause;
            let sequence = number as u16;
            if let Entry::Vacant(entry) = expected.entry(sequence) {
                entry.insert((now / 250_000) as i64);
                log.record(sequence, Instant::from_nanos(now));
            }
            while (is_due || index == last) && log.has_arrivals() {
                let feedback = log.poll(1, 2).expect("an arrival");
                let covered = |sequence: u16| sequence.wrapping_sub(feedback.base) < feedback.count;
                prop_assert!(found.keys().all(|sequence| !covered(*sequence)));
                found.extend(feedback.arrivals());
            }
        }
        prop_assert_eq!(found, expected);
    }
}
