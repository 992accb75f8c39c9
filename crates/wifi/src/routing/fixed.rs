//! Routes that are given.

use alloc::collections::{BTreeMap, VecDeque};

use whimbrel_units::Instant;

use super::{Address, DiscardCause, RouteEvent, RoutingAgent, Transmit, UnroutedPacket};

/// The message of a protocol that sends none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoMessage {}

/// Routes that are given and never change.
#[derive(Clone, Debug)]
pub struct FixedRoutes {
    address: Address,
    routes: BTreeMap<Address, (Address, u8)>,
    events: VecDeque<RouteEvent>,
}

impl FixedRoutes {
    /// Routes as (destination, next hop, hops); of two routes to one destination the last counts.
    pub fn new(address: Address, routes: impl IntoIterator<Item = (Address, Address, u8)>) -> Self {
        let routes: BTreeMap<_, _> =
            routes.into_iter().map(|(destination, next_hop, hops)| (destination, (next_hop, hops))).collect();
        let set = |(&destination, &(next_hop, hops))| RouteEvent::Set { destination, next_hop, hops };
        Self { address, events: routes.iter().map(set).collect(), routes }
    }

    /// The shortest routes of every node of a graph, whose neighbours `neighbours` yields, in ascending order of address;
    /// of several shortest routes that with the lowest next hop.
    pub fn shortest<I: IntoIterator<Item = u32>>(
        nodes: u32,
        neighbours: impl Fn(u32) -> I,
    ) -> alloc::vec::Vec<Self> {
        let mut routes = alloc::vec![alloc::vec::Vec::new(); nodes as usize];
        for destination in 0..nodes {
            // Breadth first from the destination; links are symmetric.
            let mut distance = alloc::vec![u32::MAX; nodes as usize];
            distance[destination as usize] = 0;
            let mut queue = VecDeque::from([destination]);
            while let Some(node) = queue.pop_front() {
                for next in neighbours(node) {
                    if distance[next as usize] == u32::MAX {
                        distance[next as usize] = distance[node as usize] + 1;
                        queue.push_back(next);
                    }
                }
            }
            for node in (0..nodes).filter(|&node| node != destination) {
                let hops = distance[node as usize];
                let closer = |&next: &u32| hops != u32::MAX && distance[next as usize] + 1 == hops;
                if let Some(next) = neighbours(node).into_iter().filter(closer).min() {
                    let hops = u8::try_from(hops).unwrap_or(u8::MAX);
                    routes[node as usize].push((Address(destination), Address(next), hops));
                }
            }
        }
        (0..).map(Address).zip(routes).map(|(address, routes)| Self::new(address, routes)).collect()
    }
}

impl RoutingAgent for FixedRoutes {
    type Message = NoMessage;

    fn address(&self) -> Address {
        self.address
    }
    fn handle_packet(&mut self, _: Instant, _: Address, message: NoMessage) {
        match message {}
    }
    fn handle_timeout(&mut self, _: Instant) {}
    fn handle_unrouted(&mut self, _: Instant, packet: UnroutedPacket) {
        let (packet, cause) = (packet.packet, DiscardCause::NoRoute);
        self.events.push_back(RouteEvent::Discard { packet, cause });
    }
    fn handle_link_failure(&mut self, _: Instant, _: Address) {}
    fn poll_transmit(&mut self, _: Instant) -> Option<Transmit<NoMessage>> {
        None
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_event(&mut self) -> Option<RouteEvent> {
        self.events.pop_front()
    }
    fn next_hop(&self, destination: Address) -> Option<Address> {
        self.routes.get(&destination).map(|&(next_hop, _)| next_hop)
    }
}

#[cfg(test)]
mod tests;
