//! Putting a network together.

use std::collections::{BTreeMap, VecDeque};

use whimbrel_units::Instant;

use super::{AgentSlot, LinkEnds, Simulator};
use crate::event_queue::{Event, EventQueue};
use crate::impairment::{Impairment, ImpairmentError, LossProcess};
use crate::link::{Damage, DelayStage, Link, ManagedQueue};
use crate::netem::{NetemConfig, NetemError};
use crate::packet_store::{Header, PacketStore};
use crate::queue::{Discipline, DisciplineError, QueueDiscipline};
use crate::random::RandomStreams;
use crate::routing::{Edge, Routes};
use crate::{Agent, AgentId, FlowId, LinkConfig, LinkId, NodeId, QueueLimit};

/// Seed and repetition: the difference between two runs of the same network.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SimulationConfig {
    /// Names the experiment's randomness.
    pub seed: u64,
    /// The repetition, independent of the others of the same seed.
    pub run: u64,
}

impl<A: Agent> Simulator<A> {
    /// An empty network at time 0.
    pub fn new(config: SimulationConfig) -> Self {
        let mut events = EventQueue::new();
        let local_source = events.add_source(Event::Local);
        let agenda_source = events.add_source(Event::Command);
        Self {
            now: Instant::ZERO,
            events,
            events_handled: 0,
            streams: RandomStreams::new(config.seed, config.run),
            node_names: Vec::new(),
            node_agents: Vec::new(),
            links: Vec::new(),
            link_ends: Vec::new(),
            routes: Routes::empty(),
            routes_current: true,
            route_overrides: BTreeMap::new(),
            spreads: BTreeMap::new(),
            agents: Vec::new(),
            touched: VecDeque::new(),
            packets: PacketStore::new(),
            next_packet: 0,
            damaged: BTreeMap::new(),
            local: VecDeque::new(),
            local_source,
            agenda: BTreeMap::new(),
            agenda_source,
            loss_log: None,
            capture: None,
        }
    }

    /// This run's random streams, for agents that draw.
    pub fn streams(&self) -> RandomStreams {
        self.streams
    }

    /// Adds a node.
    ///
    /// # Panics
    /// If there is a node of this name: random streams go by names.
    pub fn add_node(&mut self, name: &str) -> NodeId {
        assert!(!self.node_names.iter().any(|other| other == name), "there are two nodes named `{name}`");
        let id = NodeId(u32::try_from(self.node_names.len()).expect("fewer than 2^32 nodes"));
        self.node_names.push(name.to_owned());
        self.node_agents.push(Vec::new());
        self.routes_current = false;
        id
    }

    /// Adds a simplex link. Routes are computed before the next event, and know the link.
    ///
    /// # Panics
    /// If the parameters of the impairment ([`Impairment::check`]), of damage, of NetEm or of the discipline are out of
    /// range, or if marking from a number of packets on is wanted of a discipline other than drop-tail.
    pub fn add_link(&mut self, from: NodeId, to: NodeId, config: LinkConfig) -> LinkId {
        let id = LinkId(self.links.len() as u32);
        let source = self.events.add_source(Event::Arrival(id.0));
        let mut name = format!("{}>{}", self.node_name(from), self.node_name(to));
        let siblings = self.link_ends.iter().filter(|ends| ends.from == from && ends.to == to).count();
        if siblings > 0 {
            name = format!("{name}#{}", siblings + 1);
        }
        self.link_ends.push(LinkEnds { name, from, to, routable: true, impairments_set: 0 });
        let (impairment, damaged, netem) = (config.impairment.clone(), config.damaged, config.netem);
        let (discipline, limit) = (config.discipline.clone(), config.limit);
        assert!(
            config.mark_at.is_none() || discipline == Discipline::DropTail,
            "link `{}`: mark_at needs drop-tail",
            self.link_name(id)
        );
        self.links.push(Link::new(config, source));
        if let Err(error) = self.set_discipline(id, &discipline, limit) {
            panic!("link `{}`: {error}", self.link_name(id));
        }
        if let Some(netem) = netem
            && let Err(error) = self.set_netem(id, &netem)
        {
            panic!("link `{}`: {error}", self.link_name(id));
        }
        if let Err(error) = self.set_impairment(id, &impairment).and_then(|()| self.set_damage(id, damaged)) {
            panic!("link `{}`: {error}", self.link_name(id));
        }
        self.routes_current = false;
        id
    }

    /// Adds a link in each direction with the same configuration, and returns the one from `a` to `b`
    /// first.
    ///
    /// # Panics
    /// As [`add_link`](Self::add_link).
    pub fn add_duplex(&mut self, a: NodeId, b: NodeId, config: LinkConfig) -> (LinkId, LinkId) {
        let there = self.add_link(a, b, config.clone());
        (there, self.add_link(b, a, config))
    }

    /// Adds an agent that receives what is sent to this node with this flow. It is drained for the
    /// first time before the next event.
    ///
    /// # Panics
    /// If the node has an agent for this flow.
    pub fn add_agent(&mut self, node: NodeId, flow: FlowId, agent: A) -> AgentId {
        let id = AgentId(self.agents.len() as u32);
        let agents = &mut self.node_agents[node.index()];
        match agents.binary_search_by_key(&flow, |&(flow, _)| flow) {
            Ok(_) => panic!("node `{}` has two agents for flow {}", self.node_names[node.index()], flow.0),
            Err(position) => agents.insert(position, (flow, id)),
        }
        let source = self.events.add_source(Event::Timer(id.0));
        self.agents.push(AgentSlot {
            agent,
            node,
            source,
            wake_up: Instant::FAR_FUTURE,
            last_timeout: Instant::FAR_FUTURE,
            timeouts_then: 0,
            touched: false,
            last_peer: (node, flow),
            last_receiver: id.0,
        });
        self.touch(id.0);
        id
    }

    /// The agent that receives what is sent to this node with this flow.
    pub fn receiver(&self, node: NodeId, flow: FlowId) -> Option<AgentId> {
        let agents = &self.node_agents[node.index()];
        let position = agents.binary_search_by_key(&flow, |&(flow, _)| flow).ok()?;
        Some(agents[position].1)
    }

    pub(super) fn receiver_index(&self, node: NodeId, flow: FlowId) -> u32 {
        self.receiver(node, flow).map_or(Header::NO_AGENT, |agent| agent.0)
    }

    /// Each process has a stream of its own, so that replacing one in mid-run starts afresh.
    pub(super) fn set_impairment(
        &mut self,
        link: LinkId,
        impairment: &Impairment,
    ) -> Result<(), ImpairmentError> {
        let ends = &mut self.link_ends[link.index()];
        let random = self.streams.stream(&ends.name, &format!("loss {}", ends.impairments_set));
        ends.impairments_set += 1;
        let process = LossProcess::new(impairment, random)?;
        self.links[link.index()].loss =
            if *impairment == Impairment::None { None } else { Some(Box::new(process)) };
        Ok(())
    }

    fn set_damage(&mut self, link: LinkId, share: f64) -> Result<(), ImpairmentError> {
        let random = self.streams.stream(&self.link_ends[link.index()].name, "damage");
        self.links[link.index()].damage = Damage::new(share, random)?.map(Box::new);
        Ok(())
    }

    fn set_discipline(
        &mut self,
        link: LinkId,
        discipline: &Discipline,
        limit: QueueLimit,
    ) -> Result<(), DisciplineError> {
        let random = self.streams.stream(&self.link_ends[link.index()].name, "queue");
        if let Some(queue) = discipline.build(limit, random)? {
            self.set_queue(link, queue);
        }
        Ok(())
    }

    /// Gives a link a queue discipline of one's own. To be called before packets arrive.
    ///
    /// # Panics
    /// If packets are at the link.
    pub fn set_queue(&mut self, link: LinkId, queue: Box<dyn QueueDiscipline>) {
        let present = self.queue_snapshot(link);
        assert!(present.queued.packets == 0, "link `{}` has packets", self.link_name(link));
        let source = self.events.add_source(Event::Service(link.0));
        self.links[link.index()].set_managed(ManagedQueue::new(queue, source));
    }

    fn set_netem(&mut self, link: LinkId, config: &NetemConfig) -> Result<(), NetemError> {
        let random = self.streams.stream(&self.link_ends[link.index()].name, "netem");
        let source = self.events.add_source(Event::Release(link.0));
        self.links[link.index()].delay_stage = Some(Box::new(DelayStage::new(config, random, source)?));
        Ok(())
    }

    pub(super) fn compute_routes(&mut self) {
        let edges: Vec<Edge> = self
            .link_ends
            .iter()
            .map(|ends| Edge { from: ends.from.0, to: ends.to.0, usable: ends.routable })
            .collect();
        self.routes = Routes::compute(self.node_names.len(), &edges);
        for (&(node, destination), &link) in &self.route_overrides {
            self.routes.set(node.0, destination.0, link.0);
        }
        self.routes_current = true;
    }
}
