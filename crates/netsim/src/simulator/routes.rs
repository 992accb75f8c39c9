//! Routing policies, and agents that keep the routes of their nodes.

use super::Simulator;
use super::forward::Next;
use crate::network::Other;
use crate::packets::PacketSlot;
use crate::queue::QueuedPacket;
use crate::{
    Agent, AgentId, Egress, FlowId, LossCause, NextHop, NodeId, PacketId, PassingPacket, Routing,
    RoutingRequest, StationId, UnroutedPacket,
};

impl<A: Agent> Simulator<A> {
    /// Computes routes by this policy from now on; by [`ShortestPath`](crate::ShortestPath) without a call.
    pub fn set_routing(&mut self, routing: impl Routing + 'static) {
        self.network.routing = Box::new(routing);
        self.network.routes_current = false;
    }

    /// Makes an agent the routing agent of its node: packets there that have no route wait for its decision.
    pub fn set_router(&mut self, agent: AgentId) {
        let node = self.agent_node(agent);
        self.agents.routers[node.index()] = Some(agent);
        self.agents.slots[agent.index()].is_router = true;
    }

    /// Sets or removes the route of packets at a node for a destination, independently of the routing policy.
    ///
    /// # Panics
    /// If the next hop does not leave the node.
    pub fn set_route(&mut self, node: NodeId, destination: NodeId, next: Option<NextHop>) {
        if let Some(next) = next {
            assert!(self.network.egress_node(next.egress()) == node, "the next hop does not leave the node");
        }
        self.network.set_route(node, destination, next);
    }

    /// The next hop of packets at a node for a destination, as last computed or set; `None` without a route,
    /// and for a route that is spread over several links.
    pub fn route(&mut self, node: NodeId, destination: NodeId) -> Option<NextHop> {
        if !self.network.routes_current {
            self.network.compute_routes(self.timeline.now);
        }
        self.network.routes.next_hop(node, destination)
    }

    /// Next step for a route that is not a single link.
    pub(super) fn route_otherwise(
        &mut self,
        node: NodeId,
        packet: PacketSlot,
        route: crate::network::Route,
    ) -> Next {
        let header = self.packets.header_mut(packet);
        if header.destination == NodeId::BROADCAST {
            return Next::Broadcast(node, packet);
        }
        let (source, destination, flow) = (header.source, header.destination, header.flow);
        if flow == FlowId::ROUTING {
            return self.send_to_neighbour(node, packet, destination);
        }
        let Some(other) = self.network.routes.other(route) else { return self.hold(node, packet) };
        let Some(hops_left) = header.hops_left.checked_sub(1) else {
            return Next::Lose(packet, LossCause::HopLimit(node));
        };
        header.hops_left = hops_left;
        match other {
            Other::Spread => {
                let Some(spreading) = self.network.spreads.get_mut(&(node, destination)) else {
                    return Next::Nothing;
                };
                let path = spreading.is_by_sender().then(|| A::path(self.packets.payload_mut(packet)));
                Next::Offer(spreading.next(path.flatten()), packet)
            }
            Other::Hop(NextHop::Station { station, to }) => {
                if source == node {
                    self.note_passing(node, PassingPacket { source, destination, from: None });
                }
                Next::OfferToStation(station, packet, Some(to))
            }
            Other::Hop(NextHop::Link(link)) => Next::Offer(link, packet),
        }
    }

    /// The station over which a routing message leaves a node: one that has the destination on its medium.
    fn send_to_neighbour(&self, node: NodeId, packet: PacketSlot, neighbour: NodeId) -> Next {
        let stations = self.network.egresses[node.index()].iter().filter_map(|egress| match egress {
            Egress::Station(station) => Some(*station),
            Egress::Link(_) => None,
        });
        let reaches = |station: &StationId| self.network.has_station(station.medium, neighbour);
        match stations.into_iter().find(reaches) {
            Some(station) => Next::OfferToStation(station, packet, Some(neighbour)),
            None => Next::Lose(packet, LossCause::NoRoute(node)),
        }
    }

    /// Offers a packet without a route to the node's routing agent; without one it is lost.
    fn hold(&mut self, node: NodeId, packet: PacketSlot) -> Next {
        let Some(router) = self.agents.routers[node.index()] else {
            return Next::Lose(packet, LossCause::NoRoute(node));
        };
        let hops = u8::MAX - self.packets.header(packet).hops_left;
        let unrouted = self.unrouted_packet(packet, hops);
        self.unrouted.insert(unrouted.packet, (packet, node));
        self.agents.slots[router.index()].agent.handle_unrouted(self.timeline.now, unrouted);
        // The agent may be in the middle of being drained: the packet may be its own.
        self.agents.touch(router);
        Next::Nothing
    }

    fn unrouted_packet(&self, packet: PacketSlot, hops: u8) -> UnroutedPacket {
        let QueuedPacket { size, flow, .. } = self.queued(packet);
        UnroutedPacket { packet: self.packets.header(packet).id, flow, size, hops }
    }

    /// Offers a packet that a station has given up to the node's routing agent. Returns `false` if the packet
    /// is lost.
    pub(super) fn salvage(&mut self, node: NodeId, packet: PacketSlot, neighbour: NodeId) -> bool {
        let Some(router) = self.agents.routers[node.index()] else { return false };
        // The hop that failed was counted when it was begun.
        let hops = (u8::MAX - self.packets.header(packet).hops_left).saturating_sub(1);
        let unrouted = self.unrouted_packet(packet, hops);
        // The agent's requests are polled afterwards: the packet waits before one of them refers to it.
        let agent = &mut self.agents.slots[router.index()].agent;
        let is_kept = agent.handle_undelivered(self.timeline.now, unrouted, neighbour);
        if is_kept {
            self.unrouted.insert(unrouted.packet, (packet, node));
        }
        self.agents.touch(router);
        is_kept
    }

    /// Notifies the routing agent of a node of a packet that passes it.
    pub(super) fn note_passing(&mut self, node: NodeId, packet: PassingPacket) {
        if let Some(router) = self.agents.routers[node.index()] {
            self.agents.slots[router.index()].agent.handle_passing(self.timeline.now, packet);
            self.agents.touch(router);
        }
    }

    /// Processes the next request of a routing agent; `None` if there is none.
    pub(super) fn process_routing(&mut self, agent: AgentId) -> Option<Next> {
        let slot = &mut self.agents.slots[agent.index()];
        let request = slot.agent.poll_routing(self.timeline.now)?;
        let node = slot.node;
        match request {
            RoutingRequest::Set { destination, next } => self.set_route(node, destination, Some(next)),
            RoutingRequest::Remove { destination } => self.set_route(node, destination, None),
            RoutingRequest::Forward { packet } => {
                let waiting = self.take_unrouted(node, packet);
                return Some(waiting.map_or(Next::Nothing, |slot| Next::Forward(node, slot)));
            }
            RoutingRequest::Discard { packet } => {
                let waiting = self.take_unrouted(node, packet);
                return Some(
                    waiting.map_or(Next::Nothing, |slot| Next::Lose(slot, LossCause::NoRoute(node))),
                );
            }
            RoutingRequest::Flush { station, neighbour, is_salvage } => {
                self.network.station_mut(station).flush(neighbour, is_salvage);
            }
        }
        Some(Next::Nothing)
    }

    /// Takes a packet that waits for a decision at this node.
    fn take_unrouted(&mut self, node: NodeId, packet: PacketId) -> Option<PacketSlot> {
        let &(slot, at) = self.unrouted.get(&packet)?;
        if at != node {
            return None;
        }
        self.unrouted.remove(&packet);
        Some(slot)
    }
}
