//! The packets inside the network.
//!
//! The few fields that every hop reads lie densely in one array, the payloads in another, which is
//! touched only where a packet enters and leaves. A packet is named by its slot; slots are reused
//! last in, first out, so that the ones in use stay in the cache.

use std::collections::BTreeMap;

use super::PacketSlot;
use crate::{AgentId, Ecn, FlowId, LinkId, NodeId, Packet, PacketId, StoredPacket};

/// The fields of a packet that each hop reads.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) id: PacketId,
    pub(crate) flow: FlowId,
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    pub(crate) size: u32,
    /// The receiving agent; [`AgentId::NONE`] if there was none when the packet was sent.
    pub(crate) receiver: AgentId,
    pub(crate) ecn: Ecn,
    /// `true` if a link has damaged the content; the simulator holds which one.
    pub(crate) damaged: bool,
    /// Remaining hop limit.
    pub(crate) hops_left: u8,
}

impl Header {
    pub(crate) fn receiver(&self) -> Option<AgentId> {
        (self.receiver != AgentId::NONE).then_some(self.receiver)
    }
}

pub(crate) struct PacketStore<P> {
    headers: Vec<Header>,
    payloads: Vec<Option<P>>,
    free: Vec<PacketSlot>,
    /// Packets that agents have handed to the network.
    injected: u64,
    /// The links that damaged packets in the network, by the packets' slots.
    damaged: BTreeMap<PacketSlot, LinkId>,
}

impl<P> PacketStore<P> {
    pub(crate) fn new() -> Self {
        Self {
            headers: Vec::new(),
            payloads: Vec::new(),
            free: Vec::new(),
            injected: 0,
            damaged: BTreeMap::new(),
        }
    }

    /// Packets inside.
    pub(crate) fn len(&self) -> usize {
        self.headers.len() - self.free.len()
    }

    /// Packets that agents have handed to the network.
    pub(crate) fn injected(&self) -> u64 {
        self.injected
    }

    /// The number of the next packet.
    #[inline]
    pub(crate) fn next_id(&mut self) -> PacketId {
        self.injected += 1;
        PacketId(self.injected - 1)
    }

    /// A packet goes on with content that a link has damaged; the first link that damaged it counts.
    #[cold]
    pub(crate) fn damage(&mut self, slot: PacketSlot, link: LinkId) {
        let header = &mut self.headers[slot.index()];
        header.damaged = true;
        self.damaged.entry(slot).or_insert(link);
    }

    /// Forgets the damage of a packet that leaves the network, and returns the link that did it.
    pub(crate) fn take_damage(&mut self, slot: PacketSlot) -> Option<LinkId> {
        self.damaged.remove(&slot)
    }

    /// `true` if the damage of any packet is noted.
    #[cfg(test)]
    pub(crate) fn holds_damaged(&self) -> bool {
        !self.damaged.is_empty()
    }

    #[inline]
    pub(crate) fn insert(&mut self, header: Header, payload: P) -> PacketSlot {
        if let Some(slot) = self.free.pop() {
            self.headers[slot.index()] = header;
            self.payloads[slot.index()] = Some(payload);
            slot
        } else {
            let slot = u32::try_from(self.headers.len()).expect("fewer than 2^32 packets in the network");
            let slot = PacketSlot(slot);
            self.headers.push(header);
            self.payloads.push(Some(payload));
            slot
        }
    }

    #[inline]
    pub(crate) fn header(&self, slot: PacketSlot) -> &Header {
        &self.headers[slot.index()]
    }

    #[inline]
    pub(crate) fn header_mut(&mut self, slot: PacketSlot) -> &mut Header {
        &mut self.headers[slot.index()]
    }

    pub(crate) fn headers_mut(&mut self) -> &mut [Header] {
        &mut self.headers
    }

    pub(crate) fn payload_mut(&mut self, slot: PacketSlot) -> &mut P {
        self.payloads[slot.index()].as_mut().expect("a slot in use holds a payload")
    }

    /// Takes the packet out and frees its slot.
    #[inline]
    pub(crate) fn remove(&mut self, slot: PacketSlot) -> Packet<P> {
        let packet = self.lend(slot);
        self.free.push(slot);
        packet
    }

    /// The packet where it is. [`PacketStore::release`] frees its slot.
    #[inline]
    pub(crate) fn stored(&mut self, slot: PacketSlot) -> StoredPacket<'_, P> {
        let Header { id, flow, source, destination, size, ecn, .. } = self.headers[slot.index()];
        let payload = &mut self.payloads[slot.index()];
        StoredPacket { id, flow, source, destination, size, ecn, payload }
    }

    /// Frees a slot. The packet's remains are dropped when the slot is used again: to
    /// overwrite it with `None` here costs as much as to store a packet.
    #[inline]
    pub(crate) fn release(&mut self, slot: PacketSlot) {
        self.free.push(slot);
    }

    /// Takes the packet out but keeps its slot, to be filled again by [`PacketStore::give_back`].
    #[inline]
    pub(crate) fn lend(&mut self, slot: PacketSlot) -> Packet<P> {
        let payload = self.payloads[slot.index()].take().expect("a slot in use holds a payload");
        let Header { id, flow, source, destination, size, ecn, .. } = self.headers[slot.index()];
        Packet { id, flow, source, destination, size, ecn, payload }
    }

    /// Stores a copy of a packet, under the same number.
    pub(crate) fn copy(&mut self, slot: PacketSlot) -> PacketSlot
    where
        P: Clone,
    {
        let payload = self.payload_mut(slot).clone();
        let copy = self.insert(self.headers[slot.index()], payload);
        if let Some(&link) = self.damaged.get(&slot) {
            self.damaged.insert(copy, link);
        }
        copy
    }

    pub(crate) fn give_back(&mut self, slot: PacketSlot, packet: Packet<P>) {
        self.payloads[slot.index()] = Some(packet.payload);
    }
}
