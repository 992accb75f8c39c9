use super::*;

const PACKET: ByteCount = ByteCount::new(1000);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn the_amount_sent_between_two_packets_is_recorded() {
    let mut curve = SentCurve::new(ms(100), Duration::from_millis(10));
    for at in (110..=200).step_by(10) {
        curve.on_sent(ms(at), PACKET);
    }
    assert_eq!(curve.between(ms(100), ms(200)), PACKET * 10);
    assert_eq!(curve.between(ms(120), ms(150)), PACKET * 3);
    assert_eq!(curve.between(ms(0), ms(110)), PACKET);
    assert_eq!(curve.between(ms(150), ms(120)), ByteCount::ZERO);
}

#[test]
fn a_long_time_is_recorded_at_a_coarser_resolution() {
    let mut curve = SentCurve::new(ms(0), Duration::from_millis(1));
    for at in 1..=10_000 {
        curve.on_sent(ms(at), PACKET);
    }
    assert_eq!(curve.between(ms(0), ms(10_000)), PACKET * 10_000);
    let middle = curve.between(ms(4000), ms(6000)).as_f64() / 1e6;
    assert!((middle - 2.0).abs() < 0.01, "{middle} MB");
}

#[test]
fn a_burst_is_attributed_to_its_send_time() {
    let mut curve = SentCurve::new(ms(0), Duration::from_millis(10));
    for at in [40, 40, 40, 80, 80, 80, 120, 120, 120] {
        curve.on_sent(ms(at), PACKET);
    }
    assert_eq!(curve.between(ms(40), ms(80)), PACKET * 3);
    assert_eq!(curve.between(ms(40), ms(119)).as_u64() / 1000, 5, "interpolated");
}
