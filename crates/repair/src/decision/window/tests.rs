use super::*;
use crate::tests_support::Path;
use std::vec;

const TAMBUR: Channel = Channel { to_bad: 0.068, to_good: 0.852, loss_good: 0.04, loss_bad: 0.5 };

/// Shares of missed frames of 2,000,000 simulated ones (rank of a sliding window), by another program: values
/// of the table of bounds.
#[test]
fn missed_frames_are_those_of_the_simulation() {
    for (channel, frames, share, expected) in [
        (TAMBUR, 3, 0.15, 3.42e-2),
        (TAMBUR, 2, 0.25, 1.69e-3),
        (TAMBUR, 3, 0.25, 2.26e-4),
        (Channel::independent(0.08), 3, 0.25, 3.7e-4),
        (Channel::independent(0.08), 6, 0.15, 1.30e-2),
        (Channel::independent(0.2), 3, 0.5, 1.2e-3),
        (Channel::bursts(0.05, 8.0), 4, 0.5, 6.1e-3),
        (Channel::bursts(0.05, 8.0), 6, 0.5, 1.7e-3),
    ] {
        let ratio = window_missed(&channel, 16, share, frames) / expected;
        // Above: equations of frames that expired count as lost to later ones here. Below: the simulation's
        // error.
        assert!((0.85..1.2).contains(&ratio), "{channel:?}, window {frames}, share {share}: {ratio}");
    }
}

/// The least shares in steps of 2.5 %, so that the exact one is at most that and more than one step below.
#[test]
fn the_least_share_is_that_of_the_table() {
    for (channel, packets, frames, expected) in [
        (TAMBUR, 16, 3, 0.275),
        (TAMBUR, 16, 6, 0.20),
        (Channel::independent(0.01), 16, 3, 0.10),
        (Channel::independent(0.08), 16, 3, 0.275),
        (Channel::independent(0.08), 16, 6, 0.225),
        (Channel::independent(0.2), 16, 3, 0.60),
        (Channel::bursts(0.05, 8.0), 16, 6, 0.775),
        (Channel::independent(0.03), 1, 5, 0.525),
    ] {
        let plan = cheapest(&channel, packets, frames, 1e-4).expect("a share");
        assert!(plan.missed <= 1e-4);
        assert!(
            plan.overhead <= expected + 0.0126 && plan.overhead > expected - 0.0251,
            "{channel:?}, window {frames}: {} for {expected}",
            plan.overhead
        );
    }
    assert_eq!(cheapest(&Channel::bursts(0.05, 8.0), 16, 4, 1e-4), None);
}

/// A small window by simulation of the walk itself.
#[test]
fn the_walk_is_that_of_a_simulation() {
    let channel = Channel::bursts(0.1, 2.0);
    let (packets, frames, parity) = (2, 3, 1);
    let expected = window_missed(&channel, packets, 0.5, frames);
    let (mut path, count) = (Path::new(channel, 5), 200_000);
    let mut lost = vec![];
    let mut done = vec![];
    let mut missing = 0_usize;
    for _ in 0..count {
        let gone = (0..packets).filter(|_| path.loses()).count();
        let arrived = (0..parity).filter(|_| !path.loses()).count();
        missing = (missing + gone).saturating_sub(arrived);
        lost.push(gone > 0);
        done.push(missing == 0);
    }
    let late = (0..count - frames).filter(|&n| lost[n] && !done[n..n + frames].iter().any(|&is| is)).count();
    let measured = late as f64 / count as f64;
    assert!((measured / expected - 1.0).abs() < 0.04, "{measured} for {expected}");
}
