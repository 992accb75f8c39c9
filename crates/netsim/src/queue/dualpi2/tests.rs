use whimbrel_units::{Duration, Instant};

use super::{DualPi2, DualPi2Config, QueueProtectionConfig, Recurrence};
use crate::queue::tests::{ms, packet};
use crate::queue::{DropReason, Drops, FlowKey, QueueDiscipline, QueuedPacket};
use crate::{Ecn, FlowId, QueueLimit};

fn dualpi2() -> DualPi2 {
    DualPi2::new(&DualPi2Config::default(), QueueLimit::Unlimited).unwrap()
}

fn fill(queue: &mut DualPi2, at: Instant, ecn: Ecn, packets: usize) {
    let mut drops = Drops::default();
    for _ in 0..packets {
        queue.enqueue(at, packet(at, 1_000, ecn), &mut drops);
    }
    assert!(drops.take().is_empty());
}

/// Gains of RFC 9332, Appendix A.1, for T_update = 15 ms and RTT_max = 100 ms: alpha = 0.15 Hz, beta = 3 Hz.
#[test]
fn the_base_probability_follows_the_controller() {
    let mut queue = dualpi2();
    fill(&mut queue, Instant::ZERO, Ecn::Ect0, 10);
    // The head has waited for 15 ms at the first update, for 30 ms at the second.
    queue.catch_up(ms(15));
    let first = 0.15 * 0.0 + 3.0 * 0.015;
    assert!((queue.base_probability() - first).abs() < 1e-12, "{}", queue.base_probability());
    queue.catch_up(ms(44));
    let second = first + 0.15 * 0.015 + 3.0 * 0.015;
    assert!((queue.base_probability() - second).abs() < 1e-12, "{}", queue.base_probability());
    assert!((queue.classic_probability() - second * second).abs() < 1e-12);
    assert!((queue.coupled_probability() - 2.0 * second).abs() < 1e-12);
}

/// Drops and marks among 1000 packets of a queue at a base probability.
fn outcome(base: f64, ecn: Ecn) -> (usize, usize) {
    let mut queue = dualpi2();
    fill(&mut queue, ms(1), ecn, 1_000);
    queue.base = base;
    queue.next_update = Instant::FAR_FUTURE;
    let mut drops = Drops::default();
    let mut marked = 0;
    while let Some(packet) = queue.dequeue(ms(1), &mut drops) {
        marked += usize::from(packet.ecn == Ecn::Ce);
    }
    let dropped = drops.take();
    assert!(dropped.iter().all(|(_, reason)| *reason == DropReason::Early));
    (dropped.len(), marked)
}

#[test]
fn the_classic_queue_squares_and_the_other_doubles_the_base_probability() {
    // p' = 1/4: p_C = 1/16, p_CL = 1/2.
    assert_eq!(outcome(0.25, Ecn::NotEct), (62, 0));
    assert_eq!(outcome(0.25, Ecn::Ect0), (0, 62));
    assert_eq!(outcome(0.25, Ecn::Ect1), (0, 499));
}

#[test]
fn overload_drops_ecn_capable_packets_of_both_queues_alike() {
    // p' = 0.5 is p_Cmax = 1/4 and p_CL = 1.
    let (classic, _) = outcome(0.5, Ecn::Ect0);
    let (low_latency, marked) = outcome(0.5, Ecn::Ect1);
    assert!(classic.abs_diff(250) <= 1, "{classic}");
    assert!(low_latency.abs_diff(250) <= 60, "{low_latency}");
    assert!(marked > 700, "{marked}");
}

#[test]
fn the_low_latency_queue_is_marked_on_a_ramp_of_its_delay() {
    let queue = dualpi2();
    let at = |micros| queue.config.native_probability(Duration::from_micros(micros));
    assert_eq!((at(0), at(800), at(1_000), at(1_200), at(9_000)), (0.0, 0.0, 0.5, 1.0, 1.0));
    // A single packet is never marked for its own delay.
    let mut queue = dualpi2();
    fill(&mut queue, Instant::ZERO, Ecn::Ect1, 1);
    assert_eq!(queue.dequeue(ms(10), &mut Drops::default()).unwrap().ecn, Ecn::Ect1);
}

#[test]
fn the_low_latency_queue_goes_first_and_starves_nothing() {
    let mut queue = dualpi2();
    fill(&mut queue, ms(1), Ecn::NotEct, 100);
    fill(&mut queue, ms(1), Ecn::Ect1, 160);
    let mut drops = Drops::default();
    let order: Vec<bool> =
        (0..160).map(|_| queue.dequeue(ms(1), &mut drops).unwrap().ecn != Ecn::NotEct).collect();
    assert!(order[..15].iter().all(|&low_latency| low_latency));
    assert_eq!(order.iter().filter(|&&low_latency| !low_latency).count(), 10);
}

#[test]
fn a_recurrence_happens_as_often_as_its_probability_says() {
    let mut recurrence = Recurrence::default();
    assert_eq!((0..1_000).filter(|_| recurrence.happens(0.3)).count(), 299);
    let mut recurrence = Recurrence::default();
    assert_eq!((0..1_000).filter(|_| recurrence.happens(0.0)).count(), 0);
}

const SLOW: FlowId = FlowId(1);
const BURSTY: FlowId = FlowId(2);

/// The outcome for a slow flow and a bursty one that share a queue, both with ECT(1).
#[derive(Debug)]
struct Shared {
    /// The 99th percentile of the slow flow's delay.
    delay: Duration,
    /// Packets of the slow and of the bursty flow that went to the Classic queue.
    redirected: (usize, usize),
}

/// A link of 40 Mbit/s for 10 seconds. The slow flow sends 200 bytes every 1.7 ms (0.94 Mbit/s). The bursty
/// flow ignores marks and sends 100 packets of 1000 bytes every 25 ms (32 Mbit/s), at twice the link's rate.
fn share(protection: Option<QueueProtectionConfig>) -> Shared {
    let config = DualPi2Config { protection, ..DualPi2Config::default() };
    let mut queue = DualPi2::new(&config, QueueLimit::Unlimited).unwrap();
    let slow = (0..5_882).map(|n| (Instant::from_nanos(n * 1_700_000), SLOW, 200));
    let bursts = (0..400).flat_map(|burst| {
        (0..100).map(move |n| (Instant::from_nanos(burst * 25_000_000 + n * 100_000), BURSTY, 1_000))
    });
    let mut arrivals: Vec<(Instant, FlowId, u32)> = slow.chain(bursts).collect();
    arrivals.sort_by_key(|&(at, flow, _)| (at, flow));
    let mut drops = Drops::default();
    let (mut free, mut delays, mut redirected) = (Instant::ZERO, Vec::new(), (0, 0));
    // A packet takes 200 ns per byte. The last arrival is beyond the time in which the queue empties.
    for (at, flow, size) in arrivals.into_iter().chain([(ms(60_000), SLOW, 200)]) {
        while queue.backlog().packets > 0 && free <= at {
            let Some(sent) = queue.dequeue(free, &mut drops) else { break };
            if sent.flow.flow == SLOW {
                delays.push(free - sent.arrival);
            }
            free += Duration::from_nanos(200) * u64::from(sent.size);
        }
        free = free.max(at);
        let before = queue.classic.backlog().packets;
        let key = FlowKey { flow, ..FlowKey::default() };
        queue.enqueue(at, QueuedPacket::new(at, size, Ecn::Ect1, key), &mut drops);
        let to = if flow == SLOW { &mut redirected.0 } else { &mut redirected.1 };
        *to += usize::from(queue.classic.backlog().packets > before);
    }
    assert!(delays.len() > 5_800, "{}", delays.len());
    delays.sort();
    Shared { delay: delays[delays.len() * 99 / 100], redirected }
}

/// RFC 9957, Section 1: the flow that builds the queue is redirected, not those that share it.
#[test]
fn queue_protection_keeps_the_delay_of_a_slow_flow_near_the_threshold() {
    let (open, protected) = (share(None), share(Some(QueueProtectionConfig::default())));
    assert_eq!(open.redirected, (0, 0));
    assert!(open.delay > Duration::from_millis(9), "{open:?}");
    assert_eq!(protected.redirected.0, 0);
    assert!((15_000..25_000).contains(&protected.redirected.1), "{protected:?}");
    // Marking is certain from 1.2 ms on; a few packets of each burst are behind this threshold.
    assert!(protected.delay < Duration::from_millis(2), "{protected:?}");
}
