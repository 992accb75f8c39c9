//! Runs sender and receiver over every channel of the table of bounds, and prints bound and measurement: the
//! bound is the least overhead with which any plan of parity and repeats misses at most 0.01 % of the frames.
//!
//! A row is met if the overhead is within 15 % of the bound, and no more frames are missed than the target
//! explains. The last lines count the rows.
//!
//! Usage: `cargo run --release -p whimbrel-repair --example bounds [-- FRAMES [TEXT]]`: frames per row
//! (100,000), and a text that the rows contain.

#[path = "../tests/support/simulation.rs"]
mod simulation;
#[path = "../tests/support/table.rs"]
mod table;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let frames: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let only = arguments.next().unwrap_or_default();
    println!(
        "channel, medium, RTT, budget (ms) | rounds | bound % | ours % | ratio | missed of {frames} | missed with ideal \
         repeats alone | reports per frame | verdict"
    );
    let mut verdicts = Vec::new();
    for bound in table::bounds().filter(|bound| bound.label().contains(&only)) {
        let outcome = simulation::run(bound.row, 3_000, frames, 1);
        println!("{}", bound.line(&outcome));
        verdicts.push(bound.verdict(&outcome));
    }
    use table::Verdict::{Costs, Met, Misses, NoBound};
    for verdict in [Met, Costs, Misses, NoBound] {
        println!("{}: {} rows", verdict.text(), verdicts.iter().filter(|each| **each == verdict).count());
    }
}
