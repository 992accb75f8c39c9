use super::super::{ComparedTrip, Evidence, LossClass, LossDifferentiation, ZigZag};
use super::{packet, verdict};

/// With a gain of 1/4 and trip times 16, 32 ms: mean 16 + 16/4 = 20, deviation (32 - 20) / 2 = 6.
fn trained() -> ZigZag {
    let mut zigzag = ZigZag::with_gain(0.25);
    zigzag.on_arrival(&packet(0, 1000.0, 16.0));
    zigzag.on_arrival(&packet(1, 1010.0, 32.0));
    zigzag
}

#[test]
fn mean_and_deviation_match_a_manual_computation() {
    let mut zigzag = trained();
    verdict(&mut zigzag, 1, 1000.0, 1010.0);
    let Evidence::ZigZag { rott, mean, deviation, count } = zigzag.evidence() else { panic!() };
    assert_eq!((rott.0, count), (32_000_000, 1));
    assert!((mean - 20e6).abs() < 1e-3 && (deviation - 6e6).abs() < 1e-3, "{mean} {deviation}");
}

#[test]
fn the_threshold_rises_with_the_number_lost() {
    // After another packet with trip time r: mean m = 20 + (r - 20) / 4 and deviation
    // v = 6 / 2 + |r - m| / 2, where r - m = (r - 20) 3 / 4. With x = r - 20, d = r - m = 0.75 x and
    // v = 3 + 0.375 |x|.
    for (n, x, expected) in [
        // d < -v: 0.75 x < -3 + 0.375 x, so x < -8.
        (1, -8.001, LossClass::Wireless),
        (1, -8.0, LossClass::Congestion),
        (1, 5.0, LossClass::Congestion),
        // d < -v / 2: 0.75 x < -1.5 + 0.1875 x, so x < -8 / 3.
        (2, -2.667, LossClass::Wireless),
        (2, -2.666, LossClass::Congestion),
        // d < 0.
        (3, -0.001, LossClass::Wireless),
        (3, 0.0, LossClass::Congestion),
        // d < v / 2: 0.75 x < 1.5 + 0.1875 x, so x < 8 / 3.
        (4, 2.666, LossClass::Wireless),
        (4, 2.667, LossClass::Congestion),
        (40, 2.666, LossClass::Wireless),
        (40, 2.667, LossClass::Congestion),
    ] {
        let mut zigzag = trained();
        zigzag.on_arrival(&packet(2 + n, 1020.0, 20.0 + x));
        assert_eq!(verdict(&mut zigzag, n, 1010.0, 1020.0), expected, "n = {n}, {x} ms above the mean");
    }
}

#[test]
fn the_default_gain_is_one_in_32() {
    let mut zigzag = ZigZag::new();
    zigzag.on_arrival(&packet(0, 1000.0, 0.0));
    zigzag.on_arrival(&packet(1, 1010.0, 32.0));
    verdict(&mut zigzag, 1, 1000.0, 1010.0);
    let Evidence::ZigZag { mean, deviation, .. } = zigzag.evidence() else { panic!() };
    // mean = 32 / 32 = 1; deviation = (32 - 1) / 16.
    assert!((mean - 1e6).abs() < 1e-3 && (deviation - 31e6 / 16.0).abs() < 1e-3, "{mean} {deviation}");
}

/// The mean is 20 before, and 17.5 with the packet of 10 ms that reveals the gap; the packet before the gap
/// had 32.
#[test]
fn the_packet_before_the_gap_can_be_compared_instead() {
    let mut zigzag = trained().comparing(ComparedTrip::BeforeGap);
    zigzag.on_arrival(&packet(3, 1030.0, 10.0));
    assert_eq!(verdict(&mut zigzag, 1, 1010.0, 1030.0), LossClass::Congestion);
    let Evidence::ZigZag { rott, mean, .. } = zigzag.evidence() else { panic!() };
    assert_eq!(rott.0, 32_000_000);
    assert!((mean - 17.5e6).abs() < 1e-3, "{mean}");
    let mut revealing = trained();
    revealing.on_arrival(&packet(3, 1030.0, 10.0));
    assert_eq!(verdict(&mut revealing, 1, 1010.0, 1030.0), LossClass::Wireless);
}
