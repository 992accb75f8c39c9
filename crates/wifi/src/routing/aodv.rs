//! Ad hoc on-demand distance vector routing, RFC 3561.
//!
//! A node that has a packet for a destination without a route floods a request, in growing rings. The
//! destination, or a node with a route that is fresh enough, answers along the reverse path. Nodes on the
//! path keep the route while it is used. When a link breaks, the neighbours that use routes over it are
//! informed. Sequence numbers of the destinations keep the routes free of loops.
//!
//! Not implemented: multicast (section 5.1, J flag), subnet prefixes (section 7).

mod acknowledgements;
mod agent;
mod config;
mod discovery;
mod message;
mod replies;
mod supervision;
mod table;

use alloc::collections::{BTreeMap, VecDeque};

use whimbrel_units::{Duration, Instant};

use acknowledgements::Replies;
pub use config::{AodvConfig, AodvRule, LocalRepair};
use discovery::{Searches, next_tick};
pub use message::{AodvMessage, MalformedAodv, RouteError, RouteReply, RouteRequest};
use table::{Broken, Table, is_fresher};

use super::{Address, PacketBuffer, Receiver, RouteEvent};
use crate::Random;

/// Counters of an [`Aodv`] agent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AodvStats {
    /// Route requests originated.
    pub requests: u64,
    /// Route requests of other nodes sent on.
    pub forwarded_requests: u64,
    /// Route replies originated.
    pub replies: u64,
    /// Route errors sent.
    pub errors: u64,
    /// Hellos sent.
    pub hellos: u64,
    /// Links lost: by silence or by the link layer's report.
    pub lost_links: u64,
    /// Searches given up.
    pub failed_searches: u64,
}

/// A node's AODV agent.
#[derive(Clone, Debug)]
pub struct Aodv<R> {
    address: Address,
    config: AodvConfig,
    random: R,
    table: Table,
    sequence: u32,
    request_id: u32,
    /// The requests processed, by originator and identifier, with the time until which they are kept; in the
    /// order of it.
    seen: BTreeMap<(Address, u32), Instant>,
    seen_order: VecDeque<(Instant, (Address, u32))>,
    searches: Searches,
    /// The replies that wait for an acknowledgement, and the neighbours that did not send one.
    replies: Replies,
    /// The routes under local repair, as they were when they broke.
    repairs: BTreeMap<Address, Broken>,
    /// Neighbours that have sent hellos, with the time at which their silence is too long.
    neighbours: BTreeMap<Address, Instant>,
    next_hello: Option<Instant>,
    /// Time of the last broadcast, which stands for a hello.
    last_broadcast: Instant,
    /// Times of the last route errors, for the limit of their rate.
    errors: VecDeque<Instant>,
    outgoing: VecDeque<(Instant, Receiver, AodvMessage)>,
    buffer: PacketBuffer,
    events: VecDeque<RouteEvent>,
    stats: AodvStats,
}

impl<R: Random> Aodv<R> {
    /// An agent that starts at `now`.
    pub fn new(now: Instant, address: Address, config: AodvConfig, mut random: R) -> Self {
        let next_hello = config.hellos.then(|| now + random.duration_below(config.hello_interval));
        Self {
            address,
            config,
            random,
            table: Table::default(),
            sequence: 0,
            request_id: 0,
            seen: BTreeMap::new(),
            seen_order: VecDeque::new(),
            searches: Searches::default(),
            replies: Replies::default(),
            repairs: BTreeMap::new(),
            neighbours: BTreeMap::new(),
            next_hello,
            last_broadcast: now,
            errors: VecDeque::new(),
            outgoing: VecDeque::new(),
            buffer: PacketBuffer::new(config.buffer),
            events: VecDeque::new(),
            stats: AodvStats::default(),
        }
    }

    /// The counters.
    pub fn stats(&self) -> AodvStats {
        self.stats
    }

    /// Next hop, sequence number and hops of all valid routes, in the order of the destinations.
    pub fn routes(&self) -> impl Iterator<Item = (Address, Address, Option<u32>, u8)> {
        let valid = self.table.iter().filter(|(_, route)| route.is_valid);
        valid.map(|(destination, route)| (destination, route.next_hop, route.sequence, route.hops))
    }

    /// Sequence number, hops and validity of the entry for a destination.
    pub fn entry(&self, destination: Address) -> Option<(Option<u32>, u8, bool)> {
        self.table.get(destination).map(|route| (route.sequence, route.hops, route.is_valid))
    }

    fn broadcast(&mut self, now: Instant, message: AodvMessage) {
        self.last_broadcast = now;
        let due = now + self.random.duration_below(self.config.broadcast_jitter);
        self.outgoing.push_back((due, Receiver::Broadcast, message));
    }

    /// Broadcasts without delay, as ns-2's originators do.
    fn broadcast_at_once(&mut self, now: Instant, message: AodvMessage) {
        self.last_broadcast = now;
        self.outgoing.push_back((now, Receiver::Broadcast, message));
    }

    fn unicast(&mut self, now: Instant, neighbour: Address, message: AodvMessage) {
        self.outgoing.push_back((now, Receiver::Neighbour(neighbour), message));
    }

    /// The time of the next check of the routes' lifetimes.
    fn next_expiry(&self) -> Option<Instant> {
        let at = self.table.next_expiry()?;
        match self.config.lifetimes {
            AodvRule::Rfc3561 => Some(at),
            AodvRule::Ns2 => Some(next_tick(at)),
        }
    }

    fn invalidate(&mut self, now: Instant, destination: Address, at_least: Option<u32>) -> Option<Broken> {
        let broken = self.table.invalidate(destination, at_least, now + self.config.delete_period)?;
        self.events.push_back(RouteEvent::Remove { destination });
        Some(broken)
    }

    /// Advances the node's own sequence number, for a request (section 6.1).
    ///
    /// The RFC increments it. Here it also advances by one per millisecond: nodes increment their copies of
    /// it whenever a route breaks or expires, and a request with a number below such a copy would leave no
    /// reverse route.
    fn advance_sequence(&mut self, now: Instant) {
        let clock = (now.as_nanos() / Duration::from_millis(1).as_nanos()) as u32;
        let next = self.sequence.wrapping_add(1);
        self.sequence = if is_fresher(clock, next) { clock } else { next };
    }

    /// A copy of the node's own number that is fresher than its own number replaces it.
    fn catch_up(&mut self, copy: u32) {
        if is_fresher(copy, self.sequence) {
            self.sequence = copy;
        }
    }
}

#[cfg(test)]
mod tests;
