//! Another path under the same connection: what was learnt of the old one is kept, forgotten or put aside.

use core::fmt;

use whimbrel_units::{Duration, Instant};

use super::path_mtu::PathMtu;
use super::{Connection, State};
use crate::feature::Location;
use crate::{Event, ReceiverSnapshot, SenderSnapshot};

/// Paths remembered at most.
const MAX_PATHS: usize = 4;

/// What becomes of the knowledge of a path when packets take another one: the round-trip time, the packet size, and
/// what congestion control has learnt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathChange {
    /// All stays but the packet size, which is tried first: only the address has changed, or somebody else sees to it.
    Keep,
    /// All begins as on a new connection (RFC 9000, Section 9.4). What is queued and negotiated stays.
    #[default]
    Reset,
    /// As with `Reset`, but where the connection was on that path before, it takes up what it knew then: the
    /// round-trip time and the packet size, half the rate or window, and how often packets were lost.
    Restore,
}

/// Tells a path from others: a hash of this end's address, say, or of the peer's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathName(pub u64);

/// What was known of a path when it was left.
#[derive(Clone)]
struct Knowledge {
    name: PathName,
    rtt: Option<Duration>,
    path_mtu: Option<Box<PathMtu>>,
    max_datagram: usize,
    sender: SenderSnapshot,
    receiver: ReceiverSnapshot,
}

/// The paths that a connection was on, the one that it left last at the end.
#[derive(Clone, Default)]
pub(super) struct KnownPaths(Vec<Knowledge>);

impl fmt::Debug for KnownPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|path| path.name)).finish()
    }
}

impl KnownPaths {
    fn remember(&mut self, knowledge: Knowledge) {
        self.0.retain(|path| path.name != knowledge.name);
        if self.0.len() == MAX_PATHS {
            self.0.remove(0);
        }
        self.0.push(knowledge);
    }
    fn take(&mut self, name: PathName) -> Option<Knowledge> {
        let index = self.0.iter().position(|path| path.name == name)?;
        Some(self.0.remove(index))
    }
}

impl Connection {
    /// The driver knows that packets take another path from now on: a handover, another interface. What a loss
    /// classifier learnt of the old one is forgotten in any case. A client that [may](Connection::may_move) tells
    /// its server where it is, and goes on telling until that has followed ([`Event::MoveConfirmed`]).
    ///
    /// `change`: what else happens. Without names for the paths, `Restore` does what `Reset` does.
    pub fn path_changed(&mut self, now: Instant, change: PathChange) {
        self.change_path(now, change, None);
        self.tell_of_path(now);
    }
    /// As [`Connection::path_changed`], from one path to another. `Restore` remembers the first, and what it
    /// knows of the second; four paths at most.
    pub fn path_changed_between(&mut self, now: Instant, change: PathChange, from: PathName, to: PathName) {
        self.change_path(now, change, Some((from, to)));
        self.tell_of_path(now);
    }
    /// Tells the server where this client is. During the handshake that is another Request.
    fn tell_of_path(&mut self, now: Instant) {
        if self.state == State::Request {
            self.request_from_elsewhere();
        }
        self.announce_move(now, true);
    }

    /// The path is another one; nobody is told.
    pub(crate) fn change_path(
        &mut self,
        now: Instant,
        change: PathChange,
        names: Option<(PathName, PathName)>,
    ) {
        self.congestion.on_path_change();
        if change == PathChange::Keep {
            // Whatever else is known of it, another path that swallows packets would be silent.
            self.try_path_mtu(now, None, false);
            return;
        }
        let known = names.filter(|_| change == PathChange::Restore).and_then(|(from, to)| {
            let knowledge = self.knowledge(from);
            self.known_paths.remember(knowledge);
            self.known_paths.take(to)
        });
        self.forget_path(now);
        if let Some(known) = known {
            self.recall(now, known);
        }
    }
    fn knowledge(&self, name: PathName) -> Knowledge {
        Knowledge {
            name,
            rtt: self.rtt.best(),
            path_mtu: self.path_mtu.clone(),
            max_datagram: self.outbound.max_datagram,
            sender: self.congestion.sender_snapshot(),
            receiver: self.congestion.receiver_snapshot(),
        }
    }
    /// Everything about the path begins anew.
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
    /// Both half-connections begin anew under the same CCIDs.
    fn restart_congestion(&mut self, now: Instant) {
        if self.congestion.is_started() {
            self.start_sender(now, self.features.negotiation.ccid(Location::Local));
            self.start_receiver(now, self.features.negotiation.ccid(Location::Remote));
        }
    }
    fn recall(&mut self, now: Instant, known: Knowledge) {
        if let Some(rtt) = known.rtt {
            self.rtt.recall(now, rtt);
            // Half-connections are told the round-trip time when they begin.
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
