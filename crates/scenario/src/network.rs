//! The simulated network of a plan, without agents.

use std::collections::BTreeSet;

use whimbrel_netsim::queue::Discipline;
use whimbrel_netsim::random::RandomStreams;
use whimbrel_netsim::{
    Agent, Command, DownPolicy, Egress, LinkId, LinkRate, MediumId, NodeId, QueueLimit, RouteTable, Routing,
    ShortestPath, SimulationConfig, Simulator, Spread, StationId, Topology,
};
use whimbrel_units::Instant;

use crate::link::WhenDown;
use crate::{CellularPlan, EventPlan, Plan, RandomStart, StationPlan, TransportPlan, WifiPlan};

/// A simulator with the nodes and links of a plan.
pub struct Network<A: Agent> {
    /// The simulator.
    pub simulator: Simulator<A>,
    /// The nodes of the plan, as the simulator names them.
    pub nodes: Vec<NodeId>,
    /// The links of the plan, as the simulator names them.
    pub links: Vec<LinkId>,
    /// The stations of each 802.11 medium of the plan, as the simulator names them.
    pub stations: Vec<Vec<StationId>>,
    /// The stations of the network of cells behind each gateway: the gateway, then the terminals.
    pub cellular: Vec<Vec<StationId>>,
}

impl<A: Agent> Network<A> {
    /// Builds nodes, links and routes with the randomness of `seed`, and schedules the changes of links, in
    /// the order of the plan. `events` are the plan's for the handovers of this run ([`Plan::events_with`]).
    pub fn new<P: TransportPlan>(plan: &Plan<P>, events: &[EventPlan], seed: u64) -> Self {
        let mut simulator = Simulator::new(SimulationConfig { seed, run: 0 });
        let nodes: Vec<NodeId> = plan.nodes.iter().map(|name| simulator.add_node(name)).collect();
        let links: Vec<LinkId> = plan
            .links
            .iter()
            .map(|link| simulator.add_link(nodes[link.from], nodes[link.to], link.config_for(seed)))
            .collect();
        for host in &plan.hosts {
            simulator.set_host(nodes[host.node], host.config);
        }
        let streams = simulator.streams();
        let stations: Vec<Vec<StationId>> =
            plan.wifi.iter().map(|wifi| add_wifi(&mut simulator, wifi, plan, &nodes, streams)).collect();
        let cellular = plan.cellular.iter();
        let cellular = cellular.map(|own| add_cellular(&mut simulator, own, plan, &nodes, streams)).collect();
        let with_agents = plan.wifi.iter().zip(&stations).filter(|(wifi, _)| wifi.routing.has_agents());
        let media: BTreeSet<MediumId> =
            with_agents.filter_map(|(_, stations)| Some(stations.first()?.medium())).collect();
        if !media.is_empty() {
            simulator.set_routing(ShortestPathElsewhere(media));
        }
        if let Some(interval) = plan.reroute_interval() {
            for number in 1..=plan.end.as_nanos() / interval.as_nanos() {
                simulator.schedule(Instant::ZERO + interval * number, Command::Reroute);
            }
        }
        for event in events {
            for command in commands(event, links[event.link], &plan.links[event.link].random_start, seed) {
                simulator.schedule(event.at, command);
            }
        }
        for route in &plan.routes {
            let spread_over = route.links.iter().map(|&(link, weight)| (links[link], weight)).collect();
            let spread = Spread { links: spread_over, by: route.by };
            let (node, destination) = (nodes[route.node], nodes[route.destination]);
            let command = Command::SpreadRoute { node, destination, spread };
            // Packets that agents send at the very beginning come before the commands scheduled for then.
            match route.at {
                Instant::ZERO => simulator.apply(command),
                later => simulator.schedule(later, command),
            }
        }
        Self { simulator, nodes, links, stations, cellular }
    }
}

/// Shortest paths that do not lead over the media whose stations have routing agents.
struct ShortestPathElsewhere(BTreeSet<MediumId>);

impl Routing for ShortestPathElsewhere {
    fn compute(&mut self, topology: &Topology, table: &mut RouteTable) {
        let mut rest = Topology::new(topology.nodes());
        for node in 0..topology.nodes() {
            for &hop in topology.outgoing(node) {
                let has_agents = match topology.next_hop(hop).egress() {
                    Egress::Station(station) => self.0.contains(&station.medium()),
                    Egress::Link(_) => false,
                };
                if !has_agents {
                    rest.connect(topology, hop);
                }
            }
        }
        ShortestPath.compute(&rest, table);
    }
}

/// Adds a medium with the stations of its nodes.
fn add_wifi<A: Agent, P: TransportPlan>(
    simulator: &mut Simulator<A>,
    wifi: &WifiPlan,
    plan: &Plan<P>,
    nodes: &[NodeId],
    streams: RandomStreams,
) -> Vec<StationId> {
    let medium = match wifi.qos_medium(&plan.nodes, streams, plan.end) {
        Some(medium) => simulator.add_medium(medium),
        None => simulator.add_medium(wifi.medium(&plan.nodes, streams, plan.end)),
    };
    let add = |station: &StationPlan| {
        let added = simulator.add_station(nodes[station.node], medium, &wifi.discipline, wifi.limit);
        added.expect("the discipline was checked with the scenario")
    };
    wifi.stations.iter().map(add).collect()
}

/// Adds the network of the cells of a gateway. Packets leave the queues of its stations at once.
fn add_cellular<A: Agent, P: TransportPlan>(
    simulator: &mut Simulator<A>,
    cellular: &CellularPlan,
    plan: &Plan<P>,
    nodes: &[NodeId],
    streams: RandomStreams,
) -> Vec<StationId> {
    let medium = simulator.add_medium(cellular.medium(&plan.nodes, streams, plan.end));
    let terminals = cellular.terminals.iter().map(|terminal| terminal.node);
    let stations = std::iter::once(cellular.gateway).chain(terminals).map(|node| {
        let added = simulator.add_station(nodes[node], medium, &Discipline::DropTail, QueueLimit::Unlimited);
        added.expect("drop-tail has no parameters")
    });
    stations.collect()
}

fn commands<A: Agent>(
    event: &EventPlan,
    link: LinkId,
    random_start: &RandomStart,
    seed: u64,
) -> Vec<Command<A>> {
    let mut commands = Vec::new();
    if let Some(rate) = event.rate {
        commands.push(Command::SetRate { link, rate: LinkRate::Constant(rate) });
    }
    if let Some(delay) = event.delay {
        commands.push(Command::SetDelay { link, delay });
    }
    if let Some(impairment) = &event.impairment {
        let impairment = match event.losses_start_anywhere {
            true => random_start.impairment(impairment, seed),
            false => impairment.clone(),
        };
        commands.push(Command::SetImpairment { link, impairment });
    }
    match event.up {
        Some(true) => commands.push(Command::LinkUp { link }),
        Some(false) => {
            let policy = match event.when_down {
                WhenDown::Hold => DownPolicy::Hold,
                WhenDown::DropQueue => DownPolicy::DropQueue,
                WhenDown::DropAll => DownPolicy::DropAll,
            };
            commands.push(Command::LinkDown { link, policy });
        }
        None => {}
    }
    commands
}
