use whimbrel_units::{Duration, Instant};

use super::{DualPi2, DualPi2Config, Recurrence};
use crate::queue::tests::{ms, packet};
use crate::queue::{DropReason, Drops, QueueDiscipline};
use crate::{Ecn, QueueLimit};

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
    let at = |micros| queue.native_probability(Duration::from_micros(micros));
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
