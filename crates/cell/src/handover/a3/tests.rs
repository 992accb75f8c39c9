use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{A3, A3Config};
use crate::handover::CellIndex;
use crate::level::{Decibels, PowerLevel};

/// Reports on a straight road with sites at 0, 500 and 1000 m, 30 m from it: seconds at which each is
/// made, with the seconds of the measurement that began it.
fn drive(config: A3Config, kilometres_per_hour: f64) -> Vec<(f64, f64)> {
    let mut a3 = A3::new(config);
    let mut serving = CellIndex(0);
    let mut reports = Vec::new();
    let mut now = Instant::ZERO;
    while now < Instant::from_secs(60) && serving != CellIndex(2) {
        now = a3.next_measurement(now);
        let place = kilometres_per_hour / 3.6 * now.as_secs_f64();
        let level = |cell: u32| {
            let (x, y) = (place - f64::from(cell) * 500.0, 30.0);
            (CellIndex(cell), PowerLevel(-37.6 * libm::log10(libm::hypot(x, y))))
        };
        a3.handle_levels(now, serving, &[level(0), level(1), level(2)]);
        if a3.poll_timeout().is_none_or(|due| due > now + config.period) {
            now += Duration::from_nanos(1);
            continue;
        }
        let due = a3.poll_timeout().unwrap();
        // The measurements of the meantime.
        let next = a3.next_measurement(now + Duration::from_nanos(1));
        if due < next {
            let began = due.saturating_sub(config.time_to_trigger);
            serving = a3.handle_timeout(due).unwrap();
            reports.push((due.as_secs_f64(), began.as_secs_f64()));
        }
        now = next;
    }
    reports
}

const TOWN: A3Config = A3Config {
    margin: Decibels(3.0),
    time_to_trigger: Duration::from_millis(256),
    period: Duration::from_millis(200),
    filter: 0,
};

#[test]
fn reports_of_a_straight_drive() {
    let quick = A3Config { margin: Decibels(1.0), time_to_trigger: Duration::from_millis(40), ..TOWN };
    for (config, speed, continuous, sampled, filtered) in [
        (TOWN, 60.0, [16.650, 46.650], [16.656, 46.656], [16.6, 46.6]),
        (TOWN, 120.0, [8.453, 23.453], [8.456, 23.456], [8.4, 23.4]),
        (quick, 60.0, [15.5058, 45.5058], [15.640, 45.640], [15.8, 45.8]),
    ] {
        let fine = A3Config { period: Duration::from_micros(500), ..config };
        let check = |config, expected: [f64; 2], is_begin: bool| {
            let reports = drive(config, speed);
            assert_eq!(reports.len(), 2);
            for ((report, began), expected) in reports.into_iter().zip(expected) {
                let found = if is_begin { began } else { report };
                assert!((found - expected).abs() < 1e-3, "{speed} km/h: {found}, expected {expected}");
            }
        };
        check(fine, continuous, false);
        check(config, sampled, false);
        check(A3Config { filter: 4, ..config }, filtered, true);
    }
}

#[test]
fn the_filter_halves_a_step() {
    let mut a3 = A3::new(A3Config { filter: 4, ..TOWN });
    let mut measure = |number: u64, level| {
        a3.handle_levels(
            Instant::from_millis(200 * number),
            CellIndex(0),
            &[(CellIndex(0), PowerLevel(level))],
        );
        a3.level(CellIndex(0)).unwrap().0
    };
    measure(0, -100.0);
    assert_eq!([1, 2, 3].map(|number| measure(number, -90.0)), [-95.0, -92.5, -91.25]);
}

#[test]
fn a_neighbour_that_falls_back_in_time_is_not_reported() {
    let mut a3 = A3::new(TOWN);
    let measure = |a3: &mut A3, millis, neighbour| {
        let levels = [(CellIndex(0), PowerLevel(-90.0)), (CellIndex(1), PowerLevel(neighbour))];
        a3.handle_levels(Instant::from_millis(millis), CellIndex(0), &levels);
    };
    measure(&mut a3, 0, -80.0);
    assert_eq!(a3.poll_timeout(), Some(Instant::from_millis(256)));
    measure(&mut a3, 200, -88.0);
    assert_eq!((a3.poll_timeout(), a3.handle_timeout(Instant::from_millis(256))), (None, None));
}

#[test]
fn the_best_of_two_neighbours_is_reported_once() {
    let mut a3 = A3::new(TOWN);
    let levels = [(CellIndex(1), PowerLevel(-85.0)), (CellIndex(2), PowerLevel(-80.0))];
    // The serving cell is no longer heard.
    a3.handle_levels(Instant::ZERO, CellIndex(0), &levels);
    assert_eq!(a3.handle_timeout(Instant::from_millis(256)), Some(CellIndex(2)));
    assert_eq!(a3.handle_timeout(Instant::from_millis(256)), None);
}
