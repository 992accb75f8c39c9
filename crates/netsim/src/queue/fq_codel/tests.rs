use whimbrel_units::{Duration, Instant};

use super::{FqCoDel, FqCoDelConfig};
use crate::queue::tests::ms;
use crate::queue::{Drops, FlowKey, QueueDiscipline, QueuedPacket};
use crate::{Ecn, FlowId, QueueLimit};

fn of_flow(flow: u32, arrival: Instant, size: u32) -> QueuedPacket {
    QueuedPacket::new(arrival, size, Ecn::NotEct, FlowKey { flow: FlowId(flow), ..FlowKey::default() })
}

fn queue(limit: QueueLimit) -> FqCoDel {
    FqCoDel::new(&FqCoDelConfig::default(), limit).unwrap()
}

/// The flow of each packet that leaves.
fn served(queue: &mut FqCoDel, now: Instant, packets: usize) -> Vec<u32> {
    let mut drops = Drops::default();
    (0..packets).filter_map(|_| queue.dequeue(now, &mut drops)).map(|packet| packet.flow.flow.0).collect()
}

/// Packets of 1514, 757 and 151 bytes: each flow sends a quantum in its turn: bytes are shared, not packets.
#[test]
fn flows_share_bytes_whatever_their_packets_are() {
    let sizes = [(1, 1_514), (2, 757), (3, 151)];
    let mut queue = queue(QueueLimit::Unlimited);
    let mut drops = Drops::default();
    for (flow, size) in sizes {
        for _ in 0..1_514_000 / size {
            queue.enqueue(Instant::ZERO, of_flow(flow, Instant::ZERO, size), &mut drops);
        }
    }
    let flows = served(&mut queue, Instant::ZERO, 4_000);
    let bytes =
        sizes.map(|(flow, size)| flows.iter().filter(|&&served| served == flow).count() as u32 * size);
    let mean = bytes.iter().sum::<u32>() / 3;
    // Deficits carry over, so no flow is ever more than a quantum and a packet ahead.
    assert!(bytes.iter().all(|&bytes| bytes.abs_diff(mean) <= 2 * 1_514), "{bytes:?}");
}

#[test]
fn a_sparse_flow_overtakes_a_bulk_flow() {
    let mut queue = queue(QueueLimit::Unlimited);
    let mut drops = Drops::default();
    for _ in 0..20 {
        queue.enqueue(Instant::ZERO, of_flow(1, Instant::ZERO, 1_500), &mut drops);
    }
    // Flow 1 uses up its quantum with two packets and goes to the old queues.
    assert_eq!(served(&mut queue, ms(1), 2), [1, 1]);
    queue.enqueue(ms(1), of_flow(2, ms(1), 200), &mut drops);
    assert_eq!(served(&mut queue, ms(1), 2), [2, 1]);
    // Its queue is an old one now and goes behind: a flow gains nothing by sending again at once.
    queue.enqueue(ms(1), of_flow(2, ms(1), 200), &mut drops);
    queue.enqueue(ms(1), of_flow(3, ms(1), 200), &mut drops);
    assert_eq!(served(&mut queue, ms(1), 1), [3]);
}

#[test]
fn overflow_takes_from_the_head_of_the_longest_queue() {
    let mut queue = queue(QueueLimit::Packets(100));
    let mut drops = Drops::default();
    for number in 0..90 {
        queue.enqueue(ms(number), of_flow(1, ms(number), 1_000), &mut drops);
    }
    for number in 0..10 {
        queue.enqueue(ms(90), of_flow(2, ms(90 + number), 1_000), &mut drops);
    }
    assert!(drops.take().is_empty());
    queue.enqueue(ms(91), of_flow(2, ms(91), 1_000), &mut drops);
    let lost: Vec<(u32, Instant)> =
        drops.take().iter().map(|(packet, _)| (packet.flow.flow.0, packet.arrival)).collect();
    let expected: Vec<(u32, Instant)> = (0..45).map(|number| (1, ms(number))).collect();
    assert_eq!(lost, expected);
    assert_eq!(queue.backlog().packets, 101 - 45);
}

#[test]
fn each_flow_has_a_law_of_its_own() {
    let mut queue = queue(QueueLimit::Unlimited);
    let mut drops = Drops::default();
    // Flow 1 stands at 200 packets; flow 2 sends one at a time.
    for _ in 0..400 {
        queue.enqueue(Instant::ZERO, of_flow(1, Instant::ZERO, 1_000), &mut drops);
    }
    let mut lost = Vec::new();
    for step in 0..250 {
        let now = ms(100) + Duration::from_millis(2) * step;
        queue.enqueue(now, of_flow(2, now, 100), &mut drops);
        queue.dequeue(now, &mut drops);
        queue.dequeue(now, &mut drops);
        lost.extend(drops.take().iter().map(|(packet, _)| packet.flow.flow.0));
    }
    assert!(lost.len() >= 5, "{lost:?}");
    assert!(lost.iter().all(|&flow| flow == 1), "{lost:?}");
    assert_eq!(queue.backlog().packets, 400 + 250 - 500 - lost.len() as u64);
}
