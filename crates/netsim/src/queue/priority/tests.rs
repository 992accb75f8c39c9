use super::*;
use crate::packets::PacketSlot;
use crate::queue::{CoDel, CoDelConfig, DropTail, FlowKey};
use crate::{Ecn, NodeId};

const URGENT: FlowId = FlowId(7);

fn packet(flow: FlowId, number: u32) -> QueuedPacket {
    let flow = FlowKey { source: NodeId(0), destination: NodeId(1), flow };
    QueuedPacket { slot: PacketSlot(number), ..QueuedPacket::new(Instant::ZERO, 100, Ecn::NotEct, flow) }
}

fn queue(limit: u32) -> PriorityQueue {
    let limit = QueueLimit::Packets(limit);
    PriorityQueue::new(&[URGENT, FlowId(3)], limit, Box::new(DropTail::new(limit)))
}

/// Enqueues packets of these flows, numbered from 0, and returns the numbers of the dropped ones.
fn fill(queue: &mut PriorityQueue, flows: &[FlowId]) -> Vec<u32> {
    let mut drops = Drops::default();
    for (number, &flow) in (0..).zip(flows) {
        queue.enqueue(Instant::ZERO, packet(flow, number), &mut drops);
    }
    drops.take().iter().map(|(packet, _)| packet.slot.0).collect()
}

fn drain(queue: &mut PriorityQueue) -> Vec<u32> {
    let mut drops = Drops::default();
    core::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut drops)).map(|packet| packet.slot.0).collect()
}

const OTHER: FlowId = FlowId(1);

#[test]
fn packets_with_priority_leave_first_and_in_their_order() {
    let mut queue = queue(10);
    assert!(fill(&mut queue, &[OTHER, URGENT, OTHER, FlowId(3), FlowId(4)]).is_empty());
    assert_eq!(queue.backlog(), Count { packets: 5, bytes: 500 });
    assert_eq!(drain(&mut queue), [1, 3, 0, 2, 4]);
    assert_eq!(queue.backlog(), Count::default());
}

#[test]
fn a_full_queue_gives_up_the_last_packet_without_priority() {
    let mut queue = queue(3);
    assert_eq!(fill(&mut queue, &[OTHER, OTHER, URGENT, OTHER, URGENT, URGENT, URGENT]), [3, 1, 0, 6]);
    assert_eq!(drain(&mut queue), [2, 4, 5]);
}

#[test]
fn a_discipline_that_gives_nothing_up_keeps_its_packets() {
    let limit = QueueLimit::Packets(2);
    let rest = CoDel::new(&CoDelConfig::default(), limit).unwrap();
    let mut queue = PriorityQueue::new(&[URGENT], limit, Box::new(rest));
    assert_eq!(fill(&mut queue, &[OTHER, OTHER, URGENT]), [2]);
    assert_eq!(drain(&mut queue), [0, 1]);
}
