use whimbrel_units::{Duration, Instant};

use super::{Pie, PieConfig};
use crate::queue::tests::{dropped, ms, packet};
use crate::queue::{Drops, QueueDiscipline};
use crate::random::RandomStreams;
use crate::{Ecn, QueueLimit};

fn pie(config: &PieConfig) -> Pie {
    Pie::new(config, QueueLimit::Unlimited, RandomStreams::new(1, 0).stream("link", "queue")).unwrap()
}

/// A queue whose packets leave with this delay every millisecond, for so long.
fn hold(queue: &mut Pie, delay: u64, from: u64, to: u64) {
    let mut drops = Drops::default();
    for now in from..to {
        while queue.backlog().packets < 3 {
            let arrival = now + queue.backlog().packets - delay;
            queue.fifo.push(packet(ms(arrival), 1_000, Ecn::NotEct));
        }
        queue.dequeue(ms(now), &mut drops);
    }
}

/// Hand-computed from Section 4.2. The first update sees a rise from 0 to 30 ms: (0.125 x 0.015 + 1.25 x
/// 0.03) / 2048; the following ones only the distance from the target: 0.125 x 0.015 / 128, then / 128, /
/// 128, ...
#[test]
fn the_probability_follows_the_controller() {
    let mut queue = pie(&PieConfig::default());
    // Updates come at multiples of 15 ms, 1005 ms being the first after the packets.
    hold(&mut queue, 30, 1_001, 1_006);
    let first = (0.125 * 0.015 + 1.25 * 0.03) / 2_048.0;
    assert!((queue.probability() - first).abs() < 1e-15, "{}", queue.probability());
    hold(&mut queue, 30, 1_006, 1_051);
    let fourth = first + 3.0 * 0.125 * 0.015 / 128.0;
    assert!((queue.probability() - fourth).abs() < 1e-15, "{}", queue.probability());
}

#[test]
fn the_probability_falls_to_zero_when_the_queue_has_gone() {
    let mut queue = pie(&PieConfig::default());
    hold(&mut queue, 60, 60, 5_000);
    assert!(queue.probability() > 0.05, "{}", queue.probability());
    let mut drops = Drops::default();
    while queue.dequeue(ms(5_000), &mut drops).is_some() {}
    queue.dequeue(ms(60_000), &mut drops);
    assert_eq!(queue.probability(), 0.0);
    // After a long rest updates still come at multiples of their interval.
    assert_eq!(queue.next_update, ms(60_015));
}

#[test]
fn late_updates_give_what_punctual_ones_give() {
    let (mut punctual, mut late) = (pie(&PieConfig::default()), pie(&PieConfig::default()));
    hold(&mut punctual, 40, 40, 2_000);
    hold(&mut late, 40, 40, 2_000);
    let mut drops = Drops::default();
    let before = punctual.delay;
    for now in 2_000..2_600 {
        punctual.catch_up(ms(now));
    }
    assert_eq!(punctual.delay, before);
    punctual.dequeue(ms(2_600), &mut drops);
    late.dequeue(ms(2_600), &mut drops);
    assert_eq!(punctual.probability(), late.probability());
}

/// For 150 ms after a rest nothing is dropped, however long the queue (Section 4.4).
#[test]
fn a_burst_passes() {
    let mut queue = pie(&PieConfig { derandomized: false, ..PieConfig::default() });
    let mut first_drop = None;
    for now in 0..1_000 {
        for _ in 0..3 {
            let lost = dropped(&mut queue, ms(now), packet(ms(now), 1_000, Ecn::NotEct));
            if lost > 0 {
                first_drop.get_or_insert(now);
            }
        }
        queue.dequeue(ms(now), &mut Drops::default());
    }
    let first_drop = first_drop.expect("a queue that grows without end is controlled");
    assert!(first_drop > 150, "{first_drop}");
}

/// Section 5.4: with p = 0.1 a drop needs 0.85 / 0.1 packets first, and comes by 8.5 / 0.1 at the latest.
#[test]
fn drops_are_neither_too_close_nor_too_far_apart() {
    let mut queue = pie(&PieConfig::default());
    (queue.probability, queue.old_delay) = (0.1, Duration::from_millis(20));
    for _ in 0..5 {
        queue.fifo.push(packet(Instant::ZERO, 1_000, Ecn::NotEct));
    }
    let (mut distances, mut since) = (Vec::new(), 0);
    for _ in 0..50_000 {
        since += 1;
        if queue.drops_early() {
            distances.push(since);
            since = 0;
        }
    }
    let mean = distances.iter().sum::<i32>() as f64 / distances.len() as f64;
    assert!(distances.iter().all(|distance| (9..=86).contains(distance)));
    // Eight packets pass in any case (0.8 < 0.85), then the distance is geometric with mean 10.
    assert!((mean - 18.0).abs() < 0.6, "{mean}");
}

#[test]
fn ecn_capable_packets_are_marked_up_to_ten_percent() {
    for (probability, marks) in [(0.09, true), (0.11, false)] {
        let mut queue = pie(&PieConfig { ecn: true, derandomized: false, ..PieConfig::default() });
        (queue.probability, queue.old_delay) = (probability, Duration::from_millis(20));
        let mut drops = Drops::default();
        for _ in 0..500 {
            queue.enqueue(Instant::ZERO, packet(Instant::ZERO, 1_000, Ecn::Ect0), &mut drops);
        }
        assert_eq!(drops.take().is_empty(), marks);
        assert_eq!((0..400).any(|_| queue.fifo.pop().is_some_and(|packet| packet.ecn == Ecn::Ce)), marks);
    }
}
