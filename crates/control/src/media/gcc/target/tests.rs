use super::*;
use crate::media::{Reception, SentPacket};
use alloc::vec::Vec;
use whimbrel_units::{ByteCount, Ecn};

fn kbps(rate: f64) -> DataRate {
    DataRate::from_kilobits_per_second(rate)
}

fn thresholds() -> Target {
    let limits = RateLimits { min: kbps(10.0), start: kbps(1000.0), max: kbps(5000.0) };
    Target::new(None, RttBackoffConfig::default(), limits)
}

fn rate(target: &Target) -> f64 {
    target.rate().as_bits_per_second() / 1e3
}

/// Reports 100 packets, `lost` of them missing.
fn report(target: &mut Target, lost: u64, now: u64) {
    let packets: Vec<_> = (0..100)
        .map(|sequence| {
            let sent_at = Instant::from_millis(now);
            let sent = SentPacket {
                sequence,
                sent_at,
                captured_at: sent_at,
                size: ByteCount::new(1000),
                probe: None,
            };
            let arrived = Reception::Arrived { at: sent_at, ecn: Ecn::NotEct };
            PacketReport { sent, reception: if sequence < lost { Reception::Missing } else { arrived } }
        })
        .collect();
    target.on_report(&packets, false, Instant::from_millis(now));
}

#[test]
fn the_target_is_the_least_of_its_limits() {
    let mut target = thresholds();
    target.set_delay_based(kbps(800.0));
    assert_eq!(rate(&target), 800.0);
    target.set_rate(kbps(9000.0));
    assert_eq!(rate(&target), 5000.0);
    target.set_rate(kbps(1.0));
    assert_eq!(rate(&target), 10.0);
}

#[test]
fn the_delay_based_estimate_is_trusted_at_the_start() {
    let mut target = thresholds();
    target.set_delay_based(kbps(3000.0));
    target.update(Instant::from_millis(100));
    assert_eq!(rate(&target), 3000.0);
}

#[test]
fn losses_above_10_percent_decrease_the_target_by_half_of_the_loss() {
    let mut target = thresholds();
    report(&mut target, 20, 0);
    report(&mut target, 20, 1000);
    // 1000 (1 - 0.2 / 2), once for each loss report.
    assert!((rate(&target) - 900.0).abs() < 1e-9);
    target.update(Instant::from_millis(1500));
    assert!((rate(&target) - 900.0).abs() < 1e-9);
}

#[test]
fn losses_between_2_and_10_percent_keep_the_target_and_fewer_increase_it() {
    let mut target = thresholds();
    report(&mut target, 5, 0);
    report(&mut target, 5, 1000);
    assert!((rate(&target) - 1000.0).abs() < 1e-9);
    report(&mut target, 1, 1100);
    report(&mut target, 1, 2100);
    // 1.08 times the least target of the last second, and 1 kbit/s.
    assert!((rate(&target) - 1081.0).abs() < 1e-9);
    target.update(Instant::from_millis(2200));
    assert!((rate(&target) - 1081.0).abs() < 1e-9);
    target.update(Instant::from_millis(3200));
    assert!((rate(&target) - (1081.0 * 1.08 + 1.0)).abs() < 1e-9);
}

#[test]
fn silence_while_packets_are_sent_decreases_the_target_each_second() {
    let mut target = thresholds();
    target.on_sent(Instant::ZERO);
    target.set_propagation_rtt(Duration::from_millis(500), Instant::from_millis(1000));
    let at = |target: &mut Target, sent: u64| {
        target.on_sent(Instant::from_millis(sent));
        target.update(Instant::from_millis(sent));
        rate(target)
    };
    // The limit is 3 s: 500 ms and 2500 ms without a report.
    assert_eq!(at(&mut target, 3500), 1000.0);
    assert_eq!(at(&mut target, 3501), 800.0);
    assert_eq!(at(&mut target, 4400), 800.0);
    assert_eq!(at(&mut target, 4501), 640.0);
    // Without packets there is no response.
    target.update(Instant::from_secs(100));
    target.set_propagation_rtt(Duration::from_millis(500), Instant::from_secs(100));
    target.update(Instant::from_secs(200));
    assert_eq!(rate(&target), 512.0);
}
