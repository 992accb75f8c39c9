//! Changes to a network, at once or at a time.

use core::any::Any;
use core::fmt;

use whimbrel_units::{DataRate, Duration, Instant};

use super::Simulator;
use crate::medium::{Medium, MediumIo};
use crate::network::Spreading;
use crate::{
    Agent, AgentId, DownPolicy, Impairment, LinkId, LinkRate, LossCause, MediumId, NextHop, NodeId, Spread,
};

/// A change to the network or to an agent.
#[non_exhaustive]
pub enum Command<A: Agent> {
    /// A link goes down. Routes stay as they are until a [`Command::Reroute`].
    LinkDown {
        /// Link.
        link: LinkId,
        /// Treatment of its packets.
        policy: DownPolicy,
    },
    /// A link comes back up.
    LinkUp {
        /// Link.
        link: LinkId,
    },
    /// A link gets another rate or trace. The packet in service goes on with the bits it has left; if
    /// it began on a delivery trace, it starts from its beginning.
    SetRate {
        /// Link.
        link: LinkId,
        /// Its new rate.
        rate: LinkRate,
    },
    /// A link gets another delay. Packets under way keep the old one, and none overtakes another.
    SetDelay {
        /// Link.
        link: LinkId,
        /// Its new delay.
        delay: Duration,
    },
    /// A link gets another impairment, which starts now with a random stream of its own.
    SetImpairment {
        /// Link.
        link: LinkId,
        /// Its new impairment.
        impairment: Impairment,
    },
    /// Packets for a destination leave a node by this link from now on, regardless of the shortest path,
    /// until the same pair is set again.
    SetRoute {
        /// The node at which the route holds.
        node: NodeId,
        /// The destination of the packets.
        destination: NodeId,
        /// Link of `node` to take.
        link: LinkId,
    },
    /// The same, over several links: packets are sprayed over paths, or bonded links.
    SpreadRoute {
        /// The node at which the route holds.
        node: NodeId,
        /// The destination of the packets.
        destination: NodeId,
        /// Links of `node` to take.
        spread: Spread,
    },
    /// Computes the shortest paths over the links that are up. Those set by hand stay.
    Reroute,
    /// Calls a function with an agent, which is then drained: how a flow starts, stops or freezes.
    Agent {
        /// Agent.
        agent: AgentId,
        /// The function to call.
        call: AgentCall<A>,
    },
    /// Calls a function with the whole simulator.
    Call(SimulatorCall<A>),
}

/// A function to be called with an agent and the time.
pub type AgentCall<A> = Box<dyn FnOnce(&mut A, Instant) + Send>;

/// A function to be called with the simulator.
pub type SimulatorCall<A> = Box<dyn FnOnce(&mut Simulator<A>) + Send>;

impl<A: Agent> Command<A> {
    /// [`Command::SetRate`] to a constant rate.
    pub fn set_rate(link: LinkId, rate: DataRate) -> Self {
        Self::SetRate { link, rate: rate.into() }
    }

    /// [`Command::Agent`] with this function.
    pub fn agent(agent: AgentId, call: impl FnOnce(&mut A, Instant) + Send + 'static) -> Self {
        Self::Agent { agent, call: Box::new(call) }
    }

    /// [`Command::Call`] of this function.
    pub fn call(call: impl FnOnce(&mut Simulator<A>) + Send + 'static) -> Self {
        Self::Call(Box::new(call))
    }
}

impl<A: Agent> fmt::Debug for Command<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkDown { link, policy } => write!(f, "LinkDown({link:?}, {policy:?})"),
            Self::LinkUp { link } => write!(f, "LinkUp({link:?})"),
            Self::SetRate { link, rate } => write!(f, "SetRate({link:?}, {rate:?})"),
            Self::SetDelay { link, delay } => write!(f, "SetDelay({link:?}, {delay})"),
            Self::SetImpairment { link, impairment } => write!(f, "SetImpairment({link:?}, {impairment:?})"),
            Self::SetRoute { node, destination, link } => {
                write!(f, "SetRoute({node:?}, {destination:?}, {link:?})")
            }
            Self::SpreadRoute { node, destination, spread } => {
                write!(f, "SpreadRoute({node:?}, {destination:?}, {spread:?})")
            }
            Self::Reroute => f.write_str("Reroute"),
            Self::Agent { agent, .. } => write!(f, "Agent({agent:?})"),
            Self::Call(_) => f.write_str("Call"),
        }
    }
}

impl<A: Agent> Simulator<A> {
    /// Has a command applied at this time, or now if that is past. Of the commands and other events of
    /// one time, those scheduled first come first.
    pub fn schedule(&mut self, at: Instant, command: Command<A>) {
        self.agenda.schedule(&mut self.timeline, at, command);
    }

    /// Applies a command now.
    ///
    /// # Panics
    /// If a link, impairment or spread in it makes no sense.
    pub fn apply(&mut self, command: Command<A>) {
        match command {
            Command::LinkDown { link, policy } => {
                let lost = self.network.links[link.index()].take_down(self.timeline.now, policy);
                self.replanned(link);
                for slot in lost {
                    self.lose(slot, LossCause::LinkDown(link));
                }
            }
            Command::LinkUp { link } => {
                self.network.links[link.index()].bring_up(self.timeline.now);
                self.replanned(link);
            }
            Command::SetRate { link, rate } => {
                self.network.links[link.index()].set_rate(self.timeline.now, rate);
                self.replanned(link);
            }
            Command::SetDelay { link, delay } => {
                self.network.links[link.index()].set_delay(self.timeline.now, delay);
                self.replanned(link);
            }
            Command::SetImpairment { link, impairment } => {
                if let Err(error) = self.set_impairment(link, &impairment) {
                    panic!("link `{}`: {error}", self.link_name(link));
                }
            }
            Command::SetRoute { node, destination, link } => {
                assert!(self.link_ends(link).0 == node, "the link does not leave the node");
                self.network.set_route(node, destination, Some(NextHop::Link(link)));
            }
            Command::SpreadRoute { node, destination, spread } => {
                let leaves = |link: LinkId| self.link_ends(link).0 == node;
                assert!(spread.links.iter().all(|(link, _)| leaves(*link)), "a link does not leave the node");
                assert!(spread.is_sound(), "a spread needs links, and weights above zero");
                let random = self.streams.stream(self.node_name(node), self.node_name(destination));
                self.network.spread_route(node, destination, Spreading::new(spread, random));
            }
            Command::Reroute => {
                for (ends, link) in self.network.link_ends.iter_mut().zip(&self.network.links) {
                    ends.routable = link.is_up();
                }
                self.network.routes_current = false;
            }
            Command::Agent { agent, call } => {
                call(&mut self.agents.slots[agent.index()].agent, self.timeline.now);
                self.agents.touch(agent);
            }
            Command::Call(call) => call(self),
        }
    }

    /// Calls a function with a medium, to change it; `None` if the medium is not of that type. Routes follow
    /// after a [`Command::Reroute`].
    pub fn with_medium<M: Medium, R>(
        &mut self,
        id: MediumId,
        call: impl FnOnce(&mut M, &mut MediumIo<'_>) -> R,
    ) -> Option<R> {
        let result = self.call_medium(id, |medium, io| {
            let medium: &mut dyn Any = medium;
            medium.downcast_mut().map(|medium| call(medium, io))
        });
        self.apply_effects(id);
        result
    }

    pub(super) fn handle_command(&mut self) {
        if let Some(command) = self.agenda.take_first(&mut self.timeline) {
            self.apply(command);
        }
    }
}
