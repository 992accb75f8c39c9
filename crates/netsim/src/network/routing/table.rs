//! The next hop for every pair of node and destination.

use std::collections::BTreeMap;

use crate::{LinkId, NextHop, NodeId};

/// Next hops by node and destination.
#[derive(Clone, Debug)]
pub struct RouteTable {
    nodes: usize,
    /// By destination, then by node.
    entries: Vec<Route>,
    /// Next hops other than links.
    others: Vec<Other>,
    /// Their entries.
    known: BTreeMap<Other, Route>,
    /// The one that was set last: an update by a routing agent sets many routes over one neighbour.
    last: Option<(Other, Route)>,
}

/// An entry in one word, as forwarding reads it for each packet: the number of a link, or something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Route(u32);

/// A next hop other than a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Other {
    /// To a neighbour on a shared medium.
    Hop(NextHop),
    /// Over several links, as a [`Spread`](crate::Spread) says.
    Spread,
}

impl Route {
    const FIRST_OTHER: u32 = 1 << 31;
    const NONE: Self = Self(u32::MAX);

    /// The link to take, in the common case of a link.
    #[inline]
    pub(crate) fn link(self) -> Option<LinkId> {
        (self.0 < Self::FIRST_OTHER).then_some(LinkId(self.0))
    }
}

impl RouteTable {
    /// A table without routes between this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes,
            entries: vec![Route::NONE; nodes * nodes],
            others: Vec::new(),
            known: BTreeMap::new(),
            last: None,
        }
    }

    /// The next hop of packets at `node` for `destination`; `None` without a route, or if packets are spread
    /// over several links.
    pub fn next_hop(&self, node: NodeId, destination: NodeId) -> Option<NextHop> {
        let route = self.route(node, destination);
        match route.link() {
            Some(link) => Some(NextHop::Link(link)),
            None => match self.other(route)? {
                Other::Hop(next) => Some(next),
                Other::Spread => None,
            },
        }
    }

    /// Sets or removes the route of packets at `node` for `destination`.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn set(&mut self, node: NodeId, destination: NodeId, next: Option<NextHop>) {
        let route = match next {
            None => Route::NONE,
            Some(NextHop::Link(link)) => Route(link.0),
            Some(hop) => self.place(Other::Hop(hop)),
        };
        self.enter(node, destination, route);
    }

    pub(crate) fn set_spread(&mut self, node: NodeId, destination: NodeId) {
        let route = self.place(Other::Spread);
        self.enter(node, destination, route);
    }

    fn enter(&mut self, node: NodeId, destination: NodeId, route: Route) {
        assert!(node.index() < self.nodes, "there is no such node");
        self.entries[destination.index() * self.nodes + node.index()] = route;
    }

    /// The entry that stands for a next hop.
    fn place(&mut self, other: Other) -> Route {
        if let Some((_, route)) = self.last.filter(|&(last, _)| last == other) {
            return route;
        }
        let route = *self.known.entry(other).or_insert_with(|| {
            self.others.push(other);
            Route(Route::FIRST_OTHER + self.others.len() as u32 - 1)
        });
        self.last = Some((other, route));
        route
    }

    /// The entry for packets at `node`. There is none for a destination that is not a node, such as
    /// [`NodeId::BROADCAST`].
    #[inline]
    pub(crate) fn route(&self, node: NodeId, destination: NodeId) -> Route {
        let index = destination.index().wrapping_mul(self.nodes).wrapping_add(node.index());
        self.entries.get(index).copied().unwrap_or(Route::NONE)
    }

    /// The meaning of an entry that is not a link; `None` without a route.
    pub(crate) fn other(&self, route: Route) -> Option<Other> {
        self.others.get(route.0.checked_sub(Route::FIRST_OTHER)? as usize).copied()
    }
}
