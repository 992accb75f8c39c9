//! Static shortest paths.
//!
//! The cost of a path is its number of links. Of several shortest paths a node takes the one whose
//! first link was added first, so that routes never depend on anything but the order in which the
//! network was built.

use std::collections::VecDeque;

/// The links of a network, by the nodes that they join.
#[derive(Clone, Debug)]
pub struct Topology {
    /// First and second node of each link.
    ends: Vec<(u32, u32)>,
    incoming: Vec<Vec<u32>>,
    outgoing: Vec<Vec<u32>>,
}

impl Topology {
    /// Nodes without links.
    pub fn new(nodes: usize) -> Self {
        Self { ends: Vec::new(), incoming: vec![Vec::new(); nodes], outgoing: vec![Vec::new(); nodes] }
    }

    /// Adds a simplex link, numbered in the order of addition.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn add_link(&mut self, from: usize, to: usize) {
        self.add(from as u32, to as u32, true);
    }

    /// A link that is not usable has a number and is on no path.
    fn add(&mut self, from: u32, to: u32, usable: bool) {
        let link = self.ends.len() as u32;
        self.ends.push((from, to));
        if usable {
            self.incoming[to as usize].push(link);
            self.outgoing[from as usize].push(link);
        }
    }

    /// The links of the path from one node to another; `None` if no path leads there.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut next_link = vec![Routes::NONE; self.incoming.len()];
        self.paths_to(to, &mut next_link, &mut Search::default());
        let mut links = Vec::new();
        let mut node = from;
        while node != to {
            let link = next_link[node];
            if link == Routes::NONE {
                return None;
            }
            links.push(link as usize);
            node = self.ends[link as usize].1 as usize;
        }
        Some(links)
    }

    /// Writes for each node the link to take towards a destination. `next_link` holds [`Routes::NONE`] before.
    fn paths_to(&self, destination: usize, next_link: &mut [u32], search: &mut Search) {
        let Search { distance, frontier } = search;
        distance.clear();
        distance.resize(self.incoming.len(), usize::MAX);
        distance[destination] = 0;
        frontier.push_back(destination);
        while let Some(node) = frontier.pop_front() {
            for &link in &self.incoming[node] {
                let neighbour = self.ends[link as usize].0 as usize;
                if distance[neighbour] == usize::MAX {
                    distance[neighbour] = distance[node] + 1;
                    frontier.push_back(neighbour);
                }
            }
        }
        for (node, next) in next_link.iter_mut().enumerate() {
            if node == destination || distance[node] == usize::MAX {
                continue;
            }
            let is_closer =
                |link: &&u32| distance[self.ends[**link as usize].1 as usize] == distance[node] - 1;
            if let Some(&link) = self.outgoing[node].iter().find(is_closer) {
                *next = link;
            }
        }
    }
}

/// Memory of a search, kept from one destination to the next.
#[derive(Default)]
struct Search {
    distance: Vec<usize>,
    frontier: VecDeque<usize>,
}

/// A link as routing sees it.
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// A link that is down is not used.
    pub(crate) usable: bool,
}

/// The next link for every pair of (here, destination).
pub(crate) struct Routes {
    nodes: usize,
    /// By destination, then by node.
    next_link: Vec<u32>,
}

impl Routes {
    pub(crate) const NONE: u32 = u32::MAX;

    pub(crate) fn empty() -> Self {
        Self { nodes: 0, next_link: Vec::new() }
    }

    /// `edges` in the order of their link numbers.
    pub(crate) fn compute(nodes: usize, edges: &[Edge]) -> Self {
        let mut topology = Topology::new(nodes);
        for edge in edges {
            topology.add(edge.from, edge.to, edge.usable);
        }
        let mut search = Search::default();
        let mut next_link = vec![Self::NONE; nodes * nodes];
        for (destination, row) in next_link.chunks_mut(nodes.max(1)).enumerate() {
            topology.paths_to(destination, row, &mut search);
        }
        Self { nodes, next_link }
    }

    /// The link to take from `node` towards `destination`, or [`Routes::NONE`].
    pub(crate) fn next_link(&self, node: u32, destination: u32) -> u32 {
        self.next_link[destination as usize * self.nodes + node as usize]
    }

    pub(crate) fn set(&mut self, node: u32, destination: u32, link: u32) {
        self.next_link[destination as usize * self.nodes + node as usize] = link;
    }
}

#[cfg(test)]
mod tests;
