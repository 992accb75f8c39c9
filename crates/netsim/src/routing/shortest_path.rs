//! Static shortest paths.
//!
//! The cost of a path is its number of links. Of several shortest paths a node takes the one whose
//! first link was added first, so that routes never depend on anything but the order in which the
//! network was built.

use std::collections::VecDeque;

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
    next_link: Vec<u32>,
}

impl Routes {
    pub(crate) const NONE: u32 = u32::MAX;

    pub(crate) fn empty() -> Self {
        Self { nodes: 0, next_link: Vec::new() }
    }

    /// `edges` in the order of their link numbers.
    pub(crate) fn compute(nodes: usize, edges: &[Edge]) -> Self {
        let mut incoming = vec![Vec::new(); nodes];
        let mut outgoing = vec![Vec::new(); nodes];
        for (link, edge) in (0u32..).zip(edges).filter(|(_, edge)| edge.usable) {
            incoming[edge.to as usize].push(edge.from as usize);
            outgoing[edge.from as usize].push((link, edge.to as usize));
        }
        let mut next_link = vec![Self::NONE; nodes * nodes];
        let mut distance = vec![usize::MAX; nodes];
        let mut frontier = VecDeque::new();
        for destination in 0..nodes {
            distance.fill(usize::MAX);
            distance[destination] = 0;
            frontier.push_back(destination);
            while let Some(node) = frontier.pop_front() {
                for &neighbour in &incoming[node] {
                    if distance[neighbour] == usize::MAX {
                        distance[neighbour] = distance[node] + 1;
                        frontier.push_back(neighbour);
                    }
                }
            }
            for node in (0..nodes).filter(|&node| node != destination && distance[node] != usize::MAX) {
                let closer = outgoing[node].iter().find(|&&(_, to)| distance[to] == distance[node] - 1);
                if let Some(&(link, _)) = closer {
                    next_link[node * nodes + destination] = link;
                }
            }
        }
        Self { nodes, next_link }
    }

    /// The link to take from `node` towards `destination`, or [`Routes::NONE`].
    pub(crate) fn next_link(&self, node: u32, destination: u32) -> u32 {
        self.next_link[node as usize * self.nodes + destination as usize]
    }

    pub(crate) fn set(&mut self, node: u32, destination: u32, link: u32) {
        self.next_link[node as usize * self.nodes + destination as usize] = link;
    }
}

#[cfg(test)]
mod tests;
