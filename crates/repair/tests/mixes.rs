//! The map of the decision: which mix of parity and repeats is chosen, by the round-trip time over the
//! latency and the losses.

use whimbrel_repair::channel::Channel;
use whimbrel_repair::decision::{Planner, PlannerConfig};
use whimbrel_repair::wire::Role;
use whimbrel_units::Duration;

const LATENCY: Duration = Duration::from_millis(150);
const INTERVAL: Duration = Duration::from_nanos(33_333_333);
const PACKETS: usize = 16;
const RATIOS: [f64; 6] = [0.1, 0.2, 0.33, 0.5, 0.67, 1.0];
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/repair.md");

/// The parity that goes with each frame, and all that is sent more, in percent.
fn cell(channel: Channel, ratio: f64) -> String {
    let round_trip = LATENCY.mul_f64(ratio);
    // The last packet of a frame leaves half an interval after the first.
    let slack = LATENCY - INTERVAL / 2;
    let rounds = (slack.as_nanos() / round_trip.as_nanos()) as usize;
    let frames = (slack.as_nanos() / INTERVAL.as_nanos()) as usize + 1;
    let choice = Planner::new(PlannerConfig::default(), channel).choose(Role::Inner, PACKETS, rounds, frames);
    let parity = match choice.window {
        Some(window) => window.overhead,
        None => {
            let mix = &choice.rounds;
            let share = |first: usize| (first - PACKETS) as f64 / PACKETS as f64;
            share(mix.cheap.first) + mix.share * (share(mix.safe.first) - share(mix.cheap.first))
        }
    };
    let missed = if choice.is_out_of_reach { format!(" ({:.1e})", choice.missed) } else { String::new() };
    format!("{:.1} / {:.1}{missed}", parity * 100.0, choice.overhead * 100.0)
}

fn table() -> String {
    let channels = [
        ("1 %", Channel::independent(0.01)),
        ("3 %", Channel::independent(0.03)),
        ("8 %", Channel::independent(0.08)),
        ("20 %", Channel::independent(0.2)),
        ("1 % in bursts of 3", Channel::bursts(0.01, 3.0)),
        ("5 % in bursts of 3", Channel::bursts(0.05, 3.0)),
        ("5 % in bursts of 8", Channel::bursts(0.05, 8.0)),
        ("5 % in bursts of 16", Channel::bursts(0.05, 16.0)),
    ];
    let head = RATIOS.map(|ratio| ratio.to_string()).join(" | ");
    let mut table = format!("| losses | {head} |\n|---{}|\n", "|---".repeat(RATIOS.len()));
    for (name, channel) in channels {
        let cells = RATIOS.map(|ratio| cell(channel, ratio)).join(" | ");
        table += &format!("| {name} | {cells} |\n");
    }
    table
}

/// The page has the table as it is computed.
#[test]
fn the_map_of_the_mixes_is_that_of_the_page() {
    let page = std::fs::read_to_string(PAGE).expect("docs/repair.md");
    let (_, rest) = page.split_once("<!-- mixes -->\n").expect("the beginning of the table");
    let (written, _) = rest.split_once("<!-- end of mixes -->").expect("the end of the table");
    let computed = table();
    assert!(written == computed, "docs/repair.md has other values than\n{computed}");
}
