//! Reports of a connection to its socket.

use bytes::Bytes;
use whimbrel_proto::ConnectionError;
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, SeqNo};

use crate::Event;
use crate::multipath::SubflowId;

/// The name of a packet: its subflow and its number there.
pub(crate) type PacketName = (SubflowId, SeqNo);

/// A datagram as the application receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Its data. May be a slice of a receive buffer of 64 KiB: copy it if you keep it for long.
    pub payload: Bytes,
    /// The sequence number of the packet that brought it; over several paths, its number in the connection.
    pub sequence: SeqNo,
    /// The path on which it arrived; 0 in a connection over one.
    pub subflow: SubflowId,
    /// The sequence number of its packet on that path.
    pub packet: SeqNo,
    /// The ECN codepoint of that packet.
    pub ecn: Ecn,
    /// Time of its reception from the kernel, or of its release by the reorder buffer, on the socket's clock.
    pub arrival: Instant,
    /// `true` if its data is known to be corrupt (RFC 4340, Section 9.3): only if the configuration
    /// requests such data.
    pub corrupt: bool,
    /// `true` if the path had lost it, and [repair](crate::Setup::repaired) brought it.
    pub repaired: bool,
}

/// The meaning of an event for a socket.
#[derive(Debug)]
pub(crate) enum Meaning {
    /// None.
    Nothing,
    /// A datagram arrived.
    Datagram(Received),
    /// The send queue has room again.
    Room,
    /// The connection is open.
    Opened(Event),
    /// The connection has ended.
    Closed(ConnectionError),
    /// The event is for the application.
    Other(Event),
}
