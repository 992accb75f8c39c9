//! A small deterministic network for tests: ideal links with random delays, topology changes, data packets.

use std::collections::{BTreeMap, BTreeSet};
use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::*;
use crate::{Random, SplitMix64};

/// A scheduled event.
enum Event<M> {
    Message { from: u32, to: u32, message: M },
    Failure { at: u32, neighbour: u32, packet: Option<DataPacket> },
    Data { at: u32, from: Option<u32>, packet: u64 },
    Link { a: u32, b: u32, up: bool },
    Send { packet: u64 },
}

/// The state of a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DataOutcome {
    Travelling,
    Delivered {
        at: Instant,
        hops: u32,
    },
    Discarded(DiscardCause),
    /// Lost on a link that was down.
    Lost,
    /// Made more hops than there are nodes.
    Looped,
}

pub(crate) struct Packet {
    source: u32,
    destination: u32,
    hops: u32,
    pub(crate) outcome: DataOutcome,
    holder: u32,
}

/// A network of routing agents.
pub(crate) struct Network<A: RoutingAgent> {
    pub(crate) agents: Vec<A>,
    /// The tables of the hosts, as the agents' events made them.
    tables: Vec<BTreeMap<Address, Address>>,
    links: BTreeSet<(u32, u32)>,
    queue: BTreeMap<(Instant, u64), Event<A::Message>>,
    inserted: u64,
    pub(crate) now: Instant,
    random: SplitMix64,
    pub(crate) packets: Vec<Packet>,
    /// `true` if the link layer reports failed unicasts.
    pub(crate) feedback: bool,
    /// `true` if packets that the link layer gave up return to agents that salvage them.
    pub(crate) salvages: bool,
    /// Probability that a broadcast is lost at a receiver, in percent.
    pub(crate) loss: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// Checked after every change of a table.
    pub(crate) law: fn(&Self),
}

/// A time in seconds.
pub(crate) fn at(seconds: f64) -> Instant {
    Instant::from_secs_f64(seconds)
}

pub(crate) fn link(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// The links of a grid, row by row.
pub(crate) fn grid_links(columns: u32, rows: u32) -> Vec<(u32, u32)> {
    let node = |column, row| row * columns + column;
    let mut links = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            if column + 1 < columns {
                links.push((node(column, row), node(column + 1, row)));
            }
            if row + 1 < rows {
                links.push((node(column, row), node(column, row + 1)));
            }
        }
    }
    links
}

impl<A: RoutingAgent> Network<A> {
    pub(crate) fn new(agents: Vec<A>, links: impl IntoIterator<Item = (u32, u32)>, seed: u64) -> Self {
        let mut network = Self {
            tables: agents.iter().map(|_| BTreeMap::new()).collect(),
            agents,
            links: links.into_iter().map(|(a, b)| link(a, b)).collect(),
            queue: BTreeMap::new(),
            inserted: 0,
            now: Instant::ZERO,
            random: SplitMix64::new(seed),
            packets: Vec::new(),
            feedback: true,
            salvages: false,
            loss: 0,
            messages: 0,
            bytes: 0,
            law: Self::assert_no_loops,
        };
        for node in 0..network.agents.len() as u32 {
            network.drain(node);
        }
        network
    }

    /// A network of `nodes` agents, each of which `agent` makes of its address and its stream of random
    /// numbers.
    pub(crate) fn of(
        nodes: u32,
        links: &[(u32, u32)],
        seed: u64,
        agent: impl Fn(Address, SplitMix64) -> A,
    ) -> Self {
        let streams = SplitMix64::new(seed);
        let agents = (0..nodes).map(|node| agent(Address(node), streams.stream(u64::from(node)))).collect();
        Self::new(agents, links.iter().copied(), seed ^ 0x5555)
    }

    fn schedule(&mut self, at: Instant, event: Event<A::Message>) {
        self.inserted += 1;
        self.queue.insert((at, self.inserted), event);
    }

    pub(crate) fn set_link_at(&mut self, at: Instant, a: u32, b: u32, up: bool) {
        self.schedule(at, Event::Link { a, b, up });
    }

    /// Sends a data packet; returns its number.
    pub(crate) fn send_at(&mut self, at: Instant, source: u32, destination: u32) -> u64 {
        let packet = self.packets.len() as u64;
        self.packets.push(Packet {
            source,
            destination,
            hops: 0,
            outcome: DataOutcome::Travelling,
            holder: source,
        });
        self.schedule(at, Event::Send { packet });
        packet
    }

    pub(crate) fn outcome(&self, packet: u64) -> DataOutcome {
        self.packets[packet as usize].outcome
    }

    fn is_up(&self, a: u32, b: u32) -> bool {
        self.links.contains(&link(a, b))
    }

    fn delay(&mut self) -> Duration {
        Duration::from_millis(1) + self.random.duration_below(Duration::from_millis(9))
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        loop {
            let timeout = (0..self.agents.len() as u32)
                .filter_map(|node| Some((self.agents[node as usize].poll_timeout()?, node)))
                .min();
            let event = self.queue.first_key_value().map(|(&(at, _), _)| at);
            let next = [timeout.map(|(at, _)| at), event].into_iter().flatten().min();
            match next {
                Some(at) if at <= end => {
                    assert!(at >= self.now, "a deadline lies in the past: {at} at {}", self.now);
                    self.now = at;
                }
                _ => break,
            }
            match timeout {
                Some((at, node)) if at <= self.now => {
                    self.agents[node as usize].handle_timeout(self.now);
                    self.drain(node);
                    let deadline = self.agents[node as usize].poll_timeout();
                    assert!(deadline.is_none_or(|at| at > self.now), "the deadline must lie after now");
                }
                _ => {
                    let Some((_, event)) = self.queue.pop_first() else { break };
                    self.process(event);
                }
            }
        }
        self.now = self.now.max(end);
    }

    fn process(&mut self, event: Event<A::Message>) {
        match event {
            Event::Message { from, to, message } => {
                if self.is_up(from, to) {
                    self.agents[to as usize].handle_packet(self.now, Address(from), message);
                    self.drain(to);
                }
            }
            Event::Failure { at, neighbour, packet } => {
                let agent = &mut self.agents[at as usize];
                agent.handle_link_failure(self.now, Address(neighbour), packet);
                if let Some(packet) = packet.filter(|_| self.salvages)
                    && agent.salvages(packet)
                {
                    self.packets[packet.packet.0 as usize].outcome = DataOutcome::Travelling;
                    agent.handle_unrouted(self.now, packet);
                }
                self.drain(at);
            }
            Event::Link { a, b, up } => {
                if up {
                    self.links.insert(link(a, b));
                } else {
                    self.links.remove(&link(a, b));
                }
            }
            Event::Send { packet } => self.forward(packet, None),
            Event::Data { at, from, packet } => {
                let state = &mut self.packets[packet as usize];
                state.holder = at;
                state.hops += 1;
                if state.hops > 4 * self.agents.len() as u32 {
                    state.outcome = DataOutcome::Looped;
                } else {
                    self.forward(packet, from);
                }
            }
        }
    }

    /// Forwards a packet from its holder.
    fn forward(&mut self, packet: u64, from: Option<u32>) {
        let &Packet { source, destination, hops, holder, .. } = &self.packets[packet as usize];
        let forwarded = ForwardedPacket {
            source: Address(source),
            destination: Address(destination),
            from: from.map(Address),
        };
        let agent = &mut self.agents[holder as usize];
        if holder == destination {
            agent.handle_forwarded(self.now, forwarded);
            self.packets[packet as usize].outcome = DataOutcome::Delivered { at: self.now, hops };
            return self.drain(holder);
        }
        match self.tables[holder as usize].get(&Address(destination)) {
            None => {
                let (source, destination) = (Address(source), Address(destination));
                agent.handle_unrouted(
                    self.now,
                    DataPacket { packet: PacketId(packet), source, destination, hops: hops as u8 },
                );
            }
            Some(&Address(next)) => {
                agent.handle_forwarded(self.now, forwarded);
                let at = self.now + self.delay();
                if self.is_up(holder, next) {
                    self.schedule(at, Event::Data { at: next, from: Some(holder), packet });
                } else {
                    self.packets[packet as usize].outcome = DataOutcome::Lost;
                    if self.feedback {
                        let (source, destination) = (Address(source), Address(destination));
                        let packet = Some(DataPacket {
                            packet: PacketId(packet),
                            source,
                            destination,
                            hops: hops as u8,
                        });
                        self.schedule(at, Event::Failure { at: holder, neighbour: next, packet });
                    }
                }
            }
        }
        self.drain(holder);
    }

    fn drain(&mut self, node: u32) {
        let mut has_changed = false;
        let mut leaving = Vec::new();
        while let Some(event) = self.agents[node as usize].poll_event() {
            match event {
                RouteEvent::Set { destination, next_hop, .. } => {
                    self.tables[node as usize].insert(destination, next_hop);
                    has_changed = true;
                }
                RouteEvent::Remove { destination } => {
                    let removed = self.tables[node as usize].remove(&destination);
                    assert!(removed.is_some(), "{node} removes a route to {destination} that it never set");
                    has_changed = true;
                }
                RouteEvent::Forward { packet } => leaving.push(packet),
                RouteEvent::Discard { packet, cause } => {
                    self.packets[packet.0 as usize].outcome = DataOutcome::Discarded(cause);
                }
                // The links of this network have no queues.
                RouteEvent::Flush { .. } => {}
            }
        }
        while let Some(Transmit { to, message, size }) = self.agents[node as usize].poll_transmit(self.now) {
            self.messages += 1;
            self.bytes += u64::from(size);
            let receivers: Vec<u32> = match to {
                Receiver::Neighbour(neighbour) => std::vec![neighbour.0],
                Receiver::Broadcast => {
                    (0..self.agents.len() as u32).filter(|&to| self.is_up(node, to)).collect()
                }
            };
            for receiver in receivers {
                let at = self.now + self.delay();
                if to == Receiver::Broadcast && self.random.below(100) < self.loss {
                    continue;
                }
                if self.is_up(node, receiver) {
                    self.schedule(at, Event::Message { from: node, to: receiver, message: message.clone() });
                } else if self.feedback {
                    self.schedule(at, Event::Failure { at: node, neighbour: receiver, packet: None });
                }
            }
        }
        if has_changed {
            for (destination, next) in &self.tables[node as usize] {
                assert_eq!(
                    self.agents[node as usize].next_hop(*destination),
                    Some(*next),
                    "the host's table is old"
                );
            }
            (self.law)(self);
        }
        for packet in leaving {
            self.forward(packet.0, None);
        }
    }

    /// The next hop of a node.
    pub(crate) fn next(&self, node: u32, destination: u32) -> Option<u32> {
        self.tables[node as usize].get(&Address(destination)).map(|next| next.0)
    }

    /// Follows the tables; `Some(hops)` if they lead to the destination.
    pub(crate) fn walk(&self, source: u32, destination: u32) -> Option<u32> {
        let (mut node, mut hops) = (source, 0);
        while node != destination {
            node = self.next(node, destination)?;
            hops += 1;
            assert!(
                hops <= self.agents.len() as u32,
                "a loop from {source} to {destination} at {}: {:?}",
                self.now,
                (0..self.agents.len() as u32).map(|node| self.next(node, destination)).collect::<Vec<_>>()
            );
        }
        Some(hops)
    }

    pub(crate) fn assert_no_loops(&self) {
        for destination in 0..self.agents.len() as u32 {
            for source in 0..self.agents.len() as u32 {
                self.walk(source, destination);
            }
        }
    }

    /// The lengths of the shortest paths from every node to `destination` over the links that are up.
    pub(crate) fn distances(&self, destination: u32) -> Vec<Option<u32>> {
        let mut distance = std::vec![None; self.agents.len()];
        distance[destination as usize] = Some(0);
        let mut frontier = std::vec![destination];
        let mut hops = 0;
        while !frontier.is_empty() {
            hops += 1;
            let mut next = Vec::new();
            for &(a, b) in &self.links {
                for (from, to) in [(a, b), (b, a)] {
                    if frontier.contains(&from) && distance[to as usize].is_none() {
                        distance[to as usize] = Some(hops);
                        next.push(to);
                    }
                }
            }
            frontier = next;
        }
        distance
    }

    /// `true` if the tables lead from every node to every other by a shortest path, and nowhere where there
    /// is none.
    pub(crate) fn has_shortest_routes(&self) -> bool {
        (0..self.agents.len() as u32).all(|destination| {
            let distances = self.distances(destination);
            (0..self.agents.len() as u32).all(|node| {
                node == destination
                    || match distances[node as usize] {
                        None => self.next(node, destination).is_none(),
                        expected => self.walk(node, destination) == expected,
                    }
            })
        })
    }

    /// `true` if the tables lead from every node to every other that it is connected with, and to no other.
    pub(crate) fn routes_reach(&self) -> bool {
        (0..self.agents.len() as u32).all(|destination| {
            let distances = self.distances(destination);
            (0..self.agents.len() as u32)
                .all(|node| self.walk(node, destination).is_some() == distances[node as usize].is_some())
        })
    }
}

/// All graphs with `nodes` nodes that are connected, one of each isomorphism class.
pub(crate) fn connected_graphs(nodes: u32) -> Vec<Vec<(u32, u32)>> {
    let pairs: Vec<(u32, u32)> = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))).collect();
    let permutations = permutations(nodes);
    let mut classes = BTreeSet::new();
    let mut graphs = Vec::new();
    for mask in 0u32..1 << pairs.len() {
        let edges: Vec<(u32, u32)> =
            pairs.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1).map(|(_, &pair)| pair).collect();
        let mut reached = BTreeSet::from([0]);
        for _ in 0..nodes {
            for &(a, b) in &edges {
                if reached.contains(&a) || reached.contains(&b) {
                    reached.extend([a, b]);
                }
            }
        }
        if reached.len() < nodes as usize {
            continue;
        }
        let canonical = permutations
            .iter()
            .map(|permutation| {
                edges.iter().fold(0u32, |mask, &(a, b)| {
                    let pair = link(permutation[a as usize], permutation[b as usize]);
                    mask | 1 << pairs.iter().position(|&other| other == pair).unwrap()
                })
            })
            .min();
        if classes.insert(canonical) {
            graphs.push(edges);
        }
    }
    graphs
}

fn permutations(n: u32) -> Vec<Vec<u32>> {
    if n == 0 {
        return std::vec![Vec::new()];
    }
    permutations(n - 1)
        .into_iter()
        .flat_map(|shorter| {
            (0..=shorter.len()).map(move |place| {
                let mut longer = shorter.clone();
                longer.insert(place, n - 1);
                longer
            })
        })
        .collect()
}

#[test]
fn there_are_six_and_twentyone_connected_graphs_of_four_and_five_nodes() {
    assert_eq!((connected_graphs(3).len(), connected_graphs(4).len(), connected_graphs(5).len()), (2, 6, 21));
}
