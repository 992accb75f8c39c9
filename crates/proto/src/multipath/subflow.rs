//! One path of a multipath connection.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::multipath::{PathPriority, RttReport};

use super::Path;
use super::keys::Code;
use super::sending::Staged;
use super::watch::PathWatch;
use crate::{Connection, ConnectionSnapshot};

/// Identifies a subflow of a connection. Numbers are not reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubflowId(pub u32);

/// Progress of a subflow, for observation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SubflowStage {
    /// The handshake is under way.
    Joining,
    /// The subflow carries data.
    Established,
    /// The subflow is being closed, or has ended.
    Ended,
}

/// Progress of a subflow's handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The client of the first subflow waits for the Response.
    Offering,
    /// The server of the first subflow waits for the acknowledgement of its Response.
    Accepting,
    /// The host that adds a subflow waits for the Response.
    Joining {
        /// The nonce of its MP_JOIN.
        nonce: u32,
    },
    /// The host that adds a subflow waits for the acknowledgement of its code.
    Confirming,
    /// The host that accepts a subflow waits for that code.
    Verifying {
        /// The code.
        expected: Code,
    },
    /// The subflow carries data.
    Established,
    /// Its connection has ended.
    Ended,
}

/// A subflow.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) id: SubflowId,
    pub(super) path: Path,
    pub(super) connection: Connection,
    pub(super) stage: Stage,
    /// Address IDs of both ends.
    pub(super) own_address: u8,
    pub(super) peer_address: u8,
    /// Priorities that this end and the peer have set.
    pub(super) own_priority: PathPriority,
    pub(super) peer_priority: PathPriority,
    pub(super) shares: Shares,
    pub(super) watch: PathWatch,
    /// Time of the last valid packet of the peer.
    pub(super) heard: Instant,
    /// The datagram given to the connection that has not left yet.
    pub(super) staged: Option<Staged>,
    /// The peer's last MP_RTT.
    pub(super) peer_rtt: Option<RttReport>,
    /// Time of the last MP_RTT sent.
    pub(super) rtt_reported: Option<Instant>,
}

/// Parameters for schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shares {
    pub(super) weight: u32,
    pub(super) cost: u32,
}

impl Default for Shares {
    fn default() -> Self {
        Self { weight: 1, cost: 0 }
    }
}

/// State of a subflow, for observation.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct SubflowSnapshot {
    /// The subflow.
    pub id: SubflowId,
    /// Its addresses.
    pub path: Path,
    /// Its progress.
    pub stage: SubflowStage,
    /// `true` unless its acknowledgements have ceased.
    pub is_alive: bool,
    /// Time without acknowledgements after which it counts as failed.
    pub timeout: Duration,
    /// The priority in force: the lower one of both ends' settings.
    pub priority: PathPriority,
    /// Address IDs of this end and of the peer.
    pub address_ids: [u8; 2],
    /// The peer's last MP_RTT.
    pub peer_rtt: Option<RttReport>,
    /// Its connection.
    pub connection: ConnectionSnapshot,
}

impl Subflow {
    pub(super) fn new(
        id: SubflowId,
        path: Path,
        connection: Connection,
        stage: Stage,
        watch: PathWatch,
    ) -> Self {
        Self {
            id,
            path,
            connection,
            stage,
            own_address: super::addresses::FIRST,
            peer_address: super::addresses::FIRST,
            own_priority: PathPriority::default(),
            peer_priority: PathPriority::default(),
            shares: Shares::default(),
            watch,
            heard: Instant::ZERO,
            staged: None,
            peer_rtt: None,
            rtt_reported: None,
        }
    }

    /// `true` if it has that path and these DCCP ports of this end and of the peer.
    pub(super) fn is_at(&self, path: Path, ports: [u16; 2]) -> bool {
        self.path == path && [self.connection.source_port(), self.connection.destination_port()] == ports
    }

    /// The priority in force for data of this end: neither end's setting is exceeded.
    pub(super) fn priority(&self) -> PathPriority {
        self.own_priority.min(self.peer_priority)
    }

    /// `true` if the handshake is complete and the connection is not over.
    pub(super) fn is_established(&self) -> bool {
        self.stage == Stage::Established
    }

    /// `true` if the peer may send data on it: the peer may have received this end's code although its answer
    /// was lost.
    pub(super) fn may_receive(&self) -> bool {
        self.is_established() || self.stage == Stage::Confirming
    }

    /// `true` if the connection has ended.
    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// `true` if data and signals may be sent.
    pub(super) fn is_open(&self) -> bool {
        self.is_established() && self.connection.state().may_send_data()
    }

    pub(super) fn snapshot(&self) -> SubflowSnapshot {
        SubflowSnapshot {
            id: self.id,
            path: self.path,
            stage: match self.stage {
                Stage::Established => SubflowStage::Established,
                Stage::Ended => SubflowStage::Ended,
                _ => SubflowStage::Joining,
            },
            is_alive: self.watch.is_alive(),
            timeout: self.watch.timeout(),
            priority: self.priority(),
            address_ids: [self.own_address, self.peer_address],
            peer_rtt: self.peer_rtt,
            connection: self.connection.snapshot(),
        }
    }
}
