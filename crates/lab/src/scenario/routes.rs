//! The way that packets will take, as far as a scenario has to know it: to say that a destination
//! cannot be reached before anything runs, and to find a flow's slowest link.

use std::collections::VecDeque;

/// The network's simplex links by the nodes that they join.
pub(super) struct Graph {
    ends: Vec<(usize, usize)>,
    incoming: Vec<Vec<usize>>,
    outgoing: Vec<Vec<usize>>,
}

impl Graph {
    /// `ends` are each link's first and second node, in the order in which the network will be built.
    pub(super) fn new(nodes: usize, ends: Vec<(usize, usize)>) -> Self {
        let mut incoming = vec![Vec::new(); nodes];
        let mut outgoing = vec![Vec::new(); nodes];
        for (link, &(from, to)) in ends.iter().enumerate() {
            outgoing[from].push(link);
            incoming[to].push(link);
        }
        Self { ends, incoming, outgoing }
    }

    /// The links from one node to another, or `None` where there is no way. Of several shortest ways
    /// the network takes the one whose first link comes first, node by node.
    pub(super) fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut distance = vec![usize::MAX; self.incoming.len()];
        distance[to] = 0;
        let mut frontier = VecDeque::from([to]);
        while let Some(node) = frontier.pop_front() {
            for &link in &self.incoming[node] {
                let start = self.ends[link].0;
                if distance[start] == usize::MAX {
                    distance[start] = distance[node] + 1;
                    frontier.push_back(start);
                }
            }
        }
        let mut links = Vec::new();
        let mut node = from;
        while node != to {
            let closer = |&&link: &&usize| distance[self.ends[link].1].checked_add(1) == Some(distance[node]);
            let link = *self.outgoing[node].iter().find(closer)?;
            links.push(link);
            node = self.ends[link].1;
        }
        Some(links)
    }
}
