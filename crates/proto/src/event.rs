//! Events that a connection reports to its application.

use core::net::SocketAddr;

pub use whimbrel_control::loss_differentiation::{Evidence, LossClass, Overruled};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{Ecn, Payload, SeqNo};

use crate::Ccid;
use crate::error::ConnectionError;
use crate::multipath::MultipathEvent;

/// Identifies a datagram passed to [`crate::Connection::send`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct DatagramId(pub u64);

/// Reason for dropping a queued datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DropReason {
    /// Its deadline passed while it waited.
    Expired,
    /// The queue was full and it was the oldest.
    QueueFull,
    /// The connection ended before it was sent.
    ConnectionEnded,
    /// The path no longer carries packets of that size.
    TooLarge,
    /// The peer's application no longer listens (RFC 4340, Section 11.7.2, Drop Code 1).
    PeerNotListening,
}

/// Classification of consecutive lost packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossVerdict {
    /// The first lost packet.
    pub first: SeqNo,
    /// Number of consecutive lost packets.
    pub count: u64,
    /// Class of the loss: congestion counts in the loss event rate, wireless does not; unless the classifier
    /// only [runs for evaluation](crate::config::Differentiation::on_trial).
    pub cause: LossClass,
    /// Evidence on which the verdict is based.
    pub evidence: Evidence,
    /// Reason for which the guard counted the loss as congestion against the classifier, if it did.
    pub overruled: Option<Overruled>,
}

/// Cause of the end of a freeze.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UnfreezeCause {
    /// This end's application.
    Local,
    /// The other end's Unfreeze.
    Peer,
    /// A packet of the peer, which had requested the freeze, without the Freeze option.
    PeerSpoke,
    /// The time limit of the [configuration](crate::config::FreezeConfig).
    Limit,
}

/// An event that a connection reports to its application.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is complete: data flows both ways.
    Connected {
        /// CCID of the half-connection on which this end sends data.
        sender_ccid: Ccid,
        /// CCID of the half-connection on which this end receives data.
        receiver_ccid: Ccid,
    },
    /// A datagram arrived.
    Datagram {
        /// Its data.
        payload: Payload,
        /// Sequence number of the packet that carried it.
        sequence: SeqNo,
        /// The ECN codepoint with which that packet arrived.
        ecn: Ecn,
        /// The path had lost it: [repair](crate::repair) brought it.
        repaired: bool,
    },
    /// A datagram arrived that is known to be corrupt: its Data Checksum is wrong (RFC 4340, Section 9.3).
    /// Only if [`crate::config::ReceiveConfig::deliver_corrupt`] is set.
    CorruptDatagram {
        /// Its data, as they arrived.
        payload: Payload,
        /// Sequence number of the packet that carried it.
        sequence: SeqNo,
        /// The ECN codepoint with which that packet arrived.
        ecn: Ecn,
    },
    /// A datagram passed to `send` left in a packet.
    DatagramSent {
        /// Identifier of the datagram.
        id: DatagramId,
        /// Sequence number of the packet that carries it.
        sequence: SeqNo,
    },
    /// A datagram passed to `send` will never be sent.
    DatagramDropped {
        /// Identifier of the datagram.
        id: DatagramId,
        /// Reason for dropping it.
        reason: DropReason,
    },
    /// The peer reports that a packet arrived, but that its data did not reach the application as sent (RFC
    /// 4340, Section 11.7). After [`DropCode::ApplicationNotListening`] nothing more can be sent.
    DataDropped {
        /// The packet's sequence number, as in [`Event::DatagramSent`].
        sequence: SeqNo,
        /// Reason for dropping or altering its data.
        code: DropCode,
    },
    /// Packets of the peer were lost, and classified by [`crate::config::TfrcConfig::differentiation`]. May
    /// overtake other events. If more than 256 wait, the oldest are discarded.
    LossClassified(LossVerdict),
    /// The peer cannot keep up (RFC 4340, Section 11.6): the application should reduce its rate. Reported
    /// once per round-trip time while the condition lasts.
    SlowReceiver,
    /// The receiver misses a frame that others refer to, in spite of [repair](crate::repair): the encoder
    /// should make a frame that refers to no other (a key frame).
    ///
    /// Asked again if more is missing before that frame, or that frame itself: a round trip and 100 ms later
    /// at the earliest.
    NewStartNeeded {
        /// The stream of the frame, as in [`Mark::stream`](crate::repair::Mark::stream).
        stream: u64,
    },
    /// The send queue has room again after a refused `send`, or will never have any.
    SendReady,
    /// This end stops sending data because of a handover.
    Frozen {
        /// `true` if the peer requested it rather than this end's application.
        by_peer: bool,
    },
    /// This end resumes sending data.
    Unfrozen {
        /// Cause of the end of the freeze.
        by: UnfreezeCause,
    },
    /// A feature of the connection got a new value.
    FeatureChanged {
        /// The feature's number (RFC 4340, Section 6.4).
        feature: u8,
        /// `true` if the feature is located at this end.
        local: bool,
        /// The value now in force.
        value: u64,
    },
    /// Error Text of the Reset that ends the connection (RFC 4340, Section 5.6). [`Event::Closed`] follows,
    /// with the code and its data.
    ErrorText {
        /// The text, without control characters, at most 256 bytes of it.
        text: String,
    },
    /// The largest datagram that the path carries has changed (RFC 4340, Section 14; RFC 8899).
    MaxDatagramChanged {
        /// The largest datagram that [`crate::Connection::send`] accepts now, in bytes.
        max_datagram: usize,
    },
    /// The client of this server has moved: it has proved possession of the connection's key and reachability
    /// at the new address, to which packets are sent from now on. Reported by [`Endpoint`](crate::Endpoint)s.
    PeerMoved {
        /// The previous address.
        from: SocketAddr,
        /// The new address.
        to: SocketAddr,
    },
    /// The server sends to this client's new address, after
    /// [`Connection::path_changed`](crate::Connection::path_changed).
    MoveConfirmed,
    /// An event of a connection over several paths that has no counterpart among the others. Sockets report
    /// it, which have both kinds of connections.
    Paths(Box<MultipathEvent>),
    /// The connection has ended. Only [`Event::Drained`] follows.
    Closed(ConnectionError),
    /// The connection's last timer (TIMEWAIT) expired: its state may be discarded.
    Drained,
}

impl Event {
    /// `true` if the event makes an earlier, unpolled one redundant.
    pub(crate) fn supersedes(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (
                Self::FeatureChanged { feature, local, .. },
                Self::FeatureChanged { feature: of_feature, local: of_local, .. },
            ) => (feature, local) == (of_feature, of_local),
            (Self::SlowReceiver, Self::SlowReceiver) => true,
            // A bound on what a peer that freezes and unfreezes repeatedly can queue.
            (Self::Frozen { .. } | Self::Unfrozen { .. }, Self::Frozen { .. } | Self::Unfrozen { .. }) => {
                true
            }
            _ => false,
        }
    }
}
