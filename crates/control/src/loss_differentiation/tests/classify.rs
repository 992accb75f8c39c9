use std::vec::Vec;

use super::super::{Biaz, LossClass, Omniscient, classify};
use super::packet;

fn losses(sequences: &[u64]) -> Vec<(u64, u64, LossClass)> {
    let arrivals = sequences.iter().map(|&sequence| packet(sequence, 10.0 * sequence as f64, 5.0));
    let found = classify(&mut Biaz::new(), arrivals);
    found.iter().map(|loss| (loss.first, loss.count, loss.cause)).collect()
}

#[test]
fn each_run_of_losses_is_classified_once() {
    let expected = [(3, 1, LossClass::Wireless), (6, 2, LossClass::Wireless)];
    assert_eq!(losses(&[0, 1, 2, 4, 5, 8, 9, 10]), expected);
}

#[test]
fn late_packets_are_not_losses() {
    let mut times: Vec<_> = [0u64, 1, 2, 4, 3, 5, 6, 7].map(|s| packet(s, 10.0 * s as f64, 5.0)).into();
    times[4] = packet(3, 41.0, 16.0);
    assert!(classify(&mut Biaz::new(), times).is_empty());
}

#[test]
fn a_partly_filled_hole_keeps_its_class_for_the_rest() {
    let arrivals = [(0, 0.0), (1, 10.0), (4, 40.0), (3, 41.0), (5, 50.0), (6, 60.0)];
    let found = classify(&mut Biaz::new(), arrivals.map(|(sequence, ms)| packet(sequence, ms, 5.0)));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].first, found[0].count, found[0].gap.count), (2, 1, 2));
    assert_eq!(found[0].cause, LossClass::Wireless);
}

#[test]
fn a_hole_at_the_end_is_open() {
    assert!(losses(&[0, 1, 2, 4, 5]).is_empty());
}

#[test]
fn an_oracle_without_reports_returns_congestion() {
    let arrivals = [0u64, 1, 3, 4, 5].map(|s| packet(s, 10.0 * s as f64, 5.0));
    assert_eq!(classify(&mut Omniscient::new(), arrivals)[0].cause, LossClass::Congestion);
}
