//! The times in which routing protocols find routes and notice their loss, compared with those that their
//! timers give.

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::routing::aodv::{Aodv, AodvConfig};
use whimbrel_wifi::routing::dsdv::{Dsdv, DsdvConfig};
use whimbrel_wifi::routing::{Address, DataPacket, Receiver, RouteEvent, RoutingAgent};
use whimbrel_wifi::{PacketId, SplitMix64};

use super::scenes::Comparison;

/// Time of a message over a hop.
const HOP: Duration = Duration::from_millis(1);

/// Agents on links without losses.
struct Network<A: RoutingAgent> {
    agents: Vec<A>,
    links: Vec<(usize, usize)>,
    under_way: BTreeMap<(Instant, u64), (usize, Address, A::Message)>,
    messages: u64,
    now: Instant,
    /// Time of the last message that each agent received.
    received: Vec<Instant>,
    /// The agents' instructions, with their times.
    events: Vec<(Instant, usize, RouteEvent)>,
}

impl<A: RoutingAgent> Network<A> {
    fn new(
        count: u32,
        links: Vec<(usize, usize)>,
        seed: u64,
        agent: impl Fn(Address, SplitMix64) -> A,
    ) -> Self {
        let streams = SplitMix64::new(seed);
        let agents = (0..count).map(|node| agent(Address(node), streams.stream(u64::from(node)))).collect();
        let under_way = BTreeMap::new();
        let received = vec![Instant::ZERO; count as usize];
        Self { agents, links, under_way, messages: 0, now: Instant::ZERO, received, events: Vec::new() }
    }

    /// Takes what an agent has to send and to instruct.
    fn drain(&mut self, node: usize) {
        while let Some(transmit) = self.agents[node].poll_transmit(self.now) {
            let is_receiver = |to: usize| match transmit.to {
                Receiver::Broadcast => true,
                Receiver::Neighbour(address) => address.0 as usize == to,
            };
            let ends = self.links.iter().map(|&(a, b)| if a == node { (a, b) } else { (b, a) });
            for to in ends.filter(|&(from, to)| from == node && is_receiver(to)).map(|(_, to)| to) {
                self.messages += 1;
                let message = (to, Address(node as u32), transmit.message.clone());
                self.under_way.insert((self.now + HOP, self.messages), message);
            }
        }
        while let Some(event) = self.agents[node].poll_event() {
            self.events.push((self.now, node, event));
        }
    }

    fn run_until(&mut self, end: Instant) {
        loop {
            let timeouts = self.agents.iter().filter_map(RoutingAgent::poll_timeout);
            let arrival = self.under_way.keys().next().map(|&(at, _)| at);
            let next = timeouts.chain(arrival).min().unwrap_or(Instant::FAR_FUTURE);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next.max(self.now);
            if arrival == Some(next) {
                if let Some((_, (to, from, message))) = self.under_way.pop_first() {
                    self.received[to] = self.now;
                    self.agents[to].handle_packet(self.now, from, message);
                    self.drain(to);
                }
                continue;
            }
            for node in 0..self.agents.len() {
                if self.agents[node].poll_timeout().is_some_and(|at| at <= self.now) {
                    self.agents[node].handle_timeout(self.now);
                    self.drain(node);
                }
            }
        }
    }

    /// The first time in seconds at which a node was given a route to a destination.
    fn route_at(&self, node: usize, destination: usize) -> Option<f64> {
        let is_route = |event: &RouteEvent| matches!(event, RouteEvent::Set { destination: to, .. } if to.0 as usize == destination);
        let found = self.events.iter().find(|(_, at, event)| *at == node && is_route(event));
        found.map(|(at, ..)| at.as_secs_f64())
    }
}

fn chain(nodes: usize) -> Vec<(usize, usize)> {
    (1..nodes).map(|node| (node - 1, node)).collect()
}

fn dsdv(config: DsdvConfig, count: u32, links: Vec<(usize, usize)>, seed: u64) -> Network<Dsdv<SplitMix64>> {
    Network::new(count, links, seed, |address, random| Dsdv::new(Instant::ZERO, address, config, random))
}

/// The times per hop in which the nodes of a chain of 7 learn of its end under ns-2's rules, ascending.
fn hop_times(config: DsdvConfig) -> Vec<f64> {
    let mut gaps = Vec::new();
    for seed in 0..20 {
        let mut network = dsdv(config, 7, chain(7), seed);
        network.run_until(Instant::from_secs(250));
        let times: Vec<f64> = (1..7).filter_map(|node| network.route_at(node, 0)).collect();
        gaps.extend(times.windows(2).map(|pair| pair[1] - pair[0]));
    }
    gaps.sort_by(f64::total_cmp);
    gaps
}

/// The mean time, over seeds, at which the last node of a 4x4 grid learns of the last destination.
fn grid_time(config: DsdvConfig, seeds: u64) -> f64 {
    let across = (0..16).filter(|node| node % 4 < 3).map(|node| (node, node + 1));
    let links: Vec<(usize, usize)> = across.chain((0..12).map(|node| (node, node + 4))).collect();
    let last = |seed| {
        let mut network = dsdv(config, 16, links.clone(), seed);
        network.run_until(Instant::from_secs(200));
        let pairs =
            (0..16).flat_map(|node| (0..16).map(move |to| (node, to))).filter(|(node, to)| node != to);
        pairs.map(|(node, to)| network.route_at(node, to).unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
    };
    (0..seeds).map(last).sum::<f64>() / seeds as f64
}

/// The time from the last update of a neighbour to the removal of the route to it.
fn silence(config: DsdvConfig) -> f64 {
    let mut network = dsdv(config, 2, chain(2), 1);
    network.run_until(Instant::from_secs(60));
    let last = network.received[0];
    network.links.clear();
    network.under_way.clear();
    network.run_until(Instant::from_secs(200));
    let is_removal = |event: &RouteEvent| *event == RouteEvent::Remove { destination: Address(1) };
    let removed = network.events.iter().find(|(_, node, event)| *node == 0 && is_removal(event));
    removed.map_or(f64::INFINITY, |&(at, ..)| (at - last).as_secs_f64())
}

/// The time from a packet without a route to its release or its loss, for a destination at the end of a chain
/// of this many nodes, or for one that does not exist.
fn search(nodes: u32, exists: bool) -> f64 {
    let config = AodvConfig { broadcast_jitter: Duration::ZERO, ..AodvConfig::default() };
    let agent = |address, random| Aodv::new(Instant::ZERO, address, config, random);
    let mut network = Network::new(nodes, chain(nodes as usize), 1, agent);
    let begin = Instant::from_secs(1);
    network.run_until(begin);
    let destination = Address(if exists { nodes - 1 } else { nodes });
    let packet = DataPacket { packet: PacketId(1), source: Address(0), destination, hops: 0 };
    network.agents[0].handle_unrouted(begin, packet);
    network.drain(0);
    network.run_until(Instant::from_secs(60));
    let is_outcome =
        |event: &RouteEvent| matches!(event, RouteEvent::Forward { .. } | RouteEvent::Discard { .. });
    let outcome = network.events.iter().find(|(_, node, event)| *node == 0 && is_outcome(event));
    outcome.map_or(f64::INFINITY, |&(at, ..)| (at - begin).as_secs_f64())
}

/// The comparisons: DSDV under ns-2's rules with its timers and with ns-2's own runs, AODV with section 6.4
/// of RFC 3561.
pub fn convergence() -> Vec<Comparison> {
    let row = |scene: &str, quantity, measured, theory, bound| Comparison {
        scene: scene.into(),
        quantity,
        measured,
        theory,
        bound,
    };
    let gaps = hop_times(DsdvConfig::NS2);
    let median = gaps.get(gaps.len() / 2).copied().unwrap_or(f64::INFINITY);
    let per_hop = "DSDV, ns-2's rules, chain of 7 nodes";
    let mut rows = vec![
        row(per_hop, "shortest time per hop, s", gaps.first().copied().unwrap_or(f64::INFINITY), 12.0, 0.005),
        row(per_hop, "median time per hop, s", median, 12.0, 0.01),
        row(
            "DSDV, ns-2's rules, 4x4 grid",
            "all routes known, s",
            grid_time(DsdvConfig::NS2, 20),
            87.0,
            0.05,
        ),
        row(
            "DSDV, a neighbour falls silent",
            "route removed after, s",
            silence(DsdvConfig::NS2),
            45.0,
            0.001,
        ),
    ];
    // Rings of 1, 3, 5 and 7 hops, each for 80 ms times the hops and 2, then the network for 2.8 s.
    let rings = [0.24, 0.40, 0.56, 0.72];
    for (hops, failed) in [(1, 0), (3, 1), (5, 2), (7, 3), (9, 4)] {
        let theory: f64 = rings.iter().take(failed).sum::<f64>() + 2.0 * f64::from(hops) * HOP.as_secs_f64();
        let scene = format!("AODV, hops to the destination: {hops}");
        rows.push(row(&scene, "route found after, s", search(hops + 1, true), theory, 1e-5));
    }
    let all = rings.iter().sum::<f64>() + 2.8 * (1.0 + 2.0 + 4.0);
    rows.push(row("AODV, no such destination", "packet given up after, s", search(3, false), all, 1e-5));
    rows
}

#[cfg(test)]
mod tests;
