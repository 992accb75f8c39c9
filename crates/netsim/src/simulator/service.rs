//! Links with a queue discipline: packets wait in the discipline and enter service one by one.

use super::Simulator;
use crate::queue::DropReason;
use crate::{Agent, LinkId, LossCause};

impl<A: Agent> Simulator<A> {
    /// A packet is offered to a link with a discipline.
    pub(super) fn enqueue(&mut self, link_index: u32, packet: u32) {
        // A transmission that ends at this very time makes room first, as it does in a drop-tail link.
        self.serve(link_index);
        if let Some(controller) = self.link_controller(link_index) {
            self.control_arrival(controller, packet);
        }
        let queued = self.queued(packet);
        let dropped = self.network.links[link_index as usize].enqueue(self.timeline.now, queued);
        if self.capture.is_some() {
            self.capture_managed(LinkId(link_index), packet, dropped);
        }
        self.serve(link_index);
    }

    /// Fills the transmitter of a link from its discipline, and sees to what the discipline has dropped.
    pub(super) fn serve(&mut self, link_index: u32) {
        loop {
            let link = &mut self.network.links[link_index as usize];
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
            if let Some(controller) = self.link_controller(link_index) {
                self.control_departure(controller, packet.slot);
            }
        }
        let link = &mut self.network.links[link_index as usize];
        for (packet, reason) in link.take_drops() {
            let link = LinkId(link_index);
            self.lose(
                packet.slot,
                match reason {
                    DropReason::Overflow => LossCause::QueueOverflow(link),
                    DropReason::Early => LossCause::EarlyDrop(link),
                },
            );
        }
        self.expect_service(link_index);
    }

    /// Makes the end of the present transmission an event, if something waits for it.
    fn expect_service(&mut self, link_index: u32) {
        let link = &self.network.links[link_index as usize];
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
