use super::*;
use alloc::vec;
use alloc::vec::Vec;

fn kbps(rate: f64) -> DataRate {
    DataRate::from_kilobits_per_second(rate)
}

/// Rates of the probes that are requested, in kbit/s.
fn poll(probes: &mut ProbeController) -> Vec<f64> {
    core::iter::from_fn(|| probes.poll())
        .map(|probe| (probe.rate.as_bits_per_second() / 1e3).round())
        .collect()
}

/// A controller that began with 300 kbit/s at 1 s.
fn started() -> ProbeController {
    let mut probes = ProbeController::new(ProbingConfig::default());
    probes.start(kbps(300.0), kbps(5000.0), Instant::from_secs(1));
    assert_eq!(poll(&mut probes), [900.0, 1800.0]);
    probes
}

/// A controller without a probe that awaits its result, at 3 s.
fn complete() -> ProbeController {
    let mut probes = started();
    probes.process(Instant::from_secs(3));
    probes
}

#[test]
fn a_probe_has_five_packets_and_15_ms() {
    let mut probes = ProbeController::new(ProbingConfig::default());
    probes.start(kbps(2000.0), kbps(50_000.0), Instant::ZERO);
    let probe = probes.poll().map(|probe| (probe.packets, probe.size.as_u64()));
    // 6 Mbit/s.
    assert_eq!(probe, Some((5, 11_250)));
}

#[test]
fn a_result_above_70_percent_of_the_probe_is_followed_by_twice_its_rate() {
    let now = Instant::from_millis(1200);
    let mut probes = started();
    probes.set_estimate(kbps(1260.0), Limitation::Delay, now);
    assert_eq!(poll(&mut probes), []);
    probes.set_estimate(kbps(1261.0), Limitation::Delay, now);
    assert_eq!(poll(&mut probes), [2522.0]);
    // 0.7 * 2522 = 1765.4.
    probes.set_estimate(kbps(1766.0), Limitation::Delay, now);
    assert_eq!(poll(&mut probes), [3532.0]);
    probes.set_estimate(kbps(3000.0), Limitation::Delay, now);
    // The greatest rate ends the series.
    assert_eq!(poll(&mut probes), [5000.0]);
    probes.set_estimate(kbps(4900.0), Limitation::Delay, now);
    assert_eq!(poll(&mut probes), []);
}

#[test]
fn results_are_awaited_for_a_second() {
    let mut probes = started();
    probes.process(Instant::from_millis(2001));
    probes.set_estimate(kbps(1700.0), Limitation::Delay, Instant::from_millis(2001));
    assert_eq!(poll(&mut probes), []);
}

#[test]
fn a_limited_sender_probes_twice_the_estimate_each_5_s() {
    let mut probes = complete();
    probes.set_estimate(kbps(400.0), Limitation::Delay, Instant::from_secs(3));
    probes.set_limited(Some(Instant::from_secs(3)));
    let rates: Vec<(u64, Vec<f64>)> = (30..200)
        .map(|tenth| {
            probes.process(Instant::from_millis(100 * tenth));
            (tenth, poll(&mut probes))
        })
        .filter(|(_, rates)| !rates.is_empty())
        .collect();
    assert_eq!(rates, [(80, vec![800.0]), (130, vec![800.0]), (180, vec![800.0])]);
}

#[test]
fn congestion_forbids_probes_and_losses_limit_them() {
    for (limitation, expected) in [
        (Limitation::Delay, vec![800.0]),
        (Limitation::Queue, vec![]),
        (Limitation::RoundTrip, vec![]),
        (Limitation::Loss, vec![]),
        (Limitation::LossIncreasing, vec![600.0]),
    ] {
        let mut probes = complete();
        probes.set_estimate(kbps(400.0), limitation, Instant::from_secs(3));
        probes.set_limited(Some(Instant::from_secs(3)));
        probes.process(Instant::from_secs(8));
        assert_eq!(poll(&mut probes), expected, "{limitation:?}");
    }
}

#[test]
fn a_large_fall_of_a_limited_sender_is_probed_once_the_queue_has_drained() {
    let mut probes = complete();
    probes.set_limited(Some(Instant::from_secs(3)));
    probes.set_estimate(kbps(1000.0), Limitation::Delay, Instant::from_secs(7));
    probes.set_estimate(kbps(659.0), Limitation::Delay, Instant::from_secs(7));
    probes.on_recovery(Instant::from_secs(8));
    assert_eq!(poll(&mut probes), [850.0]);
    // Not again within 5 s.
    probes.on_recovery(Instant::from_secs(9));
    assert_eq!(poll(&mut probes), []);
}

#[test]
fn a_small_fall_or_a_sender_that_is_not_limited_is_not_probed() {
    for (fallen, limited) in [(661.0, true), (659.0, false)] {
        let mut probes = complete();
        probes.set_limited(limited.then_some(Instant::from_secs(3)));
        probes.set_estimate(kbps(1000.0), Limitation::Delay, Instant::from_secs(7));
        probes.set_estimate(kbps(fallen), Limitation::Delay, Instant::from_secs(7));
        probes.on_recovery(Instant::from_secs(8));
        assert_eq!(poll(&mut probes), []);
    }
}
