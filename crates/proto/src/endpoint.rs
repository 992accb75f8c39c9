//! Many connections of one host.
//!
//! An endpoint is driven like a connection: it is fed packets and timeouts, and drained of packets and
//! events. It finds the connection of each packet, accepts new ones, answers packets that belong to no
//! connection with Resets, holds TIMEWAIT in a few bytes, and visits only connections with work to do: those
//! that received input are in a list, those that wait in a heap of deadlines.

mod config;
mod counts;
mod handshakes;
mod held;
mod init_cookie;
mod initial_sequence;
mod listeners;
mod moves;
mod opening;
mod paths;
mod schedule;
mod single;
mod stateless_responder;
mod table;

#[cfg(test)]
mod tests;

use core::net::SocketAddr;
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Packet, Reset, ResetCode, ServiceCode};

use crate::{Connection, Event, ReceiveMeta, Transmit};
pub use config::{EndpointConfig, InitCookies, PortSharing};
use counts::Counts;
use handshakes::UsedCookies;
pub(crate) use held::Standing;
pub use held::{Address, Held};
use init_cookie::CookieJar;
use initial_sequence::{FourTuple, Secret};
use listeners::Listeners;
use schedule::Schedule;
use stateless_responder::StatelessResponder;
use table::{SlotState, Table};

/// State of an endpoint, for observation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EndpointSnapshot {
    /// Number of connections, including those in TIMEWAIT.
    pub connections: usize,
    /// Number of server connections that count against [`EndpointConfig::max_accepted`].
    pub accepted: usize,
    /// Number of server connections that count against [`EndpointConfig::max_half_open`].
    pub half_open: usize,
    /// Number of connections in TIMEWAIT of which only the tuple is kept; they count against
    /// [`EndpointConfig::max_time_wait`].
    pub time_wait: usize,
    /// Number of sources of server connections: IPv4 addresses, and IPv6 networks of 64 bits.
    pub sources: usize,
    /// Number of Resets, to packets that belong to no connection, that wait to be sent.
    pub refusals: usize,
    /// Number of deadlines in the schedule, including outdated ones.
    pub deadlines: usize,
    /// Number of addresses with ports by which connections are found.
    pub addresses: usize,
}

/// Identifies a connection of an [`Endpoint`]. Handles are reused after its last event, [`Event::Drained`] or
/// [`MultipathEvent::Drained`](crate::multipath::MultipathEvent::Drained).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionHandle(pub usize);

/// An event of one of an endpoint's connections.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum EndpointEvent<A = SocketAddr, E = Event> {
    /// A client's Request was accepted: the first event of every server connection. The handshake is not
    /// complete until
    /// [`Event::Connected`] or
    /// [`MultipathEvent::Established`](crate::multipath::MultipathEvent::Established).
    Accepted {
        /// Address of the client, or the path of its Request.
        from: A,
        /// The DCCP port requested.
        port: u16,
        /// The Service Code requested.
        service_code: ServiceCode,
    },
    /// An event of the connection itself.
    Connection(E),
}

type EventOf<C> = EndpointEvent<<C as Held>::Address, <C as Held>::Event>;

/// Many connections of one host: over one path each, behind one address, or over several, from several
/// addresses ([`MultipathEndpoint`](crate::multipath::MultipathEndpoint)).
///
/// Addresses belong to the packets' carrier: with UDP encapsulation (RFC 6773) the peer's UDP address,
/// otherwise its IP address with port 0. DCCP's own ports are in the packets. Several DCCP connections may
/// share one pair of UDP ports (RFC 6773, Section 3.8, the second method).
#[derive(Debug)]
pub struct Endpoint<C: Held = Connection> {
    config: EndpointConfig,
    secret: Secret,
    listeners: Listeners<C::Service>,
    table: Table<C>,
    schedule: Schedule,
    stateless: StatelessResponder<C::Address>,
    cookies: CookieJar,
    used_cookies: UsedCookies,
    counts: Counts,
    common: C::Common,
    /// Number of port searches so far.
    attempts: u64,
}

impl<C: Held> Endpoint<C> {
    /// For tests of sequence numbers that wrap: the initial sequence numbers of new connections are `base`
    /// plus one for each 4 microseconds of the clock. They are predictable, which RFC 4340, Section 7.2 warns
    /// of.
    #[doc(hidden)]
    pub fn set_initial_sequence_base(&mut self, base: u64) {
        self.secret.set_base(base);
    }

    fn with(config: EndpointConfig, secret: Secret, common: C::Common) -> Self {
        Self {
            config,
            secret,
            listeners: Listeners::default(),
            table: Table::new(secret.hash_seed(), config.port_sharing),
            schedule: Schedule::default(),
            stateless: StatelessResponder::new(&config),
            cookies: CookieJar::new(secret),
            used_cookies: UsedCookies::default(),
            counts: Counts::new(secret.hash_seed()),
            common,
            attempts: 0,
        }
    }

    /// Stops accepting connections to that port; existing ones continue. Returns `true` if the port was open.
    pub fn stop_listening(&mut self, port: u16) -> bool {
        self.listeners.remove(port)
    }

    fn command(&mut self, handle: ConnectionHandle, command: impl FnOnce(&mut C)) {
        if let Some(connection) = self.connection_mut(handle) {
            command(connection);
            self.wake(handle);
        }
    }

    /// Passes a packet to its connection, accepts it as a new one, or answers it with a Reset.
    pub fn handle_packet(&mut self, now: Instant, address: C::Address, meta: ReceiveMeta, packet: Packet) {
        let tuple =
            FourTuple { address, local_port: packet.destination_port, remote_port: packet.source_port };
        if !packet.options.is_empty() && C::claim(self, now, &tuple, meta, &packet) {
            return;
        }
        let Some(index) = self.table.find(&tuple).filter(|index| C::owns(self, now, *index, &tuple, &packet))
        else {
            self.handle_unmatched(now, tuple, meta, packet);
            return;
        };
        match self.table.get_mut(index).map(|entry| &mut entry.state) {
            Some(SlotState::Live(connection)) => {
                connection.handle_packet(now, address, meta, packet);
                self.wake(ConnectionHandle(index));
            }
            // RFC 4340, Section 8.5, Step 2.
            _ => self.stateless.refuse(now, address, &packet, Reset::new(ResetCode::NoConnection)),
        }
    }

    /// Runs the timers that are due. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((deadline, index)) = self.schedule.take_due(now) {
            let Some(entry) = self.table.get_mut(index) else { continue };
            if !entry.wake.on_due(deadline) {
                continue;
            }
            match &mut entry.state {
                SlotState::Live(connection) => connection.handle_timeout(now),
                SlotState::TimeWait(until) if *until <= now => self.end_time_wait(index),
                SlotState::TimeWait(_) | SlotState::Gone => {}
            }
            self.wake(ConnectionHandle(index));
        }
    }

    /// Returns the next packet to send and its destination. Connections are served in round-robin order.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(C::Address, Transmit)> {
        if let Some((address, packet)) = self.stateless.next() {
            return Some((address, Transmit { packet, ecn: Ecn::NotEct }));
        }
        loop {
            while let Some(index) = self.schedule.next_ready(self.config.packets_per_turn) {
                if let Some(transmit) = self.poll_connection(now, index) {
                    return Some(transmit);
                }
            }
            // A deadline may have passed while the driver was busy.
            if self.schedule.next().is_none_or(|next| next > now) {
                return None;
            }
            self.handle_timeout(now);
        }
    }

    /// Returns the next packet of the connection being served. If it has none, the next connection follows.
    fn poll_connection(&mut self, now: Instant, index: usize) -> Option<(C::Address, Transmit)> {
        let Some(entry) = self.table.get_mut(index) else {
            self.schedule.rest();
            return None;
        };
        if let SlotState::Live(connection) = &mut entry.state {
            let transmit = connection.poll_transmit(now, &mut entry.extra, entry.tuple.address);
            if connection.has_events() {
                self.schedule.wake_for_events(index, &mut entry.wake);
            }
            if transmit.is_some() {
                return transmit;
            }
        }
        if let Some(deadline) = entry.deadline() {
            self.schedule.set(index, &mut entry.wake, deadline);
        }
        self.schedule.rest();
        entry.wake.rested();
        let is_drained = matches!(&entry.state, SlotState::Live(connection) if connection.is_drained());
        self.counts.recount(entry);
        if is_drained {
            self.table.release_address(index);
        }
        self.prune();
        None
    }

    /// Removes outdated deadlines, if there are many of them for the number of connections.
    fn prune(&mut self) {
        let table = &self.table;
        self.schedule.prune(table.len(), |index, deadline| {
            table.get(index).is_some_and(|entry| entry.wake.waits_for(deadline))
        });
    }

    /// Latest time of the next call to [`Endpoint::handle_timeout`] or [`Endpoint::poll_transmit`]. Valid
    /// once `poll_transmit` has returned `None`.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.schedule.next()
    }

    /// Returns the next event of any connection.
    pub fn poll_event(&mut self) -> Option<(ConnectionHandle, EventOf<C>)> {
        while let Some(index) = self.schedule.next_with_events() {
            if let Some(entry) = self.table.get_mut(index) {
                if let Some(event) = entry.next_event() {
                    if event == EndpointEvent::Connection(C::DRAINED) {
                        self.counts.recount(entry);
                        self.table.remove(index);
                        self.prune();
                    }
                    return Some((ConnectionHandle(index), event));
                }
                entry.wake.events_taken();
            }
            self.schedule.events_taken();
            self.shrink(index);
        }
        None
    }

    /// Reduces a connection in TIMEWAIT to a deadline, once the application has received its last event.
    fn shrink(&mut self, index: usize) {
        if let Some(entry) = self.table.get_mut(index)
            && let SlotState::Live(connection) = &entry.state
            && let Some(until) = connection.time_wait()
        {
            entry.state = SlotState::TimeWait(until);
            self.counts.recount(entry);
            let (number, table) = (entry.number, &self.table);
            let is_there = |index, number| {
                let entry = table.get_numbered(index, number);
                entry.is_some_and(|entry| matches!(entry.state, SlotState::TimeWait(_)))
            };
            let limit = self.config.max_time_wait;
            let oldest = self.counts.enter_time_wait((index, number), limit, is_there);
            self.wake(ConnectionHandle(index));
            if let Some(oldest) = oldest {
                self.end_time_wait(oldest);
                self.wake(ConnectionHandle(oldest));
            }
        }
    }

    fn end_time_wait(&mut self, index: usize) {
        if let Some(entry) = self.table.get_mut(index) {
            entry.state = SlotState::Gone;
            self.counts.leave_time_wait();
            self.table.release_address(index);
        }
    }

    /// Returns a connection for reading; `None` if the handle is unknown or the connection over. Its last
    /// state can be read until the events after [`Event::Closed`] are polled.
    pub fn connection(&self, handle: ConnectionHandle) -> Option<&C> {
        match &self.table.get(handle.0)?.state {
            SlotState::Live(connection) => Some(connection),
            _ => None,
        }
    }

    /// Returns a connection for commands. Call [`Endpoint::wake`] afterwards.
    pub fn connection_mut(&mut self, handle: ConnectionHandle) -> Option<&mut C> {
        match &mut self.table.get_mut(handle.0)?.state {
            SlotState::Live(connection) => Some(connection),
            _ => None,
        }
    }

    /// Schedules a connection after a command through [`Endpoint::connection_mut`].
    pub fn wake(&mut self, handle: ConnectionHandle) {
        if let Some(entry) = self.table.get_mut(handle.0) {
            self.schedule.wake(handle.0, &mut entry.wake);
        }
    }

    /// Current state, for observation.
    pub fn snapshot(&self) -> EndpointSnapshot {
        EndpointSnapshot {
            connections: self.table.len(),
            accepted: self.counts.accepted(),
            half_open: self.counts.half_open(),
            time_wait: self.counts.time_wait(),
            sources: self.counts.sources(),
            refusals: self.stateless.len(),
            deadlines: self.schedule.deadlines(),
            addresses: self.table.addresses(),
        }
    }

    /// Number of connections, including those in TIMEWAIT.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// `true` if there is no connection.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
