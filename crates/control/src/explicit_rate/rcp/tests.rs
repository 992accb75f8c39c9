use alloc::boxed::Box;
use alloc::collections::VecDeque;

use proptest::prelude::*;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::*;
use crate::capacity::Estimate;
use crate::explicit_rate::model::Model;
use crate::explicit_rate::{FlowHeader, RouterLaw};

fn mbit(rate: f64) -> DataRate {
    DataRate::from_megabits_per_second(rate)
}

fn header(rtt_ms: u64) -> FlowHeader {
    FlowHeader { rtt: Duration::from_millis(rtt_ms), rate: DataRate::ZERO, allocation: f64::INFINITY }
}

fn close(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-9 * expected.abs()
}

/// C = 10 Mbit/s, R = 0.5 Mbit/s, d = 200 ms; five packets of 1000 bytes and an RTT of 100 ms in a slot of 10
/// ms.
fn one_slot(config: RcpConfig, queue: u64) -> RcpRouter {
    let mut router = RcpRouter::new(config, mbit(10.0), Instant::ZERO);
    for ms in 1..=5 {
        router.on_arrival(Instant::from_millis(ms), 1000, Some(&header(100)), ByteCount::ZERO);
    }
    assert_eq!(router.poll_timeout(), Some(Instant::from_millis(10)));
    router.on_timeout(Instant::from_millis(10), ByteCount::new(queue));
    router
}

#[test]
fn the_rate_equation_step_by_step() {
    // y = 4 Mbit/s. The mean of 100 ms is below d: gain = 0.05 x 0.5 x 0.05 = 0.00125, d = 0.2 - 0.000125.
    // R = 0.5 (1 + 0.01/d x 0.4 (10 - 4) / 10).
    let router = one_slot(RcpConfig::authors(), 0);
    assert_eq!(router.average_rtt(), Duration::from_nanos(199_875_000));
    assert!(close(router.rate().as_bits_per_second(), 506_003.752_345_215_76), "{router:?}");
    // A queue of 80 kbit: 0.4 x 80 / 0.199875 = 160.1 kbit/s less.
    let router = one_slot(RcpConfig::authors(), 10_000);
    assert!(close(router.rate().as_bits_per_second(), 505_603.251_876_074_8), "{router:?}");
}

#[test]
fn a_rising_round_trip_time_is_followed_with_the_full_gain() {
    let mut router = RcpRouter::new(RcpConfig::authors(), mbit(10.0), Instant::ZERO);
    router.on_arrival(Instant::from_millis(1), 1000, Some(&header(400)), ByteCount::ZERO);
    router.on_timeout(Instant::from_millis(10), ByteCount::ZERO);
    // Gain T/d = 0.05.
    assert_eq!(router.average_rtt(), Duration::from_millis(210));
}

#[test]
fn round_trip_times_are_weighted_by_bytes_or_by_packets() {
    let average = |averaging| {
        let config = RcpConfig { averaging, ..RcpConfig::authors() };
        let mut router = RcpRouter::new(config, mbit(10.0), Instant::ZERO);
        router.on_arrival(Instant::ZERO, 300, Some(&header(1000)), ByteCount::ZERO);
        router.on_arrival(Instant::ZERO, 900, Some(&header(200)), ByteCount::ZERO);
        router.on_arrival(Instant::ZERO, 900, Some(&header(0)), ByteCount::ZERO);
        router.on_timeout(Instant::from_millis(10), ByteCount::ZERO);
        router.average_rtt()
    };
    // Means 400 and 600 ms, gain 0.05.
    assert_eq!(average(RttAveraging::ByBytes), Duration::from_millis(210));
    assert_eq!(average(RttAveraging::ByPackets), Duration::from_millis(220));
}

#[test]
fn a_packet_that_straddles_the_end_of_a_slot_is_split() {
    // 1000 bytes take 0.8 ms at 10 Mbit/s: of a packet at 9.6 ms one half belongs to the next slot.
    let mut slot = slot::Slot::new(Instant::ZERO, Duration::from_millis(10));
    slot.on_arrival(Instant::from_nanos(9_600_000), 8000.0, 10e6);
    assert!(close(slot.input, 4000.0), "{slot:?}");
    slot.advance(Instant::from_millis(10), Duration::from_millis(10));
    assert!(close(slot.input, 4000.0), "{slot:?}");
    slot.advance(Instant::from_millis(20), Duration::from_millis(10));
    assert_eq!(slot.input, 0.0);
    // Without capacity a packet counts at once.
    slot.on_arrival(Instant::from_millis(29), 8000.0, 0.0);
    assert_eq!(slot.input, 8000.0);
}

#[test]
fn the_rate_is_clamped_to_a_fraction_of_a_packet_and_the_target() {
    // 0.01 packets of 8000 bits in 200 ms.
    let router = one_slot(RcpConfig::authors(), 1_000_000_000);
    let floor = 80.0 / router.average_rtt().as_secs_f64();
    assert!(close(router.rate().as_bits_per_second(), floor), "{router:?}");
    let mut router = RcpRouter::new(RcpConfig::netfpga(), mbit(10.0), Instant::ZERO);
    for slot in 1..1000 {
        router.on_timeout(Instant::from_millis(10 * slot), ByteCount::ZERO);
    }
    assert!(close(router.rate().as_bits_per_second(), 9.5e6), "{router:?}");
}

#[test]
fn requests_are_reduced_to_the_rate_and_smaller_ones_pass() {
    let mut router = one_slot(RcpConfig::authors(), 0);
    let rate = router.rate().as_bits_per_second();
    for (request, expected) in
        [(f64::INFINITY, rate), (-1.0, rate), (f64::NAN, rate), (1e5, 1e5), (0.0, 0.0), (rate, rate)]
    {
        let mut header = FlowHeader { allocation: request, ..header(100) };
        router.on_departure(Instant::ZERO, 1000, Some(&mut header), ByteCount::ZERO);
        assert_eq!(header.allocation, expected);
    }
}

#[test]
fn parameter_sets_have_the_values_of_their_sources() {
    let gains = |config: RcpConfig| (config.alpha, config.beta, config.utilization);
    assert_eq!(gains(RcpConfig::authors()), (0.4, 0.4, 1.0));
    assert_eq!(gains(RcpConfig::thesis()), (0.1, 1.0, 1.0));
    assert_eq!(gains(RcpConfig::netfpga()), (0.4, 0.5, 0.95));
}

/// A fluid of `flows` flows at the router's rate, delayed by the round-trip time of 100 ms, which is all that
/// the headers report. Returns the peak of the queue and the last queue in bandwidth-delay products, and N R
/// / C.
fn fluid(config: RcpConfig, flows: f64, seconds: f64) -> (f64, f64, f64) {
    const DELAY: f64 = 0.1;
    const STEP: f64 = 1e-4;
    let capacity = 100e6;
    let rtt = Duration::from_secs_f64(DELAY);
    let config = RcpConfig { initial_rtt: rtt, ..config };
    let mut router = RcpRouter::new(config, DataRate::from_bits_per_second(capacity), Instant::ZERO);
    let rate = router.rate().as_bits_per_second();
    let mut under_way: VecDeque<f64> = core::iter::repeat_n(rate, (DELAY / STEP) as usize).collect();
    let header = FlowHeader { rtt, rate: DataRate::ZERO, allocation: f64::INFINITY };
    let (mut queue, mut peak, mut fraction) = (0.0_f64, 0.0_f64, 0.0);
    for step in 0..(seconds / STEP) as u64 {
        let now = Instant::from_nanos(step * 100_000);
        if router.poll_timeout().is_some_and(|at| at <= now) {
            router.on_timeout(now, ByteCount::new((queue / 8.0) as u64));
        }
        let input = flows * under_way.pop_front().unwrap() * STEP;
        fraction += input / 8.0;
        let bytes = fraction as u32;
        fraction -= f64::from(bytes);
        router.on_arrival(now, bytes, Some(&header), ByteCount::ZERO);
        queue = (queue + input - capacity * STEP).max(0.0);
        peak = peak.max(queue);
        under_way.push_back(router.rate().as_bits_per_second());
    }
    let product = capacity * DELAY;
    (peak / product, queue / product, flows * router.rate().as_bits_per_second() / capacity)
}

#[test]
fn fifty_flows_that_start_at_a_twentieth_of_the_capacity_queue_2_3_bandwidth_delay_products() {
    for config in [RcpConfig::authors(), RcpConfig::thesis()] {
        let (peak, queue, share) = fluid(config, 50.0, 20.0);
        assert!((peak - 2.3).abs() < 0.1, "{config:?}: {peak}");
        assert!(queue < 0.01 && (share - 1.0).abs() < 0.005, "{config:?}: {queue} {share}");
    }
}

#[test]
fn the_rates_of_all_flows_converge_to_the_target_with_an_empty_queue() {
    for flows in [2.0, 10.0, 200.0] {
        let (_, queue, share) = fluid(RcpConfig::netfpga(), flows, 20.0);
        assert!(queue == 0.0 && (share - 0.95).abs() < 0.002, "{flows}: {queue} {share}");
    }
}

fn link(config: RcpConfig, capacity: DataRate, flows: &[(u64, f64, f64)]) -> Model {
    let mut model = Model::new(Box::new(RcpRouter::new(config, capacity, Instant::ZERO)), capacity);
    for &(rtt_ms, start, stop) in flows {
        let sender = RcpSender::new(ByteCount::new(1000), DataRate::INFINITE);
        let (start, stop) = (Instant::from_secs_f64(start), Instant::from_secs_f64(stop));
        model.add(Box::new(sender), Duration::from_millis(rtt_ms), start, stop);
    }
    model
}

#[test]
fn paced_flows_share_the_target_fairly_with_a_queue_of_packets() {
    let mut model =
        link(RcpConfig::netfpga(), mbit(20.0), &[(40, 0.0, 100.0), (80, 0.0, 100.0), (120, 0.0, 100.0)]);
    let results = model.measured(10.0, 20.0);
    assert!((results.utilization - 0.95).abs() < 0.01 && results.jain > 0.999, "{results:?}");
    assert!(results.mean_queue < 2.0 && results.peak < 10, "{results:?}");
}

#[test]
fn rates_follow_departing_flows_and_capacity_steps() {
    let flows: [(u64, f64, f64); 10] = core::array::from_fn(|i| (40, 0.0, if i < 5 { 100.0 } else { 10.0 }));
    let mut model = link(RcpConfig::netfpga(), mbit(40.0), &flows);
    model.set_capacity_at(Instant::from_secs(15), mbit(20.0));
    let results = model.measured(12.0, 14.9);
    assert!((results.utilization - 0.95).abs() < 0.01, "{results:?}");
    let results = model.measured(20.0, 25.0);
    assert!((results.utilization - 0.95).abs() < 0.01 && results.mean_queue < 3.0, "{results:?}");
}

#[test]
fn the_law_is_stable_for_round_trip_times_of_a_millisecond_to_two_seconds() {
    // Bandwidth-delay products of 100 packets. The average round-trip time begins at its value: from 200 ms
    // it would fall to 1 ms by 0.5 % per second.
    for rtt_ms in [1, 10, 100, 500, 1000, 2000] {
        for config in [RcpConfig::authors(), RcpConfig::thesis(), RcpConfig::netfpga()] {
            let config = RcpConfig { initial_rtt: Duration::from_millis(rtt_ms), ..config };
            let rtt = rtt_ms as f64 / 1000.0;
            let mut model = link(config, mbit(0.8 / rtt), &[(rtt_ms, 0.0, 1e6); 5]);
            let results = model.measured(200.0 * rtt, 400.0 * rtt);
            let text = alloc::format!("{rtt_ms} {config:?}: {results:?}");
            // Paced packets meet now and then. In equilibrium, alpha (gamma C - y) = beta q / d.
            let drain = config.beta / config.alpha * (results.mean_queue + 1.0) / 100.0;
            let range = config.utilization - drain - 0.02..config.utilization + 0.01;
            assert!(range.contains(&results.utilization) && results.jain > 0.999, "{text}");
            assert!(results.mean_queue < 10.0, "{text}");
        }
    }
}

#[test]
fn data_begin_one_round_trip_time_after_the_first_packet_at_the_rate_of_the_router() {
    let mut sender = RcpSender::new(ByteCount::new(1000), DataRate::INFINITE);
    assert_eq!((sender.rate(), sender.next_send_time(), sender.next_probe_time()), (None, None, None));
    assert_eq!(sender.header().allocation, f64::INFINITY);
    sender.on_probe_sent(Instant::ZERO);
    sender.set_rtt(Duration::from_millis(40));
    sender.on_feedback(2e6);
    assert_eq!((sender.rate(), sender.next_send_time()), (Some(mbit(2.0)), Some(Instant::ZERO)));
    sender.on_sent(Instant::from_millis(40));
    // 8000 bits at 2 Mbit/s.
    assert_eq!(sender.next_send_time(), Some(Instant::from_millis(44)));
    // A lower rate also applies to the wait in progress.
    sender.on_feedback(1e6);
    assert_eq!(sender.next_send_time(), Some(Instant::from_millis(48)));
    sender.on_feedback(-1.0);
    assert_eq!(sender.next_send_time(), None);
}

#[test]
fn probes_fill_the_gaps_between_packets_more_than_a_round_trip_time_apart() {
    let mut sender = RcpSender::new(ByteCount::new(1000), mbit(1.0));
    sender.set_rtt(Duration::from_millis(40));
    sender.on_feedback(80_000.0);
    sender.on_sent(Instant::ZERO);
    // 100 ms per packet.
    assert_eq!(sender.next_probe_time(), Some(Instant::from_millis(40)));
    sender.on_probe_sent(Instant::from_millis(40));
    assert_eq!(sender.next_probe_time(), Some(Instant::from_millis(80)));
    sender.on_probe_sent(Instant::from_millis(80));
    assert_eq!((sender.next_probe_time(), sender.next_send_time()), (None, Some(Instant::from_millis(100))));
    // The application's own limit.
    sender.on_feedback(f64::INFINITY);
    assert_eq!((sender.rate(), sender.next_probe_time()), (Some(mbit(1.0)), None));
}

proptest! {
    /// The rate is finite, positive and within its clamps after any order of events.
    #[test]
    fn the_rate_stays_within_its_clamps(
        set in 0usize..4,
        capacity in prop_oneof![Just(0.0), 1.0..1e10f64, Just(f64::INFINITY)],
        steps in proptest::collection::vec((0u8..5, 0u64..50_000_000, 0u32..65536, 1u64..2000), 0..300),
    ) {
        let literal = RcpConfig { traffic: TrafficSource::Available, is_normalized: false, ..RcpConfig::authors() };
        let config = [RcpConfig::authors(), RcpConfig::thesis(), RcpConfig::netfpga(), literal][set];
        let mut router = RcpRouter::new(config, DataRate::from_bits_per_second(capacity), Instant::ZERO);
        let mut now = Instant::ZERO;
        for (kind, wait, size, rtt) in steps {
            match kind {
                0..=2 => router.on_arrival(now, size, Some(&header(rtt)), ByteCount::ZERO),
                3 => {
                    let capacity = DataRate::from_bits_per_second(wait as f64);
                    let available = DataRate::from_bits_per_second(wait as f64 * rtt as f64 / 1500.0);
                    router.set_estimate(Estimate { capacity, available });
                }
                _ => {
                    now += Duration::from_nanos(wait);
                    router.on_timeout(now, ByteCount::new(u64::from(size) * rtt));
                    let rate = router.rate().as_bits_per_second();
                    // The first slot begins with a share of the capacity, which may be zero.
                    let has_slot = now >= Instant::from_millis(10);
                    prop_assert!(rate.is_finite() && (rate > 0.0 || !has_slot), "{router:?}");
                }
            }
            prop_assert!(router.average_rtt() > Duration::ZERO && router.average_rtt() <= Duration::from_secs(2));
            prop_assert!(router.poll_timeout().is_some_and(|at| at < Instant::FAR_FUTURE));
        }
    }
}
