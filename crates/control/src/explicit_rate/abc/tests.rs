use alloc::boxed::Box;

use proptest::prelude::*;

use super::*;
use crate::explicit_rate::model::{Model, Results};

fn mbit(rate: f64) -> DataRate {
    DataRate::from_megabits_per_second(rate)
}

fn router(capacity: f64) -> AbcRouter {
    AbcRouter::new(AbcConfig::default(), mbit(capacity), Instant::ZERO)
}

#[test]
fn the_target_rate_falls_with_the_queueing_delay_above_the_threshold() {
    let router = router(10.0);
    // 0.98 mu up to a delay of 20 ms, 25,000 bytes.
    assert!((router.target_rate(ByteCount::new(25_000)) / mbit(9.8) - 1.0).abs() < 1e-12);
    // 46.6 ms: 0.98 - 26.6/133 = 0.78.
    assert!((router.target_rate(ByteCount::new(58_250)) / mbit(7.8) - 1.0).abs() < 1e-12);
    assert_eq!(router.target_rate(ByteCount::new(1_000_000)), DataRate::ZERO);
    assert_eq!(
        super::AbcRouter::new(AbcConfig::default(), DataRate::ZERO, Instant::ZERO)
            .target_rate(ByteCount::ZERO),
        DataRate::ZERO
    );
}

/// The share of accelerates among the last 5000 of 6000 departures, one per 0.8 ms: 10 Mbit/s.
fn accelerated(backlog: u64, on_arrival: bool) -> f64 {
    let mut router = router(10.0);
    let marks = (0..6000_u64).map(|i| {
        let now = Instant::from_nanos(800_000 * i);
        router.mark(now, 1000, on_arrival, ByteCount::new(backlog))
    });
    marks.skip(1000).filter(|accelerate| *accelerate).count() as f64 / 5000.0
}

#[test]
fn the_fraction_of_accelerates_is_half_the_target_over_the_departure_rate() {
    // f = 9.8 / 20 and 7.8 / 20. The departure rate is measured over whole packets.
    assert!((accelerated(0, true) - 0.49).abs() < 0.005, "{}", accelerated(0, true));
    assert!((accelerated(58_250, true) - 0.39).abs() < 0.005, "{}", accelerated(58_250, true));
    assert_eq!(accelerated(1_000_000, true), 0.0);
    assert_eq!(accelerated(0, false), 0.0, "a brake stays");
}

#[test]
fn saved_accelerates_are_limited() {
    let mut router = router(10.0);
    // Brakes from upstream save tokens, f = 1: 100 packets would save 100.
    for ms in 0..100 {
        router.mark(Instant::from_millis(50 * ms), 10, false, ByteCount::ZERO);
    }
    // With f = 0 the limit of 5 allows four accelerates; the last token is not above 1.
    let queue = ByteCount::new(1_000_000);
    let marks: alloc::vec::Vec<bool> =
        (0..6).map(|_| router.mark(Instant::from_secs(5), 1000, true, queue)).collect();
    assert_eq!(marks, [true, true, true, true, false, false]);
}

#[test]
fn the_window_changes_by_a_packet_per_mark_and_grows_by_one_per_round_trip_time() {
    let mut window = AbcWindow::new(10.0);
    window.on_ack(true);
    assert_eq!(window.packets(), 11.1);
    window.on_ack(false);
    assert!((window.packets() - (10.1 + 1.0 / 11.1)).abs() < 1e-12);
    for _ in 0..100 {
        window.on_ack(false);
    }
    assert!(window.packets() >= 1.0 && window.packets() <= 1.0 + 1e-12);
    let mut window = AbcWindow::new(10.0);
    window.on_congestion();
    assert_eq!(window.packets(), 5.0);
}

fn run(flows: usize, rtt_ms: u64) -> Results {
    let capacity = mbit(20.0);
    let mut model = Model::new(Box::new(router(20.0)), capacity);
    model.set_capacity_at(Instant::from_secs(10), mbit(10.0));
    for flow in 0..flows {
        let start = Instant::from_millis(100 * flow as u64);
        let sender = AbcWindow::new(2.0);
        model.add(Box::new(sender), Duration::from_millis(rtt_ms), start, Instant::FAR_FUTURE);
    }
    model.run_until(20.0);
    model.measure();
    model.run_until(60.0);
    model.results()
}

#[test]
fn flows_share_a_link_after_a_capacity_step() {
    let results = run(4, 100);
    assert!(results.utilization > 0.95 && results.jain > 0.98, "{results:?}");
    // The threshold of 20 ms is 25 packets at 10 Mbit/s.
    assert!(results.mean_queue < 50.0, "{results:?}");
}

proptest! {
    #[test]
    fn the_fraction_is_a_probability_for_all_inputs(
        capacity in prop_oneof![Just(0.0), 1.0..1e10f64, Just(f64::INFINITY)],
        steps in proptest::collection::vec((0u64..2_000_000_000, 1u32..65536, any::<bool>(), 0u64..10_000_000), 0..100),
    ) {
        let capacity = DataRate::from_bits_per_second(capacity);
        let mut router = AbcRouter::new(AbcConfig::default(), capacity, Instant::ZERO);
        let mut now = Instant::ZERO;
        for (wait, size, accelerate, backlog) in steps {
            now += Duration::from_nanos(wait);
            let mark = router.mark(now, size, accelerate, ByteCount::new(backlog));
            prop_assert!(accelerate || !mark);
            prop_assert!((0.0..=1.0).contains(&router.fraction()), "{router:?}");
        }
    }
}
