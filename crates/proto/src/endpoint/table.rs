//! The connections of an endpoint, by handle and by address.

use core::net::SocketAddr;

use rustc_hash::{FxHashMapSeed, FxSeededState};
use slab::Slab;
use whimbrel_units::Instant;

use super::counts::SourcePrefix;
use super::initial_sequence::FourTuple;
use super::moves::Moves;
use super::schedule::ScheduledWake;
use super::{EndpointEvent, PortSharing};
use crate::{Connection, Event, State};

/// The entry of a handle.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) tuple: FourTuple,
    /// Source of the connection when it was opened. Limits use it even after the client has moved.
    pub(super) source: SourcePrefix,
    /// Unique among all entries that had the same handle.
    pub(super) number: u64,
    pub(super) wake: ScheduledWake,
    pub(super) state: SlotState,
    /// `true` for a server connection that has not been reported yet.
    pub(super) is_new: bool,
    /// The limits against which it counts.
    pub(super) counted: Counted,
    /// For a server connection whose client may move.
    pub(super) moves: Option<Box<Moves>>,
}

/// A connection, or what remains of it.
#[derive(Debug)]
pub(super) enum SlotState {
    /// A connection.
    Live(Box<Connection>),
    /// A connection in TIMEWAIT, with its end; no other state is kept.
    TimeWait(Instant),
    /// A connection that is over; the application has not been notified yet.
    Gone,
}

/// The limits against which a connection counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counted {
    /// None: a client, or over.
    Not,
    /// Counts as a server connection.
    Accepted,
    /// Counts as a half-open server connection.
    HalfOpen,
}

impl Entry {
    /// The limits against which it should count now.
    pub(super) fn standing(&self) -> Counted {
        match (&self.state, self.counted) {
            (_, Counted::Not) => Counted::Not,
            (SlotState::Live(connection), counted) => match connection.state() {
                State::Closed | State::TimeWait => Counted::Not,
                State::Listen | State::Respond => counted,
                _ => Counted::Accepted,
            },
            _ => Counted::Not,
        }
    }
    /// `true` if its client has yet to complete the handshake.
    pub(super) fn is_half_open(&self) -> bool {
        self.counted == Counted::HalfOpen && self.standing() == Counted::HalfOpen
    }
}

impl Entry {
    /// Time at which it has work to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            SlotState::Live(connection) => connection.poll_timeout(),
            SlotState::TimeWait(until) => Some(*until),
            SlotState::Gone => None,
        }
    }
    /// Its next event.
    pub(super) fn next_event(&mut self) -> Option<EndpointEvent> {
        match &mut self.state {
            SlotState::Live(connection) if self.is_new => {
                self.is_new = false;
                Some(EndpointEvent::Accepted {
                    remote: self.tuple.remote,
                    port: self.tuple.local_port,
                    service_code: connection.service_code(),
                })
            }
            SlotState::Live(connection) => {
                let to = self.tuple.remote;
                let from = self.moves.as_mut().and_then(|moves| moves.unreported.take());
                match from.filter(|from| *from != to) {
                    Some(from) => Some(EndpointEvent::Connection(Event::PeerMoved { from, to })),
                    None => connection.poll_event().map(EndpointEvent::Connection),
                }
            }
            SlotState::TimeWait(_) => None,
            SlotState::Gone => Some(EndpointEvent::Connection(Event::Drained)),
        }
    }
}

/// The connections, by handle and by address.
#[derive(Debug)]
pub(super) struct Table {
    entries: Slab<Entry>,
    /// Seeded, so that attackers cannot choose colliding addresses and ports.
    by_tuple: FxHashMapSeed<FourTuple, usize>,
    /// The last connection of every pair of UDP addresses, if each may have only one.
    by_remote: Option<FxHashMapSeed<SocketAddr, usize>>,
    /// Server connections whose clients may move.
    by_identifier: FxHashMapSeed<u64, usize>,
    /// Number of entries ever inserted.
    inserted: u64,
}

impl Table {
    pub(super) fn new(seed: u64, sharing: PortSharing) -> Self {
        let state = FxSeededState::with_seed(seed as usize);
        let is_exclusive = sharing == PortSharing::OneConnection;
        Self {
            entries: Slab::new(),
            by_tuple: FxHashMapSeed::with_hasher(state.clone()),
            by_remote: is_exclusive.then(|| FxHashMapSeed::with_hasher(state.clone())),
            by_identifier: FxHashMapSeed::with_hasher(state),
            inserted: 0,
        }
    }
    /// `true` if the UDP ports towards that address belong to a connection (RFC 6773, Section 3.8: from its Request
    /// until its Close), and may have no other.
    pub(super) fn is_taken(&self, remote: SocketAddr) -> bool {
        let index = self.by_remote.as_ref().and_then(|by_remote| by_remote.get(&remote));
        let entry = index.and_then(|index| self.entries.get(*index));
        match entry.map(|entry| &entry.state) {
            Some(SlotState::Live(connection)) => {
                !matches!(connection.state(), State::Closed | State::Closing | State::TimeWait)
            }
            _ => false,
        }
    }
    pub(super) fn insert(&mut self, tuple: FourTuple, connection: Connection, counted: Counted) -> usize {
        let moves = connection.move_identifier().map(|identifier| Box::new(Moves::new(identifier)));
        let identifier = moves.as_ref().map(|moves| moves.identifier);
        self.inserted += 1;
        let entry = Entry {
            moves,
            tuple,
            source: SourcePrefix::of(tuple.remote.ip()),
            number: self.inserted,
            wake: ScheduledWake::NEW,
            state: SlotState::Live(Box::new(connection)),
            is_new: counted != Counted::Not,
            counted,
        };
        let index = self.entries.insert(entry);
        self.by_tuple.insert(tuple, index);
        if let Some(identifier) = identifier {
            // A copy of an old Request creates a connection with the identifier of one whose client has moved: the
            // latter keeps it.
            self.by_identifier.entry(identifier).or_insert(index);
        }
        if let Some(by_remote) = &mut self.by_remote {
            by_remote.insert(tuple.remote, index);
        }
        index
    }
    pub(super) fn find(&self, tuple: &FourTuple) -> Option<usize> {
        self.by_tuple.get(tuple).copied()
    }
    pub(super) fn find_identifier(&self, identifier: u64) -> Option<usize> {
        self.by_identifier.get(&identifier).copied()
    }
    /// Moves the connection to another address. Packets from the previous one count until `until`.
    pub(super) fn relocate(&mut self, index: usize, tuple: FourTuple, until: Instant) {
        self.forget_previous(index);
        let Some(entry) = self.entries.get_mut(index) else { return };
        let old = core::mem::replace(&mut entry.tuple, tuple);
        if let Some(moves) = &mut entry.moves {
            moves.previous = Some((old, until));
        }
        self.by_tuple.insert(tuple, index);
        if let Some(by_remote) = &mut self.by_remote {
            if by_remote.get(&old.remote) == Some(&index) {
                by_remote.remove(&old.remote);
            }
            by_remote.insert(tuple.remote, index);
        }
    }
    /// Releases the connection's previous address.
    pub(super) fn forget_previous(&mut self, index: usize) {
        let moves = self.entries.get_mut(index).and_then(|entry| entry.moves.as_mut());
        if let Some((tuple, _)) = moves.and_then(|moves| moves.previous.take())
            && self.by_tuple.get(&tuple) == Some(&index)
            && self.entries.get(index).is_some_and(|entry| entry.tuple != tuple)
        {
            self.by_tuple.remove(&tuple);
        }
    }
    pub(super) fn get(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }
    /// The entry of that number, if it still has that handle.
    pub(super) fn get_numbered(&self, index: usize, number: u64) -> Option<&Entry> {
        self.get(index).filter(|entry| entry.number == number)
    }
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Entry> {
        self.entries.get_mut(index)
    }
    /// Releases the address for another connection; the handle stays.
    pub(super) fn release_address(&mut self, index: usize) {
        self.forget_previous(index);
        let identifier =
            self.entries.get(index).and_then(|entry| entry.moves.as_ref()).map(|it| it.identifier);
        if let Some(identifier) = identifier
            && self.by_identifier.get(&identifier) == Some(&index)
        {
            self.by_identifier.remove(&identifier);
        }
        if let Some(entry) = self.entries.get(index)
            && self.by_tuple.get(&entry.tuple) == Some(&index)
        {
            self.by_tuple.remove(&entry.tuple);
            let remote = entry.tuple.remote;
            if let Some(by_remote) = &mut self.by_remote
                && by_remote.get(&remote) == Some(&index)
            {
                by_remote.remove(&remote);
            }
        }
    }
    /// Releases the handle as well.
    pub(super) fn remove(&mut self, index: usize) {
        self.release_address(index);
        self.entries.try_remove(index);
    }
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
