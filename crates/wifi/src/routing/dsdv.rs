//! Destination-sequenced distance vectors (C. Perkins, P. Bhagwat, "Highly dynamic destination-sequenced
//! distance-vector routing (DSDV) for mobile computers", SIGCOMM 1994).
//!
//! Each node advertises its routes with the sequence number that the destination gave them. A route is
//! replaced by one with a fresher number, or by a shorter one with the same number. A node that loses a link
//! makes the numbers of the routes over it odd and their metric infinite; the destination's next number, even
//! again, restores them. Since a route is only ever replaced by a better one in the order (number, then
//! metric), and the next hop's is always strictly better, no loop can form at any timing.
//!
//! The timing is configuration: [`DsdvConfig::NS2`] has the rules of ns-2.35, [`DsdvConfig::default`] sane
//! ones.

mod config;
mod table;
mod update;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

pub use config::DsdvConfig;
use table::{Entry, Table};
pub use table::{INFINITY, Metric};
pub use update::{DsdvEntry, DsdvUpdate, MalformedUpdate};

use super::{Address, DataPacket, PacketBuffer, Receiver, RouteEvent, RoutingAgent, Transmit};
use crate::Random;

/// Counters of a [`Dsdv`] agent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DsdvStats {
    /// Full updates sent.
    pub full_updates: u64,
    /// Incremental updates sent.
    pub incremental_updates: u64,
    /// Entries of all updates sent.
    pub entries: u64,
    /// Links lost: by silence or by the link layer's report.
    pub lost_links: u64,
}

/// A node's DSDV agent.
#[derive(Clone, Debug)]
pub struct Dsdv<R> {
    address: Address,
    config: DsdvConfig,
    random: R,
    table: Table,
    /// The sequence number of the last full update.
    sequence: u32,
    /// Time of the next full update.
    full_update_at: Instant,
    /// Time of the last update of either kind.
    last_update: Option<Instant>,
    /// Updates that wait for the end of their jitter.
    outgoing: Vec<(Instant, DsdvUpdate)>,
    buffer: PacketBuffer,
    events: VecDeque<RouteEvent>,
    stats: DsdvStats,
}

impl<R: Random> Dsdv<R> {
    /// An agent that starts at `now`.
    pub fn new(now: Instant, address: Address, config: DsdvConfig, mut random: R) -> Self {
        let full_update_at = now + random.duration_below(config.startup_jitter);
        let mut table = Table::default();
        table.insert(address, Entry::own(address, 0, now));
        Self {
            address,
            config,
            random,
            table,
            sequence: 0,
            full_update_at,
            last_update: None,
            outgoing: Vec::new(),
            buffer: PacketBuffer::new(config.buffer),
            events: VecDeque::new(),
            stats: DsdvStats::default(),
        }
    }

    /// The counters.
    pub fn stats(&self) -> DsdvStats {
        self.stats
    }

    /// Sequence number and metric of the entry for a destination, broken routes included.
    pub fn metric(&self, destination: Address) -> Option<(u32, Metric)> {
        self.table.get(destination).map(|entry| (entry.sequence, entry.metric))
    }

    /// The next hops, sequence numbers and metrics of all routes in use, in the order of the destinations.
    pub fn routes(&self) -> impl Iterator<Item = (Address, Address, u32, Metric)> {
        let address = self.address;
        self.table
            .iter()
            .filter(move |(destination, entry)| *destination != address && entry.is_usable())
            .map(|(destination, entry)| (destination, entry.next_hop, entry.sequence, entry.metric))
    }

    /// An interval between full updates.
    fn period(&mut self) -> Duration {
        let spread = self.config.period_spread;
        self.config.period.mul_f64(1.0 - spread + spread * self.random.uniform())
    }

    /// The earliest time of an update that is not planned.
    fn next_update(&self, now: Instant) -> Instant {
        self.last_update.map_or(now, |last| now.max(last + self.config.trigger_interval))
    }

    /// Queues an update: a full one if requested or if much has changed. Returns `true` if it was a full one.
    fn send_update(&mut self, now: Instant, full: bool) -> bool {
        let (changed, total) = self.table.changes(now);
        let full = full || (changed * 3 > total && changed > 3);
        if full {
            // The number is advanced for every full update, planned or not: it takes the place of the next
            // planned one.
            self.sequence += 2;
            self.table.insert(self.address, Entry::own(self.address, self.sequence, now));
        }
        let entries = self.table.advertise(now, full);
        if entries.is_empty() {
            return full;
        }
        *(if full { &mut self.stats.full_updates } else { &mut self.stats.incremental_updates }) += 1;
        self.stats.entries += entries.len() as u64;
        self.last_update = Some(now);
        let due = now + self.random.duration_below(self.config.send_jitter);
        let per_packet = self.config.entries_per_packet.max(1);
        self.outgoing.extend(entries.chunks(per_packet).map(|part| (due, DsdvUpdate::new(part))));
        full
    }

    fn send_full_update(&mut self, now: Instant) {
        self.send_update(now, true);
        self.full_update_at = now + self.period();
    }

    /// Sends the incremental update that is due, or postpones it for the shortest interval between updates.
    fn send_triggered_update(&mut self, now: Instant) {
        let next = self.next_update(now);
        if next > now {
            self.table.postpone_triggers(now, next);
            return;
        }
        self.table.clear_triggers(now);
        if self.send_update(now, false) {
            self.full_update_at = now + self.period();
        }
    }

    /// The routes over a neighbour are broken.
    fn lose_neighbour(&mut self, now: Instant, neighbour: Address) {
        let broken = self.table.break_routes(now, neighbour);
        if broken.is_empty() {
            return;
        }
        self.stats.lost_links += 1;
        self.events.extend(broken.into_iter().map(|destination| RouteEvent::Remove { destination }));
        if self.config.link_layer_feedback {
            self.events.push_back(RouteEvent::Flush { neighbour, is_salvage: true });
        }
    }

    /// Processes an entry of an update of a neighbour. `next` is the position in the table behind the
    /// previous entry's.
    fn learn(&mut self, now: Instant, from: Address, advertised: DsdvEntry, next: &mut usize) {
        let DsdvEntry { destination, metric, sequence } = advertised;
        if destination == self.address {
            if metric >= INFINITY {
                // A node reports this node as unreachable: only a fresh number of its own corrects that.
                let at = if self.config.corrects_at_once { now } else { self.next_update(now) };
                self.full_update_at = self.full_update_at.min(at);
            }
            return;
        }
        let metric = if metric >= INFINITY { INFINITY } else { (metric + 1).min(INFINITY) };
        let place = self.table.place(*next, destination);
        *next = place.position() + 1;
        let known = self.table.at(place);
        let old_route = known.filter(|known| known.is_usable()).map(|known| (known.next_hop, known.metric));
        let decision = table::decide(&self.config, now, known, from, metric, sequence);
        match decision {
            table::Decision::Ignore => {}
            table::Decision::Readvertise => self.table.readvertise(now, place),
            table::Decision::Adopt { entry, trigger } => {
                self.table.insert_at(place, destination, entry);
                if let Some(at) = trigger {
                    self.table.trigger(place, at);
                }
                if metric >= INFINITY {
                    if old_route.is_some() {
                        self.events.push_back(RouteEvent::Remove { destination });
                    }
                } else {
                    self.announce(destination, from, metric, old_route == Some((from, metric)));
                }
            }
        }
    }

    /// Reports a usable route to the host and releases the packets that waited for it.
    fn announce(&mut self, destination: Address, next_hop: Address, hops: Metric, is_known: bool) {
        if !is_known {
            self.events.push_back(RouteEvent::Set { destination, next_hop, hops });
        }
        self.buffer.forward(destination, &mut self.events);
    }
}

impl<R: Random> RoutingAgent for Dsdv<R> {
    type Message = DsdvUpdate;

    fn address(&self) -> Address {
        self.address
    }

    fn handle_packet(&mut self, now: Instant, from: Address, message: DsdvUpdate) {
        if from == self.address {
            return;
        }
        let mut next = 0;
        for &entry in message.entries() {
            self.learn(now, from, entry, &mut next);
        }
        let silence_ends = now + self.config.period * self.config.neighbour_periods;
        if !self.table.renew_neighbour(from, silence_ends) {
            // The update did not list its sender. The neighbour gets a route that is never advertised, so
            // that its silence is noticed.
            let entry = Entry::neighbour(&self.config, now, from);
            self.table.insert(from, entry);
            self.table.renew_neighbour(from, silence_ends);
            self.announce(from, from, 1, false);
        }
        self.handle_timeout(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.buffer.expire(now, &mut self.events);
        while let Some(neighbour) = self.table.silent_neighbour(now) {
            self.lose_neighbour(now, neighbour);
        }
        if self.full_update_at <= now {
            self.send_full_update(now);
        }
        if self.table.next_trigger().is_some_and(|at| at <= now) {
            self.send_triggered_update(now);
        }
    }

    fn handle_unrouted(&mut self, now: Instant, packet: DataPacket) {
        if self.table.get(packet.destination).is_some_and(Entry::is_usable) {
            // The route appeared after the host looked.
            self.events.push_back(RouteEvent::Forward { packet: packet.packet });
            return;
        }
        if self.table.get(packet.destination).is_none() {
            self.table.insert(packet.destination, Entry::wanted(&self.config, now, packet.destination));
        }
        self.buffer.push(now, packet, &mut self.events);
        self.buffer.expire(now, &mut self.events);
    }

    fn handle_link_failure(&mut self, now: Instant, neighbour: Address, _: Option<DataPacket>) {
        if self.config.link_layer_feedback {
            self.table.forget_neighbour(neighbour);
            self.lose_neighbour(now, neighbour);
            self.handle_timeout(now);
        }
    }

    fn salvages(&self, _: DataPacket) -> bool {
        self.config.link_layer_feedback
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<DsdvUpdate>> {
        let position = self.outgoing.iter().position(|&(due, _)| due <= now)?;
        let (_, message) = self.outgoing.remove(position);
        Some(Transmit { to: Receiver::Broadcast, size: message.size(), message })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let jitter = self.outgoing.iter().map(|&(due, _)| due).min();
        [
            Some(self.full_update_at),
            self.table.next_trigger(),
            self.table.next_silence(),
            self.buffer.deadline(),
            jitter,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn poll_event(&mut self) -> Option<RouteEvent> {
        self.events.pop_front()
    }

    fn next_hop(&self, destination: Address) -> Option<Address> {
        self.table.get(destination).filter(|entry| entry.is_usable()).map(|entry| entry.next_hop)
    }
}

#[cfg(test)]
mod tests;
