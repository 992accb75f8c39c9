//! Static shortest paths.
//!
//! The cost of a path is its number of hops. Of several shortest paths a node takes the one whose
//! first hop was added first, so that routes never depend on anything but the order in which the
//! network was built.

use std::collections::VecDeque;

use super::{RouteTable, Routing, Topology};
use crate::NodeId;

/// Routes over the fewest hops: the default.
#[derive(Clone, Copy, Default, Debug)]
pub struct ShortestPath;

impl Routing for ShortestPath {
    fn compute(&mut self, topology: &Topology, table: &mut RouteTable) {
        let mut search = Search::default();
        for destination in 0..topology.nodes() {
            search.measure(topology, destination);
            for node in 0..topology.nodes() {
                if let Some(hop) = search.first_hop(topology, node) {
                    let (node, destination) = (NodeId(node as u32), NodeId(destination as u32));
                    table.set(node, destination, Some(topology.next_hop(hop)));
                }
            }
        }
    }
}

impl Topology {
    /// The numbers of the hops of the shortest path from one node to another; `None` if no path leads there.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut search = Search::default();
        search.measure(self, to);
        let mut hops = Vec::new();
        let mut node = from;
        while node != to {
            let hop = search.first_hop(self, node)?;
            hops.push(hop as usize);
            node = self.end(hop);
        }
        Some(hops)
    }
}

/// Distances to one destination. Memory is kept from one destination to the next.
#[derive(Default)]
struct Search {
    distance: Vec<usize>,
    frontier: VecDeque<usize>,
}

impl Search {
    const UNREACHED: usize = usize::MAX;

    /// Measures the distance of each node to the destination.
    fn measure(&mut self, topology: &Topology, destination: usize) {
        let Self { distance, frontier } = self;
        distance.clear();
        distance.resize(topology.nodes(), Self::UNREACHED);
        distance[destination] = 0;
        frontier.push_back(destination);
        while let Some(node) = frontier.pop_front() {
            for &hop in topology.incoming(node) {
                let neighbour = topology.start(hop);
                if distance[neighbour] == Self::UNREACHED {
                    distance[neighbour] = distance[node] + 1;
                    frontier.push_back(neighbour);
                }
            }
        }
    }

    /// The hop to take from a node; `None` at the destination, and where no path leads there.
    fn first_hop(&self, topology: &Topology, node: usize) -> Option<u32> {
        let distance = self.distance[node];
        if distance == 0 || distance == Self::UNREACHED {
            return None;
        }
        let mut hops = topology.outgoing(node).iter().copied();
        hops.find(|&hop| self.distance[topology.end(hop)] == distance - 1)
    }
}

#[cfg(test)]
mod tests;
