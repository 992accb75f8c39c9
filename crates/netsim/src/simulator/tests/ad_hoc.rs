//! Routing protocols of ad hoc networks over an 802.11 medium.

use whimbrel_wifi::SplitMix64;
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::mobility::{Path, Position, Presence};
use whimbrel_wifi::phy::{Phy, Preamble, Rate};
use whimbrel_wifi::propagation::ChannelConfig;
use whimbrel_wifi::routing::aodv::{Aodv, AodvConfig};
use whimbrel_wifi::routing::dsdv::{Dsdv, DsdvConfig};
use whimbrel_wifi::routing::{Address, RoutingAgent};
use whimbrel_wifi::site::Site;

use super::*;
use crate::medium::{WifiConfig, WifiMedium};
use crate::queue::Discipline;
use crate::{
    AdHocRouter, FixedRoutes, MediumLoss, PacketId, PassingPacket, QueueLimit, RoutingRequest, UnroutedPacket,
};

mod laws;

/// An end of a flow, or a routing agent.
enum Node<R> {
    Traffic(Script),
    Router(AdHocRouter<R>),
}

#[derive(Clone)]
enum Content<M> {
    Data(u64),
    Message(M),
}

fn packet<P>(flow: FlowId, destination: NodeId, size: u32, payload: P) -> Packet<P> {
    Packet { id: PacketId(0), flow, source: NodeId::default(), destination, size, ecn: Ecn::NotEct, payload }
}

impl<R: RoutingAgent> Agent for Node<R> {
    type Payload = Content<R::Message>;

    fn handle_packet(&mut self, now: Instant, packet: Packet<Self::Payload>) {
        match (self, packet.payload) {
            (Self::Traffic(script), Content::Data(tag)) => script.received.push((now, tag)),
            (Self::Router(router), Content::Message(message)) => {
                router.handle_message(now, packet.source, message);
            }
            _ => panic!("a packet for another agent"),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Self::Router(router) = self {
            router.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Self::Payload>> {
        match self {
            Self::Traffic(script) => {
                script.sends.front().filter(|send| send.at <= now)?;
                let send = script.sends.pop_front()?;
                Some(packet(send.flow, send.to, send.size, Content::Data(send.tag)))
            }
            Self::Router(router) => {
                let (to, size, message) = router.poll_message(now)?;
                Some(packet(FlowId::ROUTING, to, size, Content::Message(message)))
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Traffic(script) => script.poll_timeout(),
            Self::Router(router) => router.poll_timeout(),
        }
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Self::Payload>, cause: LossCause) {
        if let (Self::Traffic(script), Content::Data(tag)) = (self, packet.payload) {
            script.losses.push((now, tag, cause));
        }
    }

    fn handle_observation(&mut self, now: Instant, _: StationId, observation: &Observation) {
        if let Self::Router(router) = self {
            router.handle_observation(now, observation);
        }
    }

    fn handle_unrouted(&mut self, now: Instant, packet: UnroutedPacket) {
        if let Self::Router(router) = self {
            router.handle_unrouted(now, packet);
        }
    }

    fn handle_undelivered(&mut self, now: Instant, packet: UnroutedPacket, neighbour: NodeId) -> bool {
        match self {
            Self::Traffic(_) => false,
            Self::Router(router) => router.handle_undelivered(now, packet, neighbour),
        }
    }

    fn handle_passing(&mut self, now: Instant, packet: PassingPacket) {
        if let Self::Router(router) = self {
            router.handle_passing(now, packet);
        }
    }

    fn poll_routing(&mut self, _: Instant) -> Option<RoutingRequest> {
        match self {
            Self::Traffic(_) => None,
            Self::Router(router) => router.poll_routing(),
        }
    }
}

/// Nodes with a routing agent each.
struct Mesh<R: RoutingAgent> {
    simulator: Simulator<Node<R>>,
    nodes: Vec<NodeId>,
    stations: Vec<StationId>,
    routers: Vec<AgentId>,
    sinks: Vec<AgentId>,
}

impl<R: RoutingAgent> Mesh<R> {
    /// Nodes on these paths under ns-2's rules of the MAC at 11 Mbit/s.
    fn new(stations: Vec<(Path, Presence)>, seed: u64, protocol: impl Fn(Address, SplitMix64) -> R) -> Self {
        let mut simulator = Simulator::new(SimulationConfig::default());
        simulator.set_routing(FixedRoutes);
        let count = stations.len();
        let site = Site::new(ChannelConfig::ns2(), stations).expect("a radio");
        let mac = MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11);
        let medium = simulator.add_medium(WifiMedium::new(site, WifiConfig::standard(mac, seed)));
        let nodes: Vec<NodeId> = (0..count).map(|k| simulator.add_node(&format!("n{k}"))).collect();
        let streams = SplitMix64::new(seed ^ 0xAD);
        let mut stations = Vec::new();
        let mut routers = Vec::new();
        for (k, &node) in (0u32..).zip(&nodes) {
            let limit = QueueLimit::Packets(50);
            let station = simulator.add_station(node, medium, &Discipline::DropTail, limit).unwrap();
            let router = AdHocRouter::new(protocol(Address(k), streams.stream(u64::from(k))), station);
            let agent = simulator.add_agent(node, FlowId::ROUTING, Node::Router(router));
            simulator.set_router(agent);
            stations.push(station);
            routers.push(agent);
        }
        Self { simulator, nodes, stations, routers, sinks: Vec::new() }
    }

    /// A flow with packets at these milliseconds. Returns the number of its sink.
    fn send(&mut self, from: usize, to: usize, times: impl Iterator<Item = u64>) -> usize {
        let flow = FlowId(self.sinks.len() as u32 + 1);
        let times: Vec<u64> = times.map(|time| time * 1_000).collect();
        let mut script = sender(self.nodes[to], &times);
        script.sends.iter_mut().for_each(|send| (send.flow, send.size) = (flow, 500));
        self.simulator.add_agent(self.nodes[from], flow, Node::Traffic(script));
        let sink = self.simulator.add_agent(self.nodes[to], flow, Node::Traffic(Script::default()));
        self.sinks.push(sink);
        self.sinks.len() - 1
    }

    fn run(&mut self, seconds: f64) {
        self.simulator.run_until(Instant::from_secs_f64(seconds));
    }

    fn sink(&self, number: usize) -> &Script {
        match self.simulator.agent(self.sinks[number]) {
            Node::Traffic(script) => script,
            Node::Router(_) => panic!("a sink"),
        }
    }

    fn tags(&self, number: usize) -> Vec<u64> {
        self.sink(number).received.iter().map(|&(_, tag)| tag).collect()
    }

    fn router(&self, node: usize) -> &AdHocRouter<R> {
        match self.simulator.agent(self.routers[node]) {
            Node::Router(router) => router,
            Node::Traffic(_) => panic!("a router"),
        }
    }

    /// Hops from one node to another by the protocols' tables, which the network uses; `None` without route.
    fn hops(&mut self, from: usize, to: usize) -> Option<usize> {
        let destination = self.nodes[to];
        let (mut node, mut hops) = (from, 0);
        while node != to {
            let next = self.router(node).next_hop(destination);
            let in_use = self.simulator.route(self.nodes[node], destination);
            let station = self.stations[node];
            let expected = next.map(|to| crate::NextHop::Station { station, to });
            assert_eq!(in_use, expected, "the network's route is not the protocol's");
            node = next?.index();
            hops += 1;
            assert!(hops < self.nodes.len(), "a loop from {from} to {to} at {}", self.simulator.now());
        }
        Some(hops)
    }
}

fn dsdv(config: DsdvConfig) -> impl Fn(Address, SplitMix64) -> Dsdv<SplitMix64> {
    move |address, random| Dsdv::new(Instant::ZERO, address, config, random)
}

fn aodv(config: AodvConfig) -> impl Fn(Address, SplitMix64) -> Aodv<SplitMix64> {
    move |address, random| Aodv::new(Instant::ZERO, address, config, random)
}

/// A row of nodes that stand still, this far apart.
fn row(count: usize, metres: f64) -> Vec<(Path, Presence)> {
    (0..count).map(|k| (Path::fixed(Position { x: k as f64 * metres, y: 0.0 }), Presence::ALWAYS)).collect()
}

fn moving(waypoints: &[(u64, f64, f64)]) -> (Path, Presence) {
    let waypoints: Vec<(Instant, Position)> =
        waypoints.iter().map(|&(at, x, y)| (Instant::from_secs(at), Position { x, y })).collect();
    (Path::through(&waypoints).expect("a path"), Presence::ALWAYS)
}

fn fixed(x: f64, y: f64) -> (Path, Presence) {
    (Path::fixed(Position { x, y }), Presence::ALWAYS)
}

#[test]
fn dsdv_converges_in_a_chain_of_four() {
    let mut mesh = Mesh::new(row(4, 200.0), 1, dsdv(DsdvConfig::default()));
    mesh.run(20.0);
    for from in 0..4 {
        for to in 0..4 {
            assert_eq!(mesh.hops(from, to), Some(from.abs_diff(to)), "{from} to {to}");
        }
    }
    let sink = mesh.send(0, 3, (20_000..22_000).step_by(100));
    mesh.run(25.0);
    assert_eq!(mesh.tags(sink), (0..20).collect::<Vec<u64>>());
    assert_eq!(mesh.simulator.packets_in_network(), 0);
}

/// With ns-2's timing an unknown destination is advertised after two settling times of 6 s: a chain takes 12
/// s per hop.
#[test]
fn dsdv_with_the_timing_of_ns2_spreads_a_destination_by_a_hop_each_12_s() {
    let mut mesh = Mesh::new(row(4, 200.0), 1, dsdv(DsdvConfig::NS2));
    let mut known_at = [None; 4];
    for tick in 0..100 {
        mesh.run(f64::from(tick));
        for (from, known) in known_at.iter_mut().enumerate() {
            if mesh.hops(from, 0).is_some() {
                known.get_or_insert(tick);
            }
        }
    }
    let known_at = [1, 2, 3].map(|node| known_at[node].expect("a route"));
    assert!(known_at[0] <= 3, "{known_at:?}");
    for hop in 1..3 {
        // The update is triggered at 12 s, or waits for the shortest interval and jitter.
        assert!((12..=14).contains(&(known_at[hop] - known_at[hop - 1])), "{known_at:?}");
    }
}

#[test]
fn aodv_finds_a_route_of_three_hops_while_the_packet_waits() {
    let mut mesh = Mesh::new(row(4, 200.0), 1, aodv(AodvConfig::default()));
    let sink = mesh.send(0, 3, (1_000..3_000).step_by(100));
    mesh.run(3.0);
    assert_eq!(mesh.tags(sink), (0..20).collect::<Vec<u64>>());
    assert_eq!((mesh.hops(0, 3), mesh.hops(3, 0)), (Some(3), Some(3)));
    // The expanding ring: reach 1 and 3, 10 ms of jitter per hop.
    let first = mesh.sink(sink).received[0].0;
    assert!(first < Instant::from_millis(1_500), "{first}");
    // Unused routes expire.
    mesh.run(30.0);
    assert_eq!(mesh.hops(0, 3), None);
    assert_eq!(mesh.simulator.packets_in_network(), 0);
}

/// A row of five, of which the middle one is switched off, and a detour through a sixth node.
fn detour() -> Vec<(Path, Presence)> {
    let mut stations = row(3, 200.0);
    stations[1].1 = Presence::except(&[(Instant::from_secs(30), Instant::from_secs(1_000))]).expect("spans");
    stations.push(fixed(200.0, 140.0));
    stations
}

/// The link over node 1 breaks at 30 s; the packet in transmission and later ones wait for the other route.
fn repairs_a_broken_link<R: RoutingAgent>(protocol: impl Fn(Address, SplitMix64) -> R) -> Mesh<R> {
    let mut mesh = Mesh::new(detour(), 3, protocol);
    let sink = mesh.send(0, 2, (25_000..45_000).step_by(100));
    mesh.run(29.9);
    mesh.run(60.0);
    let received = mesh.tags(sink);
    assert_eq!(received.len() + mesh.sink(sink).losses.len(), 200);
    assert_eq!(mesh.simulator.packets_in_network(), 0);
    mesh
}

#[test]
fn aodv_finds_another_route_when_a_link_breaks_and_salvages_the_packet() {
    let mesh = repairs_a_broken_link(aodv(AodvConfig::default()));
    // A break that the source itself notices costs no packet: with node 1 on the route, the packet is resent.
    assert_eq!(mesh.tags(0), (0..200).collect::<Vec<u64>>());
    let given_up = AodvConfig { salvages: false, ..AodvConfig::default() };
    let mesh = repairs_a_broken_link(aodv(given_up));
    let causes: Vec<LossCause> = mesh.sink(0).losses.iter().map(|&(_, _, cause)| cause).collect();
    let is_medium =
        |cause| matches!(cause, LossCause::Medium(_, MediumLoss::OutOfRange | MediumLoss::NoResponse));
    assert!(causes.len() == 1 && is_medium(causes[0]), "{causes:?}");
}

#[test]
fn dsdv_with_the_reports_of_the_link_layer_buffers_packets_until_the_next_route() {
    let mesh = repairs_a_broken_link(dsdv(DsdvConfig::default()));
    let lost = mesh.sink(0).losses.len();
    let silent = DsdvConfig { link_layer_feedback: false, ..DsdvConfig::default() };
    let silent = repairs_a_broken_link(dsdv(silent));
    // The other route comes within seconds; until then 5 packets wait. Without the reports it comes after 45
    // s of silence.
    let blackholed = silent.sink(0).losses.len();
    assert!(lost < 20 && blackholed > 100, "{lost} and {blackholed} lost");
}

/// Node 3 drives past three nodes in a row; routes to it follow.
#[test]
fn routes_follow_a_node_that_moves() {
    let stations = || {
        let mut stations = row(3, 200.0);
        stations.push(moving(&[(10, 0.0, 100.0), (50, 400.0, 100.0)]));
        stations
    };
    let mut mesh = Mesh::new(stations(), 5, aodv(AodvConfig::default()));
    let sink = mesh.send(0, 3, (5_000..60_000).step_by(250));
    mesh.run(6.0);
    assert_eq!(mesh.hops(0, 3), Some(1));
    mesh.run(59.0);
    assert!(mesh.hops(0, 3) >= Some(2));
    mesh.run(70.0);
    let received = mesh.tags(sink).len();
    assert!(received >= 218, "{received} of 220");
    let mut mesh = Mesh::new(stations(), 5, dsdv(DsdvConfig::default()));
    let sink = mesh.send(0, 3, (5_000..60_000).step_by(250));
    mesh.run(59.0);
    assert!(mesh.hops(0, 3) >= Some(2));
    mesh.run(120.0);
    let received = mesh.tags(sink).len();
    assert!(received >= 218, "{received} of 220");
}

/// The station takes its next packet only when the routing agent has processed the failure of the one before.
#[test]
fn packets_queued_for_a_lost_neighbour_are_not_sent_to_it() {
    let mut stations = row(2, 200.0);
    stations[1].1 = Presence::except(&[(Instant::from_secs(10), Instant::from_secs(1_000))]).expect("spans");
    let config = AodvConfig { salvages: false, ..AodvConfig::default() };
    let mut mesh = Mesh::new(stations, 1, aodv(config));
    // The route is found at 9 s; at 10 s a burst of 20 packets meets a neighbour that is off.
    let sink = mesh.send(0, 1, std::iter::once(9_000).chain(std::iter::repeat_n(10_000, 20)));
    mesh.run(10.5);
    let causes: Vec<LossCause> = mesh.sink(sink).losses.iter().map(|&(_, _, cause)| cause).collect();
    let [first, rest @ ..] = &causes[..] else { panic!("no losses") };
    assert!(matches!(first, LossCause::Medium(..)), "{first:?}");
    assert!(rest.iter().all(|cause| *cause == LossCause::NoRoute(mesh.nodes[0])), "{rest:?}");
    assert_eq!(causes.len(), 20);
    let stats = mesh.simulator.station_stats(mesh.stations[0]);
    assert_eq!(stats.dropped.packets, 19);
    assert_eq!(stats.enqueued.packets, stats.taken.packets + stats.dropped.packets);
}
