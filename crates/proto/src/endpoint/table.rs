//! The connections of an endpoint, by handle and by address.

use rustc_hash::{FxHashMapSeed, FxSeededState};
use slab::Slab;
use smallvec::SmallVec;
use whimbrel_units::Instant;

use super::counts::SourcePrefix;
use super::held::{Address, Held, Standing};
use super::initial_sequence::FourTuple;
use super::schedule::ScheduledWake;
use super::{EndpointEvent, EventOf, PortSharing};

/// The entry of a handle.
#[derive(Debug)]
pub(super) struct Entry<C: Held> {
    /// The addresses and ports from which the connection was opened, or the current ones.
    pub(super) tuple: FourTuple<C::Address>,
    /// Source of the connection when it was opened. Limits use it even after the client has moved.
    pub(super) source: SourcePrefix,
    /// Unique among all entries that had the same handle.
    pub(super) number: u64,
    pub(super) wake: ScheduledWake,
    pub(super) state: SlotState<C>,
    /// `true` for a server connection that has not been reported yet.
    pub(super) is_new: bool,
    /// The limits against which it counts.
    pub(super) counted: Counted,
    /// Its identifier, if packets from elsewhere can name the connection.
    identifier: Option<u64>,
    pub(super) extra: C::Extra,
}

/// A connection, or what remains of it.
#[derive(Debug)]
pub(super) enum SlotState<C> {
    /// A connection.
    Live(Box<C>),
    /// A connection in TIMEWAIT, with its end; no other state is kept.
    TimeWait(Instant),
    /// A connection that has ended; the application has not been notified yet.
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

impl<C: Held> Entry<C> {
    /// The limits against which it should count now.
    pub(super) fn standing(&self) -> Counted {
        match (&self.state, self.counted) {
            (_, Counted::Not) => Counted::Not,
            (SlotState::Live(connection), counted) => match connection.standing() {
                Standing::Over => Counted::Not,
                Standing::HalfOpen => counted,
                Standing::Open | Standing::Closing => Counted::Accepted,
            },
            _ => Counted::Not,
        }
    }

    /// `true` if its client has yet to complete the handshake.
    pub(super) fn is_half_open(&self) -> bool {
        self.counted == Counted::HalfOpen && self.standing() == Counted::HalfOpen
    }

    /// Time at which it has work to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            SlotState::Live(connection) => connection.poll_timeout(),
            SlotState::TimeWait(until) => Some(*until),
            SlotState::Gone => None,
        }
    }

    /// Its next event.
    pub(super) fn next_event(&mut self) -> Option<EventOf<C>> {
        match &mut self.state {
            SlotState::Live(connection) if self.is_new => {
                self.is_new = false;
                Some(EndpointEvent::Accepted {
                    from: self.tuple.address,
                    port: self.tuple.local_port,
                    service_code: connection.service_code(),
                })
            }
            SlotState::Live(connection) => {
                connection.poll_event(&mut self.extra, self.tuple.address).map(EndpointEvent::Connection)
            }
            SlotState::TimeWait(_) => None,
            SlotState::Gone => Some(EndpointEvent::Connection(C::DRAINED)),
        }
    }
}

/// The connections, by handle and by address.
#[derive(Debug)]
pub(super) struct Table<C: Held> {
    entries: Slab<Entry<C>>,
    /// Seeded, so that attackers cannot choose colliding addresses and ports.
    by_tuple: FxHashMapSeed<FourTuple<C::Address>, usize>,
    /// The last connection of every pair of UDP addresses, if each may have only one.
    by_address: Option<FxHashMapSeed<C::Address, usize>>,
    /// Connections that packets from elsewhere can name.
    by_identifier: FxHashMapSeed<u64, usize>,
    /// Number of entries ever inserted.
    inserted: u64,
}

impl<C: Held> Table<C> {
    pub(super) fn new(seed: u64, sharing: PortSharing) -> Self {
        let state = FxSeededState::with_seed(seed as usize);
        let is_exclusive = sharing == PortSharing::OneConnection;
        Self {
            entries: Slab::new(),
            by_tuple: FxHashMapSeed::with_hasher(state.clone()),
            by_address: is_exclusive.then(|| FxHashMapSeed::with_hasher(state.clone())),
            by_identifier: FxHashMapSeed::with_hasher(state),
            inserted: 0,
        }
    }

    /// `true` if the UDP ports towards that address belong to a connection (RFC 6773, Section 3.8: from its
    /// Request until its Close), and may have no other.
    pub(super) fn is_taken(&self, address: &C::Address) -> bool {
        let index = self.by_address.as_ref().and_then(|by_address| by_address.get(address));
        let entry = index.and_then(|index| self.entries.get(*index));
        match entry.map(|entry| &entry.state) {
            Some(SlotState::Live(connection)) => {
                !matches!(connection.standing(), Standing::Closing | Standing::Over)
            }
            _ => false,
        }
    }

    pub(super) fn insert(&mut self, tuple: FourTuple<C::Address>, connection: C, counted: Counted) -> usize {
        let identifier = connection.identifier();
        self.inserted += 1;
        let entry = Entry {
            extra: connection.extra(),
            identifier,
            tuple,
            source: SourcePrefix::of(tuple.address.remote().ip()),
            number: self.inserted,
            wake: ScheduledWake::NEW,
            state: SlotState::Live(Box::new(connection)),
            is_new: counted != Counted::Not,
            counted,
        };
        let index = self.entries.insert(entry);
        self.link(&tuple, index);
        if let Some(identifier) = identifier {
            // A copy of an old Request creates a connection with the identifier of one whose client has
            // moved: the latter keeps it.
            self.by_identifier.entry(identifier).or_insert(index);
        }
        index
    }

    /// Leads packets with these addresses and ports to the connection.
    pub(super) fn link(&mut self, tuple: &FourTuple<C::Address>, index: usize) {
        self.by_tuple.insert(*tuple, index);
        if let Some(by_address) = &mut self.by_address {
            by_address.insert(tuple.address, index);
        }
    }

    /// Leads them to it no longer.
    pub(super) fn unlink(&mut self, tuple: &FourTuple<C::Address>, index: usize) {
        if self.by_tuple.get(tuple) != Some(&index) {
            return;
        }
        self.by_tuple.remove(tuple);
        self.release_ports(&tuple.address, index);
    }

    /// Releases the pair of UDP addresses for another connection.
    pub(super) fn release_ports(&mut self, address: &C::Address, index: usize) {
        if let Some(by_address) = &mut self.by_address
            && by_address.get(address) == Some(&index)
        {
            by_address.remove(address);
        }
    }

    pub(super) fn find(&self, tuple: &FourTuple<C::Address>) -> Option<usize> {
        self.by_tuple.get(tuple).copied()
    }

    pub(super) fn find_identifier(&self, identifier: u64) -> Option<usize> {
        self.by_identifier.get(&identifier).copied()
    }

    /// Releases the addresses of the connection other than its entry's.
    pub(super) fn forget_others(&mut self, index: usize) {
        let Some(entry) = self.entries.get_mut(index) else { return };
        let home = entry.tuple;
        let others: SmallVec<[_; 2]> =
            C::take_others(&mut entry.extra).filter(|other| *other != home).collect();
        for other in others {
            self.unlink(&other, index);
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&Entry<C>> {
        self.entries.get(index)
    }

    /// The entry of that number, if it still has that handle.
    pub(super) fn get_numbered(&self, index: usize, number: u64) -> Option<&Entry<C>> {
        self.get(index).filter(|entry| entry.number == number)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Entry<C>> {
        self.entries.get_mut(index)
    }

    /// Releases the addresses for another connection; the handle stays.
    pub(super) fn release_address(&mut self, index: usize) {
        self.forget_others(index);
        let Some(entry) = self.entries.get(index) else { return };
        let (tuple, identifier) = (entry.tuple, entry.identifier);
        if let Some(identifier) = identifier
            && self.by_identifier.get(&identifier) == Some(&index)
        {
            self.by_identifier.remove(&identifier);
        }
        self.unlink(&tuple, index);
    }

    /// Releases the handle as well.
    pub(super) fn remove(&mut self, index: usize) {
        self.release_address(index);
        self.entries.try_remove(index);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Number of addresses with ports by which connections are found.
    pub(super) fn addresses(&self) -> usize {
        self.by_tuple.len()
    }
}
