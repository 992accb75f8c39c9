//! What can be seen of a connection from outside.

use whimbrel_control::reordering::LatenessSummary;
use whimbrel_units::{Duration, Instant};

use super::{Connection, FreezeSnapshot, PathMtuPhase, ReorderSnapshot, Role, State};
use crate::{Ccid, ReceiverSnapshot, SenderSnapshot};

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
    /// When the other end last said that it has trouble to keep up (RFC 4340, Section 11.6), to within a
    /// round-trip time; the effect on the congestion control lasts about as long.
    pub peer_slow_at: Option<Instant>,
    /// The largest datagram `send` takes now, in bytes.
    pub max_datagram: usize,
    /// Where the discovery of that size is; `None` where there is none.
    pub path_mtu: Option<PathMtuPhase>,
    /// Who is frozen.
    pub freeze: FreezeSnapshot,
    /// The packets that wait for earlier ones; `None` unless delivery in order or loss detection after RACK is enabled.
    pub reordering: Option<ReorderSnapshot>,
    /// How late packets came that had been overtaken (RFC 4737, Section 4.3): what a D_max is chosen from.
    pub lateness: LatenessSummary,
    /// What it keeps in memory.
    pub holdings: Holdings,
    /// Counters since the start.
    pub statistics: Statistics,
}

/// What a connection keeps in memory besides the send queue, for whoever watches over its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Holdings {
    /// Events that the application has not asked for.
    pub events: usize,
    /// Datagrams among these.
    pub datagrams: usize,
    /// Bytes of application data in these datagrams.
    pub datagram_bytes: usize,
    /// Bytes of options in which all that is to be told of arrived packets would fit (RFC 4340, Section 11.4).
    pub ack_vector_bytes: usize,
    /// Ack Vectors sent of which it is not known that they arrived.
    pub ack_vectors_sent: usize,
    /// Features under negotiation or agreed on, and refusals of unknown ones that wait for a packet.
    pub feature_entries: usize,
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
    /// Datagrams that arrived, but did not reach the application as they were sent (RFC 4340, Section 11.7).
    pub datagrams_discarded: u64,
    /// Datagrams of this end of which the other end said so.
    pub datagrams_lost_at_peer: u64,
    /// Packets that were malformed, out of sequence, duplicates or not allowed in the state.
    pub packets_ignored: u64,
    /// Sync packets sent, but for probes of the path.
    pub syncs_sent: u64,
    /// Probes of the path's packet size sent (RFC 8899).
    pub path_probes_sent: u64,
}

impl Connection {
    /// The packets that wait for earlier ones; `None` unless delivery in order or loss detection after RACK is enabled.
    pub fn reordering(&self) -> Option<ReorderSnapshot> {
        self.ordering.as_ref().map(|ordering| ordering.snapshot())
    }
    /// What can be seen of it.
    pub fn snapshot(&self) -> ConnectionSnapshot {
        ConnectionSnapshot {
            state: self.state,
            role: self.ports.role,
            sender_ccid: self.congestion.sender_ccid(),
            receiver_ccid: self.congestion.receiver_ccid(),
            sender: self.congestion.sender_snapshot(),
            receiver: self.congestion.receiver_snapshot(),
            rtt: self.rtt.best(),
            queued_datagrams: self.outbound.queue.len(),
            queued_bytes: self.outbound.queue.bytes(),
            peer_slow_at: self.peer_slow_at(),
            max_datagram: self.max_datagram(),
            path_mtu: self.path_mtu.as_ref().map(|path_mtu| path_mtu.phase()),
            freeze: self.freeze_snapshot(),
            reordering: self.reordering(),
            lateness: self.lateness(),
            holdings: Holdings {
                events: self.events.len(),
                datagrams: self.reception.waiting().0,
                datagram_bytes: self.reception.waiting().1,
                ack_vector_bytes: self.ack_vectors.history_len(),
                ack_vectors_sent: self.ack_vectors.unacknowledged(),
                feature_entries: self.features.negotiation.entries(),
            },
            statistics: Statistics { datagrams_dropped: self.outbound.queue.dropped(), ..self.statistics },
        }
    }
}
