//! What a connection tells its application.

use whimbrel_wire::{Ecn, Payload, SeqNo};

use crate::Ccid;
use crate::error::ConnectionError;

/// Names a datagram that was handed to [`crate::Connection::send`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct DatagramId(pub u64);

/// Why a datagram that was handed over was never sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// Its deadline passed while it waited.
    Expired,
    /// The queue was full and it was the oldest.
    QueueFull,
    /// The connection ended first.
    ConnectionEnded,
    /// The path no longer carries packets of its size.
    TooLarge,
}

/// What a connection tells its application.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is done: data flows both ways. Tells the CCIDs agreed on.
    Connected {
        /// Of the half-connection on which this end sends data.
        sender_ccid: Ccid,
        /// Of the half-connection on which this end receives data.
        receiver_ccid: Ccid,
    },
    /// A datagram arrived.
    Datagram {
        /// Its data.
        payload: Payload,
        /// The sequence number of the packet that brought it.
        sequence: SeqNo,
        /// How the network marked that packet.
        ecn: Ecn,
    },
    /// A datagram handed to `send` left in a packet.
    DatagramSent {
        /// Which.
        id: DatagramId,
        /// The sequence number of the packet that carries it.
        sequence: SeqNo,
    },
    /// A datagram handed to `send` will never be sent.
    DatagramDropped {
        /// Which.
        id: DatagramId,
        /// Why.
        reason: DropReason,
    },
    /// There is room in the send queue again after a `send` was refused.
    SendReady,
    /// A feature of the connection got a new value.
    FeatureChanged {
        /// The feature's number (RFC 4340, Section 6.4).
        feature: u8,
        /// Whether this end is the feature's location.
        local: bool,
        /// The value now in force.
        value: u64,
    },
    /// The connection is over. Nothing follows but [`Event::Drained`].
    Closed(ConnectionError),
    /// The connection's last timer (TIMEWAIT) ended: its state may be forgotten.
    Drained,
}
