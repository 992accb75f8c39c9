//! Reports to the peer about the application: it did not receive a datagram, or cannot keep up (RFC 4340, Sections 11.6 and 11.7).

use std::fmt::Debug;

use whimbrel_proto::Connection;
use whimbrel_proto::multipath::{MultipathConnection, SubflowId};
use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;
use whimbrel_wire::option::data_dropped::DropCode;

/// A received datagram.
pub trait Delivered {
    /// The name of its packet.
    type Packet: Copy + Debug;

    /// Its packet.
    fn packet(&self) -> Self::Packet;
}

/// A connection that reports to its peer about datagrams of packets with names `P`.
pub trait Reports<P> {
    /// A datagram did not reach the application. Returns `true` if the peer will be notified.
    fn report_discarded(&mut self, packet: P, code: DropCode) -> bool;
    /// The application cannot keep up, or can again.
    fn report_slow(&mut self, is_slow: bool);
    /// The application receives no more datagrams.
    fn end_receiving(&mut self, now: Instant);
}

impl Reports<SeqNo> for Connection {
    fn report_discarded(&mut self, packet: SeqNo, code: DropCode) -> bool {
        self.datagram_discarded(packet, code)
    }
    fn report_slow(&mut self, is_slow: bool) {
        self.set_slow_receiver(is_slow);
    }
    fn end_receiving(&mut self, now: Instant) {
        self.stop_receiving(now);
    }
}

impl Reports<(SubflowId, SeqNo)> for MultipathConnection {
    fn report_discarded(&mut self, (subflow, packet): (SubflowId, SeqNo), code: DropCode) -> bool {
        self.datagram_discarded(subflow, packet, code)
    }
    fn report_slow(&mut self, is_slow: bool) {
        self.set_slow_receiver(is_slow);
    }
    fn end_receiving(&mut self, now: Instant) {
        self.stop_receiving(now);
    }
}

/// The state of a receive queue that is reported to the connection.
#[derive(Debug)]
pub(crate) struct Feedback<P> {
    /// Packets whose datagrams were dropped because the application had too many unread ones, not yet reported.
    discarded: Vec<P>,
    /// The application has declared itself a slow receiver.
    is_asked: bool,
    /// Slow Receiver was reported.
    is_reported: bool,
}

impl<P> Feedback<P> {
    pub(crate) fn new() -> Self {
        Self { discarded: Vec::new(), is_asked: false, is_reported: false }
    }
    /// A datagram was dropped from the receive queue.
    pub(crate) fn discard(&mut self, packet: P) {
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
    pub(crate) fn report(&mut self, is_filling: bool, connection: &mut impl Reports<P>) {
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
