//! Sender and receiver over channels of the table of bounds. The example `bounds` prints all rows.

use whimbrel_repair::channel::Channel;
use whimbrel_units::Duration;

use super::{simulation, table};

/// The least overhead for at most 1e-4 missed frames, within 15 % of the bound: rows of each kind.
#[test]
fn the_least_overhead_is_within_15_percent_of_the_bound() {
    // Rounds with and without parity, windows, and audio.
    let rows = [
        ("tambur packets, video, 50, 150", 6_000),
        ("8 %, video, 50, 100", 4_000),
        ("8 %, video, 100, 150", 4_000),
        ("3 %, video, 100, 300", 4_000),
        ("bursts of 8, 5 %, video, 50, 150", 6_000),
        ("fade 50 ms, video, 50, 150", 4_000),
        ("8 %, audio, 50, 150", 10_000),
        // A fade of two or three packets, whose repeats wait for its end.
        ("fade 50 ms, audio, 20, 100", 4_000),
        // Frames lost in a row, each of which was asked for when it was due.
        ("20 %, audio, 50, 150", 10_000),
        // Two plans of which the cheaper one nearly meets the target.
        ("1 %, audio, 50, 100", 20_000),
    ];
    for (label, frames) in rows {
        let bound = table::bounds().find(|bound| bound.label() == label).expect("a row");
        let outcome = simulation::run(bound.row, 3_000, frames, 1);
        let least = bound.overhead.expect("a bound");
        assert!(outcome.overhead <= table::MORE * least, "{}", bound.line(&outcome));
        // At most one frame is expected to be missed, with repeats alone some forty; five or more have a
        // probability below 1 %.
        assert!(outcome.missed < 5, "{}", bound.line(&outcome));
    }
}

/// If the target is out of reach, never more late frames than ideal repeats alone, and after a fade what one
/// round trip saves.
#[test]
fn what_can_be_saved_after_a_fade_is_saved() {
    for label in
        ["fade 200 ms, video, 50, 150", "fade 200 ms, video, 100, 300", "fade 500 ms, video, 50, 300"]
    {
        let bound = table::bounds().find(|bound| bound.label() == label).expect("a row");
        let outcome = simulation::run(bound.row, 1_000, 3_000, 1);
        // The rounds of ideal repeats begin with the fade. What is sent at the last instant saves those
        // frames of which that is after it.
        assert!(outcome.missed_share() <= 0.9 * bound.repeats, "{}", bound.line(&outcome));
        assert!(bound.overhead.is_none(), "{}", bound.note);
    }
}

/// A stream whose first packets fall into an outage, shorter or longer than the window of symbols: what is
/// captured two round trips after the path's return is in time, and nothing is repeated that was lost before.
#[test]
fn a_stream_that_begins_on_a_dead_path_is_in_time_once_the_path_is_back() {
    for (name, milliseconds) in [("dead for 0.3 s", 300), ("dead for 5 s", 5_000), ("held for 5 s", 5_000)] {
        let row = simulation::Row {
            loss: simulation::Loss::named(name),
            is_video: true,
            round_trip: Duration::from_millis(50),
            budget: Duration::from_millis(150),
            jitter: Duration::ZERO,
        };
        let outcome = simulation::run(row, milliseconds * 30 / 1_000 + 4, 300, 1);
        assert!(outcome.missed <= 1 && outcome.overhead < 0.15, "{name}: {outcome:?}");
    }
}

/// Packets that overtake each other by up to 60 ms, of which none or 1 % are lost: the share of packets that
/// is sent again needlessly, and the frames that wait too long for what is lost.
#[test]
fn what_is_overtaken_is_hardly_repeated() {
    const RUNS: u64 = 3;
    // The shorter the budget, the sooner a missing packet has to be repeated, whether it is lost or only
    // late. The shares are means of 30 runs, followed by the standard deviations of one: the mean of three is
    // within five of its own.
    let rows = [
        (420, 0.0, 0.007, 0.001),
        (420, 0.01, 0.028, 0.003),
        (220, 0.0, 0.083, 0.0065),
        (140, 0.0, 0.25, 0.05),
    ];
    for (budget, lost, share, deviation) in rows {
        let row = simulation::Row {
            loss: simulation::Loss::Packets(Channel::independent(lost)),
            is_video: true,
            round_trip: Duration::from_millis(40),
            budget: Duration::from_millis(budget),
            jitter: Duration::from_millis(60),
        };
        let mut mean = 0.0;
        for seed in 1..=RUNS {
            let outcome = simulation::run(row, 300, 500, seed);
            assert!(outcome.missed == 0, "{budget} {lost} {seed}: {outcome:?}");
            mean += outcome.overhead / RUNS as f64;
        }
        let most = share + 5.0 * deviation / (RUNS as f64).sqrt();
        assert!(mean <= most, "{budget} {lost}: {mean}");
    }
}
