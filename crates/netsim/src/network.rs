//! The network: nodes, the links between them, and the routes over the links.

mod counters;
mod link;
mod loopback;
mod routing;

use std::collections::BTreeMap;

pub use counters::{Count, LinkStats, QueueSnapshot};
pub(crate) use link::{Damage, DelayStage, Link, ManagedQueue, MediumEffect, Verdict};
pub use link::{DownPolicy, LinkConfig, LinkRate, QueueLimit};
pub(crate) use loopback::Loopback;
pub(crate) use routing::{Edge, Routes, Spreading};
pub use routing::{Spread, SpreadBy, Topology};

use crate::{LinkId, NodeId};

/// Nodes, links and routes.
pub(crate) struct Network {
    pub(crate) node_names: Vec<String>,
    pub(crate) links: Vec<Link>,
    pub(crate) link_ends: Vec<LinkEnds>,
    pub(crate) routes: Routes,
    pub(crate) routes_current: bool,
    /// Routes set by hand, by (here, destination).
    pub(crate) route_overrides: BTreeMap<(NodeId, NodeId), LinkId>,
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
            routes: Routes::empty(),
            routes_current: true,
            route_overrides: BTreeMap::new(),
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

    /// Computes the routes anew.
    pub(crate) fn compute_routes(&mut self) {
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
