//! Links with a queue discipline: packets wait in the discipline and enter service one by one.

use super::Simulator;
use crate::packets::PacketSlot;
use crate::{Agent, LinkId};

impl<A: Agent> Simulator<A> {
    /// A packet comes to the discipline of a link.
    pub(super) fn queue(&mut self, id: LinkId, packet: PacketSlot) {
        if let Some(controller) = self.link_controller(id) {
            self.control_arrival(controller, packet);
        }
        let queued = self.queued(packet);
        let dropped = self.network.links[id.index()].enqueue(self.timeline.now, queued);
        if self.capture.is_some() {
            self.capture_managed(id, packet, dropped);
        }
    }

    /// Fills the transmitter of a link from its discipline. What this has dropped is still to be lost.
    pub(super) fn fill(&mut self, id: LinkId) {
        loop {
            let link = &mut self.network.links[id.index()];
            let packets = &mut self.packets;
            let ecn = |slot| packets.header(slot).ecn;
            let Some(packet) = link.next_for_service(self.timeline.now, ecn) else { break };
            packets.header_mut(packet.slot).ecn = packet.ecn;
            let insertion = self.timeline.queue.insertion();
            if link.accept(self.timeline.now, packet.slot, packet.size, insertion)
                && let Some((at, insertion)) = link.next_arrival()
            {
                self.timeline.queue.set(link.source, at, insertion);
            }
            if let Some(controller) = self.link_controller(id) {
                self.control_departure(controller, packet.slot);
            }
        }
        self.expect_service(id);
    }

    /// Makes the end of the present transmission an event, if something waits for it.
    fn expect_service(&mut self, id: LinkId) {
        let link = &self.network.links[id.index()];
        let Some(managed) = &link.managed else { return };
        match link.next_service() {
            Some(at) => {
                let insertion = self.timeline.queue.insertion();
                self.timeline.queue.set(managed.source, at, insertion);
            }
            None => self.timeline.queue.clear(managed.source),
        }
    }
}
