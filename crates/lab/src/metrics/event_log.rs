//! A log of the packets of one end of a flow, for programs that take it piece by piece.

use std::cell::RefCell;

use whimbrel_netsim::LossCause;
use whimbrel_units::Instant;

use super::PacketInfo;

/// An event of a packet with data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketEventKind {
    /// The packet was handed to the network.
    Sent,
    /// The packet arrived.
    Received,
    /// The packet was lost in the network, at this time.
    Lost(LossCause),
}

/// An event of a packet with data.
#[derive(Clone, Copy, Debug)]
pub struct PacketEvent {
    /// Its time.
    pub at: Instant,
    /// The kind of the event.
    pub kind: PacketEventKind,
    /// The packet's number at its sender.
    pub sequence: u64,
    /// Bytes of the packet.
    pub size: u32,
}

/// The events since the log was last taken.
#[derive(Debug, Default)]
pub(super) struct EventLog(RefCell<Vec<PacketEvent>>);

impl EventLog {
    pub(super) fn add(&self, at: Instant, kind: PacketEventKind, packet: PacketInfo) {
        self.0.borrow_mut().push(PacketEvent { at, kind, sequence: packet.sequence, size: packet.size });
    }

    pub(super) fn take(&self) -> Vec<PacketEvent> {
        self.0.take()
    }
}
