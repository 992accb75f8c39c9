use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::CqiReports;
use crate::amc::{Adaptation, Cqi, McsTable, SelectionRule};
use crate::level::Decibels;

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_report_is_late_by_its_delay() {
    let reports = CqiReports::new(MS * 5, MS * 8, Decibels::ZERO, 1);
    let at = |millis| reports.newest(Instant::from_millis(millis)).map(|report| report.measured_at);
    assert_eq!(at(7), None);
    assert_eq!(at(8), Some(Instant::ZERO));
    assert_eq!(at(12), Some(Instant::ZERO));
    assert_eq!(at(13), Some(Instant::from_millis(5)));
}

#[test]
fn the_station_sees_the_channel_of_the_measurement() {
    let reports = CqiReports::new(MS * 5, MS * 8, Decibels::ZERO, 1);
    let adaptation = Adaptation::nr(SelectionRule::TenPercent, McsTable::Qam64);
    // A drop at 100 ms is seen 8 ms later.
    let channel = |time: Instant| Decibels(if time < Instant::from_millis(100) { 30.0 } else { 0.5 });
    let cqi = |millis| reports.cqi(Instant::from_millis(millis), &adaptation, channel);
    assert_eq!(cqi(107), Some(Cqi(15)));
    assert_eq!(cqi(108), Some(Cqi(4)));
}

#[test]
fn errors_are_normal_and_a_function_of_the_report() {
    let reports = CqiReports::new(MS, Duration::ZERO, Decibels(2.0), 9);
    let error = |millis| reports.newest(Instant::from_millis(millis)).unwrap().error.0;
    let errors: Vec<f64> = (0..5_000).map(error).collect();
    let mean = errors.iter().sum::<f64>() / 5_000.0;
    let deviation = libm::sqrt(errors.iter().map(|error| error * error).sum::<f64>() / 5_000.0);
    assert!(mean.abs() < 0.12, "{mean}");
    assert!((deviation - 2.0).abs() < 0.09, "{deviation}");
    assert_eq!(error(77), errors[77]);
}
