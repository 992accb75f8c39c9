use super::{Edge, Routes};

fn edges(pairs: &[(u32, u32)]) -> Vec<Edge> {
    pairs.iter().map(|&(from, to)| Edge { from, to, usable: true }).collect()
}

/// The nodes on the way, the last one included.
fn path(routes: &Routes, edges: &[Edge], mut node: u32, destination: u32) -> Vec<u32> {
    let mut nodes = Vec::new();
    while node != destination {
        node = edges[routes.next_link(node, destination) as usize].to;
        nodes.push(node);
    }
    nodes
}

#[test]
fn the_path_with_fewest_links_is_taken() {
    // 0 - 1 - 2 - 3, and a shortcut 0 - 4 - 3 that was added later.
    let edges = edges(&[(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)]);
    let routes = Routes::compute(5, &edges);
    assert_eq!(path(&routes, &edges, 0, 3), [4, 3]);
    assert_eq!(path(&routes, &edges, 0, 2), [1, 2]);
}

#[test]
fn of_equal_paths_the_link_added_first_wins() {
    let through_1_first = edges(&[(0, 1), (0, 2), (2, 3), (1, 3)]);
    assert_eq!(Routes::compute(4, &through_1_first).next_link(0, 3), 0);
    let through_2_first = edges(&[(0, 2), (0, 1), (1, 3), (2, 3)]);
    assert_eq!(Routes::compute(4, &through_2_first).next_link(0, 3), 0);
    let parallel = edges(&[(0, 1), (0, 1)]);
    assert_eq!(Routes::compute(2, &parallel).next_link(0, 1), 0);
}

#[test]
fn links_lead_one_way() {
    let routes = Routes::compute(2, &edges(&[(0, 1)]));
    assert_eq!(routes.next_link(0, 1), 0);
    assert_eq!(routes.next_link(1, 0), Routes::NONE);
}

#[test]
fn unusable_links_are_avoided() {
    let mut edges = edges(&[(0, 2), (0, 1), (1, 2)]);
    edges[0].usable = false;
    let routes = Routes::compute(3, &edges);
    assert_eq!(path(&routes, &edges, 0, 2), [1, 2]);
    edges[1].usable = false;
    assert_eq!(Routes::compute(3, &edges).next_link(0, 2), Routes::NONE);
}
