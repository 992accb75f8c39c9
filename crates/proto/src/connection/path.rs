//! The path: its packet size, and its replacement by another.

use whimbrel_units::Instant;

use super::path_change::PathState;
use super::{Connection, PathId, State};
use crate::Event;
use crate::PathChange;

impl Connection {
    /// Reports that the path carries datagrams of at most `limit` bytes (the driver got "too big" from its
    /// socket or from ICMP), or again as many as configured. Larger ones in the queue are dropped: RFC 4340,
    /// Section 14.2 forbids sending them unfragmentable.
    ///
    /// If the connection [discovers](crate::config::PathMtuDiscovery) the path MTU itself, `limit` is a hint,
    /// which is probed: below 1148 bytes only if datagrams of 1148 bytes do not arrive, below 496 bytes not
    /// at all.
    pub fn set_max_datagram(&mut self, now: Instant, limit: usize) {
        if self.closing.is_over() {
            return;
        }
        let resized = self.mtu.on_too_big(now, &self.cx, &mut self.fx, limit);
        self.resize(now, resized);
    }

    /// Reports that this host refused to send a packet for its size, without a limit. `assumed`: the largest
    /// datagram to send from now on, if the connection does not discover the path MTU itself.
    pub fn handle_too_large(&mut self, now: Instant, assumed: usize) {
        if self.closing.is_over() {
            return;
        }
        let resized = self.mtu.on_refused(now, &mut self.fx, assumed);
        self.resize(now, resized);
    }

    /// Reports that packets take another path from now on: a handover, or another interface. The state of a
    /// loss classifier is discarded in any case. A client that [may move](Connection::may_move) announces its
    /// address to the server until the server has followed ([`Event::MoveConfirmed`]).
    ///
    /// `change`: treatment of the path state. Without identifiers of the paths, `Restore` acts as `Reset`.
    pub fn path_changed(&mut self, now: Instant, change: PathChange) {
        self.change_path(now, change, None);
        self.announce_path(now);
    }

    /// As [`Connection::path_changed`], from one path to another. `Restore` stores the state of the first and
    /// restores the second's; at most four paths are stored.
    pub fn path_changed_between(&mut self, now: Instant, change: PathChange, from: PathId, to: PathId) {
        self.change_path(now, change, Some((from, to)));
        self.announce_path(now);
    }

    /// Announces this client's new path to the server; during the handshake, by another Request.
    fn announce_path(&mut self, now: Instant) {
        if self.cx.state == State::Request {
            self.handshake.request_from_elsewhere(&self.cx, &mut self.fx);
        }
        self.mobility.announce(now, &self.cx, &mut self.fx, true);
    }

    /// Changes the path state, without an announcement.
    pub(crate) fn change_path(&mut self, now: Instant, change: PathChange, names: Option<(PathId, PathId)>) {
        // No event follows the end of the connection, which sends no datagrams any more.
        if self.closing.is_over() {
            return;
        }
        self.congestion.on_path_change(now);
        if change == PathChange::Keep {
            // Even if the state is kept, the other path may silently drop large packets.
            let resized = self.mtu.on_path_changed(now, &self.cx, &mut self.fx, None, false);
            self.resize(now, resized);
            return;
        }
        let known = names.filter(|_| change == PathChange::Restore).and_then(|(from, to)| {
            let path_state = self.path_state(now, from);
            self.known_paths.remember(path_state);
            self.known_paths.take(to)
        });
        self.forget_path(now);
        if let Some(known) = known {
            self.recall(now, known);
        }
    }

    fn path_state(&mut self, now: Instant, name: PathId) -> PathState {
        PathState {
            name,
            rtt: self.cx.rtt.best(),
            path_mtu: self.mtu.discovery(),
            max_datagram: self.mtu.max_datagram(),
            congestion: self.congestion.leave_path(now),
        }
    }

    /// Discards all path state.
    fn forget_path(&mut self, now: Instant) {
        self.cx.rtt.forget();
        if self.mtu.is_discovered() {
            let resized = self.mtu.on_path_changed(now, &self.cx, &mut self.fx, None, true);
            self.resize(now, resized);
        } else {
            self.mtu.forget(&self.cx);
        }
        self.restart_congestion(now);
        self.resize(now, Some(self.mtu.max_datagram()));
    }

    /// Restarts both half-connections under the same CCIDs.
    fn restart_congestion(&mut self, now: Instant) {
        if self.congestion.is_started() {
            self.start_congestion(now);
        }
    }

    fn recall(&mut self, now: Instant, known: PathState) {
        if let Some(rtt) = known.rtt {
            self.cx.rtt.recall(now, rtt);
            // Half-connections read the round-trip time when they start.
            self.restart_congestion(now);
        }
        let resized = match known.path_mtu {
            None => Some(known.max_datagram),
            path_mtu => self.mtu.on_path_changed(now, &self.cx, &mut self.fx, path_mtu, true),
        };
        self.resize(now, resized);
        self.congestion.resume(now, &known.congestion);
        let max_datagram = self.mtu.max_datagram();
        if self.mtu.is_discovered() && max_datagram != self.cx.config.max_datagram {
            self.fx.events.push_back(Event::MaxDatagramChanged { max_datagram });
        }
    }
}
