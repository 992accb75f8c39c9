//! Saturation throughput and collision probability of every rate of 802.11b and 802.11g.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use whimbrel_wifi::Rate;
use whimbrel_wifi::dcf::AfterCollision;
use whimbrel_wifi_validation::theory::{MonteCarlo, MonteCarloResult, monte_carlo};
use whimbrel_wifi_validation::{Case, Comparison};

use crate::{Table, percent};

/// Busy periods of each run of the machines, and of the Monte Carlo.
const BUSY_PERIODS: u64 = 350_000;
const DRAWN: u64 = 5_000_000;
const STATIONS: [u16; 5] = [2, 5, 10, 20, 50];

/// The rows of the quick form, one of each table.
const QUICK: [(Rate, u16, bool, AfterCollision); 4] = [
    (Rate::Hr11, 2, false, AfterCollision::Difs),
    (Rate::Ofdm54, 5, false, AfterCollision::Eifs),
    (Rate::Hr5_5, 2, true, AfterCollision::Difs),
    (Rate::Ofdm24, 2, true, AfterCollision::Eifs),
];

fn is_quick(case: &Case) -> bool {
    QUICK.contains(&(case.rate, case.stations, case.uses_rts, case.after_collision))
}

/// The slotted form is the same for all rates of a standard: each is drawn once.
#[derive(Default)]
struct Drawn(Mutex<Vec<(MonteCarlo, std::sync::Arc<OnceLock<MonteCarloResult>>)>>);

impl Drawn {
    fn get(&self, slotted: MonteCarlo) -> MonteCarloResult {
        let cell = {
            let mut known = self.0.lock().expect("no panic");
            if !known.iter().any(|(other, _)| *other == slotted) {
                known.push((slotted, std::sync::Arc::default()));
            }
            known.iter().find(|(other, _)| *other == slotted).expect("just added").1.clone()
        };
        *cell.get_or_init(|| monte_carlo(slotted, DRAWN, 1))
    }
}

/// Compares all cases, on two threads. The seed of a case is its number, so that it does not depend on the
/// other cases that are run.
fn compare(quick: bool) -> Vec<(Case, Comparison)> {
    let cases: Vec<(u64, Case)> =
        (0..).zip(Case::all(&STATIONS)).filter(|(_, case)| !quick || is_quick(case)).collect();
    let results: Vec<OnceLock<Comparison>> = cases.iter().map(|_| OnceLock::new()).collect();
    let (next, drawn) = (AtomicUsize::new(0), Drawn::default());
    let work = || {
        while let Some((number, (seed, case))) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            cases.get(number).map(|case| (number, case))
        } {
            let result = case.compare(&drawn.get(case.slotted()), BUSY_PERIODS, *seed);
            results[number].set(result).expect("one thread per case");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let result = |(case, result): ((u64, Case), OnceLock<Comparison>)| {
        (case.1, result.into_inner().expect("all cases were run"))
    };
    cases.into_iter().zip(results).map(result).collect()
}

fn holds(result: &Comparison) -> bool {
    result.from_exact().is_none_or(|deviation| deviation.abs() < 0.01)
        && result.from_drawn().abs() < 0.005
        && result.collision_from_drawn().abs() < 0.003
}

/// Prints four tables. Returns the rows that exceed their bounds.
pub(crate) fn tables(quick: bool) -> Vec<String> {
    let results = compare(quick);
    println!("## Saturation\n");
    println!(
        "Throughput S in Mbit/s and collision probability p of n saturated stations, payloads of 1500 B with 8 B of LLC and 28 B \
         of header, long preamble (802.11b) or short slot (802.11g). Each case is {BUSY_PERIODS} busy periods of the \
         machines on the medium; the model is that of Bianchi and Tinnirello (2005), solved exactly, which has no retry limit; \
         the slotted Monte Carlo draws {DRAWN} busy periods of the rule itself. Bounds: S within 1 % of the model and 0.5 % \
         of the Monte Carlo, p within 0.003 of the Monte Carlo. The space after a collision is stated, DIFS or EIFS, for all \
         stations alike (`MacConfig::synchronous`).\n"
    );
    let mut exceeded = Vec::new();
    let mut largest = [0.0_f64; 3];
    for uses_rts in [false, true] {
        for after in [AfterCollision::Difs, AfterCollision::Eifs] {
            let access = if uses_rts { "RTS/CTS" } else { "Basic access" };
            let space = if after == AfterCollision::Difs { "DIFS" } else { "EIFS" };
            println!("### {access}, {space} after a collision\n");
            let columns = [
                "rate, n",
                "S",
                "from the model, %",
                "from the Monte Carlo, %",
                "p",
                "from the Monte Carlo",
                "7 attempts: S",
                "from the Monte Carlo, %",
                "p",
                "from the Monte Carlo",
            ];
            let mut table = Table::new(&columns);
            let of_table: Vec<_> = results
                .iter()
                .filter(|(case, _)| case.uses_rts == uses_rts && case.after_collision == after)
                .collect();
            for (case, endless) in of_table.iter().filter(|(case, _)| case.retry_limit.is_none()) {
                let limited = of_table.iter().find(|(other, _)| {
                    other.rate == case.rate && other.stations == case.stations && other.retry_limit.is_some()
                });
                let (_, limited) = limited.expect("a case with a retry limit");
                let mut cells = vec![
                    format!("{}, {}", case.rate, case.stations),
                    format!("{:.4}", endless.throughput),
                    endless.from_exact().map_or("-".to_owned(), percent),
                ];
                for one in [endless, limited] {
                    if cells.len() > 3 {
                        cells.push(format!("{:.4}", one.throughput));
                    }
                    cells.push(percent(one.from_drawn()));
                    cells.push(format!("{:.4}", one.collision));
                    cells.push(format!("{:+.4}", one.collision_from_drawn()));
                    largest[0] = largest[0].max(one.from_exact().unwrap_or(0.0).abs());
                    largest[1] = largest[1].max(one.from_drawn().abs());
                    largest[2] = largest[2].max(one.collision_from_drawn().abs());
                }
                table.row(&cells, holds(endless) && holds(limited));
            }
            exceeded.extend(table.end());
        }
    }
    if !quick {
        let [model, drawn, collision] = largest;
        println!(
            "Largest deviations of the {} cases: S {:.3} % from the model, {:.3} % from the Monte Carlo; p {collision:.4}.\n",
            results.len(),
            100.0 * model,
            100.0 * drawn
        );
    }
    exceeded
}
