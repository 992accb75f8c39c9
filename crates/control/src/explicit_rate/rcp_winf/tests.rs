use alloc::boxed::Box;

use whimbrel_units::Instant;

use super::*;
use crate::capacity::Estimate;
use crate::explicit_rate::model::{Estimated, Model, Results};
use crate::explicit_rate::{FlowHeader, RcpRouter, RcpSender, RouterLaw};

fn mbit(rate: f64) -> DataRate {
    DataRate::from_megabits_per_second(rate)
}

/// R after a slot of 10 ms with R = 0.2 Mbit/s, C = 4 Mbit/s, d = 200 ms and an empty queue.
fn one_slot(config: RcpConfig, available: f64) -> f64 {
    let mut law = RcpRouter::new(config, mbit(4.0), Instant::ZERO);
    law.set_estimate(Estimate { capacity: mbit(4.0), available: mbit(available) });
    law.on_timeout(Instant::from_millis(10), ByteCount::ZERO);
    law.rate().as_bits_per_second()
}

#[test]
fn algorithm_7_step_by_step() {
    // eta C = 3.9 Mbit/s. Literal, AB = 1: factor 1 + 0.05 x 0.4 (3.9 - 1) / 3.9. Sensible: 3.9 - (4 - 1)
    // instead.
    let close = |value: f64, expected: f64| (value - expected).abs() < 1e-6;
    assert!(close(one_slot(router(WinfReading::Literal), 1.0), 0.2e6 * (1.0 + 0.02 * 2.9 / 3.9)));
    assert!(close(one_slot(router(WinfReading::Sensible), 1.0), 0.2e6 * (1.0 + 0.02 * 0.9 / 3.9)));
    // On an idle medium the literal rate falls; on a busy one it rises.
    assert!(one_slot(router(WinfReading::Literal), 4.0) < 0.2e6);
    assert!(one_slot(router(WinfReading::Literal), 0.0) > 0.2e6);
    assert!(one_slot(router(WinfReading::Sensible), 4.0) > 0.2e6);
    assert!(one_slot(router(WinfReading::Sensible), 0.0) < 0.2e6);
}

#[test]
fn without_the_divisor_the_rate_is_at_one_of_its_clamps() {
    // 487.5 - 125 byte/ms: the factor is 1 + 0.05 x 0.4 x 362.5 = 8.25; at 500 byte/ms, below the floor's 60
    // kbit/s.
    assert!((one_slot(undivided(), 1.0) - 0.2e6 * 8.25).abs() < 1e-6);
    assert_eq!(one_slot(undivided(), 0.0), 0.2e6 * 10.75);
    let mut law = RcpRouter::new(undivided(), mbit(4.0), Instant::ZERO);
    for slot in 1..3 {
        law.set_estimate(Estimate { capacity: mbit(4.0), available: DataRate::ZERO });
        law.on_timeout(Instant::from_millis(10 * slot), ByteCount::ZERO);
    }
    assert_eq!(law.rate(), mbit(3.9));
    for slot in 3..30 {
        law.set_estimate(Estimate { capacity: mbit(4.0), available: mbit(4.0) });
        law.on_timeout(Instant::from_millis(10 * slot), ByteCount::new(100_000));
    }
    // 0.1 packets of 12,000 bits in 200 ms.
    assert!((law.rate().as_bits_per_second() - 6000.0).abs() < 1e-6, "{law:?}");
}

#[test]
fn algorithm_6_bounds_the_rate_by_the_estimate_and_gives_the_window() {
    let rtt = Duration::from_millis(100);
    let sender = plan(mbit(6.0), Some(mbit(4.0)), rtt, 1460, 32);
    // 4 Mbit/s x 100 ms / (1492 x 8 bit).
    assert_eq!(sender.rate, mbit(4.0));
    assert!((sender.window - 400_000.0 / 11_936.0).abs() < 1e-9);
    assert_eq!(plan(mbit(3.0), Some(mbit(4.0)), rtt, 1460, 32).rate, mbit(3.0));
    assert_eq!(plan(mbit(3.0), None, rtt, 1460, 32).rate, mbit(3.0));
    assert_eq!(plan(DataRate::ZERO, None, rtt, 1460, 32).window, 0.0);
}

fn run(reading: WinfReading) -> Results {
    let capacity = mbit(10.0);
    let law = Estimated::new(RcpRouter::new(router(reading), capacity, Instant::ZERO), capacity);
    let mut model = Model::new(Box::new(law), capacity);
    for _ in 0..5 {
        let sender = RcpSender::new(ByteCount::new(1000), DataRate::INFINITE);
        model.add(Box::new(sender), Duration::from_millis(40), Instant::ZERO, Instant::FAR_FUTURE);
    }
    model.run_until(20.0);
    model.measure();
    model.run_until(30.0);
    model.results()
}

#[test]
fn with_exact_estimates_the_literal_reading_keeps_a_standing_queue_and_the_sensible_one_does_not() {
    let sensible = run(WinfReading::Sensible);
    assert!((sensible.utilization - 0.975).abs() < 0.02 && sensible.jain > 0.999, "{sensible:?}");
    assert!(sensible.mean_queue < 3.0, "{sensible:?}");
    // On the busy medium only the queue holds the rate: more than a bandwidth-delay product of 50 packets.
    let literal = run(WinfReading::Literal);
    assert!(literal.mean_queue > 50.0, "{literal:?}");
}

#[test]
fn headers_are_stamped_as_in_rcp() {
    let mut law = RcpRouter::new(router(WinfReading::Sensible), mbit(4.0), Instant::ZERO);
    let mut header = FlowHeader { rtt: Duration::ZERO, rate: DataRate::ZERO, allocation: f64::INFINITY };
    law.on_departure(Instant::ZERO, 1000, Some(&mut header), ByteCount::ZERO);
    assert_eq!(header.allocation, 0.2e6);
}
