//! State of a connection, for observation.

use whimbrel_control::reordering::LatenessSummary;
use whimbrel_units::{Duration, Instant};

use super::{Connection, FreezeSnapshot, PathMtuPhase, ReorderSnapshot, Role, State, Statistics};
use crate::{Ccid, ReceiverSnapshot, SenderSnapshot};

/// State of a connection, for observation.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ConnectionSnapshot {
    /// Current state (RFC 4340, Section 8.4).
    pub state: State,
    /// Role of this end.
    pub role: Role,
    /// CCID of the half-connection on which this end sends data.
    pub sender_ccid: Ccid,
    /// CCID of the half-connection on which this end receives data.
    pub receiver_ccid: Ccid,
    /// State of its HC-sender.
    pub sender: SenderSnapshot,
    /// State of its HC-receiver.
    pub receiver: ReceiverSnapshot,
    /// The best estimate of the round-trip time from any source.
    pub rtt: Option<Duration>,
    /// Number of datagrams in the send queue.
    pub queued_datagrams: usize,
    /// Number of bytes of application data in the send queue.
    pub queued_bytes: usize,
    /// Time of the peer's last Slow Receiver option (RFC 4340, Section 11.6), to within a round-trip time;
    /// its effect on congestion control lasts about as long.
    pub peer_slow_at: Option<Instant>,
    /// The largest datagram that `send` accepts now, in bytes.
    pub max_datagram: usize,
    /// Phase of path MTU discovery; `None` if disabled.
    pub path_mtu: Option<PathMtuPhase>,
    /// Current freeze state.
    pub freeze: FreezeSnapshot,
    /// State of resequencing; `None` unless delivery in order or loss detection after RACK is enabled.
    pub reordering: Option<ReorderSnapshot>,
    /// Lateness of overtaken packets (RFC 4737, Section 4.3), from which a D_max can be chosen.
    pub lateness: LatenessSummary,
    /// Memory in use.
    pub holdings: Holdings,
    /// Counters since the start.
    pub statistics: Statistics,
}

/// Memory that a connection uses besides the send queue, for checking its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Holdings {
    /// Number of queued events.
    pub events: usize,
    /// Number of datagrams among these.
    pub datagrams: usize,
    /// Number of bytes of application data in these datagrams.
    pub datagram_bytes: usize,
    /// Number of bytes of options for the whole history of received packets (RFC 4340, Section 11.4).
    pub ack_vector_bytes: usize,
    /// Number of Ack Vectors sent and not known to have arrived.
    pub ack_vectors_sent: usize,
    /// Number of features under negotiation or agreed on, and of pending refusals of unknown ones.
    pub feature_entries: usize,
}

impl Connection {
    /// State of resequencing; `None` unless delivery in order or loss detection after RACK is enabled.
    pub fn reordering(&self) -> Option<ReorderSnapshot> {
        self.resequencer.as_ref().map(|resequencer| resequencer.snapshot())
    }

    /// Lateness of the overtaken packets so far.
    pub fn lateness(&self) -> LatenessSummary {
        self.reception.lateness()
    }

    /// State of the HC-sender alone, for observation.
    pub fn sender_snapshot(&self) -> SenderSnapshot {
        self.congestion.sender_snapshot()
    }

    /// Returns memory that the handshake, or traffic, has left behind, for connections that are idle. It is
    /// allocated again when it is needed.
    pub fn shrink_to_fit(&mut self) {
        self.fx.shrink_to_fit();
    }

    /// Current state, for observation.
    pub fn snapshot(&self) -> ConnectionSnapshot {
        ConnectionSnapshot {
            state: self.cx.state,
            role: self.cx.ports.role,
            sender_ccid: self.congestion.sender_ccid(),
            receiver_ccid: self.congestion.receiver_ccid(),
            sender: self.congestion.sender_snapshot(),
            receiver: self.congestion.receiver_snapshot(),
            rtt: self.cx.rtt.best(),
            queued_datagrams: self.fx.queue.len(),
            queued_bytes: self.fx.queue.bytes(),
            peer_slow_at: self.dropped.peer_slow_at(),
            max_datagram: self.mtu.max_datagram(),
            path_mtu: self.mtu.phase(),
            freeze: self.freezing.snapshot(&self.cx),
            reordering: self.reordering(),
            lateness: self.lateness(),
            holdings: Holdings {
                events: self.fx.events.len(),
                datagrams: self.reception.waiting().0,
                datagram_bytes: self.reception.waiting().1,
                ack_vector_bytes: self.ack_vectors.history_len(),
                ack_vectors_sent: self.ack_vectors.unacknowledged(),
                feature_entries: self.cx.features.negotiation.entries(),
            },
            statistics: Statistics {
                datagrams_dropped: self.fx.queue.dropped(),
                datagrams_too_large: self.fx.queue.too_large(),
                ..self.fx.statistics
            },
        }
    }
}
