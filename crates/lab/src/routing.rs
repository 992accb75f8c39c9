//! Routing protocols of ad hoc networks, at nodes with flows of any transport.

mod message;
mod router;

use whimbrel_netsim::{AgentId, FlowId, Simulator, StationId};
use whimbrel_wifi::routing::aodv::AodvConfig;
use whimbrel_wifi::routing::dsdv::DsdvConfig;

pub use message::{Body, Message};
pub use router::Router;

use crate::transport::FlowAgent;

/// A routing protocol and its configuration.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Protocol {
    /// Destination-sequenced distance vectors.
    Dsdv(DsdvConfig),
    /// Ad hoc on-demand distance vectors, RFC 3561.
    Aodv(AodvConfig),
}

/// Gives the node of each station a routing agent over that station, and returns the agents in the order of
/// the stations. Each agent uses the random stream of its node's name for the purpose `routing`.
///
/// The agents' routes replace those that the simulator computes; a policy that computes none for the medium,
/// such as [`FixedRoutes`](whimbrel_netsim::FixedRoutes), is to be set.
///
/// # Panics
/// If a node has a routing agent already.
pub fn add_routers(
    simulator: &mut Simulator<FlowAgent>,
    stations: &[StationId],
    protocol: Protocol,
) -> Vec<AgentId> {
    let mut agents = Vec::with_capacity(stations.len());
    for &station in stations {
        let node = simulator.station_node(station);
        let random = simulator.streams().stream(simulator.node_name(node), "routing");
        let router = Router::new(simulator.now(), protocol, node, station, random);
        let agent = simulator.add_agent(node, FlowId::ROUTING, FlowAgent::Router(Box::new(router)));
        simulator.set_router(agent);
        agents.push(agent);
    }
    agents
}
