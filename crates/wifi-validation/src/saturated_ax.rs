//! Saturated cells of 802.11ax: all points of the table.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use whimbrel_wifi_validation::aggregates::{Drawn, Figures, Point, STATIONS, draw, modes};

use crate::{Table, percent};

/// Busy periods of each run of the machines, and of the Monte Carlo.
const BUSY_PERIODS: u64 = 350_000;
const DRAWN: u64 = 5_000_000;

/// Prints the table. Returns the rows that exceed their bounds.
pub(crate) fn table() -> Vec<String> {
    println!("## Saturated cells of 802.11ax\n");
    println!(
        "Throughput in Mbit/s of n saturated stations of best effort with full A-MPDUs (window 64, one stream, guard interval 0.8 us, \
         1472 B of UDP), over {BUSY_PERIODS} busy periods of the machines. Bounds: 1 % from Bianchi's model, 0.5 % from a Monte Carlo \
         of the rule of EDCA over {DRAWN} busy periods, whose outcomes serve all modes.\n"
    );
    let drawn: Vec<Drawn> = STATIONS.iter().map(|&stations| draw(stations as usize, DRAWN, 1)).collect();
    let points: Vec<(usize, Point)> = modes()
        .flat_map(|mode| STATIONS.iter().enumerate().map(move |(n, &stations)| (n, Point { mode, stations })))
        .collect();
    let results: Vec<OnceLock<Figures>> = points.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((number, (_, point))) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            points.get(number).map(|point| (number, point))
        } {
            let measured = point.measure(BUSY_PERIODS, number as u64);
            results[number].set(measured).expect("one thread per point");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let columns = [
        "mode, n",
        "throughput",
        "from the model, %",
        "from the Monte Carlo, %",
        "p",
        "from the Monte Carlo",
    ];
    let mut table = Table::new(&columns);
    for ((number, point), measured) in points.iter().zip(&results) {
        let measured = measured.get().expect("all points were run");
        let (model, drawn) = (point.model(), point.of_drawn(&drawn[*number]));
        let from = |other: Figures| measured.throughput / other.throughput - 1.0;
        let cells = [
            format!("{}, {}", point.mode, point.stations),
            format!("{:.4}", measured.throughput),
            percent(from(model)),
            percent(from(drawn)),
            format!("{:.4}", measured.collision),
            format!("{:+.4}", measured.collision - drawn.collision),
        ];
        table.row(&cells, from(model).abs() < 0.01 && from(drawn).abs() < 0.005);
    }
    table.end()
}
