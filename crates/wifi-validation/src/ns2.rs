//! Saturated senders under ns-2's rules, compared with figures that ns-2.35 itself produced.

use whimbrel_units::Instant;
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::medium::{Link, MediumConfig};
use whimbrel_wifi::phy::Rate;
use whimbrel_wifi::propagation::SPEED_OF_LIGHT;

use crate::cell::Cell;
use whimbrel_wifi::StationIndex;

/// The recorded figures; the script that produced them is in the same directory.
const RECORDED: &str = include_str!("../tests/data/ns2-saturation.csv");

/// A row of the recorded figures, and the same run of the machines.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// `cell`: all senders around the receiver; `hidden`: two that do not sense each other; `capture`: one
    /// half at 5 m, the other at 50 m from the receiver; `ring`: senders that each send to the next one.
    pub layout: String,
    /// Number of senders.
    pub senders: usize,
    /// Data rate.
    pub rate: Rate,
    /// `true` if RTS/CTS precedes every data frame.
    pub uses_rts: bool,
    /// Bytes of payload.
    pub payload_bytes: u32,
    /// Frames per second from the first half of the senders (the near ones) and from the others, by ns-2.
    pub recorded: [f64; 2],
    /// The same by the machines.
    pub measured: [f64; 2],
}

impl Row {
    /// Relative deviation of the total.
    pub fn deviation(&self) -> f64 {
        (self.measured[0] + self.measured[1]) / (self.recorded[0] + self.recorded[1]) - 1.0
    }

    /// Bound of the deviation for runs of this length: 0.5 % in a cell, 2 % with hidden senders, where bursts
    /// are long.
    pub fn bound(&self) -> f64 {
        if self.layout == "hidden" { 0.02 } else { 0.005 }
    }

    /// `true` if the total is within its bound and, with capture, each half within 4 %; without capture the
    /// halves would be equal.
    pub fn holds(&self) -> bool {
        let of_half = |half: usize| self.measured[half] / self.recorded[half] - 1.0;
        let halves = self.layout != "capture" || [0, 1].into_iter().all(|half| of_half(half).abs() < 0.04);
        self.deviation().abs() < self.bound() && halves
    }
}

/// Positions in metres, as in the script; the receiver is station 0, but in a ring.
fn position(layout: &str, station: usize, stations: usize) -> (f64, f64) {
    if layout == "hidden" {
        return ([250.0, 50.0, 450.0][station], 100.0);
    }
    let angle = std::f64::consts::TAU * station as f64 / stations as f64;
    let radius = match layout {
        _ if station == 0 && layout != "ring" => 0.0,
        "capture" if 2 * station > stations - 1 => 50.0,
        _ => 5.0,
    };
    (100.0 + radius * libm::cos(angle), 100.0 + radius * libm::sin(angle))
}

/// Links of all stations within carrier-sense range. The power falls with the square of the distance; its
/// scale does not matter here, because only ratios decide.
fn links(layout: &str, stations: usize) -> Vec<Vec<Link>> {
    let range = if layout == "hidden" { 250.0 } else { 550.0 };
    let link = |from: usize, to: usize| {
        let (a, b) = (position(layout, from, stations), position(layout, to, stations));
        let distance = libm::hypot(a.0 - b.0, a.1 - b.1);
        let delay = libm::ceil(distance / SPEED_OF_LIGHT * 1e9) as u32;
        let power = (1e-4 / (distance * distance)) as f32;
        (distance < range).then_some(Link {
            station: StationIndex::new(to),
            delay,
            power,
            is_corrupted: false,
        })
    };
    let others =
        |from| (0..stations).filter(move |&to| to != from).filter_map(move |to| link(from, to)).collect();
    (0..stations).map(others).collect()
}

/// The recorded rows with the machines' figures from runs of 120 s.
///
/// # Panics
/// If a recorded row is malformed.
pub fn rows() -> Vec<Row> {
    RECORDED.lines().skip(1).map(row).collect()
}

fn row(line: &str) -> Row {
    const SECONDS: u64 = 120;
    let columns: Vec<&str> = line.split(',').collect();
    let number = |column: usize| columns[column].parse::<f64>().expect("a number");
    let (layout, senders) = (columns[0], number(1) as usize);
    let rate = Rate::from_megabits_per_second(number(2)).expect("a rate");
    let rts_threshold = number(3) as u32;
    let payload_bytes = number(4) as u32;
    let config = MacConfig { data_rate: rate, rts_threshold, ..MacConfig::ns2() };
    let stations = if layout == "ring" { senders } else { senders + 1 };
    let configs = std::iter::repeat_n(config, stations);
    let mut cell = Cell::new(MediumConfig::ns2(), links(layout, stations), configs, 1);
    for sender in 1..=senders {
        let receiver = if layout == "ring" { (sender + 1) % stations } else { 0 };
        cell.saturate((sender % stations) as u32, receiver as u32, payload_bytes);
    }
    cell.run_until(Instant::from_secs(SECONDS));
    let sent = |senders: std::ops::RangeInclusive<usize>| {
        let frames = senders.map(|sender| cell.machines()[sender % stations].counters().sent);
        frames.sum::<u64>() as f64 / SECONDS as f64
    };
    Row {
        layout: layout.into(),
        senders,
        rate,
        uses_rts: rts_threshold == 0,
        payload_bytes,
        recorded: [number(5), number(6)],
        measured: [sent(1..=senders / 2), sent(senders / 2 + 1..=senders)],
    }
}
