//! Saturated cells of 802.11ax: 12 schemes in channels of four widths, with 5 to 50 stations.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use whimbrel_wifi_validation::aggregates::{Drawn, Figures, Point, STATIONS, draw, modes};

use crate::{Table, percent};

/// Half of the interval of 95 % at which the run of a cell ends.
const PRECISION: f64 = 0.0024;
/// Busy periods of the Monte Carlo.
const DRAWN: u64 = 5_000_000;

/// The cells of the quick form: scheme, width in megahertz, stations. One of each width.
const QUICK: [(u8, u16, u32); 4] = [(0, 20, 5), (11, 40, 5), (4, 80, 5), (9, 160, 10)];

fn is_quick(point: &Point) -> bool {
    QUICK.contains(&(point.mode.mcs(), point.mode.width().megahertz(), point.stations))
}

/// The figures of all points, on two threads. A point has a seed of its own.
fn measure(points: &[(u64, Point)]) -> Vec<Figures> {
    let results: Vec<OnceLock<Figures>> = points.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((number, (seed, point))) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            points.get(number).map(|point| (number, point))
        } {
            let measured = point.measure(PRECISION, *seed);
            results[number].set(measured).expect("one thread per point");
            if points.len() > QUICK.len() {
                // All of them take minutes.
                eprintln!("saturated cells of 802.11ax: {} of {}", number + 1, points.len());
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    results.into_iter().map(|result| result.into_inner().expect("all points were run")).collect()
}

/// The Monte Carlo serves all modes of a number of stations, and is drawn once for each.
fn drawn(points: &[(u64, Point)]) -> Vec<(u32, Drawn)> {
    let is_asked = |stations: &u32| points.iter().any(|(_, point)| point.stations == *stations);
    let asked = STATIONS.into_iter().filter(is_asked);
    asked.map(|stations| (stations, draw(stations as usize, DRAWN, 1))).collect()
}

/// Prints the table. Returns the rows that exceed their bounds.
pub(crate) fn table(quick: bool) -> Vec<String> {
    println!("## Saturated cells of 802.11ax\n");
    println!(
        "Throughput S in Mbit/s and collision probability p of n saturated stations of best effort with full A-MPDUs (window 64, one \
         stream, guard interval 0.8 us, 1472 B of UDP), of the machines on the medium. A run ends when its interval of 95 % is \
         {:.2} % wide. Bounds: 1 % from Bianchi's model (2000), 0.5 % from a Monte Carlo of the rule of EDCA over {DRAWN} busy \
         periods, whose outcomes serve all modes; both have times of their own, from the tables of the standard.\n",
        200.0 * PRECISION
    );
    let columns =
        ["mode, n", "S", "from the model, %", "from the Monte Carlo, %", "p", "from the Monte Carlo"];
    let mut table = Table::new(&columns);
    let all = modes().flat_map(|mode| STATIONS.map(|stations| Point { mode, stations }));
    let points: Vec<(u64, Point)> = (0..).zip(all).filter(|(_, point)| !quick || is_quick(point)).collect();
    let (drawn, measured) = (drawn(&points), measure(&points));
    let mut largest = [0.0_f64; 3];
    for ((_, point), measured) in points.iter().zip(&measured) {
        let known = drawn.iter().find(|(stations, _)| *stations == point.stations);
        let of_drawn = point.of_drawn(&known.expect("all numbers of stations are drawn").1);
        let from = |other: Figures| measured.throughput / other.throughput - 1.0;
        let (model, monte_carlo) = (from(point.model()), from(of_drawn));
        let collision = measured.collision - of_drawn.collision;
        for (largest, one) in largest.iter_mut().zip([model, monte_carlo, collision]) {
            *largest = largest.max(one.abs());
        }
        let cells = [
            format!("{}, {}", point.mode, point.stations),
            format!("{:.3}", measured.throughput),
            percent(model),
            percent(monte_carlo),
            format!("{:.4}", measured.collision),
            format!("{collision:+.4}"),
        ];
        table.row(&cells, model.abs() < 0.01 && monte_carlo.abs() < 0.005);
    }
    let exceeded = table.end();
    if !quick {
        let [model, drawn, collision] = largest;
        println!(
            "Largest deviations of the {} cells: S {:.3} % from the model, {:.3} % from the Monte Carlo; p {collision:.4}.\n",
            points.len(),
            100.0 * model,
            100.0 * drawn
        );
    }
    exceeded
}
