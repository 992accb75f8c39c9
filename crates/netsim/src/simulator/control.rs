//! Controllers of egresses: explicit-rate control.

use super::Simulator;
use crate::events::Event;
use crate::network::ControllerSlot;
use crate::packets::{ControllerId, PacketSlot};
use crate::queue::{DropTail, FlowKey, QueuedPacket};
use crate::{Agent, ControlledPacket, Controller, Count, Egress, LinkId};

impl<A: Agent> Simulator<A> {
    /// Gives an egress a controller, which sees all its packets from now on. A link that is drop-tail then
    /// holds its waiting packets in [`DropTail`], whose limit is for what waits. To be called before packets
    /// arrive.
    ///
    /// # Panics
    /// If packets are at a link that is drop-tail.
    pub fn set_controller(&mut self, egress: Egress, controller: Box<dyn Controller>) {
        let number = ControllerId(self.network.controllers.len() as u32);
        match egress {
            Egress::Link(link) => {
                if self.network.links[link.index()].managed.is_none() {
                    let limit = self.network.links[link.index()].limit();
                    self.set_queue(link, Box::new(DropTail::new(limit)));
                }
                if let Some(managed) = &mut self.network.links[link.index()].managed {
                    managed.controller = Some(number);
                }
            }
            Egress::Station(station) => self.network.station_mut(station).controller = Some(number),
        }
        let source = self.timeline.queue.add_source(Event::Controller(number));
        self.network.controllers.push(ControllerSlot { controller, egress, source, expected: None });
        self.expect_control(number);
    }

    /// A packet as a queue discipline sees it.
    pub(super) fn queued(&self, packet: PacketSlot) -> QueuedPacket {
        let header = self.packets.header(packet);
        let flow = FlowKey { source: header.source, destination: header.destination, flow: header.flow };
        QueuedPacket { size: header.size, ecn: header.ecn, flow, arrival: self.timeline.now, slot: packet }
    }

    /// The number of the controller of a link.
    pub(super) fn link_controller(&self, id: LinkId) -> Option<ControllerId> {
        self.network.links[id.index()].managed.as_ref()?.controller
    }

    pub(super) fn control_arrival(&mut self, number: ControllerId, packet: PacketSlot) {
        self.control(number, packet, |controller, now, packet, backlog| {
            controller.handle_arrival(now, packet, backlog);
        });
    }

    pub(super) fn control_departure(&mut self, number: ControllerId, packet: PacketSlot) {
        self.control(number, packet, |controller, now, packet, backlog| {
            controller.handle_departure(now, packet, backlog);
        });
    }

    fn control(
        &mut self,
        number: ControllerId,
        packet: PacketSlot,
        call: impl FnOnce(&mut dyn Controller, whimbrel_units::Instant, &mut ControlledPacket<'_>, Count),
    ) {
        let QueuedPacket { size, flow, .. } = self.queued(packet);
        let backlog = self.waiting(self.network.controllers[number.index()].egress);
        let shim = A::shim(self.packets.payload_mut(packet));
        let slot = &mut self.network.controllers[number.index()];
        call(&mut *slot.controller, self.timeline.now, &mut ControlledPacket { size, flow, shim }, backlog);
        self.expect_control(number);
    }

    pub(super) fn handle_control(&mut self, number: ControllerId) {
        let backlog = self.waiting(self.network.controllers[number.index()].egress);
        let slot = &mut self.network.controllers[number.index()];
        slot.expected = None;
        slot.controller.handle_timeout(self.timeline.now, backlog);
        self.expect_control(number);
    }

    /// Makes the controller's timeout an event.
    pub(super) fn expect_control(&mut self, number: ControllerId) {
        let slot = &mut self.network.controllers[number.index()];
        let next = slot.controller.poll_timeout().map(|at| at.max(self.timeline.now));
        if next != slot.expected {
            slot.expected = next;
            let next = next.map(|at| (at, self.timeline.queue.insertion()));
            self.timeline.expect(slot.source, next);
        }
    }

    /// Packets and bytes that wait in the discipline of an egress.
    fn waiting(&self, egress: Egress) -> Count {
        match egress {
            Egress::Link(link) => {
                let managed = self.network.links[link.index()].managed.as_ref();
                managed.map(|managed| managed.backlog()).unwrap_or_default()
            }
            Egress::Station(station) => self.network.station(station).backlog(),
        }
    }
}
