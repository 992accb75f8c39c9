//! What sender and receiver reach over the channels of the table of bounds.

use super::simulation;
use super::table;

#[test]
#[ignore = "all rows take minutes: the example `bounds` prints them, this is one"]
fn one_row() {
    let frames: u64 = std::env::var("FRAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let only = std::env::var("ROW").unwrap_or_default();
    for bound in table::bounds().filter(|bound| bound.label().contains(&only)) {
        let outcome = simulation::run(bound.row, 3_000, frames, 1);
        println!(
            "{} {:?} {:?} {:.2}",
            bound.line(&outcome),
            outcome.counts,
            outcome.model,
            outcome.reports_per_frame
        );
    }
}
