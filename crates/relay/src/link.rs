//! The connection of a relay: over one path, or over several.

use std::net::SocketAddr;

use bytes::Bytes;
use serde::Serialize;
use tokio::time::timeout;
use whimbrel_net::multipath::{MultipathSnapshot, SchedulerKind, SubflowSnapshot, SubflowStage};
use whimbrel_net::{ConnectionSnapshot, Fingerprint, FreezeSnapshot, Mark, NetError, Received, Socket};
use whimbrel_units::{DataRate, Duration, Instant};

use super::repair::RepairView;
use crate::edge::ledger::Observed;

/// Time for a connection to close.
const CLOSE_TIME: std::time::Duration = std::time::Duration::from_secs(2);

/// A connection, over one path or over several.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) socket: Socket,
    /// Scheduler of paths at this end; `None` over one.
    pub(crate) scheduler: Option<SchedulerKind>,
}

/// The state of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// The rate that congestion control allows, in bit/s; `None` if it is unlimited or unknown.
    pub(super) allowed_rate_bps: Option<f64>,
    pub(super) rtt: Option<Duration>,
    pub(super) is_frozen: bool,
    pub(super) queued_datagrams: usize,
    pub(super) queued_bytes: usize,
    /// Counters for the ledger.
    pub(super) observed: Observed,
    /// Losses of the peer's packets that were not due to congestion.
    pub(super) lost_wireless: u64,
    /// The paths of a multipath connection.
    pub(super) paths: Vec<PathView>,
    /// Counters of repair; `None` if the ends have not agreed on it.
    pub(super) repair: Option<RepairView>,
    /// Age up to which a datagram that is sent arrives in time, where repair limits the latency.
    pub(super) budget: Option<Duration>,
    /// The same at the next report, if the queue on the path grows as it does now.
    pub(super) prospect: Option<Duration>,
    /// The rate of a single path, where a queue shows it.
    pub(super) path_rate: Option<DataRate>,
}

/// The state of a path of a multipath connection.
#[derive(Clone, Debug, Serialize)]
pub struct PathView {
    /// This end's address.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// Its state.
    pub state: PathState,
    /// RFC 9897, Section 3.2.10: 0 not used, 1 standby, 2 secondary, 3 to 15 primary.
    pub priority: u8,
    /// The rate that congestion control allows, in bit/s.
    pub allowed_rate_bps: Option<f64>,
    /// Round-trip time.
    pub rtt_s: Option<f64>,
    /// Datagrams sent on it, copies included.
    pub datagrams_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Datagrams received on it, copies included.
    pub datagrams_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Packets lost on this path. With copies on another path, their datagrams may have arrived.
    pub lost: u64,
}

/// State of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PathState {
    /// Its handshake is under way.
    Joining,
    /// The path carries data.
    Up,
    /// Its acknowledgements have ceased.
    Failed,
}

impl PathState {
    /// The name in all outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Joining => "joining",
            Self::Up => "up",
            Self::Failed => "failed",
        }
    }
}

impl Link {
    pub(crate) fn remote(&self) -> SocketAddr {
        self.socket.remote()
    }

    pub(super) fn now(&self) -> Instant {
        self.socket.now()
    }

    pub(crate) fn peer(&self) -> Option<Fingerprint> {
        self.socket.peer()
    }

    pub(crate) async fn writable(&self, size: usize) -> Result<(), NetError> {
        self.socket.writable(size).await
    }

    pub(crate) fn try_send(
        &self,
        payload: Bytes,
        deadline: Option<Instant>,
        mark: Mark,
    ) -> Result<(), NetError> {
        self.socket.try_send_part(payload, deadline, mark).map(drop)
    }

    /// Waits for datagrams, and appends up to `limit` to `out`. Cancel safe.
    pub(crate) async fn recv_many(&self, out: &mut Vec<Received>, limit: usize) -> Result<(), NetError> {
        self.socket.recv_many(out, limit).await.map(drop)
    }

    /// Closes the connection. A peer that does not answer for a while is not waited for: the program was told
    /// to end.
    pub(crate) async fn end(&self) {
        if timeout(CLOSE_TIME, self.close()).await.is_err() {
            self.abort();
        }
    }

    pub(crate) async fn close(&self) -> Result<(), NetError> {
        self.socket.close().await
    }

    pub(super) fn abort(&self) {
        self.socket.abort();
    }

    /// Returns memory that traffic has left behind.
    pub(super) fn shrink(&self) {
        self.socket.shrink_to_fit();
    }

    /// Counters of the link for a ledger; `None` once it has ended.
    pub(crate) fn observed(&self) -> Option<Observed> {
        self.view().map(|view| view.observed)
    }

    /// The state of the link; `None` once it has ended.
    pub(super) fn view(&self) -> Option<View> {
        let mut view = match self.scheduler {
            Some(scheduler) => several(&self.socket.paths()?, scheduler),
            None => single(&self.socket.snapshot()?),
        };
        view.observed.forged = self.socket.forgeries();
        let counts = self.socket.repair();
        view.observed.withdrawn += counts.map_or(0, |counts| counts.sent.dropped);
        view.repair = counts.map(RepairView::from);
        view.budget = counts.map(|counts| counts.budget);
        view.prospect = counts.map(|counts| counts.prospect);
        view.path_rate = counts.filter(|_| view.paths.is_empty()).and_then(|counts| counts.path_rate);
        Some(view)
    }
}

fn is_frozen(freeze: &FreezeSnapshot) -> bool {
    freeze.local || freeze.by_peer
}

fn allowed(snapshot: &ConnectionSnapshot) -> Option<f64> {
    let rate = snapshot.sender.allowed_rate.map(DataRate::as_bits_per_second);
    rate.filter(|rate| rate.is_finite())
}

fn single(snapshot: &ConnectionSnapshot) -> View {
    let statistics = snapshot.statistics;
    View {
        allowed_rate_bps: allowed(snapshot),
        rtt: snapshot.rtt,
        is_frozen: is_frozen(&snapshot.freeze),
        queued_datagrams: snapshot.queued_datagrams,
        queued_bytes: snapshot.queued_bytes,
        observed: Observed {
            withdrawn: statistics.datagrams_dropped - statistics.datagrams_too_large,
            narrowed: statistics.datagrams_too_large,
            unread: statistics.datagrams_discarded,
            lost_of_own: snapshot.sender.lost,
            lost_of_peer: snapshot.receiver.lost,
            bytes_sent: statistics.bytes_sent,
            bytes_received: statistics.bytes_received,
            forged: 0,
        },
        lost_wireless: snapshot.receiver.lost_wireless,
        paths: Vec::new(),
        repair: None,
        budget: None,
        prospect: None,
        path_rate: None,
    }
}

fn several(snapshot: &MultipathSnapshot, scheduler: SchedulerKind) -> View {
    let live = snapshot.subflows.iter().filter(|subflow| subflow.stage != SubflowStage::Ended);
    let paths: Vec<PathView> = live.clone().map(path).collect();
    let used: Vec<&SubflowSnapshot> =
        live.filter(|it| it.stage == SubflowStage::Established && it.is_alive).collect();
    let statistics = snapshot.statistics;
    View {
        allowed_rate_bps: allowed_by_all(&used, scheduler),
        rtt: used.iter().filter_map(|subflow| subflow.connection.rtt).min(),
        is_frozen: !used.is_empty() && used.iter().all(|subflow| is_frozen(&subflow.connection.freeze)),
        queued_datagrams: snapshot.queued_datagrams,
        queued_bytes: snapshot.queued_bytes,
        observed: Observed {
            withdrawn: statistics.datagrams_dropped - statistics.datagrams_too_large,
            narrowed: statistics.datagrams_too_large,
            unread: 0,
            lost_of_own: snapshot.subflows.iter().map(|subflow| subflow.connection.sender.lost).sum(),
            lost_of_peer: statistics.missing,
            bytes_sent: statistics.bytes_sent,
            bytes_received: statistics.bytes_received,
            forged: 0,
        },
        lost_wireless: used.iter().map(|subflow| subflow.connection.receiver.lost_wireless).sum(),
        paths,
        repair: None,
        budget: None,
        prospect: None,
        path_rate: None,
    }
}

/// The allowed rate over all paths that carry data: their sum, or the highest rate if a datagram may take
/// only one of them, or takes all.
fn allowed_by_all(used: &[&SubflowSnapshot], scheduler: SchedulerKind) -> Option<f64> {
    let best = used.iter().map(|subflow| subflow.priority).max()?;
    let primary = used.iter().filter(|subflow| subflow.priority == best || best.number() >= 3);
    let rates = primary.map(|subflow| allowed(&subflow.connection));
    match scheduler {
        SchedulerKind::Redundant | SchedulerKind::Handover => rates.flatten().max_by(f64::total_cmp),
        // Without a limit on one path there is none on all.
        _ => rates.sum(),
    }
}

fn path(subflow: &SubflowSnapshot) -> PathView {
    let connection = &subflow.connection;
    let statistics = connection.statistics;
    PathView {
        local: subflow.path.local,
        remote: subflow.path.remote,
        state: match (subflow.stage, subflow.is_alive) {
            (SubflowStage::Established, true) => PathState::Up,
            (SubflowStage::Established, false) => PathState::Failed,
            _ => PathState::Joining,
        },
        priority: subflow.priority.number(),
        allowed_rate_bps: allowed(connection),
        rtt_s: connection.rtt.map(Duration::as_secs_f64),
        datagrams_sent: statistics.datagrams_sent,
        bytes_sent: statistics.bytes_sent,
        datagrams_received: statistics.datagrams_received,
        bytes_received: statistics.bytes_received,
        lost: connection.receiver.lost,
    }
}
