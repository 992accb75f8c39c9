use whimbrel_units::{Duration, Instant};

use super::{Red, RedConfig};
use crate::queue::tests::{dropped, ms, packet};
use crate::queue::{Drops, QueueDiscipline};
use crate::random::RandomStreams;
use crate::{Ecn, QueueLimit};

fn red(config: &RedConfig, limit: QueueLimit) -> Red {
    Red::new(config, limit, RandomStreams::new(1, 0).stream("link", "queue")).unwrap()
}

/// With the weight 1 the average is the queue, so its law can be read off.
fn without_average() -> RedConfig {
    RedConfig { weight: 1.0, ..RedConfig::default() }
}

/// The distances between drops where the queue is held at this length.
fn distances(config: &RedConfig, length: usize, packets: usize) -> Vec<usize> {
    let mut queue = red(config, QueueLimit::Unlimited);
    let mut drops = Drops::default();
    let (mut distances, mut since) = (Vec::new(), 0);
    let mut sent = 0;
    while sent < packets {
        if queue.backlog().packets < length as u64 {
            queue.fifo.push(packet(Instant::ZERO, 1_000, Ecn::NotEct));
            queue.idle_since = None;
            continue;
        }
        sent += 1;
        since += 1;
        if dropped(&mut queue, Instant::ZERO, packet(Instant::ZERO, 1_000, Ecn::NotEct)) > 0 {
            distances.push(since);
            since = 0;
        } else {
            queue.dequeue(Instant::ZERO, &mut drops);
        }
    }
    distances
}

/// p_b = 0.1 (10 - 5) / (15 - 5) = 0.05. In the article's Figure 2 `count` is 1 for the first packet after a
/// drop, so distances are uniform over 1 to 19, with mean 10 and variance (19^2 - 1) / 12. (Its Section VIII
/// counts from 0.)
#[test]
fn drops_are_spaced_uniformly() {
    let distances = distances(&without_average(), 10, 100_000);
    // The first drop has none before it, and `count` begins at 0.
    let distances = &distances[1..];
    let n = distances.len() as f64;
    let mean = distances.iter().sum::<usize>() as f64 / n;
    let variance = distances.iter().map(|&d| (d as f64 - mean).powi(2)).sum::<f64>() / n;
    assert_eq!(distances.iter().max(), Some(&19));
    // Three standard errors of about 9500 distances.
    assert!((mean - 10.0).abs() < 0.17, "{mean}");
    assert!((variance - 30.0).abs() < 1.0, "{variance}");
}

#[test]
fn nothing_is_dropped_below_the_lower_threshold_and_everything_far_above_the_upper_one() {
    assert_eq!(distances(&without_average(), 4, 10_000).len(), 0);
    assert_eq!(distances(&without_average(), 30, 1_000).len(), 1_000);
    let abrupt = RedConfig { gentle: false, ..without_average() };
    assert_eq!(distances(&abrupt, 15, 1_000).len(), 1_000);
    // Gentle: at 22.5 packets the probability is 0.55, where `count` makes each second packet a drop.
    let gentle = distances(&without_average(), 22, 10_000);
    assert!(gentle.iter().all(|&distance| distance <= 2));
}

#[test]
fn the_average_follows_the_queue_and_decays_while_idle() {
    let config =
        RedConfig { weight: 0.5, idle_packet_time: Duration::from_millis(10), ..RedConfig::default() };
    let mut queue = red(&config, QueueLimit::Unlimited);
    // Averages 0, then half way from 0 to 1, then from 0.5 to 2.
    for expected in [0.0, 0.5, 1.25] {
        dropped(&mut queue, Instant::ZERO, packet(Instant::ZERO, 1_000, Ecn::NotEct));
        assert_eq!(queue.average(), expected);
    }
    let mut drops = Drops::default();
    while queue.dequeue(ms(100), &mut drops).is_some() {}
    // Idle for as long as three packets take.
    dropped(&mut queue, ms(130), packet(ms(130), 1_000, Ecn::NotEct));
    assert!((queue.average() - 1.25 / 8.0).abs() < 1e-12);
}

#[test]
fn a_full_queue_drops_what_arrives() {
    let mut queue = red(&RedConfig::default(), QueueLimit::Packets(3));
    let lost: usize =
        (0..5).map(|_| dropped(&mut queue, Instant::ZERO, packet(Instant::ZERO, 9, Ecn::Ect0))).sum();
    assert_eq!((lost, queue.backlog().packets), (2, 3));
}

#[test]
fn an_ecn_capable_packet_is_marked_where_another_is_dropped() {
    let config = RedConfig { ecn: true, max_probability: 1.0, min_threshold: 0.5, ..without_average() };
    let mut queue = red(&config, QueueLimit::Unlimited);
    let mut drops = Drops::default();
    for _ in 0..15 {
        queue.enqueue(Instant::ZERO, packet(Instant::ZERO, 100, Ecn::Ect0), &mut drops);
    }
    let marked = (0..15).filter(|_| queue.dequeue(ms(1), &mut drops).unwrap().ecn == Ecn::Ce).count();
    assert!(drops.take().is_empty());
    assert!((4..15).contains(&marked), "{marked}");
}

#[test]
fn a_parameter_out_of_range_is_named() {
    let config = RedConfig { max_threshold: 5.0, ..RedConfig::default() };
    let error =
        Red::new(&config, QueueLimit::Unlimited, RandomStreams::new(1, 0).stream("a", "b")).err().unwrap();
    assert_eq!(error.to_string(), "max_threshold is 5, expected more packets than min_threshold");
}
