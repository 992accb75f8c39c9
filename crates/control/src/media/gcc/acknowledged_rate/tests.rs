use super::*;
use crate::media::{Reception, SentPacket};
use whimbrel_units::Ecn;

/// Records packets of `size` bytes each 10 ms, from `from` to before `to` ms.
fn receive(rate: &mut AcknowledgedRate, from: u64, to: u64, size: u64) {
    for ms in (from..to).step_by(10) {
        let sent_at = Instant::from_millis(ms);
        let sent = SentPacket {
            sequence: ms,
            sent_at,
            captured_at: sent_at,
            size: ByteCount::new(size),
            probe: None,
        };
        let at = Instant::from_millis(1_000_000 + ms);
        rate.record(&PacketReport { sent, reception: Reception::Arrived { at, ecn: Ecn::NotEct } });
    }
}

fn kbps(rate: &AcknowledgedRate) -> f64 {
    rate.rate().map_or(f64::NAN, |rate| rate.as_bits_per_second() / 1e3)
}

#[test]
fn the_first_window_is_half_a_second() {
    let mut rate = AcknowledgedRate::new();
    receive(&mut rate, 0, 500, 1250);
    assert_eq!(rate.rate(), None);
    assert!(rate.peek().is_some());
    receive(&mut rate, 500, 510, 1250);
    assert!((kbps(&rate) - 1000.0).abs() < 1e-9);
}

#[test]
fn samples_are_weighted_by_their_distance_from_the_estimate() {
    let mut rate = AcknowledgedRate::new();
    receive(&mut rate, 0, 500, 1250);
    // At 500 ms the first sample of 1000 kbit/s, at 650 ms the second of 2000 kbit/s: sigma = 10 * 1000 /
    // 1000, the variances are 100 and 55, the estimate (100 * 1000 + 55 * 2000) / 155.
    receive(&mut rate, 500, 660, 2500);
    assert!((kbps(&rate) - 210_000.0 / 155.0).abs() < 1e-9);
    assert!((rate.variance - 5500.0 / 155.0).abs() < 1e-9);
}

#[test]
fn the_end_of_an_application_limit_lets_the_estimate_follow_at_once() {
    let mut rate = AcknowledgedRate::new();
    receive(&mut rate, 0, 500, 1250);
    rate.on_limit_ended(Instant::from_millis(495));
    receive(&mut rate, 500, 660, 2500);
    // The variance of the estimate is 255.
    assert!((kbps(&rate) - (100_000.0 + 255.0 * 2000.0) / 355.0).abs() < 1e-9);
}

#[test]
fn silence_of_more_than_a_window_does_not_count() {
    let mut rate = AcknowledgedRate::new();
    receive(&mut rate, 0, 510, 1250);
    // 63 windows later.
    receive(&mut rate, 9950, 10_350, 1250);
    assert!((kbps(&rate) - 1000.0).abs() < 1e-9);
}
