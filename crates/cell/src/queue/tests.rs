use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

use super::{BearerQueue, QueueConfig, QueueDrop, Ramp};
use crate::packet::{Packet, PacketId};

const RAMP: Ramp = Ramp { free: Duration::from_millis(4), full: Duration::from_millis(14) };
const DEEP: QueueConfig = QueueConfig { limit: ByteCount::new(6_172_672), discard: None, marks: None };

fn packet(id: u64, ecn: Ecn) -> Packet {
    Packet { id: PacketId(id), size: ByteCount::new(1000), ecn }
}

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn a_full_queue_drops_the_newest() {
    let mut queue = BearerQueue::new(QueueConfig { limit: ByteCount::new(2500), ..DEEP }, 0);
    (0..4).for_each(|id| queue.handle_packet(ms(0), packet(id, Ecn::NotEct)));
    assert_eq!(queue.bytes(), ByteCount::new(2000));
    assert_eq!(queue.poll_drop(), Some((packet(2, Ecn::NotEct), QueueDrop::Full)));
    assert_eq!(queue.poll_packet(ms(1)).unwrap().id, PacketId(0));
    queue.handle_packet(ms(2), packet(4, Ecn::NotEct));
    assert_eq!(queue.bytes(), ByteCount::new(2000));
}

#[test]
fn a_full_queue_of_an_operator_is_seconds() {
    for (rate, seconds) in [(1.0, 49.38), (10.0, 4.938), (100.0, 0.494)] {
        let time = DEEP.limit / DataRate::from_megabits_per_second(rate);
        assert!((time.as_secs_f64() / seconds - 1.0).abs() < 1e-3, "{time}");
    }
}

#[test]
fn old_packets_are_discarded_at_their_deadline() {
    let config = QueueConfig { discard: Some(Duration::from_millis(100)), ..DEEP };
    let mut queue = BearerQueue::new(config, 0);
    queue.handle_packet(ms(0), packet(0, Ecn::NotEct));
    queue.handle_packet(ms(30), packet(1, Ecn::NotEct));
    assert_eq!(queue.poll_timeout(), Some(ms(100)));
    queue.handle_timeout(ms(99));
    assert_eq!(queue.poll_drop(), None);
    queue.handle_timeout(ms(100));
    assert_eq!(queue.poll_drop(), Some((packet(0, Ecn::NotEct), QueueDrop::Discarded)));
    assert_eq!(queue.poll_timeout(), Some(ms(130)));
    assert_eq!(queue.poll_packet(ms(131)), None);
    assert!(queue.is_empty());
}

#[test]
fn the_ramp_of_marks() {
    let shares = [4_000, 6_500, 9_000, 14_000, 90_000].map(|wait| RAMP.share(Duration::from_micros(wait)));
    assert_eq!(shares, [0.0, 0.25, 0.5, 1.0, 1.0]);
    assert_eq!(RAMP.share(Duration::ZERO), 0.0);
}

#[test]
fn packets_of_l4s_are_marked_by_their_wait() {
    let marked = |ecn, wait: u64| {
        let mut queue = BearerQueue::new(QueueConfig { marks: Some(RAMP), ..DEEP }, 4);
        let count = 4_000;
        (0..count).for_each(|id| queue.handle_packet(ms(0), packet(id, ecn)));
        let now = Instant::ZERO + Duration::from_micros(wait);
        (0..count).filter(|_| queue.poll_packet(now).unwrap().ecn == Ecn::Ce).count() as f64 / count as f64
    };
    assert_eq!(marked(Ecn::Ect1, 4_000), 0.0);
    assert!((marked(Ecn::Ect1, 6_500) - 0.25).abs() < 0.03);
    assert_eq!(marked(Ecn::Ect1, 14_000), 1.0);
    assert_eq!(marked(Ecn::NotEct, 50_000), 0.0);
    assert_eq!(marked(Ecn::Ect0, 50_000), 0.0);
}
