//! Reports to the peer about the application: it did not receive a datagram, or cannot keep up (RFC 4340, Sections 11.6 and 11.7).

use whimbrel_proto::Connection;
use whimbrel_proto::multipath::{MultipathConnection, SubflowId};
use whimbrel_wire::SeqNo;
use whimbrel_wire::option::data_dropped::DropCode;

/// A connection that can report to its peer.
pub(crate) trait Reports {
    /// Names the packet of a datagram.
    type Packet: Copy + std::fmt::Debug;

    /// A datagram did not reach the application. Returns `true` if the peer will be notified.
    fn discarded(&mut self, packet: Self::Packet, code: DropCode) -> bool;
    /// The application cannot keep up, or can again.
    fn slow(&mut self, is_slow: bool);
}

impl Reports for Connection {
    type Packet = SeqNo;

    fn discarded(&mut self, packet: SeqNo, code: DropCode) -> bool {
        self.datagram_discarded(packet, code)
    }
    fn slow(&mut self, is_slow: bool) {
        self.set_slow_receiver(is_slow);
    }
}

impl Reports for MultipathConnection {
    type Packet = (SubflowId, SeqNo);

    fn discarded(&mut self, (subflow, packet): (SubflowId, SeqNo), code: DropCode) -> bool {
        self.datagram_discarded(subflow, packet, code)
    }
    fn slow(&mut self, is_slow: bool) {
        self.set_slow_receiver(is_slow);
    }
}

/// The state of a receive queue that is reported to the connection.
#[derive(Debug)]
pub(crate) struct Feedback<C: Reports> {
    /// Packets whose datagrams were dropped because the application had too many unread ones, not yet reported.
    discarded: Vec<C::Packet>,
    /// The application has declared itself a slow receiver.
    is_asked: bool,
    /// Slow Receiver was reported.
    is_reported: bool,
}

impl<C: Reports> Default for Feedback<C> {
    fn default() -> Self {
        Self { discarded: Vec::new(), is_asked: false, is_reported: false }
    }
}

impl<C: Reports> Feedback<C> {
    /// A datagram was dropped from the receive queue.
    pub(crate) fn drop(&mut self, packet: C::Packet) {
        self.discarded.push(packet);
    }
    /// The application's own declaration that it cannot keep up.
    pub(crate) fn set_slow(&mut self, is_slow: bool) {
        self.is_asked = is_slow;
    }
    /// `true` if there is something for [`Feedback::report`]. `is_filling`: three quarters of the receive queue are full.
    pub(crate) fn is_due(&self, is_filling: bool) -> bool {
        !self.discarded.is_empty() || self.is_slow(is_filling) != self.is_reported
    }
    /// Reports to the connection what is new.
    pub(crate) fn report(&mut self, is_filling: bool, connection: &mut C) {
        for packet in self.discarded.drain(..) {
            connection.discarded(packet, DropCode::ReceiveBuffer);
        }
        let is_slow = self.is_slow(is_filling);
        if is_slow != self.is_reported {
            self.is_reported = is_slow;
            connection.slow(is_slow);
        }
    }
    /// Returns memory that traffic has left behind.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.discarded.shrink_to_fit();
    }
    fn is_slow(&self, is_filling: bool) -> bool {
        self.is_asked || is_filling
    }
}
