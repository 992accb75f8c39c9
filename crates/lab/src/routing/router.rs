//! The routing agent of a node.

use whimbrel_netsim::medium::Observation;
use whimbrel_netsim::random::RandomStream;
use whimbrel_netsim::{
    AdHocRouter, Ecn, FlowId, LossCause, NodeId, Packet, PacketId, PassingPacket, RoutingRequest, StationId,
    UnroutedPacket,
};
use whimbrel_units::Instant;
use whimbrel_wifi::routing::Address;
use whimbrel_wifi::routing::aodv::Aodv;
use whimbrel_wifi::routing::dsdv::Dsdv;

use super::{Body, Message, Protocol};
use crate::metrics::{Meter, Recording};
use crate::payload::{Envelope, SimPayload};
use crate::transport::FlowEnd;

/// The routing agent of a node. Its meter counts the messages sent and received.
#[derive(Debug)]
pub struct Router {
    node: NodeId,
    kind: Kind,
    meter: Meter,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "the router itself is boxed in its agent")]
enum Kind {
    Dsdv(AdHocRouter<Dsdv<RandomStream>>),
    Aodv(AdHocRouter<Aodv<RandomStream>>),
}

/// Calls a method of the protocol's router.
macro_rules! each {
    ($router:expr, $inner:ident => $call:expr) => {
        match $router {
            Kind::Dsdv($inner) => $call,
            Kind::Aodv($inner) => $call,
        }
    };
}

impl Router {
    /// An agent that starts at `now`, at a node, over a station of the node.
    pub fn new(
        now: Instant,
        protocol: Protocol,
        node: NodeId,
        station: StationId,
        random: RandomStream,
    ) -> Self {
        let address = Address(node.index() as u32);
        let kind = match protocol {
            Protocol::Dsdv(config) => {
                Kind::Dsdv(AdHocRouter::new(Dsdv::new(now, address, config, random), station))
            }
            Protocol::Aodv(config) => {
                Kind::Aodv(AdHocRouter::new(Aodv::new(now, address, config, random), station))
            }
        };
        let recording = Recording { packets: false, losses: false };
        Self { node, kind, meter: Meter::new(Instant::ZERO, &[], recording) }
    }

    /// The node.
    pub const fn node(&self) -> NodeId {
        self.node
    }

    /// The DSDV agent, if that is the protocol.
    pub const fn dsdv(&self) -> Option<&Dsdv<RandomStream>> {
        match &self.kind {
            Kind::Dsdv(router) => Some(router.protocol()),
            Kind::Aodv(_) => None,
        }
    }

    /// The AODV agent, if that is the protocol.
    pub const fn aodv(&self) -> Option<&Aodv<RandomStream>> {
        match &self.kind {
            Kind::Aodv(router) => Some(router.protocol()),
            Kind::Dsdv(_) => None,
        }
    }

    /// The protocol's next hop towards a destination.
    pub fn next_hop(&self, destination: NodeId) -> Option<NodeId> {
        each!(&self.kind, router => router.next_hop(destination))
    }

    /// Number and bytes of the messages sent; a broadcast is one.
    pub fn overhead(&self) -> (u64, u64) {
        let counters = self.meter.counters();
        (counters.sent_packets, counters.sent_bytes)
    }

    pub(crate) fn handle_observation(&mut self, now: Instant, observation: &Observation) {
        each!(&mut self.kind, router => router.handle_observation(now, observation));
    }

    pub(crate) fn handle_unrouted(&mut self, now: Instant, packet: UnroutedPacket) {
        each!(&mut self.kind, router => router.handle_unrouted(now, packet));
    }

    pub(crate) fn handle_undelivered(
        &mut self,
        now: Instant,
        packet: UnroutedPacket,
        neighbour: NodeId,
    ) -> bool {
        each!(&mut self.kind, router => router.handle_undelivered(now, packet, neighbour))
    }

    pub(crate) fn handle_passing(&mut self, now: Instant, packet: PassingPacket) {
        each!(&mut self.kind, router => router.handle_passing(now, packet));
    }

    pub(crate) fn poll_routing(&mut self) -> Option<RoutingRequest> {
        each!(&mut self.kind, router => router.poll_routing())
    }
}

impl FlowEnd for Router {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        self.meter.on_received(now, envelope.packet_info(size), 0, ecn);
        let Some(Message { sender, body }) = envelope.content.as_content().routing_message() else { return };
        match (&mut self.kind, body) {
            (Kind::Dsdv(router), Body::Dsdv(update)) => {
                router.handle_message(now, *sender, update.clone());
            }
            (Kind::Aodv(router), Body::Aodv(message)) => {
                router.handle_message(now, *sender, message.clone());
            }
            // The neighbour has another protocol.
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        each!(&mut self.kind, router => router.handle_timeout(now));
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        let (destination, size, body) = match &mut self.kind {
            Kind::Dsdv(router) => {
                let (to, size, update) = router.poll_message(now)?;
                (to, size, Body::Dsdv(update))
            }
            Kind::Aodv(router) => {
                let (to, size, message) = router.poll_message(now)?;
                (to, size, Body::Aodv(message))
            }
        };
        self.meter.on_sent(size);
        Some(Packet {
            id: PacketId(0),
            flow: FlowId::ROUTING,
            source: self.node,
            destination,
            size,
            ecn: Ecn::NotEct,
            payload: Envelope {
                sent: now,
                content: SimPayload::Other(Box::new(Message { sender: self.node, body })),
            },
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        each!(&self.kind, router => router.poll_timeout())
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        self.meter.on_lost(now, packet.payload.packet_info(packet.size), cause);
    }
}
