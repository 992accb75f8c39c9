use alloc::boxed::Box;

use whimbrel_units::{ByteCount, Instant};

use super::*;
use crate::explicit_rate::model::{Estimated, Model, Results, Sender, SharedEstimate};
use crate::explicit_rate::{Demand, LossResponse, RouterLaw, XcpRouter, XcpSender};

fn mbit(rate: f64) -> DataRate {
    DataRate::from_megabits_per_second(rate)
}

fn estimate(capacity: f64, available: f64) -> Option<Estimate> {
    Some(Estimate { capacity: mbit(capacity), available: mbit(available) })
}

fn request(reading: WinfReading, estimate: Option<Estimate>, rate: f64) -> f64 {
    let rtt = Some(Duration::from_millis(100));
    header(reading, estimate, mbit(rate), DataRate::INFINITE, rtt, 1000).allocation
}

#[test]
fn equation_4_has_the_units_of_bytes_per_millisecond() {
    // As printed: C in byte/ms, RTT in ms, MSS in bytes, the result in byte/s.
    let (capacity, available, rtt, mss) = (500.0, 125_000.0, 100.0, 1000.0);
    let printed: f64 = (available - capacity * 1000.0) / (capacity * (rtt / mss));
    assert_eq!(printed, -7500.0);
    // The same in bit/s: C = 4 Mbit/s, AB = 1 Mbit/s.
    assert_eq!(request(WinfReading::Literal, estimate(4.0, 1.0), 2.0), printed * 8.0);
}

#[test]
fn a_literal_sender_never_requests_an_increase() {
    for available in [0.0, 1.0, 4.0] {
        assert!(request(WinfReading::Literal, estimate(4.0, available), 1.0) <= 0.0);
    }
    // The sensible one requests (4 - 2) Mbit/s over the 25 packets of its round-trip time, ...
    assert_eq!(request(WinfReading::Sensible, estimate(4.0, 1.0), 2.0), 80e3);
    // ... but not more than the available bandwidth.
    assert_eq!(request(WinfReading::Sensible, estimate(4.0, 0.05), 2.0), 50e3);
    assert_eq!(request(WinfReading::Sensible, None, 2.0), 0.0);
    assert_eq!(request(WinfReading::Sensible, estimate(4.0, 1.0), 0.0), 0.0);
    assert_eq!(request(WinfReading::Literal, estimate(0.0, 0.0), 1.0), 0.0);
}

/// The aggregate feedback after an interval with 25 packets of 1000 bytes, 4 Mbit/s, at C = 10 Mbit/s.
fn feedback(reading: WinfReading, available: f64) -> (f64, f64) {
    let mut law = XcpRouter::new(router(reading), mbit(11.0), Instant::ZERO);
    law.set_estimate(estimate(10.0, available).unwrap());
    let header = FlowHeader { rtt: Duration::from_millis(40), rate: mbit(1.0), allocation: 0.0 };
    for _ in 0..25 {
        law.on_arrival(Instant::ZERO, 1000, Some(&header), ByteCount::ZERO);
    }
    law.on_timeout(Instant::from_millis(50), ByteCount::ZERO);
    (law.aggregate_feedback(), law.residues().1)
}

#[test]
fn the_literal_router_feeds_back_most_on_a_busy_medium() {
    // a (C - AB), shuffled 0.1 AB - F.
    assert_eq!(feedback(WinfReading::Literal, 10.0), (0.0, 1e6));
    assert_eq!(feedback(WinfReading::Literal, 0.0), (4e6, 0.0));
    // a AB, shuffled 0.1 y - F.
    assert_eq!(feedback(WinfReading::Sensible, 10.0), (4e6, 0.0));
    assert_eq!(feedback(WinfReading::Sensible, 0.0), (0.0, 0.4e6));
}

#[test]
fn positive_feedback_is_by_size_and_capped_at_the_available_bandwidth() {
    // One packet of 10,000 bits: F = 0.4 x 6 Mbit/s, all of it for a packet, and AB is 6 Mbit/s.
    let allocation = |available: f64, request: f64| {
        let mut law = XcpRouter::new(router(WinfReading::Sensible), mbit(10.0), Instant::ZERO);
        law.set_estimate(estimate(10.0, 6.0).unwrap());
        let mut header = FlowHeader { rtt: Duration::from_millis(40), rate: mbit(1.0), allocation: request };
        law.on_arrival(Instant::ZERO, 1250, Some(&header), ByteCount::ZERO);
        law.on_timeout(Instant::from_millis(50), ByteCount::ZERO);
        law.set_estimate(estimate(10.0, available).unwrap());
        law.on_departure(Instant::ZERO, 1250, Some(&mut header), ByteCount::ZERO);
        header.allocation
    };
    assert!((allocation(6.0, 1e9) - 2.4e6).abs() < 1e-3);
    assert_eq!(allocation(1.0, 1e9), 1e6);
    assert_eq!(allocation(1.0, 3e5), 3e5);
}

/// A sender of XCP-Winf.
struct WinfSender {
    inner: XcpSender,
    reading: WinfReading,
    shared: SharedEstimate,
}

impl Sender for WinfSender {
    fn header(&self) -> FlowHeader {
        let rtt = Some(self.inner.header().rtt).filter(|rtt| !rtt.is_zero());
        let estimate = *self.shared.lock().unwrap();
        header(self.reading, estimate, self.inner.rate(), DataRate::INFINITE, rtt, 1000)
    }

    fn next_send(&self, in_flight: u64) -> Option<Instant> {
        Sender::next_send(&self.inner, in_flight)
    }

    fn on_sent(&mut self, _now: Instant) {}
    fn on_ack(&mut self, rtt: Duration, header: &FlowHeader) {
        Sender::on_ack(&mut self.inner, rtt, header);
    }
}

fn run(reading: WinfReading, weight: PacketWeight, starts: [u64; 5]) -> Results {
    let capacity = mbit(10.0);
    let config = XcpConfig { weight, ..router(reading) };
    let law = Estimated::new(XcpRouter::new(config, capacity, Instant::ZERO), capacity);
    let shared = law.shared.clone();
    let mut model = Model::new(Box::new(law), capacity);
    for start in starts {
        let inner = XcpSender::new(1000, 2.0, Demand::Unbounded, LossResponse::FallBack);
        let sender = WinfSender { inner, reading, shared: shared.clone() };
        model.add(
            Box::new(sender),
            Duration::from_millis(40),
            Instant::from_secs(start),
            Instant::FAR_FUTURE,
        );
    }
    model.run_until(30.0);
    model.measure();
    model.run_until(40.0);
    model.results()
}

#[test]
fn with_exact_estimates_the_sensible_reading_fills_the_medium_and_the_literal_one_does_not() {
    let sensible = run(WinfReading::Sensible, PacketWeight::Capacity, [0; 5]);
    assert!(sensible.utilization > 0.95 && sensible.mean_queue < 5.0, "{sensible:?}");
    // Five flows with a window of one or two packets, of which the medium has room for 50.
    let literal = run(WinfReading::Literal, PacketWeight::Capacity, [0; 5]);
    assert!(literal.utilization < 0.21, "{literal:?}");
}

#[test]
fn flows_weighted_by_size_over_capacity_do_not_become_equal() {
    let starts = [0, 2, 4, 6, 8];
    let by_capacity = run(WinfReading::Sensible, PacketWeight::Capacity, starts);
    let by_rate = run(WinfReading::Sensible, PacketWeight::FlowRate, starts);
    assert!(by_rate.jain > 0.99, "{by_rate:?}");
    assert!(by_capacity.jain < 0.9, "{by_capacity:?}");
}
