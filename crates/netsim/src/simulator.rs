//! The network and its run loop.
//!
//! A [`Simulator`] is built (nodes, links, agents), given commands for certain times ([`Command`]), and run up to a
//! time; between runs everything can be looked at and changed. The agents are held by value and called
//! statically: a laboratory makes its agents one enum.

mod build;
mod capture;
mod command;
mod forward;
mod run;
mod service;

pub use build::SimulationConfig;
pub use command::{AgentCall, Command, SimulatorCall};
pub use run::{Progress, RunOutcome};

use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::Instant;

use crate::capture::Capture;
use crate::event_queue::{EventQueue, EventSource};
use crate::link::Link;
use crate::loss::LossRecord;
use crate::packet_store::PacketStore;
use crate::random::RandomStreams;
use crate::record::{LinkStats, QueueSnapshot};
use crate::routing::{Routes, Spreading};
use crate::{Agent, AgentId, FlowId, LinkId, NodeId};

/// A network of nodes, links and agents, and its clock.
///
/// * **Building:** [`new`](Self::new), [`add_node`](Self::add_node), [`add_link`](Self::add_link),
///   [`add_duplex`](Self::add_duplex), [`add_agent`](Self::add_agent), [`streams`](Self::streams).
/// * **Commands,** now or [scheduled](Self::schedule): [`apply`](Self::apply).
/// * **Running:** [`run_until`](Self::run_until), [`run_with`](Self::run_with), [`now`](Self::now).
/// * **Looking:** [`agent`](Self::agent), [`link_stats`](Self::link_stats),
///   [`queue_snapshot`](Self::queue_snapshot), [`losses`](Self::losses),
///   [`packets_in_network`](Self::packets_in_network), [`capture_link`](Self::capture_link).
pub struct Simulator<A: Agent> {
    now: Instant,
    events: EventQueue,
    events_handled: u64,
    streams: RandomStreams,
    node_names: Vec<String>,
    /// The agents of each node by flow, ascending.
    node_agents: Vec<Vec<(FlowId, AgentId)>>,
    links: Vec<Link>,
    link_ends: Vec<LinkEnds>,
    routes: Routes,
    routes_current: bool,
    /// Routes set by hand, by (here, destination).
    route_overrides: BTreeMap<(NodeId, NodeId), LinkId>,
    /// Routes over several links, by (here, destination).
    spreads: BTreeMap<(NodeId, NodeId), Spreading>,
    agents: Vec<AgentSlot<A>>,
    /// Agents that something has happened to and that have not been drained since.
    touched: VecDeque<u32>,
    packets: PacketStore<A::Payload>,
    next_packet: u64,
    /// The links that damaged packets in the network, by the packets' numbers.
    damaged: BTreeMap<u64, LinkId>,
    /// Packets that agents sent to their own nodes: time and insertion number of the event, slot.
    local: VecDeque<(Instant, u64, u32)>,
    local_source: EventSource,
    /// Commands by time and insertion number.
    agenda: BTreeMap<(Instant, u64), Command<A>>,
    agenda_source: EventSource,
    loss_log: Option<Vec<LossRecord>>,
    capture: Option<Box<Capture<A::Payload>>>,
}

struct LinkEnds {
    name: String,
    from: NodeId,
    to: NodeId,
    /// `true` if routes may use the link: it was up when routes were last computed.
    routable: bool,
    impairments_set: u32,
}

struct AgentSlot<A> {
    agent: A,
    node: NodeId,
    source: EventSource,
    /// Wake-up time: the agent's deadline, or an earlier time.
    wake_up: Instant,
    /// Time of the agent's last timeout, and the number of timeouts at that time.
    last_timeout: Instant,
    timeouts_then: u32,
    touched: bool,
    /// Destination and receiver of the last packet: most often the next one has the same.
    last_peer: (NodeId, FlowId),
    last_receiver: u32,
}

impl<A: Agent> Simulator<A> {
    /// The time up to which everything has happened.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Events handled so far: arrivals, timers, commands.
    pub fn events_handled(&self) -> u64 {
        self.events_handled
    }

    /// Packets queued, being transmitted or under way anywhere.
    pub fn packets_in_network(&self) -> usize {
        self.packets.len()
    }

    /// Packets that agents have handed to the network.
    pub fn packets_sent(&self) -> u64 {
        self.next_packet
    }

    /// An agent.
    pub fn agent(&self, id: AgentId) -> &A {
        &self.agents[id.index()].agent
    }

    /// An agent to be changed; it is drained before the next event.
    pub fn agent_mut(&mut self, id: AgentId) -> &mut A {
        self.touch(id.0);
        &mut self.agents[id.index()].agent
    }

    /// The agents in the order of their addition.
    pub fn agents(&self) -> impl Iterator<Item = (AgentId, &A)> {
        (0..).map(AgentId).zip(self.agents.iter().map(|slot| &slot.agent))
    }

    /// The node that an agent is at.
    pub fn agent_node(&self, id: AgentId) -> NodeId {
        self.agents[id.index()].node
    }

    /// A node's name.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.node_names[node.index()]
    }

    /// A link's name: `from>to`, with `#2` and so on for further links between the same nodes.
    pub fn link_name(&self, link: LinkId) -> &str {
        &self.link_ends[link.index()].name
    }

    /// The nodes that a link leads from and to.
    pub fn link_ends(&self, link: LinkId) -> (NodeId, NodeId) {
        let ends = &self.link_ends[link.index()];
        (ends.from, ends.to)
    }

    /// The links in the order of their addition.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + use<A> {
        (0..self.links.len() as u32).map(LinkId)
    }

    /// Returns `true` if a link is up.
    pub fn link_is_up(&self, link: LinkId) -> bool {
        self.links[link.index()].is_up()
    }

    /// A link's counters now.
    pub fn link_stats(&self, link: LinkId) -> LinkStats {
        self.links[link.index()].stats(self.now)
    }

    /// The time at which the link's loss mask or trace ran out of entries
    /// ([`LossProcess::exceeded`](crate::impairment::LossProcess::exceeded)).
    pub fn losses_exceeded(&self, link: LinkId) -> Option<Instant> {
        self.links[link.index()].loss.as_ref()?.exceeded()
    }

    /// The packets at and on a link now.
    pub fn queue_snapshot(&self, link: LinkId) -> QueueSnapshot {
        self.links[link.index()].snapshot(self.now)
    }

    /// Keeps a record of every loss from now on.
    pub fn record_losses(&mut self) {
        self.loss_log.get_or_insert_default();
    }

    /// The losses recorded and not taken, in the order of time.
    pub fn losses(&self) -> &[LossRecord] {
        self.loss_log.as_deref().unwrap_or_default()
    }

    /// Takes the losses recorded so far; recording goes on.
    pub fn take_losses(&mut self) -> Vec<LossRecord> {
        self.loss_log.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// Ends the simulation and returns the agents in the order of their addition.
    pub fn into_agents(self) -> Vec<A> {
        self.agents.into_iter().map(|slot| slot.agent).collect()
    }

    fn touch(&mut self, agent: u32) {
        let slot = &mut self.agents[agent as usize];
        if !slot.touched {
            slot.touched = true;
            self.touched.push_back(agent);
        }
    }
}

#[cfg(test)]
mod tests;
