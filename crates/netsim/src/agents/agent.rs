//! The shape of everything that sends or receives.

use whimbrel_units::Instant;

use crate::medium::Observation;
use crate::{
    LinkId, LossCause, NodeId, Packet, PassingPacket, RoutingRequest, Shim, StationId, StoredPacket,
    UnroutedPacket,
};

/// One end of one flow, or any source or sink of traffic.
///
/// After every call of a `handle_` method the simulator drains [`poll_transmit`](Agent::poll_transmit)
/// until it returns `None` and then asks [`poll_timeout`](Agent::poll_timeout) for the next deadline.
/// An agent that was added, or that was reached through
/// [`Simulator::agent_mut`](crate::Simulator::agent_mut), is drained before the next event.
///
/// The laws of a sans-IO machine hold: after a drain at `now` the deadline lies after `now`, and a
/// wake-up that comes early changes nothing.
pub trait Agent {
    /// The content of a packet. It is moved when a packet enters and leaves
    /// the network, not at every hop. Broadcasts are copied.
    type Payload: Clone;

    /// A packet for this agent arrived.
    fn handle_packet(&mut self, now: Instant, packet: Packet<Self::Payload>);

    /// The same, with the packet where the network stores it. An agent that only reads packets saves their
    /// copies here; the simulator calls nothing else for packets that arrive as they were sent.
    #[inline]
    fn handle_stored(&mut self, now: Instant, packet: StoredPacket<'_, Self::Payload>) {
        if let Some(packet) = packet.take() {
            self.handle_packet(now, packet);
        }
    }

    /// The deadline last returned by [`poll_timeout`](Agent::poll_timeout) was reached.
    fn handle_timeout(&mut self, now: Instant);

    /// The next packet to send at `now`, if any. `id` and `source` are filled in by the simulator.
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Self::Payload>>;

    /// The time at which [`handle_timeout`](Agent::handle_timeout) is due; `None` for never.
    fn poll_timeout(&self) -> Option<Instant>;

    /// A packet for this agent was lost at this moment. No transport may learn this from the network:
    /// it serves omniscient references and records.
    fn handle_loss(&mut self, now: Instant, packet: Packet<Self::Payload>, cause: LossCause) {
        let _ = (now, packet, cause);
    }

    /// A packet for this agent arrived with its headers as they were sent, but with content that the medium
    /// of `link` has damaged ([`LinkConfig::damaged`](crate::LinkConfig::damaged)). The content handed over
    /// is the one sent: what became of it is for the agent to say.
    ///
    /// By default it is a loss to that medium, as for every transport whose checksum covers the content.
    fn handle_damaged(&mut self, now: Instant, packet: Packet<Self::Payload>, link: LinkId) {
        self.handle_loss(now, packet, LossCause::Wireless(link));
    }

    /// A station has observed its medium; [`Simulator::observe`](crate::Simulator::observe) names the agents
    /// for it. The routing agent of the station's node is notified of every [`Observation::Failed`] without
    /// that.
    fn handle_observation(&mut self, now: Instant, station: StationId, observation: &Observation) {
        let _ = (now, station, observation);
    }

    /// A packet at this agent's node has no route. Only the node's routing agent
    /// ([`Simulator::set_router`](crate::Simulator::set_router)) is asked; it decides by a
    /// [`RoutingRequest`], at once or later.
    fn handle_unrouted(&mut self, now: Instant, packet: UnroutedPacket) {
        let _ = (now, packet);
    }

    /// A station of this agent's node has given up a packet to `neighbour`, which it had sent or tried to
    /// send. Only the node's routing agent is asked. Returns `true` if it keeps the packet as one that waits
    /// for its decision, as after [`handle_unrouted`](Agent::handle_unrouted); the packet is lost otherwise.
    fn handle_undelivered(&mut self, now: Instant, packet: UnroutedPacket, neighbour: NodeId) -> bool {
        let _ = (now, packet, neighbour);
        false
    }

    /// A packet of another flow than [`FlowId::ROUTING`](crate::FlowId::ROUTING) passes this agent's node.
    /// Only the node's routing agent is notified.
    fn handle_passing(&mut self, now: Instant, packet: PassingPacket) {
        let _ = (now, packet);
    }

    /// The next change of the routes of this agent's node, if any. Only the node's routing agent is asked,
    /// before [`poll_transmit`](Agent::poll_transmit).
    fn poll_routing(&mut self, now: Instant) -> Option<RoutingRequest> {
        let _ = now;
        None
    }

    /// The number of the path that a packet is meant to take, if its sender has chosen one: its link at nodes
    /// whose route is spread [by senders](crate::SpreadBy::Sender).
    fn path(payload: &Self::Payload) -> Option<usize> {
        let _ = payload;
        None
    }

    /// The header of a packet that routers may write, if it has one. Only egresses with a
    /// [`Controller`](crate::Controller) ask for it.
    fn shim(payload: &mut Self::Payload) -> Option<&mut Shim> {
        let _ = payload;
        None
    }
}
