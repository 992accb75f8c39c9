//! Delivery of datagrams to the application, and the reports to the peer about those that it does not take.

use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;
use whimbrel_wire::option::data_dropped::DropCode;

use super::MultipathConnection;
use crate::multipath::SubflowId;
use crate::multipath::delivery::Arrived;

impl MultipathConnection {
    /// Stops delivering datagrams to the application, for good. Data that still arrive, on any path, are
    /// dropped and reported to the peer (RFC 4340, Section 11.7.2, Drop Code 1), which should then send no
    /// more. Events and sending continue.
    pub fn stop_receiving(&mut self, now: Instant) {
        self.delivery.end();
        self.subflows.iter_mut().for_each(|subflow| subflow.connection.stop_receiving(now));
    }

    /// Sets whether the application cannot keep up. While `slow`, the peer is requested not to increase the
    /// rate of any path (RFC 4340, Section 11.6).
    pub fn set_slow_receiver(&mut self, slow: bool) {
        self.subflows.set_slow_receiver(slow);
    }

    /// Reports that the data of a datagram, with that number of its packet on a subflow, did not reach the
    /// application, or were of no use to it: as
    /// [`Connection::datagram_discarded`](crate::Connection::datagram_discarded). Returns `false` also if the
    /// subflow no longer exists.
    pub fn datagram_discarded(&mut self, subflow: SubflowId, packet: SeqNo, code: DropCode) -> bool {
        self.subflows
            .place(subflow)
            .is_some_and(|place| self.subflows[place].connection.datagram_discarded(packet, code))
    }

    /// Delivers datagrams that have waited long enough.
    pub(super) fn release(&mut self, now: Instant) {
        while let Some((sequence, arrived)) = self.delivery.poll(now) {
            self.deliver(sequence, arrived);
        }
    }

    /// Queues a datagram for the application, or drops it if there is no room.
    pub(super) fn deliver(&mut self, sequence: SeqNo, arrived: Arrived) {
        if let Err(refused) = self.fx.events.on_datagram(&self.cx.config.receive, sequence, arrived) {
            self.datagram_discarded(refused.subflow, refused.packet, DropCode::ReceiveBuffer);
        }
    }
}
