//! Putting a network together.

use std::collections::BTreeMap;

use super::Simulator;
use crate::agents::Agents;
use crate::delay_variation::{DelayVariation, DelayVariationConfig, DelayVariationError};
use crate::events::{Agenda, Event, Timeline};
use crate::impairment::{Impairment, ImpairmentError, LossProcess};
use crate::netem::{Netem, NetemConfig, NetemError};
use crate::network::{
    Damage, DelayStage, Delays, Link, LinkEnds, Loopback, ManagedQueue, Network, RecordedDelays,
};
use crate::packets::PacketStore;
use crate::queue::{Discipline, DisciplineError, QueueDiscipline};
use crate::random::RandomStreams;
use crate::{Agent, AgentId, Egress, FlowId, LinkConfig, LinkId, NodeId, QueueLimit};

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
        let mut timeline = Timeline::new();
        Self {
            loopback: Loopback::new(&mut timeline),
            agenda: Agenda::new(&mut timeline),
            timeline,
            network: Network::new(),
            agents: Agents::new(),
            packets: PacketStore::new(),
            streams: RandomStreams::new(config.seed, config.run),
            unrouted: BTreeMap::new(),
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
        self.agents.add_node();
        self.network.add_node(name)
    }

    /// Adds a simplex link. Routes are computed before the next event, and know the link.
    ///
    /// # Panics
    /// If the parameters of the impairment ([`Impairment::check`]), of damage, of NetEm, of the delay
    /// variation or of the discipline are out of range, if there are two of NetEm, a delay variation and
    /// recorded delays, or if marking from a number of packets on is wanted of a discipline other than
    /// drop-tail.
    pub fn add_link(&mut self, from: NodeId, to: NodeId, config: LinkConfig) -> LinkId {
        let id = LinkId(self.network.links.len() as u32);
        let source = self.timeline.queue.add_source(Event::Arrival(id));
        let name = self.network.name_link(from, to);
        self.network.link_ends.push(LinkEnds { name, from, to, routable: true, impairments_set: 0 });
        let (impairment, damaged, netem) = (config.impairment.clone(), config.damaged, config.netem);
        let (discipline, limit) = (config.discipline.clone(), config.limit);
        let variation = config.delay_variation;
        let recorded = config.recorded_delays.clone();
        assert!(
            config.mark_at.is_none() || discipline == Discipline::DropTail,
            "link `{}`: mark_at needs drop-tail",
            self.link_name(id)
        );
        self.network.links.push(Link::new(config, source));
        if let Err(error) = self.set_discipline(id, &discipline, limit) {
            panic!("link `{}`: {error}", self.link_name(id));
        }
        if let Some(netem) = netem
            && let Err(error) = self.set_netem(id, &netem)
        {
            panic!("link `{}`: {error}", self.link_name(id));
        }
        assert!(
            [netem.is_some(), variation.is_some(), recorded.is_some()].into_iter().filter(|is| *is).count()
                <= 1,
            "link `{}`: netem, delay variation and recorded delays",
            self.link_name(id)
        );
        if let Some(trace) = recorded {
            self.set_delays(id, Delays::Recorded(RecordedDelays::new(trace)));
        }
        if let Some(variation) = variation
            && let Err(error) = self.set_delay_variation(id, variation)
        {
            panic!("link `{}`: {error}", self.link_name(id));
        }
        if let Err(error) = self.set_impairment(id, &impairment).and_then(|()| self.set_damage(id, damaged)) {
            panic!("link `{}`: {error}", self.link_name(id));
        }
        self.network.egresses[from.index()].push(Egress::Link(id));
        self.network.routes_current = false;
        id
    }

    /// Adds a link in each direction with the same configuration, and returns the one from `a` to `b`
    /// first.
    ///
    /// # Panics
    /// Same as [`add_link`](Self::add_link).
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
        let source = self.timeline.queue.add_source(Event::Timer(self.agents.next_id()));
        match self.agents.add(node, flow, agent, source) {
            Some(id) => id,
            None => panic!("node `{}` has two agents for flow {}", self.node_name(node), flow.0),
        }
    }

    /// The agent that receives what is sent to this node with this flow.
    pub fn receiver(&self, node: NodeId, flow: FlowId) -> Option<AgentId> {
        self.agents.receiver(node, flow)
    }

    /// Each process has a stream of its own, so that replacing one in mid-run starts afresh.
    pub(super) fn set_impairment(
        &mut self,
        link: LinkId,
        impairment: &Impairment,
    ) -> Result<(), ImpairmentError> {
        let ends = &mut self.network.link_ends[link.index()];
        let random = self.streams.stream(&ends.name, &format!("loss {}", ends.impairments_set));
        ends.impairments_set += 1;
        let process = LossProcess::new(impairment, random)?;
        self.network.links[link.index()].loss =
            if *impairment == Impairment::None { None } else { Some(Box::new(process)) };
        Ok(())
    }

    fn set_damage(&mut self, link: LinkId, share: f64) -> Result<(), ImpairmentError> {
        let random = self.streams.stream(&self.network.link_ends[link.index()].name, "damage");
        self.network.links[link.index()].damage = Damage::new(share, random)?.map(Box::new);
        Ok(())
    }

    fn set_discipline(
        &mut self,
        link: LinkId,
        discipline: &Discipline,
        limit: QueueLimit,
    ) -> Result<(), DisciplineError> {
        let random = self.streams.stream(&self.network.link_ends[link.index()].name, "queue");
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
        let source = self.timeline.queue.add_source(Event::Service(link));
        self.network.links[link.index()].set_managed(ManagedQueue::new(queue, source));
    }

    fn set_netem(&mut self, link: LinkId, config: &NetemConfig) -> Result<(), NetemError> {
        let random = self.streams.stream(&self.network.link_ends[link.index()].name, "netem");
        self.set_delays(link, Delays::Netem(Netem::new(config, random)?, config.limit));
        Ok(())
    }

    fn set_delay_variation(
        &mut self,
        link: LinkId,
        config: DelayVariationConfig,
    ) -> Result<(), DelayVariationError> {
        let random = self.streams.stream(&self.network.link_ends[link.index()].name, "delay variation");
        self.set_delays(link, Delays::Ordered(DelayVariation::new(config, random)?));
        Ok(())
    }

    fn set_delays(&mut self, link: LinkId, delays: Delays) {
        let source = self.timeline.queue.add_source(Event::Release(link));
        self.network.links[link.index()].delay_stage = Some(Box::new(DelayStage::new(delays, source)));
    }

    /// Lets an agent receive what is sent to its node and to no other agent there, regardless of its flow.
    pub fn receive_all_flows(&mut self, agent: AgentId) {
        let node = self.agent_node(agent);
        self.agents.all_flows.insert(node, agent);
    }
}
