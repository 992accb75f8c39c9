//! Saturated senders under ns-2's rules, compared with figures that ns-2.35 itself produced.

use whimbrel_units::Instant;
use whimbrel_wifi::cell::Cell;
use whimbrel_wifi::medium::{Link, MediumConfig};
use whimbrel_wifi::{MacConfig, Rate};

/// Positions in metres, as in `data/ns2-saturation.tcl`; the receiver is station 0.
fn position(layout: &str, station: usize, stations: usize) -> (f64, f64) {
    if layout == "hidden" {
        return ([250.0, 50.0, 450.0][station], 100.0);
    }
    let angle = std::f64::consts::TAU * station as f64 / stations as f64;
    if station == 0 {
        (100.0, 100.0)
    } else {
        (100.0 + 5.0 * libm::cos(angle), 100.0 + 5.0 * libm::sin(angle))
    }
}

/// Links of all stations within carrier-sense range. The power falls with the square of the distance; its scale does not
/// matter here, because only ratios decide.
fn links(layout: &str, stations: usize) -> Vec<Vec<Link>> {
    let range = if layout == "hidden" { 250.0 } else { 550.0 };
    let link = |from: usize, to: usize| {
        let (a, b) = (position(layout, from, stations), position(layout, to, stations));
        let distance = libm::hypot(a.0 - b.0, a.1 - b.1);
        let delay = libm::ceil(distance / 0.299_792_458) as u32;
        let power = (1e-4 / (distance * distance)) as f32;
        (distance < range).then_some(Link { station: to as u32, delay, power, is_corrupted: false })
    };
    let others =
        |from| (0..stations).filter(move |&to| to != from).filter_map(move |to| link(from, to)).collect();
    (0..stations).map(others).collect()
}

/// The bound is the deviation of runs of this length: 0.5 % in a cell, 2 % with hidden senders, where a success is rare and
/// bursts are long.
#[test]
fn throughput_agrees_with_ns2() {
    let mut rows = 0;
    for row in include_str!("data/ns2-saturation.csv").lines().skip(1) {
        let columns: Vec<&str> = row.split(',').collect();
        let number = |column: usize| columns[column].parse::<f64>().expect("a number");
        let layout = columns[0];
        let senders = number(1) as usize;
        let config = MacConfig {
            data_rate: Rate::from_megabits_per_second(number(2)).expect("a rate"),
            rts_threshold: number(3) as u32,
            ..MacConfig::ns2()
        };
        let configs = std::iter::repeat_n(config, senders + 1);
        let mut cell = Cell::new(MediumConfig::ns2(), links(layout, senders + 1), configs, 1);
        for sender in 1..=senders {
            cell.saturate(sender as u32, 0, number(4) as u32);
        }
        let seconds = 120;
        cell.run_until(Instant::from_secs(seconds));
        let rate = cell.machines()[0].counters().delivered as f64 / seconds as f64;
        let deviation = rate / number(5) - 1.0;
        let bound = if layout == "hidden" { 0.02 } else { 0.005 };
        println!("{row}: {rate:.2} ({:+.2} %)", 100.0 * deviation);
        assert!(deviation.abs() < bound, "{row}: {rate}");
        rows += 1;
    }
    assert_eq!(rows, 11);
}
