//! The hops of a network: the graph that routes run over.

use crate::{LinkId, NextHop, NodeId};

/// The hops between the nodes of a network: its links, and the pairs of stations that receive each other.
#[derive(Clone, Debug)]
pub struct Topology {
    hops: Vec<Hop>,
    /// The usable hops to and from each node.
    incoming: Vec<Vec<u32>>,
    outgoing: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Hop {
    from: u32,
    to: u32,
    next: NextHop,
}

impl Topology {
    /// Nodes without hops.
    pub fn new(nodes: usize) -> Self {
        Self { hops: Vec::new(), incoming: vec![Vec::new(); nodes], outgoing: vec![Vec::new(); nodes] }
    }

    /// Adds a simplex link, numbered in the order of addition.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn add_link(&mut self, from: usize, to: usize) {
        let next = NextHop::Link(LinkId(self.hops.len() as u32));
        self.add_hop(NodeId(from as u32), NodeId(to as u32), next, true);
    }

    /// Adds a hop. One that is not usable, such as a link that is down, has a number and is on no path.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn add_hop(&mut self, from: NodeId, to: NodeId, next: NextHop, usable: bool) {
        let hop = self.hops.len() as u32;
        self.hops.push(Hop { from: from.0, to: to.0, next });
        if usable {
            self.incoming[to.index()].push(hop);
            self.outgoing[from.index()].push(hop);
        }
    }

    /// Adds a hop of another topology of the same nodes.
    pub fn connect(&mut self, other: &Self, hop: u32) {
        let Hop { from, to, next } = other.hops[hop as usize];
        self.add_hop(NodeId(from), NodeId(to), next, true);
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.incoming.len()
    }

    /// The usable hops to a node, by number, in the order of addition.
    pub fn incoming(&self, node: usize) -> &[u32] {
        &self.incoming[node]
    }

    /// The usable hops from a node, by number, in the order of addition.
    pub fn outgoing(&self, node: usize) -> &[u32] {
        &self.outgoing[node]
    }

    /// The node that a hop starts from.
    pub fn start(&self, hop: u32) -> usize {
        self.hops[hop as usize].from as usize
    }

    /// The node that a hop leads to.
    pub fn end(&self, hop: u32) -> usize {
        self.hops[hop as usize].to as usize
    }

    /// A hop as a route names it.
    pub fn next_hop(&self, hop: u32) -> NextHop {
        self.hops[hop as usize].next
    }
}
