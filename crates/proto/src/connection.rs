//! One end of one connection.

use whimbrel_control::loss_differentiation::LossCause;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Ecn, Packet, SeqNo};

use crate::{Ccid, Config, Datagram, DatagramId, Event, ReceiverSnapshot, SendError, SenderSnapshot};

/// Which end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The end that sent the Request.
    Client,
    /// The end that answered it.
    Server,
}

/// The states of RFC 4340, Section 4.3. They print as the RFC writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are the RFC's")]
pub enum State {
    Closed,
    Listen,
    Request,
    Respond,
    PartOpen,
    Open,
    CloseReq,
    Closing,
    TimeWait,
}

/// What the driver knows about a packet besides its contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveMeta {
    /// How the network marked it.
    pub ecn: Ecn,
}

/// A packet to put on the network.
#[derive(Clone, PartialEq, Debug)]
pub struct Transmit {
    /// The packet.
    pub packet: Packet,
    /// The ECN codepoint to send it with.
    pub ecn: Ecn,
}

/// What can be seen of a connection.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ConnectionSnapshot {
    /// Where in its life it is.
    pub state: State,
    /// Which end this is.
    pub role: Role,
    /// The congestion control of the data it sends.
    pub sender_ccid: Ccid,
    /// The congestion control of the data it receives.
    pub receiver_ccid: Ccid,
    /// What its HC-sender knows.
    pub sender: SenderSnapshot,
    /// What its HC-receiver knows.
    pub receiver: ReceiverSnapshot,
    /// The best round-trip time it has from any source.
    pub rtt: Option<Duration>,
    /// Datagrams in the send queue.
    pub queued_datagrams: usize,
    /// Bytes of application data in the send queue.
    pub queued_bytes: usize,
    /// The largest datagram `send` takes now, in bytes.
    pub max_datagram: usize,
    /// Counters since the start.
    pub statistics: Statistics,
}

/// Counters of a connection since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Packets sent, of any type.
    pub packets_sent: u64,
    /// Packets received that were valid.
    pub packets_received: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Bytes of application data sent.
    pub bytes_sent: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Bytes of application data received.
    pub bytes_received: u64,
    /// Datagrams dropped from the send queue.
    pub datagrams_dropped: u64,
    /// Packets that were malformed, out of sequence or not allowed in the state.
    pub packets_ignored: u64,
    /// Sync packets sent.
    pub syncs_sent: u64,
}
