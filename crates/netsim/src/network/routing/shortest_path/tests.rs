use super::{RouteTable, Routing, ShortestPath, Topology};
use crate::{LinkId, MediumId, NextHop, NodeId, StationId, StationIndex};

fn links(nodes: usize, pairs: &[(usize, usize)]) -> Topology {
    let mut topology = Topology::new(nodes);
    pairs.iter().for_each(|&(from, to)| topology.add_link(from, to));
    topology
}

fn table(topology: &Topology) -> RouteTable {
    let mut table = RouteTable::new(topology.nodes());
    ShortestPath.compute(topology, &mut table);
    table
}

/// The link that leads from a node towards a destination.
fn next_link(topology: &Topology, node: u32, destination: u32) -> Option<u32> {
    match table(topology).next_hop(NodeId(node), NodeId(destination))? {
        NextHop::Link(LinkId(link)) => Some(link),
        NextHop::Station { .. } => None,
    }
}

/// The nodes on the way, the last one included.
fn nodes_on_path(topology: &Topology, from: usize, to: usize) -> Vec<usize> {
    let path = topology.path(from, to).unwrap();
    path.into_iter().map(|hop| topology.end(hop as u32)).collect()
}

#[test]
fn the_path_with_fewest_links_is_taken() {
    // 0 - 1 - 2 - 3, and a shortcut 0 - 4 - 3 that was added later.
    let topology = links(5, &[(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)]);
    assert_eq!(nodes_on_path(&topology, 0, 3), [4, 3]);
    assert_eq!(nodes_on_path(&topology, 0, 2), [1, 2]);
    assert_eq!((next_link(&topology, 0, 3), next_link(&topology, 0, 2)), (Some(3), Some(0)));
}

#[test]
fn of_equal_paths_the_link_added_first_wins() {
    let through_1_first = links(4, &[(0, 1), (0, 2), (2, 3), (1, 3)]);
    assert_eq!(next_link(&through_1_first, 0, 3), Some(0));
    let through_2_first = links(4, &[(0, 2), (0, 1), (1, 3), (2, 3)]);
    assert_eq!(next_link(&through_2_first, 0, 3), Some(0));
    let parallel = links(2, &[(0, 1), (0, 1)]);
    assert_eq!(next_link(&parallel, 0, 1), Some(0));
}

#[test]
fn links_lead_one_way() {
    let topology = links(2, &[(0, 1)]);
    assert_eq!(next_link(&topology, 0, 1), Some(0));
    assert_eq!(next_link(&topology, 1, 0), None);
    assert_eq!(topology.path(1, 0), None);
}

#[test]
fn unusable_links_are_avoided() {
    let with = |usable: [bool; 3]| {
        let mut topology = Topology::new(3);
        for (link, ((from, to), usable)) in (0..).zip([(0, 2), (0, 1), (1, 2)].into_iter().zip(usable)) {
            topology.add_hop(NodeId(from), NodeId(to), NextHop::Link(LinkId(link)), usable);
        }
        topology
    };
    assert_eq!(nodes_on_path(&with([false, true, true]), 0, 2), [1, 2]);
    assert_eq!(next_link(&with([false, false, true]), 0, 2), None);
}

#[test]
fn a_path_may_lead_over_links_and_stations() {
    let mut topology = links(3, &[(0, 1)]);
    let station = StationId { medium: MediumId(0), index: StationIndex(1) };
    let over_the_air = NextHop::Station { station, to: NodeId(2) };
    topology.add_hop(NodeId(1), NodeId(2), over_the_air, true);
    let table = table(&topology);
    assert_eq!(table.next_hop(NodeId(0), NodeId(2)), Some(NextHop::Link(LinkId(0))));
    assert_eq!(table.next_hop(NodeId(1), NodeId(2)), Some(over_the_air));
    assert_eq!(table.next_hop(NodeId(2), NodeId::BROADCAST), None);
}
