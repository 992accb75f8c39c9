//! The network: nodes, the links and media between them, and the routes.

mod controller;
mod counters;
mod egress;
mod host;
mod link;
mod loopback;
pub mod medium;
mod routing;

use std::collections::BTreeMap;

pub(crate) use controller::ControllerSlot;
pub use controller::{ControlledPacket, Controller, Shim};
pub use counters::{Count, LinkStats, QueueSnapshot};
pub use egress::{Egress, NextHop, StationId};
pub(crate) use host::Host;
pub use host::{HostConfig, HostStats};
pub(crate) use link::{
    Damage, DelayStage, Delays, Link, ManagedQueue, MediumEffect, RecordedDelays, Verdict,
};
pub use link::{DownPolicy, LinkConfig, LinkRate, QueueLimit, TokenBucketConfig};
pub(crate) use loopback::Loopback;
pub(crate) use medium::{Effect, MediumSlot, Station};
pub use routing::{FixedRoutes, RouteTable, Routing, ShortestPath, Spread, SpreadBy, Topology};
pub(crate) use routing::{Other, Route, Spreading};

use whimbrel_units::Instant;

use crate::{LinkId, MediumId, NodeId, StationIndex};

/// Nodes, egresses and routes.
pub(crate) struct Network {
    pub(crate) node_names: Vec<String>,
    pub(crate) links: Vec<Link>,
    pub(crate) link_ends: Vec<LinkEnds>,
    pub(crate) media: Vec<MediumSlot>,
    pub(crate) controllers: Vec<ControllerSlot>,
    /// The hosts with a limited processor.
    pub(crate) hosts: Vec<Host>,
    /// The egresses of each node, in the order of addition.
    pub(crate) egresses: Vec<Vec<Egress>>,
    pub(crate) routing: Box<dyn Routing>,
    pub(crate) routes: RouteTable,
    pub(crate) routes_current: bool,
    /// Routes of each node set by commands and agents, by destination. `None`: there is no route.
    route_overrides: Vec<BTreeMap<NodeId, Option<NextHop>>>,
    /// Routes over several links, by (here, destination).
    pub(crate) spreads: BTreeMap<(NodeId, NodeId), Spreading>,
}

/// Name and ends of a link.
pub(crate) struct LinkEnds {
    pub(crate) name: String,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    /// `true` if routes may use the link: it was up when routes were last computed.
    pub(crate) routable: bool,
    pub(crate) impairments_set: u32,
}

impl Network {
    /// A network without nodes.
    pub(crate) fn new() -> Self {
        Self {
            node_names: Vec::new(),
            links: Vec::new(),
            link_ends: Vec::new(),
            media: Vec::new(),
            controllers: Vec::new(),
            hosts: Vec::new(),
            egresses: Vec::new(),
            routing: Box::new(ShortestPath),
            routes: RouteTable::new(0),
            routes_current: true,
            route_overrides: Vec::new(),
            spreads: BTreeMap::new(),
        }
    }

    /// Adds a node.
    ///
    /// # Panics
    /// If there is a node of this name.
    pub(crate) fn add_node(&mut self, name: &str) -> NodeId {
        assert!(!self.node_names.iter().any(|other| other == name), "there are two nodes named `{name}`");
        let id = NodeId(u32::try_from(self.node_names.len()).expect("fewer than 2^32 nodes"));
        self.node_names.push(name.to_owned());
        self.egresses.push(Vec::new());
        self.routes_current = false;
        id
    }

    /// The name of a further link: `from>to`, with `#2` and so on for further links between the same nodes.
    pub(crate) fn name_link(&self, from: NodeId, to: NodeId) -> String {
        let name = format!("{}>{}", self.node_names[from.index()], self.node_names[to.index()]);
        match self.link_ends.iter().filter(|ends| ends.from == from && ends.to == to).count() {
            0 => name,
            siblings => format!("{name}#{}", siblings + 1),
        }
    }

    /// The hops that the links and media offer now.
    fn topology(&self, now: Instant) -> Topology {
        let mut topology = Topology::new(self.node_names.len());
        for (link, ends) in (0..).map(LinkId).zip(&self.link_ends) {
            topology.add_hop(ends.from, ends.to, NextHop::Link(link), ends.routable);
        }
        for (medium, slot) in (0..).map(MediumId).zip(&self.media) {
            for (index, from) in (0..).map(StationIndex).zip(&slot.stations) {
                let station = StationId { medium, index };
                for (other, to) in (0..).map(StationIndex).zip(&slot.stations) {
                    if from.node != to.node && slot.medium.reaches(now, index, other) {
                        let next = NextHop::Station { station, to: to.node };
                        topology.add_hop(from.node, to.node, next, true);
                    }
                }
            }
        }
        topology
    }

    /// Computes the routes anew.
    pub(crate) fn compute_routes(&mut self, now: Instant) {
        let topology =
            if self.routing.uses_hops() { self.topology(now) } else { Topology::new(self.node_names.len()) };
        let mut table = RouteTable::new(topology.nodes());
        self.routing.compute(&topology, &mut table);
        for (node, overrides) in (0..).map(NodeId).zip(&self.route_overrides) {
            for (&destination, &next) in overrides {
                table.set(node, destination, next);
            }
        }
        for &(node, destination) in self.spreads.keys() {
            table.set_spread(node, destination);
        }
        self.routes = table;
        self.routes_current = true;
    }

    /// Sets or removes a route, independently of the routing policy.
    pub(crate) fn set_route(&mut self, node: NodeId, destination: NodeId, next: Option<NextHop>) {
        if self.route_overrides.len() <= node.index() {
            self.route_overrides.resize_with(node.index() + 1, BTreeMap::new);
        }
        self.route_overrides[node.index()].insert(destination, next);
        self.spreads.remove(&(node, destination));
        if self.routes_current {
            self.routes.set(node, destination, next);
        }
    }

    /// Spreads the packets of a route over several links.
    pub(crate) fn spread_route(&mut self, node: NodeId, destination: NodeId, spreading: Spreading) {
        self.spreads.insert((node, destination), spreading);
        if self.routes_current {
            self.routes.set_spread(node, destination);
        }
    }

    /// The node that an egress belongs to.
    pub(crate) fn egress_node(&self, egress: Egress) -> NodeId {
        match egress {
            Egress::Link(link) => self.link_ends[link.index()].from,
            Egress::Station(station) => self.station(station).node,
        }
    }

    pub(crate) fn station(&self, id: StationId) -> &Station {
        &self.media[id.medium.index()].stations[id.index().index()]
    }

    /// `true` if a node has a station on a medium.
    pub(crate) fn has_station(&self, medium: MediumId, node: NodeId) -> bool {
        self.media[medium.index()].stations.iter().any(|station| station.node == node)
    }

    pub(crate) fn station_mut(&mut self, id: StationId) -> &mut Station {
        &mut self.media[id.medium.index()].stations[id.index().index()]
    }
}
