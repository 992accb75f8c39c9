//! The network of a plan, with the ends of its flows.

use whimbrel_control::capacity::RtWinfConfig;
use whimbrel_netsim::medium::WifiMedium;
use whimbrel_netsim::{AgentId, Command, Egress, FlowId, LinkId, NodeId, Simulator, StationId, StationIndex};
use whimbrel_scenario::Network;
use whimbrel_scenario::signals::FlowEnd;
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::phy::{CTS_BYTES, RTS_BYTES};

use super::controllers::{Board, LawController, Observer, StationController};
use crate::emulation::{EmulatedEnd, EmulatedTransport, SharedOutbox};
use crate::routing::{Protocol, add_routers};
use crate::scenario::{EventPlan, FlowEventPlan, FlowPlan, Plan, RoutingPlan};
use crate::transport::explicit::CrossLayer;
use crate::transport::{FlowAgent, FlowSetup};

/// The simulator's identifiers of the parts of a plan's network, in the order of the plan.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) nodes: Vec<NodeId>,
    /// Nodes with a limited processor.
    pub(crate) hosts: Vec<NodeId>,
    pub(crate) links: Vec<LinkId>,
    /// The stations of each medium.
    pub(crate) stations: Vec<Vec<StationId>>,
    /// The gateway and the terminals of each network of cells.
    pub(crate) cellular: Vec<Vec<StationId>>,
    /// The routing agent at each station, in the order of the media.
    pub(crate) routers: Vec<Option<AgentId>>,
    /// The sending and the receiving end of each flow.
    pub(crate) flows: Vec<[AgentId; 2]>,
    /// The estimates of each node's MAC.
    pub(crate) stores: Vec<CrossLayer>,
}

impl Parts {
    /// The stations of all media, in the order of the media.
    pub(crate) fn all_stations(&self) -> impl Iterator<Item = StationId> + '_ {
        self.stations.iter().flatten().copied()
    }
}

/// Builds nodes, links and agents and schedules the events, in the order of the plan.
pub(super) fn network(
    plan: &Plan,
    events: &[EventPlan],
    flow_events: &[FlowEventPlan],
    seed: u64,
) -> (Simulator<FlowAgent>, Parts) {
    let (simulator, parts, _) = emulated(plan, events, flow_events, seed, &[], &SharedOutbox::default());
    (simulator, parts)
}

/// The same, with one agent at each of the nodes `ends` for all of its emulated flows.
pub(super) fn emulated(
    plan: &Plan,
    events: &[EventPlan],
    flow_events: &[FlowEventPlan],
    seed: u64,
    ends: &[usize],
    outbox: &SharedOutbox,
) -> (Simulator<FlowAgent>, Parts, Vec<AgentId>) {
    let (mut simulator, mut parts) = without_flows(plan, events, seed);
    let Parts { nodes, links, stores, stations, cellular, .. } = &parts;
    let streams = simulator.streams();
    let flow_ids = || plan.flows.iter().zip((0u32..).map(FlowId));
    let setup = |flow, id| FlowSetup::new(plan, flow, id, nodes, links, stores, streams).with_cells(cellular);
    let mut agents = Vec::with_capacity(ends.len());
    for (number, &node) in (0u32..).zip(ends) {
        let mut end = EmulatedEnd::new(number, plan.flows.len(), outbox.clone());
        let own = flow_ids().filter(|(flow, _)| is_emulated(flow) && (flow.from == node || flow.to == node));
        own.for_each(|(flow, id)| end.add_flow(id, setup(flow, id).meter()));
        let agent = simulator.add_agent(nodes[node], EmulatedEnd::FLOW, FlowAgent::Other(Box::new(end)));
        simulator.receive_all_flows(agent);
        agents.push(agent);
    }
    let emulated_end = |node: usize| ends.iter().position(|&end| end == node).map(|end| agents[end]);
    let flows: Vec<[AgentId; 2]> = flow_ids()
        .map(|(flow, id)| {
            if is_emulated(flow)
                && let (Some(sender), Some(receiver)) = (emulated_end(flow.from), emulated_end(flow.to))
            {
                return [sender, receiver];
            }
            let setup = setup(flow, id);
            let [sender, receiver] = flow.transport.ends(&setup);
            if let Some((joined, joined_id)) = joined(plan, flow) {
                // The flow that is joined has the sender, and the packets its number.
                let receiver = simulator.add_agent(setup.to, joined_id, receiver);
                let sender = simulator.receiver(nodes[joined.from], joined_id);
                return [sender.expect("plans have a flow before those that join it"), receiver];
            }
            [simulator.add_agent(setup.from, id, sender), simulator.add_agent(setup.to, id, receiver)]
        })
        .collect();
    for ((flow, id), [sender, receiver]) in flow_ids().zip(&flows) {
        if flow.transport.observes_station() {
            for (agent, terminals) in [sender, receiver].into_iter().zip(setup(flow, id).terminals()) {
                terminals.iter().for_each(|(terminal, _)| simulator.observe(*terminal, *agent));
            }
            for (wifi, ids) in plan.wifi.iter().zip(stations) {
                let own = wifi.stations.iter().zip(ids).filter(|(station, _)| station.node == flow.from);
                own.for_each(|(_, id)| simulator.observe(*id, *sender));
            }
        }
    }
    let routers = routing(&mut simulator, plan, stations);
    for event in flow_events {
        let [sender, receiver] = flows[event.flow];
        let agent = if event.end == FlowEnd::Sender { sender } else { receiver };
        let (command, scope) = (event.command, event.scope);
        let call = move |agent: &mut FlowAgent, now: Instant| {
            agent.end_mut().handle_command(now, command, scope);
        };
        simulator.schedule(event.at, Command::agent(agent, call));
    }
    (parts.flows, parts.routers) = (flows, routers);
    (simulator, parts, agents)
}

/// The flow whose packets the receiver of another one receives.
fn joined<'a>(plan: &'a Plan, flow: &FlowPlan) -> Option<(&'a FlowPlan, FlowId)> {
    let name = flow.transport.joins()?;
    plan.flows.iter().zip((0u32..).map(FlowId)).find(|(other, _)| other.name == name)
}

/// `true` if programs send and receive the packets of a flow.
fn is_emulated(flow: &FlowPlan) -> bool {
    flow.transport.get::<EmulatedTransport>().is_some()
}

/// Builds nodes, links, media and router laws, in the order of the plan.
fn without_flows(plan: &Plan, events: &[EventPlan], seed: u64) -> (Simulator<FlowAgent>, Parts) {
    let Network { mut simulator, nodes, links, stations, cellular } = Network::new(plan, events, seed);
    let stores: Vec<CrossLayer> = nodes.iter().map(|_| CrossLayer::default()).collect();
    add_controllers(&mut simulator, plan, events, &links, &stations, &stores);
    let hosts = plan.hosts.iter().map(|host| nodes[host.node]).collect();
    let (routers, flows) = (Vec::new(), Vec::new());
    (simulator, Parts { nodes, hosts, links, stations, cellular, routers, flows, stores })
}

/// Adds the routing agents of the media.
fn routing(
    simulator: &mut Simulator<FlowAgent>,
    plan: &Plan,
    stations: &[Vec<StationId>],
) -> Vec<Option<AgentId>> {
    let mut routers = Vec::new();
    for (wifi, ids) in plan.wifi.iter().zip(stations) {
        let protocol = match wifi.routing {
            RoutingPlan::ShortestPath { .. } => {
                routers.extend(ids.iter().map(|_| None));
                continue;
            }
            RoutingPlan::Dsdv(config) => Protocol::Dsdv(config),
            RoutingPlan::Aodv(config) => Protocol::Aodv(config),
        };
        routers.extend(add_routers(simulator, ids, protocol).into_iter().map(Some));
    }
    routers
}

/// Adds the router laws of links and stations.
fn add_controllers(
    simulator: &mut Simulator<FlowAgent>,
    plan: &Plan,
    events: &[EventPlan],
    links: &[LinkId],
    stations: &[Vec<StationId>],
    stores: &[CrossLayer],
) {
    for (number, (link, id)) in plan.links.iter().zip(links).enumerate() {
        let Some(controller) = &link.controller else { continue };
        let own = events.iter().filter(|event| event.link == number);
        let changes = own.filter_map(|event| Some((event.at, event.rate?))).collect();
        simulator.set_controller(Egress::Link(*id), Box::new(LawController::new(controller, changes)));
    }
    for (wifi, ids) in plan.wifi.iter().zip(stations) {
        let (Some(controller), Some(first)) = (&wifi.controller, ids.first()) else { continue };
        let mac = &wifi.config.mac;
        let addresses: Vec<MacAddress> = match simulator.medium::<WifiMedium>(first.medium()) {
            Some(medium) => {
                (0..ids.len()).map(|station| medium.address(StationIndex::new(station))).collect()
            }
            None => continue,
        };
        let entries = addresses.iter().zip(&wifi.stations);
        let entries = entries.map(|(address, station)| (*address, stores[station.node].clone()));
        let board = Board::new(entries.collect());
        let timing = RtWinfConfig {
            sifs: mac.phy.sifs,
            difs: mac.phy.sifs + mac.phy.slot * 2,
            nominal: controller.capacity,
            averaging: controller.averaging,
            corrects_collisions: controller.corrects_collisions,
            corrects_capacity: controller.corrects_capacity,
            overhead: if controller.counts_whole_cycle { overhead(mac) } else { Duration::ZERO },
            ..RtWinfConfig::hr_dsss()
        };
        for ((id, station), address) in ids.iter().zip(&wifi.stations).zip(addresses) {
            let uses_probes = mac.probe.is_some();
            let observer = Observer::new(address, timing, mac.phy.slot, mac.header_bytes, uses_probes);
            let own = stores[station.node].clone();
            let law = StationController::new(controller, observer, own, board.clone());
            simulator.set_controller(Egress::Station(*id), Box::new(law));
        }
    }
}

/// The part of an exchange with RTS and CTS that is not data, acknowledgement or the SIFS between them: DIFS,
/// the mean of the smallest backoff, RTS, CTS and three SIFS (paper `winf`, equation 3).
fn overhead(mac: &MacConfig) -> Duration {
    let rate = mac.response_rate(mac.data_rate);
    let handshake = mac.phy.duration(rate, RTS_BYTES) + mac.phy.duration(rate, CTS_BYTES);
    mac.phy.difs() + mac.phy.slot * u64::from(mac.phy.cw_min) / 2 + handshake + mac.phy.sifs * 3
}
