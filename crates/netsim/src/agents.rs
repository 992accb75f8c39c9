//! The agents of a network, and the simulator's notes on each.

mod ad_hoc;
mod agent;
mod port;
mod router;

use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::Instant;

pub use ad_hoc::AdHocRouter;
pub use agent::Agent;
pub use port::Port;
pub use router::{PassingPacket, RoutingRequest, UnroutedPacket};

use crate::events::EventSource;
use crate::packets::HostId;
use crate::{AgentId, FlowId, NodeId};

/// The agents of a network.
pub(crate) struct Agents<A> {
    pub(crate) slots: Vec<AgentSlot<A>>,
    /// The agents of each node by flow, ascending.
    by_node: Vec<Vec<(FlowId, AgentId)>>,
    /// The agents that receive what no other agent of their node receives.
    pub(crate) all_flows: BTreeMap<NodeId, AgentId>,
    /// The routing agent of each node, if it has one.
    pub(crate) routers: Vec<Option<AgentId>>,
    /// Agents that something has happened to and that have not been drained since.
    touched: VecDeque<AgentId>,
    /// The number of the host of each node that has one.
    hosts: BTreeMap<NodeId, HostId>,
}

/// The packets that the network has delivered to an agent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Delivered {
    /// Their number.
    pub packets: u64,
    /// Links and stations that they were sent over, in all.
    pub hops: u64,
}

/// An agent and its place in the network.
pub(crate) struct AgentSlot<A> {
    pub(crate) agent: A,
    pub(crate) node: NodeId,
    pub(crate) source: EventSource,
    /// The agent's deadline when it was last drained, which is after everything that happens to it.
    pub(crate) deadline: Option<Instant>,
    /// Wake-up time: the agent's deadline, or an earlier time.
    pub(crate) wake_up: Instant,
    /// Time of the agent's last timeout, and the number of timeouts at that time.
    pub(crate) last_timeout: Instant,
    pub(crate) timeouts_then: u32,
    touched: bool,
    pub(crate) delivered: Delivered,
    /// `true` for the routing agent of a node.
    pub(crate) is_router: bool,
    /// Destination and receiver of the last packet: most often the next one has the same.
    pub(crate) last_peer: (NodeId, FlowId),
    pub(crate) last_receiver: AgentId,
    /// The number of the node's host; [`HostId::NONE`] if its processor is not limited.
    pub(crate) host: HostId,
}

impl<A> Agents<A> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            by_node: Vec::new(),
            all_flows: BTreeMap::new(),
            routers: Vec::new(),
            touched: VecDeque::new(),
            hosts: BTreeMap::new(),
        }
    }

    /// Makes room for the agents of a further node.
    pub(crate) fn add_node(&mut self) {
        self.by_node.push(Vec::new());
        self.routers.push(None);
    }

    /// The identifier that [`add`](Self::add) will give to the next agent.
    pub(crate) fn next_id(&self) -> AgentId {
        AgentId(self.slots.len() as u32)
    }

    /// Adds an agent, to be drained before the next event. Returns `None` if the node has one for this flow.
    pub(crate) fn add(
        &mut self,
        node: NodeId,
        flow: FlowId,
        agent: A,
        source: EventSource,
    ) -> Option<AgentId> {
        let id = self.next_id();
        let agents = &mut self.by_node[node.index()];
        let position = agents.binary_search_by_key(&flow, |&(flow, _)| flow).err()?;
        agents.insert(position, (flow, id));
        self.slots.push(AgentSlot {
            agent,
            node,
            source,
            deadline: None,
            wake_up: Instant::FAR_FUTURE,
            last_timeout: Instant::FAR_FUTURE,
            timeouts_then: 0,
            touched: false,
            delivered: Delivered::default(),
            is_router: false,
            last_peer: (node, flow),
            last_receiver: id,
            host: self.hosts.get(&node).copied().unwrap_or(HostId::NONE),
        });
        self.touch(id);
        Some(id)
    }

    /// Sets the host of a node's agents, those added later included.
    pub(crate) fn set_host(&mut self, node: NodeId, host: HostId) {
        self.hosts.insert(node, host);
        self.slots.iter_mut().filter(|slot| slot.node == node).for_each(|slot| slot.host = host);
    }

    /// The agent that receives what is sent to this node with this flow.
    pub(crate) fn receiver(&self, node: NodeId, flow: FlowId) -> Option<AgentId> {
        let agents = self.by_node.get(node.index())?;
        match agents.binary_search_by_key(&flow, |&(flow, _)| flow) {
            Ok(position) => Some(agents[position].1),
            Err(_) => self.all_flows.get(&node).copied(),
        }
    }

    /// The same as an index; [`AgentId::NONE`] without an agent.
    pub(crate) fn receiver_index(&self, node: NodeId, flow: FlowId) -> AgentId {
        self.receiver(node, flow).unwrap_or(AgentId::NONE)
    }

    /// Has an agent drained before the next event.
    pub(crate) fn touch(&mut self, agent: AgentId) {
        let slot = &mut self.slots[agent.index()];
        if !slot.touched {
            slot.touched = true;
            self.touched.push_back(agent);
        }
    }

    /// `true` if agents are to be drained before the next event.
    pub(crate) fn is_any_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// The next agent to be drained.
    pub(crate) fn take_touched(&mut self) -> Option<AgentId> {
        let agent = self.touched.pop_front()?;
        self.slots[agent.index()].touched = false;
        Some(agent)
    }
}
