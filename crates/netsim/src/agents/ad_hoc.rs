//! A routing protocol of ad hoc networks as the routing agent of a node.

use whimbrel_units::Instant;
use whimbrel_wifi::routing::{
    Address, DataPacket, ForwardedPacket, Receiver, RouteEvent, RoutingAgent, Transmit,
};

use crate::medium::Observation;
use crate::{FlowId, NextHop, NodeId, PacketId, PassingPacket, RoutingRequest, StationId, UnroutedPacket};

/// Runs a [`RoutingAgent`] at a node over a station of the node. The addresses of the protocol are the
/// positions of the nodes in the order of addition.
///
/// An [`Agent`](crate::Agent) for flow [`FlowId::ROUTING`] holds it and passes on the calls of the same
/// names; the content of its packets is the protocol's message. The agent is made the routing agent of the
/// node ([`Simulator::set_router`](crate::Simulator::set_router)). No routing policy may compute routes over
/// the medium: [`FixedRoutes`](crate::FixedRoutes) computes none.
#[derive(Clone, Debug)]
pub struct AdHocRouter<R> {
    protocol: R,
    station: StationId,
    /// The packet that was lost last: the MAC's report on it, which follows, is of the same failure.
    failed: Option<PacketId>,
}

impl<R: RoutingAgent> AdHocRouter<R> {
    /// The protocol over a station of its node.
    pub fn new(protocol: R, station: StationId) -> Self {
        Self { protocol, station, failed: None }
    }

    /// The protocol.
    pub const fn protocol(&self) -> &R {
        &self.protocol
    }

    /// The protocol's next hop towards a destination.
    pub fn next_hop(&self, destination: NodeId) -> Option<NodeId> {
        self.protocol.next_hop(address(destination)).map(node)
    }

    /// A message arrived from a neighbour.
    pub fn handle_message(&mut self, now: Instant, from: NodeId, message: R::Message) {
        self.protocol.handle_packet(now, address(from), message);
    }

    /// See [`Agent::handle_timeout`](crate::Agent::handle_timeout).
    pub fn handle_timeout(&mut self, now: Instant) {
        self.protocol.handle_timeout(now);
    }

    /// See [`Agent::handle_unrouted`](crate::Agent::handle_unrouted).
    pub fn handle_unrouted(&mut self, now: Instant, packet: UnroutedPacket) {
        self.protocol.handle_unrouted(now, unrouted(packet));
    }

    /// See [`Agent::handle_undelivered`](crate::Agent::handle_undelivered).
    pub fn handle_undelivered(&mut self, now: Instant, packet: UnroutedPacket, neighbour: NodeId) -> bool {
        self.failed = Some(packet.packet);
        let data = unrouted(packet);
        let is_data = packet.flow.flow != FlowId::ROUTING;
        self.protocol.handle_link_failure(now, address(neighbour), is_data.then_some(data));
        let is_kept = is_data && self.protocol.salvages(data);
        if is_kept {
            self.protocol.handle_unrouted(now, data);
        }
        is_kept
    }

    /// See [`Agent::handle_observation`](crate::Agent::handle_observation).
    pub fn handle_observation(&mut self, now: Instant, observation: &Observation) {
        if let Observation::Failed(report) = observation
            && let Some(neighbour) = report.to
            && self.failed.take_if(|&mut packet| packet == report.packet).is_none()
        {
            self.protocol.handle_link_failure(now, address(neighbour), None);
        }
    }

    /// See [`Agent::handle_passing`](crate::Agent::handle_passing).
    pub fn handle_passing(&mut self, now: Instant, packet: PassingPacket) {
        let PassingPacket { source, destination, from } = packet;
        let (source, destination) = (address(source), address(destination));
        self.protocol.handle_forwarded(now, ForwardedPacket { source, destination, from: from.map(address) });
    }

    /// See [`Agent::poll_routing`](crate::Agent::poll_routing).
    pub fn poll_routing(&mut self) -> Option<RoutingRequest> {
        let station = self.station;
        Some(match self.protocol.poll_event()? {
            RouteEvent::Set { destination, next_hop, .. } => RoutingRequest::Set {
                destination: node(destination),
                next: NextHop::Station { station, to: node(next_hop) },
            },
            RouteEvent::Remove { destination } => RoutingRequest::Remove { destination: node(destination) },
            RouteEvent::Forward { packet } => RoutingRequest::Forward { packet },
            RouteEvent::Discard { packet, .. } => RoutingRequest::Discard { packet },
            RouteEvent::Flush { neighbour, is_salvage } => {
                RoutingRequest::Flush { station, neighbour: node(neighbour), is_salvage }
            }
        })
    }

    /// The next message to send: destination, bytes and content of a packet of flow [`FlowId::ROUTING`].
    pub fn poll_message(&mut self, now: Instant) -> Option<(NodeId, u32, R::Message)> {
        let Transmit { to, message, size } = self.protocol.poll_transmit(now)?;
        let destination = match to {
            Receiver::Broadcast => NodeId::BROADCAST,
            Receiver::Neighbour(neighbour) => node(neighbour),
        };
        Some((destination, size, message))
    }

    /// See [`Agent::poll_timeout`](crate::Agent::poll_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.protocol.poll_timeout()
    }
}

fn address(node: NodeId) -> Address {
    Address(node.0)
}

fn node(address: Address) -> NodeId {
    NodeId(address.0)
}

fn unrouted(packet: UnroutedPacket) -> DataPacket {
    let (source, destination) = (address(packet.flow.source), address(packet.flow.destination));
    DataPacket { packet: packet.packet, source, destination, hops: packet.hops }
}
