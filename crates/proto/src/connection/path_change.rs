//! Change of path: the state of the old path is kept, discarded or stored.

use core::fmt;

use whimbrel_units::{Duration, Instant};

use super::path_mtu::PathMtu;
use super::{Connection, State};
use crate::feature::Location;
use crate::{Event, ReceiverSnapshot, SenderSnapshot};

/// Number of paths stored.
const MAX_PATHS: usize = 4;

/// Treatment of the path state when packets take another path: the round-trip time, the packet size, and the state of
/// congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathChange {
    /// Everything is kept but the packet size, which is verified first: only the address has changed, or the driver
    /// handles the change.
    Keep,
    /// Everything starts as on a new connection (RFC 9000, Section 9.4). The send queue and negotiated features are
    /// kept.
    #[default]
    Reset,
    /// As `Reset`, but if the connection used that path before, its state is restored: the round-trip time and the
    /// packet size, half the rate or window, and the loss event rate.
    Restore,
}

/// Identifies a path: for example a hash of this end's or the peer's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathId(pub u64);

/// State of a path when it was left.
#[derive(Clone)]
struct PathState {
    name: PathId,
    rtt: Option<Duration>,
    path_mtu: Option<Box<PathMtu>>,
    max_datagram: usize,
    sender: SenderSnapshot,
    receiver: ReceiverSnapshot,
}

/// The stored paths, the last one left at the end.
#[derive(Clone, Default)]
pub(super) struct KnownPaths(Vec<PathState>);

impl fmt::Debug for KnownPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|path| path.name)).finish()
    }
}

impl KnownPaths {
    fn remember(&mut self, path_state: PathState) {
        self.0.retain(|path| path.name != path_state.name);
        if self.0.len() == MAX_PATHS {
            self.0.remove(0);
        }
        self.0.push(path_state);
    }
    fn take(&mut self, name: PathId) -> Option<PathState> {
        let index = self.0.iter().position(|path| path.name == name)?;
        Some(self.0.remove(index))
    }
}

impl Connection {
    /// Reports that packets take another path from now on: a handover, or another interface. The state of a loss
    /// classifier is discarded in any case. A client that [may move](Connection::may_move) announces its address to the
    /// server until the server has followed ([`Event::MoveConfirmed`]).
    ///
    /// `change`: treatment of the path state. Without identifiers of the paths, `Restore` acts as `Reset`.
    pub fn path_changed(&mut self, now: Instant, change: PathChange) {
        self.change_path(now, change, None);
        self.announce_path(now);
    }
    /// As [`Connection::path_changed`], from one path to another. `Restore` stores the state of the first and restores
    /// that of the second; at most four paths are stored.
    pub fn path_changed_between(&mut self, now: Instant, change: PathChange, from: PathId, to: PathId) {
        self.change_path(now, change, Some((from, to)));
        self.announce_path(now);
    }
    /// Announces this client's new path to the server; during the handshake, by another Request.
    fn announce_path(&mut self, now: Instant) {
        if self.state == State::Request {
            self.request_from_elsewhere();
        }
        self.announce_move(now, true);
    }

    /// Changes the path state, without an announcement.
    pub(crate) fn change_path(&mut self, now: Instant, change: PathChange, names: Option<(PathId, PathId)>) {
        self.congestion.on_path_change();
        if change == PathChange::Keep {
            // Even if the state is kept, the other path may silently drop large packets.
            self.try_path_mtu(now, None, false);
            return;
        }
        let known = names.filter(|_| change == PathChange::Restore).and_then(|(from, to)| {
            let path_state = self.path_state(from);
            self.known_paths.remember(path_state);
            self.known_paths.take(to)
        });
        self.forget_path(now);
        if let Some(known) = known {
            self.recall(now, known);
        }
    }
    fn path_state(&self, name: PathId) -> PathState {
        PathState {
            name,
            rtt: self.rtt.best(),
            path_mtu: self.path_mtu.clone(),
            max_datagram: self.outbound.max_datagram,
            sender: self.congestion.sender_snapshot(),
            receiver: self.congestion.receiver_snapshot(),
        }
    }
    /// Discards all path state.
    fn forget_path(&mut self, now: Instant) {
        self.rtt.forget();
        if self.path_mtu.is_some() {
            self.try_path_mtu(now, None, true);
        } else {
            self.outbound.max_datagram = self.config.max_datagram;
        }
        self.restart_congestion(now);
        self.limit_datagrams(self.outbound.max_datagram);
    }
    /// Restarts both half-connections under the same CCIDs.
    fn restart_congestion(&mut self, now: Instant) {
        if self.congestion.is_started() {
            self.start_sender(now, self.features.negotiation.ccid(Location::Local));
            self.start_receiver(now, self.features.negotiation.ccid(Location::Remote));
        }
    }
    fn recall(&mut self, now: Instant, known: PathState) {
        if let Some(rtt) = known.rtt {
            self.rtt.recall(now, rtt);
            // Half-connections read the round-trip time when they start.
            self.restart_congestion(now);
        }
        if known.path_mtu.is_some() {
            self.try_path_mtu(now, known.path_mtu, true);
        } else {
            self.limit_datagrams(known.max_datagram);
        }
        self.congestion.resume(now, &known.sender, &known.receiver);
        let max_datagram = self.outbound.max_datagram;
        if self.path_mtu.is_some() && max_datagram != self.config.max_datagram {
            self.events.push_back(Event::MaxDatagramChanged { max_datagram });
        }
    }
}
