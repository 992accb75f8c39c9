//! Supervision of links: hellos (RFC 3561 section 6.9), route errors (section 6.11), local repair (section
//! 6.12).

use alloc::vec::Vec;

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};

use super::table::{Broken, is_fresher};
use super::{Aodv, AodvMessage, AodvRule, LocalRepair, RouteError};
use crate::Random;
use crate::routing::{Address, DataPacket, Receiver, RouteEvent};

impl<R: Random> Aodv<R> {
    /// Processes a route error (section 6.11, case iii).
    pub(super) fn handle_error(&mut self, now: Instant, from: Address, error: &RouteError) {
        if error.no_delete {
            // The sender repaired the route, which is longer now: it stays in use, and its users are informed
            // (section 6.12).
            let repaired = error.unreachable.iter().filter_map(|&(destination, sequence)| {
                let route = self.table.valid(destination).filter(|route| route.next_hop == from)?;
                Some(Broken { destination, sequence, hops: route.hops, precursors: route.precursors.clone() })
            });
            let repaired: Vec<Broken> = repaired.collect();
            return self.send_errors(now, &repaired, true);
        }
        let mut broken = Vec::new();
        for &(destination, sequence) in &*error.unreachable {
            if destination == self.address {
                self.catch_up(sequence);
            }
            let is_old = self.config.errors == AodvRule::Ns2;
            let is_old = |known: u32| is_old && is_fresher(known, sequence);
            if self
                .table
                .valid(destination)
                .is_some_and(|route| route.next_hop == from && !route.sequence.is_some_and(is_old))
            {
                broken.extend(self.invalidate(now, destination, Some(sequence)));
            }
        }
        if self.config.errors == AodvRule::Ns2 && !broken.is_empty() {
            self.events.push_back(RouteEvent::Flush { neighbour: from, is_salvage: false });
        }
        self.send_errors(now, &broken, false);
    }

    /// Starts ns-2's local repair of the route of a packet that the link layer gave up; the search begins
    /// when the packet is back without a route. Returns `false` if the packet has
    /// made no more hops than remain: the link is then lost.
    pub(super) fn repair_closer_half(&mut self, now: Instant, packet: DataPacket) -> bool {
        let destination = packet.destination;
        let Some(route) = self.table.get(destination) else { return false };
        if packet.hops <= route.hops || !(route.is_valid || route.is_under_repair) {
            return false;
        }
        if self.table.suspend(destination, now + self.config.delete_period) {
            self.events.push_back(RouteEvent::Remove { destination });
        }
        true
    }

    /// A link is lost (section 6.11, case i).
    pub(super) fn lose_neighbour(&mut self, now: Instant, neighbour: Address) {
        self.neighbours.remove(&neighbour);
        let destinations = self.table.over(neighbour);
        if destinations.is_empty() {
            return;
        }
        self.stats.lost_links += 1;
        self.events.push_back(RouteEvent::Flush { neighbour, is_salvage: self.config.salvages });
        let mut broken = Vec::new();
        for destination in destinations {
            let Some(route) = self.invalidate(now, destination, None) else { continue };
            let is_used = !route.precursors.is_empty();
            let is_repaired = self.config.local_repair == LocalRepair::Rfc3561;
            if is_repaired && is_used && route.hops <= self.config.max_repair_ttl() {
                let ttl = route.hops.saturating_add(self.config.local_add_ttl);
                self.searches.begin_repair(&self.config, now, destination, ttl);
                self.repairs.insert(destination, route);
            } else {
                broken.push(route);
            }
        }
        if self.config.errors == AodvRule::Rfc3561 {
            return self.send_errors(now, &broken, false);
        }
        for route in &broken {
            self.table.keep_precursors(route.destination, &route.precursors);
        }
        let unreachable: Vec<_> = broken.iter().map(|route| (route.destination, route.sequence)).collect();
        for part in unreachable.chunks(usize::from(u8::MAX)) {
            self.send_own_error(now, RouteError { no_delete: false, unreachable: part.into() });
        }
    }

    /// Broadcasts an error that this node originates.
    pub(super) fn send_own_error(&mut self, now: Instant, error: RouteError) {
        match self.config.errors {
            AodvRule::Rfc3561 => self.send_error(now, Receiver::Broadcast, error),
            AodvRule::Ns2 => {
                self.stats.errors += 1;
                self.broadcast_at_once(now, AodvMessage::Error(error));
            }
        }
    }

    /// Informs the precursors of broken routes: all neighbours if there are several, the only one otherwise.
    pub(super) fn send_errors(&mut self, now: Instant, broken: &[Broken], no_delete: bool) {
        let mut precursors: SmallVec<[Address; 8]> = SmallVec::new();
        let mut unreachable = Vec::new();
        for route in broken.iter().filter(|route| !route.precursors.is_empty()) {
            unreachable.push((route.destination, route.sequence));
            precursors.extend(route.precursors.iter().copied());
        }
        precursors.sort_unstable();
        precursors.dedup();
        let receiver = match precursors[..] {
            [] => return,
            _ if self.config.errors == AodvRule::Ns2 => Receiver::Broadcast,
            [only] => Receiver::Neighbour(only),
            _ => Receiver::Broadcast,
        };
        // The number of destinations is a byte on the wire.
        for part in unreachable.chunks(usize::from(u8::MAX)) {
            self.send_error(now, receiver, RouteError { no_delete, unreachable: part.into() });
        }
    }

    pub(super) fn send_error(&mut self, now: Instant, receiver: Receiver, error: RouteError) {
        let second = Duration::from_secs(1);
        while self.errors.front().is_some_and(|&at| at + second <= now) {
            self.errors.pop_front();
        }
        if self.errors.len() >= self.config.error_rate_limit {
            return;
        }
        self.errors.push_back(now);
        self.stats.errors += 1;
        match receiver {
            Receiver::Broadcast => self.broadcast(now, AodvMessage::Error(error)),
            Receiver::Neighbour(neighbour) => self.unicast(now, neighbour, AodvMessage::Error(error)),
        }
    }

    /// A local repair has found a route in place of this one (section 6.12). If it is longer, the precursors
    /// are informed.
    pub(super) fn finish_repair(&mut self, now: Instant, route: Broken) {
        let Some(repaired) = self.table.valid_mut(route.destination) else { return };
        route.precursors.iter().for_each(|&precursor| repaired.add_precursor(precursor));
        if repaired.hops > route.hops {
            self.send_errors(now, &[route], true);
        }
    }

    /// Sends a hello if the node is on an active route and has not broadcast anything for an interval
    /// (section 6.9).
    pub(super) fn hello(&mut self, now: Instant) {
        self.next_hello = Some(now + self.config.hello_interval);
        let is_active = self.table.iter().any(|(_, route)| route.is_valid);
        if is_active && self.last_broadcast + self.config.hello_interval <= now {
            self.stats.hellos += 1;
            let (sequence, lifetime) = (self.sequence, self.config.neighbour_timeout());
            self.broadcast(now, AodvMessage::Hello { sequence, lifetime });
        }
    }
}
