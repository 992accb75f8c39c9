//! The validation table of the DCF: every rate of 802.11b and 802.11g, 2 to 50 stations, basic access and RTS/CTS, no
//! retry limit and 7 attempts, DIFS and EIFS after a collision, against the refined model and a slotted Monte Carlo.
//!
//! `cargo run --release -p whimbrel-wifi --example validation [BUSY_PERIODS]` prints one line per case and fails if a
//! bound is exceeded: 1 % from the model, 0.5 % and 0.003 from the Monte Carlo.

use std::process::ExitCode;

use whimbrel_wifi::theory::{MonteCarlo, MonteCarloResult, monte_carlo};
use whimbrel_wifi::validation::{Case, Comparison};

/// Busy periods of the Monte Carlo.
const DRAWN: u64 = 5_000_000;
const STATIONS: [u16; 5] = [2, 5, 10, 20, 50];

fn main() -> ExitCode {
    let periods = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(350_000);
    let cases: Vec<Case> = Case::all(&STATIONS).collect();
    let half = cases.len() / 2;
    let compare = |cases: &[Case], seed: u64| -> Vec<Comparison> {
        let seeds = seed..;
        // The slotted form is the same for all rates of a standard: it is drawn once.
        let mut drawn: Vec<(MonteCarlo, MonteCarloResult)> = Vec::new();
        let mut draw = |slotted: MonteCarlo| {
            if !drawn.iter().any(|(known, _)| *known == slotted) {
                drawn.push((slotted, monte_carlo(slotted, DRAWN, 1)));
            }
            drawn.iter().find(|(known, _)| *known == slotted).expect("drawn above").1
        };
        let compare = |(case, seed): (&Case, u64)| case.compare(&draw(case.slotted()), periods, seed);
        cases.iter().zip(seeds).map(compare).collect()
    };
    let results: Vec<Comparison> = std::thread::scope(|scope| {
        // The cost grows with the stations, in the same order in both halves.
        let other = scope.spawn(|| compare(&cases[half..], half as u64));
        let mut first = compare(&cases[..half], 0);
        first.extend(other.join().expect("a comparison does not panic"));
        first
    });
    println!(
        "rate            n access limit after  S       S drawn  dev %   S exact  dev %   p      p drawn  dev"
    );
    let (mut exact, mut drawn, mut collision) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (case, result) in cases.iter().zip(&results) {
        let access = if case.uses_rts { "rts" } else { "basic" };
        let limit = case.retry_limit.map_or("-".to_owned(), |limit| limit.to_string());
        let model = result.exact_throughput.map_or("-".to_owned(), |value| format!("{value:.4}"));
        let deviation = result.from_exact().map_or("-".to_owned(), |value| format!("{:+.3}", 100.0 * value));
        println!(
            "{:<13} {:>3} {access:<6} {limit:<5} {:<5} {:>8.4} {:>8.4} {:>+6.3} {model:>8} {deviation:>7} {:.4} {:.4} {:+.4}",
            case.rate.to_string(),
            case.stations,
            format!("{:?}", case.after_collision),
            result.throughput,
            result.drawn_throughput,
            100.0 * result.from_drawn(),
            result.collision,
            result.drawn_collision,
            result.collision_from_drawn(),
        );
        exact = exact.max(result.from_exact().unwrap_or(0.0).abs());
        drawn = drawn.max(result.from_drawn().abs());
        collision = collision.max(result.collision_from_drawn().abs());
    }
    println!("{} cases, {periods} busy periods each", cases.len());
    println!("largest deviation of S from the refined model: {:.3} % (bound 1 %)", 100.0 * exact);
    println!("largest deviation of S from the Monte Carlo:   {:.3} % (bound 0.5 %)", 100.0 * drawn);
    println!("largest deviation of p from the Monte Carlo:   {collision:.4} (bound 0.003)");
    if exact < 0.01 && drawn < 0.005 && collision < 0.003 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
