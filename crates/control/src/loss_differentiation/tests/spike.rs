use whimbrel_units::ByteCount;

use super::super::{Evidence, LossClass, LossDifferentiation, PacketArrival, Rott, Spike};
use super::{packet, verdict};

#[test]
fn a_spike_starts_above_one_half_and_ends_below_one_third() {
    let mut spike = Spike::new();
    let mut classify = |rott: f64| {
        spike.on_arrival(&packet(0, 1000.0, rott));
        verdict(&mut spike, 1, 990.0, 1000.0)
    };
    // A single trip time is both the minimum and the maximum and does not exceed the threshold.
    assert_eq!(classify(20.0), LossClass::Wireless);
    // 80 sets the range 20..80: the threshold 50 is exceeded.
    assert_eq!(classify(80.0), LossClass::Congestion);
    // Between the thresholds the state does not change; it ends below 20 + 60 / 3 = 40.
    assert_eq!(classify(45.0), LossClass::Congestion);
    assert_eq!(classify(40.0), LossClass::Congestion);
    assert_eq!(classify(39.999), LossClass::Wireless);
    assert_eq!(classify(45.0), LossClass::Wireless);
    // "Exceeds": 50 is not above 50.
    assert_eq!(classify(50.0), LossClass::Wireless);
    assert_eq!(classify(50.001), LossClass::Congestion);
}

#[test]
fn a_new_maximum_moves_both_thresholds() {
    let mut spike = Spike::new();
    for rott in [20.0, 80.0, 200.0] {
        spike.on_arrival(&packet(0, 1000.0, rott));
    }
    // 20..200: the spike ends below 80.
    spike.on_arrival(&packet(0, 1000.0, 79.0));
    assert_eq!(verdict(&mut spike, 1, 990.0, 1000.0), LossClass::Wireless);
    spike.on_arrival(&packet(0, 1000.0, 110.0));
    assert_eq!(verdict(&mut spike, 1, 990.0, 1000.0), LossClass::Wireless);
    spike.on_arrival(&packet(0, 1000.0, 111.0));
    assert_eq!(verdict(&mut spike, 1, 990.0, 1000.0), LossClass::Congestion);
    let ms = |ms: i64| Rott(ms * 1_000_000);
    let expected = Evidence::Spike { rott: ms(111), minimum: ms(20), maximum: ms(200), in_spike: true };
    assert_eq!(spike.evidence(), expected);
}

#[test]
fn a_clock_offset_has_no_effect() {
    let (mut near, mut far) = (Spike::new(), Spike::new());
    for rott in [20.0, 80.0, 45.0, 30.0, 60.0] {
        near.on_arrival(&packet(0, 1000.0, rott));
        // The sender's clock is 500 s ahead: trip times are negative.
        far.on_arrival(&packet(0, 1000.0, rott - 500_000.0));
        assert_eq!(verdict(&mut near, 1, 990.0, 1000.0), verdict(&mut far, 1, 990.0, 1000.0));
    }
}

#[test]
fn small_packets_set_no_minimum_in_the_robust_variant() {
    // A burst fills the queue to 2.8 ms; acknowledgements are 2.3 ms faster than data on a link of 4 Mbit/s.
    let classify = |spike: &mut Spike| {
        let small = PacketArrival { size: ByteCount::new(50), ..packet(0, 1000.0, 17.7) };
        for arrival in [small, packet(1, 1000.0, 22.8), packet(2, 1000.0, 20.0)] {
            spike.on_arrival(&arrival);
        }
        verdict(spike, 1, 990.0, 1000.0)
    };
    assert_eq!(classify(&mut Spike::new()), LossClass::Congestion);
    assert_eq!(classify(&mut Spike::new().robust()), LossClass::Wireless);
}

#[test]
fn less_than_a_millisecond_is_no_queue_in_the_robust_variant() {
    let mut spikes = [Spike::new(), Spike::new().robust()];
    let mut classes = |rott: f64| {
        spikes.each_mut().map(|spike| {
            spike.on_arrival(&packet(0, 1000.0, rott));
            verdict(spike, 1, 990.0, 1000.0)
        })
    };
    let (wireless, congestion) = (LossClass::Wireless, LossClass::Congestion);
    assert_eq!(classes(20.0), [wireless, wireless]);
    assert_eq!(classes(20.9), [congestion, wireless]);
    assert_eq!(classes(21.1), [congestion, congestion]);
}
