//! The window of a bulk transfer of Linux's TCP, step by step.
//!
//! The windows are those that google/packetdrill's `cubic-bulk-166k` asserts of Linux (commit 8d63bbc).

use whimbrel_control::window::Cubic;

use super::*;

fn cubic(law: Cubic) -> Script {
    let mut config = TcpConfig::linux();
    config.segment_size = 1000;
    config.timestamps = false;
    config.window.law = law.into();
    Script::new(config)
}

/// `acks` acknowledgements of two segments, one each 100 ms. Returns the window in whole segments, as Linux
/// counts it.
fn acknowledge(script: &mut Script, next: &mut u64, acks: u64) -> f64 {
    for _ in 0..acks {
        script.drain();
        *next += 2;
        script.wait(100).ack(*next);
    }
    script.sender.snapshot().cwnd.floor()
}

#[test]
fn hystart_leaves_slow_start_at_48_segments() {
    let (mut script, mut next) = (cubic(Cubic::linux()), 0);
    assert_eq!(script.sender.snapshot().cwnd, 10.0);
    for (acks, cwnd) in [(5, 20.0), (5, 30.0), (5, 40.0), (4, 48.0), (1, 48.0)] {
        assert_eq!(acknowledge(&mut script, &mut next, acks), cwnd, "{next} acknowledged");
    }
    assert_eq!(script.sender.snapshot().ssthresh, 48.0);
}

/// Linux divides the window by its distance from the function in whole numbers, which makes the growth a
/// little faster than here.
///
/// After slow start: a twentieth of the window in each, then the cubic function, and in the end a segment for
/// each two acknowledged.
#[test]
fn after_hystart_the_window_is_the_cubic_function() {
    let (mut script, mut next) = (cubic(Cubic::linux()), 0);
    acknowledge(&mut script, &mut next, 19);
    for (acks, cwnd) in [(11, 49.0), (10, 50.0), (10, 52.0), (10, 58.0)] {
        let found = acknowledge(&mut script, &mut next, acks);
        assert!((cwnd - 2.0..=cwnd).contains(&found), "{found}, {cwnd} in Linux, with {next} acknowledged");
    }
    let before = acknowledge(&mut script, &mut next, 10);
    let grown = acknowledge(&mut script, &mut next, 10) - before;
    assert!((9.0..=10.0).contains(&grown), "{grown}");
}

/// Without HyStart slow start continues.
#[test]
fn without_hystart_the_window_doubles_on() {
    let (mut script, mut next) = (cubic(Cubic::linux().without_hystart()), 0);
    assert_eq!(acknowledge(&mut script, &mut next, 30), 70.0);
}
