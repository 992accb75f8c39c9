use super::*;
use crate::PacketId;
use std::vec::Vec;

fn packet(number: u64, destination: u32) -> DataPacket {
    DataPacket { packet: PacketId(number), source: Address(0), destination: Address(destination), hops: 0 }
}

fn buffer(per_destination: usize, total: usize) -> PacketBuffer {
    PacketBuffer::new(BufferConfig { per_destination, total, lifetime: Duration::from_secs(30) })
}

fn discarded(events: &VecDeque<RouteEvent>) -> Vec<(u64, DiscardCause)> {
    events
        .iter()
        .filter_map(|event| match *event {
            RouteEvent::Discard { packet, cause } => Some((packet.0, cause)),
            _ => None,
        })
        .collect()
}

#[test]
fn the_oldest_packet_of_a_full_destination_is_discarded() {
    let (mut buffer, mut events) = (buffer(2, 10), VecDeque::new());
    for (number, destination) in [(0, 1), (1, 2), (2, 1), (3, 1)] {
        buffer.push(Instant::ZERO, packet(number, destination), &mut events);
    }
    assert_eq!(discarded(&events), [(0, DiscardCause::BufferFull)]);
    events.clear();
    buffer.forward(Address(1), &mut events);
    assert_eq!(
        events,
        [RouteEvent::Forward { packet: PacketId(2) }, RouteEvent::Forward { packet: PacketId(3) }]
    );
    events.clear();
    buffer.forward(Address(2), &mut events);
    assert_eq!(events, [RouteEvent::Forward { packet: PacketId(1) }]);
}

#[test]
fn the_oldest_packet_of_a_full_buffer_is_discarded() {
    let (mut buffer, mut events) = (buffer(5, 3), VecDeque::new());
    for number in 0..5 {
        buffer.push(Instant::ZERO, packet(number, number as u32), &mut events);
    }
    assert_eq!(discarded(&events), [(0, DiscardCause::BufferFull), (1, DiscardCause::BufferFull)]);
}

#[test]
fn packets_expire_at_the_end_of_their_lifetime() {
    let (mut buffer, mut events) = (buffer(5, 5), VecDeque::new());
    buffer.push(Instant::from_secs(1), packet(0, 1), &mut events);
    buffer.push(Instant::from_secs(2), packet(1, 1), &mut events);
    assert_eq!(buffer.deadline(), Some(Instant::from_secs(31)));
    buffer.expire(Instant::from_secs(31), &mut events);
    assert_eq!(discarded(&events), [(0, DiscardCause::Expired)]);
    assert_eq!(buffer.deadline(), Some(Instant::from_secs(32)));
}

#[test]
fn a_lifetime_of_ever_has_no_deadline() {
    let mut buffer =
        PacketBuffer::new(BufferConfig { per_destination: 5, total: 9, lifetime: Duration::MAX });
    let mut events = VecDeque::new();
    buffer.push(Instant::from_secs(1), packet(0, 1), &mut events);
    assert_eq!(buffer.deadline(), None);
    buffer.discard(Address(1), &mut events);
    assert_eq!(discarded(&events), [(0, DiscardCause::NoRoute)]);
}
