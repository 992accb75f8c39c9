//! A queue discipline of links as the management of a bearer's queue.

use std::collections::VecDeque;
use std::fmt;

use whimbrel_cell::packet::{Packet, PacketId};
use whimbrel_cell::queue::{Management, QueueDrop};
use whimbrel_units::{ByteCount, Instant};

use crate::FlowId;
use crate::packets::PacketSlot;
use crate::queue::{DropReason, Drops, FlowKey, QueueDiscipline, QueuedPacket};

/// The number of a packet in the network: its place in the medium, and its flow.
pub(super) fn packet_id(place: u32, flow: FlowId) -> PacketId {
    PacketId(u64::from(flow.0) << 32 | u64::from(place))
}

/// The place of a packet in the medium.
pub(super) const fn place_of(id: PacketId) -> u32 {
    id.0 as u32
}

/// A discipline, whose packets have their places in the medium as slots.
pub(super) struct ManagedBearer {
    discipline: Box<dyn QueueDiscipline>,
    dropped: Drops,
}

impl ManagedBearer {
    pub(super) fn new(discipline: Box<dyn QueueDiscipline>) -> Self {
        Self { discipline, dropped: Drops::default() }
    }

    /// Hands on what the discipline has dropped.
    fn collect(&mut self, drops: &mut VecDeque<(Packet, QueueDrop)>) {
        let dropped = self.dropped.take();
        drops.extend(dropped.iter().map(|(packet, reason)| {
            let drop = if *reason == DropReason::Overflow { QueueDrop::Full } else { QueueDrop::Early };
            (of_cell(packet), drop)
        }));
        self.dropped.reuse(dropped);
    }
}

fn of_cell(packet: &QueuedPacket) -> Packet {
    Packet {
        id: packet_id(packet.slot.index() as u32, packet.flow.flow),
        size: ByteCount::new(u64::from(packet.size)),
        ecn: packet.ecn,
    }
}

impl Management for ManagedBearer {
    fn handle_packet(&mut self, now: Instant, packet: Packet, drops: &mut VecDeque<(Packet, QueueDrop)>) {
        let flow = FlowKey { flow: FlowId((packet.id.0 >> 32) as u32), ..FlowKey::default() };
        let queued = QueuedPacket {
            size: packet.size.as_u64() as u32,
            ecn: packet.ecn,
            flow,
            arrival: now,
            slot: PacketSlot(place_of(packet.id)),
        };
        self.discipline.enqueue(now, queued, &mut self.dropped);
        self.collect(drops);
    }

    fn poll_packet(&mut self, now: Instant, drops: &mut VecDeque<(Packet, QueueDrop)>) -> Option<Packet> {
        let packet = self.discipline.dequeue(now, &mut self.dropped);
        self.collect(drops);
        packet.as_ref().map(of_cell)
    }

    fn bytes(&self) -> ByteCount {
        ByteCount::new(self.discipline.backlog().bytes)
    }
}

impl fmt::Debug for ManagedBearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagedBearer").field("backlog", &self.discipline.backlog()).finish_non_exhaustive()
    }
}
