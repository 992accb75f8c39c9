//! The network and its run loop.
//!
//! A [`Simulator`] is built (nodes, links, agents), given commands for certain times ([`Command`]), and run
//! up to a time; between runs everything can be looked at and changed. The agents are held by value and
//! called statically: a laboratory makes its agents one enum.

mod broadcast;
mod build;
mod capture;
mod commands;
mod control;
mod forward;
mod hosts;
mod media;
mod routes;
mod run;
mod service;

pub use build::SimulationConfig;
pub use commands::{AgentCall, Command, SimulatorCall};
pub use run::{Progress, RunOutcome};

use std::collections::BTreeMap;

use whimbrel_units::Instant;

use crate::agents::Agents;
use crate::capture::Capture;
use crate::events::{Agenda, Timeline};
use crate::loss::LossRecord;
use crate::network::{LinkStats, Loopback, Network, QueueSnapshot};
use crate::packets::{PacketSlot, PacketStore};
use crate::random::RandomStreams;
use crate::{Agent, AgentId, Delivered, LinkId, NodeId, PacketId};

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
    timeline: Timeline,
    network: Network,
    loopback: Loopback,
    agents: Agents<A>,
    packets: PacketStore<A::Payload>,
    agenda: Agenda<Command<A>>,
    /// Slots and nodes of the packets that wait for the decision of a routing agent, by number.
    unrouted: BTreeMap<PacketId, (PacketSlot, NodeId)>,
    streams: RandomStreams,
    loss_log: Option<Vec<LossRecord>>,
    capture: Option<Box<Capture<A::Payload>>>,
}

impl<A: Agent> Simulator<A> {
    /// The time up to which everything has happened.
    pub fn now(&self) -> Instant {
        self.timeline.now
    }

    /// Events handled so far: arrivals, timers, commands.
    pub fn events_handled(&self) -> u64 {
        self.timeline.handled
    }

    /// Packets queued, being transmitted or under way anywhere.
    pub fn packets_in_network(&self) -> usize {
        self.packets.len()
    }

    /// Packets that agents have handed to the network.
    pub fn packets_sent(&self) -> u64 {
        self.packets.injected()
    }

    /// An agent.
    pub fn agent(&self, id: AgentId) -> &A {
        &self.agents.slots[id.index()].agent
    }

    /// An agent to be changed; it is drained before the next event.
    pub fn agent_mut(&mut self, id: AgentId) -> &mut A {
        self.agents.touch(id);
        &mut self.agents.slots[id.index()].agent
    }

    /// The agents in the order of their addition.
    pub fn agents(&self) -> impl Iterator<Item = (AgentId, &A)> {
        (0..).map(AgentId).zip(self.agents.slots.iter().map(|slot| &slot.agent))
    }

    /// The packets delivered to an agent since the beginning of the run, those sent to it at its own node
    /// included.
    pub fn delivered(&self, id: AgentId) -> Delivered {
        self.agents.slots[id.index()].delivered
    }

    /// The node that an agent is at.
    pub fn agent_node(&self, id: AgentId) -> NodeId {
        self.agents.slots[id.index()].node
    }

    /// A node's name.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.network.node_names[node.index()]
    }

    /// A link's name: `from>to`, with `#2` and so on for further links between the same nodes.
    pub fn link_name(&self, link: LinkId) -> &str {
        &self.network.link_ends[link.index()].name
    }

    /// The nodes that a link leads from and to.
    pub fn link_ends(&self, link: LinkId) -> (NodeId, NodeId) {
        let ends = &self.network.link_ends[link.index()];
        (ends.from, ends.to)
    }

    /// The links in the order of their addition.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + use<A> {
        (0..self.network.links.len() as u32).map(LinkId)
    }

    /// Returns `true` if a link is up.
    pub fn link_is_up(&self, link: LinkId) -> bool {
        self.network.links[link.index()].is_up()
    }

    /// A link's counters now.
    pub fn link_stats(&self, link: LinkId) -> LinkStats {
        self.network.links[link.index()].stats(self.timeline.now)
    }

    /// The time at which the link's loss mask or trace ran out of entries
    /// ([`LossProcess::exceeded`](crate::impairment::LossProcess::exceeded)).
    pub fn losses_exceeded(&self, link: LinkId) -> Option<Instant> {
        self.network.links[link.index()].loss.as_ref()?.exceeded()
    }

    /// The packets at and on a link now.
    pub fn queue_snapshot(&self, link: LinkId) -> QueueSnapshot {
        self.network.links[link.index()].snapshot(self.timeline.now)
    }

    /// Keeps a record of every loss from now on.
    pub fn record_losses(&mut self) {
        self.loss_log.get_or_insert_default();
    }

    /// The losses recorded, in the order of time.
    pub fn losses(&self) -> &[LossRecord] {
        self.loss_log.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
