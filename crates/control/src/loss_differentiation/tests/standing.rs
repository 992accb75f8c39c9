use super::super::{LossClass, LossDifferentiation, Spike, Standing};
use super::{packet, verdict};

/// Arrivals every `step` ms from `from` ms on, with the trip times of `rott`.
fn arrive(
    scheme: &mut dyn LossDifferentiation,
    from: f64,
    step: f64,
    count: u32,
    rott: impl Fn(u32) -> f64,
) -> f64 {
    let mut at = from;
    for n in 0..count {
        at = from + step * f64::from(n + 1);
        scheme.on_arrival(&packet(u64::from(n), at, rott(n)));
    }
    at
}

fn class(scheme: &mut dyn LossDifferentiation) -> LossClass {
    verdict(scheme, 1, 0.0, 10.0)
}

#[test]
fn a_queue_that_stands_at_the_target_of_codel_is_congestion_however_long_slow_start_was() {
    let (mut standing, mut spike) = (Standing::new(), Spike::new().robust());
    for scheme in [&mut standing as &mut dyn LossDifferentiation, &mut spike] {
        // Slow start fills the queue to 200 ms; then it varies from 2 to 14 ms.
        let at = arrive(scheme, 0.0, 10.0, 20, |n| 20.0 + 10.0 * f64::from(n));
        arrive(scheme, at, 10.0, 500, |n| 22.0 + f64::from(n % 13));
    }
    assert_eq!(class(&mut spike), LossClass::Wireless);
    assert_eq!(class(&mut standing), LossClass::Congestion);
    // Empty for a second, then short on average.
    arrive(&mut standing, 5200.0, 10.0, 200, |_| 21.0);
    assert_eq!(class(&mut standing), LossClass::Wireless);
}

#[test]
fn a_queue_of_less_than_5_ms_stands_if_it_is_more_than_half_full_on_average() {
    // 32 packets of 1,500 bytes at 100 Mbit/s take 3.8 ms.
    let mut standing = Standing::new();
    let at = arrive(&mut standing, 0.0, 10.0, 200, |n| if n % 5 < 3 { 20.0 } else { 23.8 });
    assert_eq!(class(&mut standing), LossClass::Wireless, "1.5 ms of 3.8");
    arrive(&mut standing, at, 10.0, 500, |n| 22.0 + f64::from(n % 3) * 0.9);
    assert_eq!(class(&mut standing), LossClass::Congestion, "2.9 ms of 3.8");
}

#[test]
fn the_packets_of_a_frame_are_no_standing_queue() {
    // 16 packets leave together every 33 ms and queue for 0.2 ms each.
    let (mut standing, mut spike) = (Standing::new(), Spike::new().robust());
    for scheme in [&mut standing as &mut dyn LossDifferentiation, &mut spike] {
        for n in 0..960_u32 {
            let behind = f64::from(n % 16) * 0.2;
            let at = 33.0 * f64::from(n / 16) + behind;
            scheme.on_arrival(&packet(u64::from(n), at, 20.0 + behind));
        }
    }
    assert_eq!(class(&mut spike), LossClass::Congestion, "the last packet waited longest");
    assert_eq!(class(&mut standing), LossClass::Wireless);
}

#[test]
fn a_burst_that_fills_the_queue_is_congestion_even_if_no_queue_stands() {
    let mut standing = Standing::new();
    let at = arrive(&mut standing, 0.0, 10.0, 300, |_| 20.0);
    arrive(&mut standing, at, 0.1, 8, |n| 22.4 + 2.4 * f64::from(n));
    assert_eq!(class(&mut standing), LossClass::Congestion);
    arrive(&mut standing, at + 30.0, 10.0, 1, |_| 20.0);
    assert_eq!(class(&mut standing), LossClass::Wireless);
}

#[test]
fn a_longer_route_is_no_standing_queue_for_ever() {
    let mut standing = Standing::new();
    let at = arrive(&mut standing, 0.0, 100.0, 100, |_| 20.0);
    let at = arrive(&mut standing, at, 100.0, 300, |_| 40.0);
    assert_eq!(class(&mut standing), LossClass::Congestion, "30 s later");
    arrive(&mut standing, at, 100.0, 900, |_| 40.0);
    assert_eq!(class(&mut standing), LossClass::Wireless, "two minutes later");
}
