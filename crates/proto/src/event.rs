//! What a connection tells its application.

use core::net::SocketAddr;

pub use whimbrel_control::loss_differentiation::{Evidence, LossClass, Overruled};
use whimbrel_wire::option::data_dropped::DropCode;
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
    /// The application at the other end no longer listens (RFC 4340, Section 11.7.2, Drop Code 1).
    PeerNotListening,
}

/// What a loss classifier says of packets lost in a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossVerdict {
    /// The first packet lost.
    pub first: SeqNo,
    /// How many in a row.
    pub count: u64,
    /// What they are taken for: congestion counts in the loss event rate, wireless does not; unless the classifier is
    /// on [trial](crate::config::Differentiation::on_trial), where it does not matter.
    pub cause: LossClass,
    /// What the verdict rests on.
    pub evidence: Evidence,
    /// Why the guard took the loss for congestion where the classifier did not, if it did.
    pub overruled: Option<Overruled>,
}

/// What ended a freeze.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Thaw {
    /// This end's application.
    Local,
    /// The other end's Unfreeze.
    Peer,
    /// The other end, which had asked for the freeze, sent something that no longer does.
    PeerSpoke,
    /// It has lasted as long as the [configuration](crate::config::FreezeConfig) allows.
    Limit,
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
    /// A datagram arrived that is known to be corrupt: its Data Checksum is wrong (RFC 4340, Section 9.3).
    /// Only where [`crate::config::ReceiveConfig::deliver_corrupt`] asks for such.
    CorruptDatagram {
        /// Its data, as they arrived.
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
    /// The other end says that a packet arrived, but its data did not reach the application as they
    /// were sent (RFC 4340, Section 11.7). After [`DropCode::ApplicationNotListening`] nothing more
    /// can be sent.
    DataDropped {
        /// The packet's sequence number, which [`Event::DatagramSent`] has told.
        sequence: SeqNo,
        /// Why.
        code: DropCode,
    },
    /// Packets of the other end were lost, and told apart by [`crate::config::TfrcConfig::differentiation`]. May
    /// overtake other events. Of more than 256 that wait, the oldest are forgotten.
    LossClassified(LossVerdict),
    /// The other end has trouble to keep up (RFC 4340, Section 11.6): the application should send
    /// less, never more. Told once per round-trip time while it lasts.
    SlowReceiver,
    /// There is room in the send queue again after a `send` was refused, or no reason to wait for any more.
    SendReady,
    /// This end sends no data from now on, because of a handover.
    Frozen {
        /// Whether the other end asked for that, rather than this end's application.
        by_peer: bool,
    },
    /// It does again.
    Unfrozen {
        /// Why.
        by: Thaw,
    },
    /// A feature of the connection got a new value.
    FeatureChanged {
        /// The feature's number (RFC 4340, Section 6.4).
        feature: u8,
        /// Whether this end is the feature's location.
        local: bool,
        /// The value now in force.
        value: u64,
    },
    /// The Reset that ends the connection explains itself in these words of the other end (RFC 4340,
    /// Section 5.6, Error Text). [`Event::Closed`] follows, and has the code and its data.
    ErrorText {
        /// The text, without control characters, at most 256 bytes of it.
        text: String,
    },
    /// The path carries larger or smaller datagrams than was known (RFC 4340, Section 14; RFC 8899).
    MaxDatagramChanged {
        /// The largest that [`crate::Connection::send`] takes now, in bytes.
        max_datagram: usize,
    },
    /// The client of this server is at another address: it has proved to have the connection's key, and to get
    /// what is sent there. Packets go there from now on. [`Endpoint`](crate::Endpoint)s tell it.
    PeerMoved {
        /// Where it was.
        from: SocketAddr,
        /// Where it is.
        to: SocketAddr,
    },
    /// The server sends to where this client is now, after [`Connection::path_changed`](crate::Connection::path_changed).
    MoveConfirmed,
    /// The connection is over. Nothing follows but [`Event::Drained`].
    Closed(ConnectionError),
    /// The connection's last timer (TIMEWAIT) ended: its state may be forgotten.
    Drained,
}

impl Event {
    /// Whether it leaves nothing of interest in an earlier event.
    pub(crate) fn supersedes(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (
                Self::FeatureChanged { feature, local, .. },
                Self::FeatureChanged { feature: of_feature, local: of_local, .. },
            ) => (feature, local) == (of_feature, of_local),
            (Self::SlowReceiver, Self::SlowReceiver) => true,
            // However often a peer changes its mind.
            (Self::Frozen { .. } | Self::Unfrozen { .. }, Self::Frozen { .. } | Self::Unfrozen { .. }) => {
                true
            }
            _ => false,
        }
    }
}
