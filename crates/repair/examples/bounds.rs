//! Runs sender and receiver over every channel of the table of bounds, and prints what they reach next to the
//! bound.
//!
//! Usage: `cargo run --release -p whimbrel-repair --example bounds [-- FRAMES [TEXT]]`: frames per row (100,000), and a text that the
//! rows contain.

#[path = "../tests/support/simulation.rs"]
mod simulation;
#[path = "../tests/support/table.rs"]
mod table;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let frames: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let only = arguments.next().unwrap_or_default();
    println!(
        "channel, medium, RTT, budget (ms) | rounds | bound % | overhead % (ratio) | missed of {frames} | missed with ideal \
         repeats alone | reports per frame | note"
    );
    for bound in table::bounds().filter(|bound| bound.label().contains(&only)) {
        let outcome = simulation::run(bound.row, 3_000, frames, 1);
        println!("{}", bound.line(&outcome));
    }
}
