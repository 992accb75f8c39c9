use super::*;
use crate::media::{Reception, SentPacket};
use alloc::vec::Vec;
use whimbrel_units::Ecn;

/// Packets of 1250 bytes by times of sending and arrival in ms.
fn record(rate: &mut RobustRate, times: impl IntoIterator<Item = (u64, u64)>) -> f64 {
    let packets: Vec<_> = times
        .into_iter()
        .map(|(sent, arrived)| {
            let sent_at = Instant::from_millis(sent);
            let sent = SentPacket {
                sequence: sent_at.as_nanos(),
                sent_at,
                captured_at: sent_at,
                size: ByteCount::new(1250),
                probe: None,
            };
            let at = Instant::from_millis(arrived);
            PacketReport { sent, reception: Reception::Arrived { at, ecn: Ecn::NotEct } }
        })
        .collect();
    rate.record(&packets);
    rate.rate().map_or(f64::NAN, |rate| rate.as_bits_per_second() / 1e3)
}

#[test]
fn ten_packets_are_required() {
    let mut rate = RobustRate::new();
    assert!(record(&mut rate, (0..9).map(|n| (10 * n, 100 + 10 * n))).is_nan());
    assert!((record(&mut rate, [(90, 190)]) - 1000.0).abs() < 1e-9);
}

#[test]
fn the_estimate_is_not_above_the_rate_of_sending() {
    // Sent each 10 ms, arrived each 5 ms.
    let mut rate = RobustRate::new();
    assert!((record(&mut rate, (0..20).map(|n| (10 * n, 1000 + 5 * n))) - 1000.0).abs() < 1e-9);
    // Sent each 10 ms, arrived each 20 ms.
    let mut rate = RobustRate::new();
    assert!((record(&mut rate, (0..20).map(|n| (10 * n, 1000 + 20 * n))) - 500.0).abs() < 1e-9);
}

#[test]
fn the_largest_gap_does_not_count() {
    let mut rate = RobustRate::new();
    let pause = |n: u64| if n < 10 { 0 } else { 300 };
    assert!((record(&mut rate, (0..20).map(|n| (10 * n, 1000 + 10 * n + pause(n)))) - 1000.0).abs() < 1e-9);
}

#[test]
fn the_window_spans_a_second_and_twenty_packets_and_at_most_500() {
    let mut rate = RobustRate::new();
    record(&mut rate, (0..1000).map(|n| (10 * n, 10 * n)));
    assert_eq!(rate.window.len(), 101);
    let mut rate = RobustRate::new();
    record(&mut rate, (0..1000).map(|n| (n, n)));
    assert_eq!(rate.window.len(), 500);
    let mut rate = RobustRate::new();
    record(&mut rate, (0..30).map(|n| (100 * n, 100 * n)));
    assert_eq!(rate.window.len(), 20);
}
