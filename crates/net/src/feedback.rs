//! Reports to the peer about the application: it did not receive a datagram, or cannot keep up (RFC 4340,
//! Sections 11.6 and 11.7).

use whimbrel_wire::option::data_dropped::DropCode;

use crate::kind::Kind;
use crate::received::PacketName;

/// The state of a receive queue that is reported to the connection.
#[derive(Debug)]
pub(crate) struct Feedback {
    /// Packets whose datagrams were dropped because the application had too many unread, not yet reported.
    discarded: Vec<PacketName>,
    /// The application has declared itself a slow receiver.
    is_asked: bool,
    /// Slow Receiver was reported.
    is_reported: bool,
}

impl Feedback {
    pub(crate) fn new() -> Self {
        Self { discarded: Vec::new(), is_asked: false, is_reported: false }
    }

    /// A datagram was dropped from the receive queue.
    pub(crate) fn discard(&mut self, packet: PacketName) {
        self.discarded.push(packet);
    }

    /// The application's own declaration that it cannot keep up.
    pub(crate) fn set_slow(&mut self, is_slow: bool) {
        self.is_asked = is_slow;
    }

    /// `true` if there is something for [`Feedback::report`]. `is_filling`: three quarters of the receive
    /// queue are full.
    pub(crate) fn is_due(&self, is_filling: bool) -> bool {
        !self.discarded.is_empty() || self.is_slow(is_filling) != self.is_reported
    }

    /// Reports to the connection what is new.
    pub(crate) fn report(&mut self, is_filling: bool, connection: &mut impl Kind) {
        for packet in self.discarded.drain(..) {
            connection.report_discarded(packet, DropCode::ReceiveBuffer);
        }
        let is_slow = self.is_slow(is_filling);
        if is_slow != self.is_reported {
            self.is_reported = is_slow;
            connection.report_slow(is_slow);
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
