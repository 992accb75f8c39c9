//! Reports with arbitrary contents: no law panics on them, and each keeps its target within the encoder's
//! limits.

use alloc::boxed::Box;
use alloc::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

use super::gcc::{GccConfig, LossRule, ThroughputRule};
use super::{
    Feedback, Gcc, MediaController, Nada, NadaConfig, PacketReport, RateLimits, Reception, SentPacket,
};

fn limits() -> RateLimits {
    let rate = DataRate::from_kilobits_per_second;
    RateLimits { min: rate(50.0), start: rate(300.0), max: rate(4000.0) }
}

/// A packet: time since the one before in µs, size, and arrival in ns.
type Packet = (u64, u64, Option<u64>);

/// A report: its packets, the time to it in ms, and the round-trip time in ms.
type Report = (Vec<Packet>, u64, Option<u64>);

fn packet() -> impl Strategy<Value = Packet> {
    let arrival =
        prop_oneof![Just(None), any::<u64>().prop_map(Some), (0..20_000_000_000_u64).prop_map(Some)];
    (0..50_000_u64, 0..2000_u64, arrival)
}

fn reports() -> impl Strategy<Value = Vec<Report>> {
    let packets = prop::collection::vec(packet(), 0..30);
    prop::collection::vec((packets, 0..3000_u64, prop::option::of(0..100_000_u64)), 0..40)
}

fn feed(mut controller: Box<dyn MediaController>, reports: &[Report]) {
    let mut now = Instant::from_secs(1);
    let mut sequence = 0;
    for (packets, delay, rtt) in reports {
        let mut reported = Vec::new();
        for (since, size, arrival) in packets {
            now += Duration::from_micros(*since);
            let probe = controller.poll_probe(now).map(|probe| probe.id);
            let sent =
                SentPacket { sequence, sent_at: now, captured_at: now, size: ByteCount::new(*size), probe };
            controller.on_sent(&sent);
            let arrived = |at| Reception::Arrived { at: Instant::from_nanos(at), ecn: Ecn::Ce };
            let reception = arrival.map_or(Reception::Missing, arrived);
            reported.push(PacketReport { sent, reception });
            sequence += 1;
        }
        now += Duration::from_millis(*delay);
        if controller.next_timer().is_some_and(|at| at <= now) {
            controller.on_timer(now);
        }
        let rtt = rtt.map(Duration::from_millis);
        let in_flight = ByteCount::new(*delay);
        controller.on_feedback(&Feedback { now, packets: &reported, rtt, in_flight });
        if *delay == 0 {
            controller.on_path_change(now);
        }
        controller.on_pacer_queue(now, ByteCount::new(*delay));
        let allowance = controller.allowance();
        assert!(allowance.target >= limits().min && allowance.target <= limits().max, "{allowance:?}");
        assert!(allowance.pacing >= allowance.target && allowance.pacing < DataRate::INFINITE);
        assert!(controller.next_timer().is_none_or(|at| at > now), "{:?}", controller.next_timer());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_reports_keep_the_targets_within_their_limits(reports in reports()) {
        feed(Box::new(Nada::new(NadaConfig::new(limits()))), &reports);
        for throughput in [ThroughputRule::Robust, ThroughputRule::Bayesian] {
            for loss in [LossRule::InherentLoss, LossRule::Thresholds] {
                feed(Box::new(Gcc::new(GccConfig { throughput, loss, ..GccConfig::new(limits()) })), &reports);
            }
        }
    }
}
