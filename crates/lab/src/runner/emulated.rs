//! Runs whose flows end outside of the simulation.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use whimbrel_netsim::AgentId;
use whimbrel_units::{Duration, Instant};

use super::{Run, Samples, build};
use crate::emulation::ip::IpPacket;
use crate::emulation::{AddressPlan, Arrival, BoxedPacket, EmulatedEnd, EmulatedTransport, SharedOutbox};
use crate::record::Record;
use crate::scenario::{FlowEventPlan, FlowPlan, Note, Plan, TrafficPlan};
use crate::transport::Configured;

/// The reason why a packet does not enter an emulated network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Refusal {
    /// The bytes are no IP packet.
    Malformed,
    /// The destination is no node of the network: a multicast group, or an address outside.
    NoNode,
    /// The destination is a node without an end: no program can be there.
    NoEnd,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "no IP packet",
            Self::NoNode => "the destination is no node",
            Self::NoEnd => "the destination is a node without an end",
        })
    }
}

/// The plan of an emulation: the network of a plan, with a flow from each of the nodes `ends` to each other,
/// followed by those flows of the plan that remain simulated, by position.
///
/// A flow that leads as exactly one other flow of the plan does has its name, path and bottleneck; the others
/// are named `from>to`.
pub fn emulated_plan(plan: &Plan, ends: &[usize], simulated: &[usize]) -> Plan {
    let replaced =
        || plan.flows.iter().enumerate().filter(|(flow, _)| !simulated.contains(flow)).map(|(_, flow)| flow);
    let mut flows = Vec::with_capacity(ends.len() * ends.len().saturating_sub(1) + simulated.len());
    for (from, to) in pairs(ends) {
        let mut same = replaced().filter(|flow| (flow.from, flow.to) == (from, to));
        let like = same.next();
        let only = like.filter(|_| same.next().is_none());
        let name = || format!("{}>{}", plan.nodes[from], plan.nodes[to]);
        flows.push(FlowPlan {
            name: only.map_or_else(name, |flow| flow.name.clone()),
            from,
            to,
            transport: Configured::new(EmulatedTransport),
            payload: 0,
            packet_size: 0,
            headers: 0,
            traffic: TrafficPlan::Bulk,
            start: (Instant::ZERO, Duration::ZERO),
            stop: plan.end,
            path: like.map_or_else(Vec::new, |flow| flow.path.clone()),
            is_wired: like.is_some_and(|flow| flow.is_wired),
            bottleneck: like.and_then(|flow| flow.bottleneck),
            dscp: like.map_or(0, |flow| flow.dscp),
            background: false,
        });
    }
    let moved = |flow: usize| Some(flows.len() + simulated.iter().position(|&kept| kept == flow)?);
    let flow_events = plan
        .flow_events
        .iter()
        .filter_map(|event| Some(FlowEventPlan { flow: moved(event.flow)?, ..*event }));
    let flow_events = flow_events.collect();
    let mut handovers = plan.handovers.clone();
    for freeze in handovers.iter_mut().filter_map(|handover| handover.freeze.as_mut()) {
        freeze.flows = freeze.flows.iter().filter_map(|&flow| moved(flow)).collect();
    }
    flows.extend(simulated.iter().filter_map(|&flow| plan.flows.get(flow)).cloned());
    let mut notes = plan.notes.clone();
    notes.retain(|note| !note.subject.starts_with("flow"));
    Plan { flows, flow_events, handovers, notes, ..plan.clone() }
}

/// The ordered pairs of different nodes.
fn pairs(ends: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    ends.iter().flat_map(move |&from| ends.iter().filter(move |&&to| to != from).map(move |&to| (from, to)))
}

/// A run through which a driver passes the packets of programs while a clock advances.
///
/// * **Packets:** [`send`](Self::send), [`receive`](Self::receive).
/// * **Time:** [`next_event_at`](Self::next_event_at), [`advance`](Self::advance).
/// * **Results:** [`run`](Self::run), [`finish`](Self::finish).
pub struct Emulation<'a> {
    run: Run<'a>,
    addresses: AddressPlan,
    outbox: SharedOutbox,
    agents: Vec<AgentId>,
    /// The node of each end.
    nodes: Vec<usize>,
    /// The end at each node.
    ends: Vec<Option<u32>>,
    /// The end to which packets go whose destination is no node.
    gateway: Option<usize>,
    /// The ends behind which other addresses are: packets from them have come from there.
    behind: BTreeMap<IpAddr, usize>,
}

impl<'a> Emulation<'a> {
    /// Builds the network of `plan`, which [`emulated_plan`] has made for these ends.
    pub fn new(plan: &'a Plan, ends: &[usize], addresses: AddressPlan, seed: u64) -> Self {
        let outbox = SharedOutbox::default();
        let gaps = plan.gaps(seed);
        let events = plan.events_with(&gaps);
        let (simulator, parts, agents) =
            build::emulated(plan, &events, &plan.flow_events_with(&gaps), seed, ends, &outbox);
        let samples = Samples::new(plan, &parts).endless();
        let mut of_node = vec![None; plan.nodes.len()];
        (0u32..).zip(ends).for_each(|(end, &node)| of_node[node] = Some(end));
        let run =
            Run { plan, seed, gaps, events, simulator, parts, samples, replay: None, estimates: Vec::new() };
        Self {
            run,
            addresses,
            outbox,
            agents,
            nodes: ends.to_vec(),
            ends: of_node,
            gateway: None,
            behind: BTreeMap::new(),
        }
    }

    /// The run, for a closer look.
    pub fn run(&self) -> &Run<'a> {
        &self.run
    }

    /// The run, for captures.
    pub fn run_mut(&mut self) -> &mut Run<'a> {
        &mut self.run
    }

    /// The nodes of the ends.
    pub fn nodes(&self) -> &[usize] {
        &self.nodes
    }

    /// `true` if the node of an end, by number, has a link that is up, or none at all: its stations are not
    /// asked.
    pub fn has_link(&self, end: usize) -> bool {
        let node = self.nodes[end];
        let simulator = &self.run.simulator;
        let mut links = self
            .run
            .plan
            .links
            .iter()
            .zip(&self.run.parts.links)
            .filter(|(link, _)| link.from == node)
            .peekable();
        links.peek().is_none() || links.any(|(_, link)| simulator.link_is_up(*link))
    }

    /// Packets whose destination is no node go to this end: a router to other networks.
    pub fn set_gateway(&mut self, end: usize) {
        self.gateway = Some(end);
    }

    /// The node at which the packets for an address arrive: the node with the address, or one behind which
    /// the address is.
    fn node_for(&self, destination: IpAddr) -> Option<usize> {
        let node = self.addresses.node(destination).filter(|&node| node < self.ends.len());
        node.or_else(|| self.behind.get(&destination).or(self.gateway.as_ref()).map(|&end| self.nodes[end]))
    }

    /// Remembers that an address is behind an end.
    fn learn(&mut self, source: IpAddr, end: usize) {
        /// A program that invents addresses fills no memory.
        const MOST: usize = 4_096;
        if self.addresses.node(source).is_none() && !source.is_multicast() && self.behind.len() < MOST {
            self.behind.insert(source, end);
        }
    }

    /// The time of the next event of the network or of its record.
    pub fn next_event_at(&mut self) -> Instant {
        let sample = self.run.samples.next();
        self.run.simulator.next_event_at().map_or(sample, |next| next.min(sample))
    }

    /// Handles all events up to `until`, and makes it the network's time. `on_event` is called before each of
    /// them with the time at which it is due.
    pub fn advance(&mut self, until: Instant, mut on_event: impl FnMut(Instant)) {
        loop {
            let sample = self.run.samples.next();
            let simulator = &mut self.run.simulator;
            match simulator.next_event_at() {
                Some(due) if due <= until.min(sample) => {
                    on_event(due);
                    simulator.run_until(due);
                }
                _ if sample <= until => {
                    simulator.run_until(sample);
                    self.run.samples.take(&self.run.simulator, &self.run.parts);
                }
                _ => return simulator.run_until(until),
            }
        }
    }

    /// Hands a packet to the network at its present time, from an end by number.
    ///
    /// # Errors
    /// The packet is not for the network; it is returned.
    pub fn send(&mut self, end: usize, packet: BoxedPacket) -> Result<(), (Refusal, BoxedPacket)> {
        let Some(header) = IpPacket::parse(packet.ip()) else { return Err((Refusal::Malformed, packet)) };
        self.learn(header.source, end);
        if header.destination.is_multicast() {
            return Err((Refusal::NoNode, packet));
        }
        let Some(node) = self.node_for(header.destination) else { return Err((Refusal::NoNode, packet)) };
        let Some(to) = self.ends[node].map(|to| to as usize).filter(|&to| to != end) else {
            return Err((Refusal::NoEnd, packet));
        };
        // The position of the pair in the order of `pairs`.
        let flow = end * (self.nodes.len() - 1) + if to < end { to } else { to - 1 };
        let destination = self.run.parts.nodes[node];
        let now = self.run.simulator.now();
        if let Some(sender) = self.end_mut(end) {
            sender.send(now, flow, &header, destination, packet);
        }
        Ok(())
    }

    /// Moves the packets that have arrived, in the order of time, and those that the network has lost, for
    /// their memory, to these.
    pub fn receive(&mut self, arrived: &mut VecDeque<Arrival>, spent: &mut Vec<BoxedPacket>) {
        self.outbox.take(arrived, spent);
    }

    fn end_mut(&mut self, end: usize) -> Option<&mut EmulatedEnd> {
        self.run.simulator.agent_mut(self.agents[end]).end_mut().emulated()
    }

    /// Ends the emulation at the network's present time. Flows that carried no packet and are not in the
    /// scenario have no row.
    pub fn finish(self, scenario: &Plan) -> Record {
        let mut run = self.run;
        let end = run.simulator.now();
        run.samples.close(&run.simulator, &run.parts, end);
        let mut plan = run.plan.clone();
        plan.end = end;
        if plan.measured_from >= end {
            plan.measured_from = Instant::ZERO;
            let text = "the emulation ended before the end of the warm-up, which is therefore not left out of the totals";
            plan.notes.push(Note::of_plan("simulation.warm_up", text));
        }
        let used = |flow: usize| {
            let FlowPlan { from, to, .. } = run.plan.flows[flow];
            let counters = run.simulator.agent(run.parts.flows[flow][0]).end().meter_of(flow).counters();
            scenario.flows.iter().any(|other| (other.from, other.to) == (from, to))
                || counters.sent_packets + counters.feedback_packets > 0
        };
        let names = || plan.flows.iter().map(|flow| flow.name.as_str());
        let unused: BTreeSet<&str> =
            names().enumerate().filter(|&(flow, _)| !used(flow)).map(|(_, name)| name).collect();
        let mut record = Run { plan: &plan, ..run }.into_record();
        record.retain("flow", |name| !unused.contains(name));
        record
    }
}
