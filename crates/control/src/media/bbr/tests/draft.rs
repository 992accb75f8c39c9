//! Test cases of the appendix "BBR Example Test Cases" of draft-ietf-ccwg-bbr.

use super::*;

/// The run of `seconds` and the law after it.
fn recorded(path: &Path, seconds: u64) -> (Recorded, Vec<Sample>) {
    let mut law = Recorded::new(config());
    let samples = run(&mut law, path, seconds, 3);
    (law, samples)
}

/// The rate of an encoder or a link that changes from `first` to `second` Mbit/s after `seconds`.
fn change(first: f64, second: f64, seconds: u64) -> Box<dyn Fn(Instant) -> f64> {
    Box::new(move |at| if at < Instant::from_secs(seconds) { first * 1e6 } else { second * 1e6 })
}

fn bandwidth(law: &Recorded) -> f64 {
    law.bbr.bandwidth().as_bits_per_second() / 1e6
}

#[test]
fn exiting_startup_on_bandwidth_plateau() {
    let (law, _) = recorded(&path(10e3, 20, 200), 2);
    assert_eq!((law.states[0].1, law.states[1].1), ("Startup", "Drain"));
    assert!((9.8..10.2).contains(&bandwidth(&law)), "{}", bandwidth(&law));
}

#[test]
fn exiting_startup_on_loss_when_application_limited() {
    let limited = Path { encoder: change(20.0, 20.0, 0), loss: 0.15, ..path(100e3, 50, 200) };
    let (law, _) = recorded(&limited, 4);
    assert_eq!((law.states[0].1, law.states[1].1), ("Startup", "Drain"));
    assert!(law.bbr.long_term_bound().is_some());
}

#[test]
fn startup_does_not_end_when_application_limited_without_loss_and_probe_rtt_returns_to_it() {
    let (law, _) = recorded(&Path { encoder: change(1.0, 1.0, 0), ..path(10e3, 20, 200) }, 20);
    assert!(law.states.iter().all(|(_, state)| ["Startup", "ProbeRTT"].contains(state)), "{:?}", law.states);
    assert!(law.states.iter().any(|(_, state)| *state == "ProbeRTT"));
    assert_eq!(law.bbr.state(), "Startup");
}

#[test]
fn skipping_probe_rtt_after_an_idle_period() {
    let encoder = |at: Instant| if (8.0..15.0).contains(&at.as_secs_f64()) { 0.0 } else { f64::INFINITY };
    let (law, samples) = recorded(&Path { encoder: Box::new(encoder), ..path(10e3, 20, 200) }, 20);
    assert_eq!(mean(&samples[90..140], |sample| sample.received), 0.0);
    let after = |at: Instant| at > Instant::from_secs(15) && at < Instant::from_millis(19_500);
    assert!(!law.states.iter().any(|(at, state)| after(*at) && *state == "ProbeRTT"), "{:?}", law.states);
    assert!(mean(&samples[160..], |sample| sample.received) > 9e6);
}

#[test]
fn achieving_the_bandwidth_on_a_link_with_aggregation() {
    // Reports each 50 ms on a path of 10 ms: the bytes of five round-trip times are acknowledged at once.
    let aggregated = Path { report_every: Duration::from_millis(50), ..path(5e3, 5, 50) };
    let (law, samples) = recorded(&aggregated, 20);
    assert!(mean(&samples[50..], |sample| sample.received) > 0.9 * 5e6);
    let bdp = 5e6 / 8.0 * 0.012;
    assert!(law.allowance().window.is_some_and(|window| window.as_f64() > 2.0 * bdp));
}

#[test]
fn correctly_managing_bdps_below_a_packet() {
    // 100 kbit/s in 10 ms are 125 bytes; four packets last 384 ms.
    let (law, samples) = recorded(&path(100.0, 5, 1000), 40);
    assert!(mean(&samples[100..], |sample| sample.received) > 0.9 * 100e3);
    assert!(law.allowance().window.is_some_and(|window| window.as_u64() >= 4 * 1200));
    assert!(mean(&samples[100..], queue_ms) < 800.0);
}

#[test]
fn increasing_bandwidth_tenfold_and_ensuring_the_full_bandwidth_is_reached() {
    let rising = Path { capacity: change(2.0, 20.0, 10), queue: 200_000, ..path(20e3, 20, 100) };
    let (law, samples) = recorded(&rising, 40);
    assert!(bandwidth(&law) > 19.0, "{}", bandwidth(&law));
    assert!(mean(&samples[300..], |sample| sample.received) > 0.9 * 20e6);
}

#[test]
fn decreasing_bandwidth_tenfold_and_ensuring_the_maximum_adapts() {
    let falling = Path { capacity: change(20.0, 2.0, 10), ..path(20e3, 20, 40) };
    let (law, samples) = recorded(&falling, 40);
    assert!(bandwidth(&law) < 2.2, "{}", bandwidth(&law));
    assert!(mean(&samples[300..], |sample| sample.received) > 1.6e6);
}
