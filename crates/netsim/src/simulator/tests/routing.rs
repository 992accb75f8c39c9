//! Routing policies and routing agents.

use super::*;
use crate::{FixedRoutes, NextHop, PacketId, RouteTable, Routing, RoutingRequest, Topology, UnroutedPacket};

/// A network a - b - c of duplex links; returns the nodes and the links a>b, b>c.
fn chain(simulator: &mut Simulator<Script>) -> ([NodeId; 3], [LinkId; 2]) {
    let nodes = ["a", "b", "c"].map(|name| simulator.add_node(name));
    let (first, _) = simulator.add_duplex(nodes[0], nodes[1], slow());
    let (second, _) = simulator.add_duplex(nodes[1], nodes[2], slow());
    (nodes, [first, second])
}

#[test]
fn without_a_policy_only_routes_that_were_set_exist() {
    let mut simulator = simulator();
    let (nodes, links) = chain(&mut simulator);
    simulator.set_routing(FixedRoutes);
    simulator.set_route(nodes[0], nodes[2], Some(NextHop::Link(links[0])));
    simulator.add_agent(nodes[0], FLOW, sender(nodes[2], &[0, 50_000]));
    let sink = simulator.add_agent(nodes[2], FLOW, Script::default());
    simulator.run_until(micros(40_000));
    assert_eq!(simulator.agent(sink).losses, [(micros(6_000), 0, LossCause::NoRoute(nodes[1]))]);
    simulator.set_route(nodes[1], nodes[2], Some(NextHop::Link(links[1])));
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sink).received, [(micros(62_000), 1)]);
}

#[test]
fn a_policy_of_ones_own_decides_over_the_routes() {
    /// Each node takes its last hop, wherever the packet goes.
    struct LastHop;
    impl Routing for LastHop {
        fn compute(&mut self, topology: &Topology, table: &mut RouteTable) {
            for node in 0..topology.nodes() {
                for destination in 0..topology.nodes() {
                    let next = topology.outgoing(node).last().map(|&hop| topology.next_hop(hop));
                    table.set(NodeId(node as u32), NodeId(destination as u32), next);
                }
            }
        }
    }
    let mut simulator = simulator();
    let (nodes, links) = chain(&mut simulator);
    simulator.set_routing(LastHop);
    // b sends packets for a to c, which sends them back, until they have made 255 hops.
    assert_eq!(simulator.route(nodes[1], nodes[0]), Some(NextHop::Link(links[1])));
    simulator.add_agent(nodes[1], FLOW, sender(nodes[0], &[0]));
    let sink = simulator.add_agent(nodes[0], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(10));
    let [(at, _, cause)] = simulator.agent(sink).losses[..] else { panic!("one packet was sent") };
    assert_eq!((at, cause), (micros(6_000 * 255), LossCause::HopLimit(nodes[2])));
}

#[test]
#[should_panic(expected = "the next hop does not leave the node")]
fn a_route_over_the_link_of_another_node_is_refused() {
    let mut simulator = simulator();
    let (nodes, links) = chain(&mut simulator);
    simulator.set_route(nodes[2], nodes[0], Some(NextHop::Link(links[0])));
}

/// A reactive routing protocol in small: a request by broadcast, an answer, a route.
struct Reactive {
    script: Script,
    node: NodeId,
    /// The egress towards each neighbour, as the test knows it.
    hops: Vec<(NodeId, NextHop)>,
    outgoing: VecDeque<Packet<u64>>,
    requests: VecDeque<RoutingRequest>,
    waiting: Vec<UnroutedPacket>,
    gives_up: bool,
}

/// The flow of the protocol's messages. Payloads: 0 asks, 1 answers.
const PROTOCOL: FlowId = FlowId(255);

impl Reactive {
    fn new(node: NodeId, hops: Vec<(NodeId, NextHop)>) -> Self {
        Self {
            script: Script::default(),
            node,
            hops,
            outgoing: VecDeque::new(),
            requests: VecDeque::new(),
            waiting: Vec::new(),
            gives_up: false,
        }
    }

    fn message(&self, destination: NodeId, payload: u64) -> Packet<u64> {
        Packet {
            id: PacketId(0),
            flow: PROTOCOL,
            source: self.node,
            destination,
            size: 100,
            ecn: Ecn::NotEct,
            payload,
        }
    }
}

impl Agent for Reactive {
    type Payload = u64;

    fn handle_packet(&mut self, now: Instant, packet: Packet<u64>) {
        if packet.flow != PROTOCOL {
            return self.script.handle_packet(now, packet);
        }
        // Each message shows the way to its sender.
        let Some(&(neighbour, next)) = self.hops.iter().find(|(node, _)| *node == packet.source) else {
            return;
        };
        self.requests.push_back(RoutingRequest::Set { destination: neighbour, next });
        if packet.payload == 0 {
            self.outgoing.push_back(self.message(neighbour, 1));
        }
        for waiting in self.waiting.extract_if(.., |waiting| waiting.flow.destination == neighbour) {
            self.requests.push_back(RoutingRequest::Forward { packet: waiting.packet });
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.script.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<u64>> {
        self.outgoing.pop_front().or_else(|| self.script.poll_transmit(now))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.script.poll_timeout()
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<u64>, cause: LossCause) {
        self.script.handle_loss(now, packet, cause);
    }

    fn handle_unrouted(&mut self, _: Instant, packet: UnroutedPacket) {
        if self.gives_up {
            self.requests.push_back(RoutingRequest::Discard { packet: packet.packet });
        } else {
            self.waiting.push(packet);
            self.outgoing.push_back(self.message(NodeId::BROADCAST, 0));
        }
    }

    fn poll_routing(&mut self, _: Instant) -> Option<RoutingRequest> {
        self.requests.pop_front()
    }
}

/// Two nodes with a link each way and routing agents, of which the first sends a packet of another flow.
fn reactive(gives_up: bool) -> (Simulator<Reactive>, [NodeId; 2], [AgentId; 2]) {
    let mut simulator: Simulator<Reactive> = Simulator::new(SimulationConfig::default());
    simulator.set_routing(FixedRoutes);
    let [a, b] = ["a", "b"].map(|name| simulator.add_node(name));
    let (there, back) = simulator.add_duplex(a, b, slow());
    let mut first = Reactive::new(a, vec![(b, NextHop::Link(there))]);
    first.gives_up = gives_up;
    let router = simulator.add_agent(a, PROTOCOL, first);
    let other = simulator.add_agent(b, PROTOCOL, Reactive::new(b, vec![(a, NextHop::Link(back))]));
    simulator.set_router(router);
    simulator.set_router(other);
    let mut source = Reactive::new(a, Vec::new());
    source.script = sender(b, &[0]);
    let sink = Reactive::new(b, Vec::new());
    let ends = [simulator.add_agent(a, FLOW, source), simulator.add_agent(b, FLOW, sink)];
    (simulator, [a, b], ends)
}

#[test]
fn an_agent_finds_a_route_while_the_packet_waits() {
    let (mut simulator, [a, b], [_, sink]) = reactive(false);
    assert_eq!(simulator.route(a, b), None);
    simulator.run_until(Instant::from_secs(1));
    // 100 bytes there, 100 bytes back, then the packet, each with the delay of 5 ms.
    assert_eq!(
        simulator.agent(sink).script.received,
        [(micros(100 + 5_000 + 100 + 5_000 + 1_000 + 5_000), 0)]
    );
    assert!(simulator.route(a, b).is_some() && simulator.route(b, a).is_some());
    assert_eq!(simulator.packets_in_network(), 0);
}

#[test]
fn a_packet_that_the_routing_agent_gives_up_is_lost() {
    let (mut simulator, [a, _], [_, sink]) = reactive(true);
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sink).script.losses, [(Instant::ZERO, 0, LossCause::NoRoute(a))]);
    assert_eq!(simulator.packets_in_network(), 0);
}
