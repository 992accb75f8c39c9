//! Saturated cells of 802.11ax: all points of the table.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use whimbrel_wifi_validation::aggregates::{Drawn, Figures, Point, STATIONS, draw, modes};

use crate::Table;

/// Half of the interval of 95 % at which the run of a cell ends.
const PRECISION: f64 = 0.0018;
/// Busy periods of the Monte Carlo.
const DRAWN: u64 = 5_000_000;

/// The figures of all points, on two threads. The seed of a point is its number.
fn measure(points: &[Point]) -> Vec<Figures> {
    let results: Vec<OnceLock<Figures>> = points.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((number, point)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            points.get(number).map(|point| (number, point))
        } {
            let measured = point.measure(PRECISION, number as u64);
            results[number].set(measured).expect("one thread per point");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    results.into_iter().map(|result| result.into_inner().expect("all points were run")).collect()
}

/// Prints the table. Returns the rows that exceed their bounds.
pub(crate) fn table() -> Vec<String> {
    println!("## Saturated cells of 802.11ax\n");
    println!(
        "Throughput in Mbit/s of n saturated stations of best effort with full A-MPDUs (window 64, one stream, guard interval 0.8 us, \
         1472 B of UDP), of the machines on the medium. A run ends when its interval of 95 % is {:.2} % wide. Bounds of each \
         cell: 1 % from Bianchi's model, 0.5 % from a Monte Carlo of the rule of EDCA over {DRAWN} busy periods, whose \
         outcomes serve all modes. The last columns have the largest deviations of the row.\n",
        200.0 * PRECISION
    );
    let mut columns = vec!["mode".to_owned()];
    columns.extend(STATIONS.iter().map(|stations| format!("n = {stations}")));
    columns.extend(
        ["from the model, %", "from the Monte Carlo, %", "p from the Monte Carlo"].map(str::to_owned),
    );
    let mut table = Table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    let drawn: Vec<Drawn> = STATIONS.iter().map(|&stations| draw(stations as usize, DRAWN, 1)).collect();
    let row = |mode| STATIONS.map(|stations| Point { mode, stations });
    let points: Vec<Point> = modes().flat_map(row).collect();
    let measured = measure(&points);
    let mut largest = [0.0_f64; 3];
    for (points, figures) in points.chunks(STATIONS.len()).zip(measured.chunks(STATIONS.len())) {
        let mut cells = vec![points[0].mode.to_string()];
        let mut deviations = [0.0_f64; 3];
        for ((point, measured), drawn) in points.iter().zip(figures).zip(&drawn) {
            cells.push(format!("{:.3}", measured.throughput));
            let from = |other: Figures| measured.throughput / other.throughput - 1.0;
            let of_drawn = point.of_drawn(drawn);
            let found = [from(point.model()), from(of_drawn), measured.collision - of_drawn.collision];
            for (deviation, found) in deviations.iter_mut().zip(found) {
                *deviation = deviation.max(found.abs());
            }
        }
        let [model, drawn, collision] = deviations;
        cells.extend([100.0 * model, 100.0 * drawn].map(|deviation| format!("{deviation:.3}")));
        cells.push(format!("{collision:.4}"));
        table.row(&cells, model < 0.01 && drawn < 0.005);
        largest.iter_mut().zip(deviations).for_each(|(largest, one)| *largest = largest.max(one));
    }
    let exceeded = table.end();
    let [model, drawn, collision] = largest;
    println!(
        "Largest deviations of the {} cells: {:.3} % from the model, {:.3} % from the Monte Carlo; p {collision:.4}.\n",
        points.len(),
        100.0 * model,
        100.0 * drawn
    );
    exceeded
}
