use super::*;

#[test]
fn shortest_routes_of_a_ring() {
    // 0 - 1 - 2 - 3 - 4 - 0.
    let agents = FixedRoutes::shortest(5, |node| [(node + 1) % 5, (node + 4) % 5]);
    let next = |from: usize, to: u32| agents[from].next_hop(Address(to)).map(|hop| hop.0);
    assert_eq!((next(0, 1), next(0, 2), next(0, 3), next(0, 4)), (Some(1), Some(1), Some(4), Some(4)));
    assert_eq!(next(0, 0), None);
}

#[test]
fn nodes_of_another_component_have_no_route() {
    let agents = FixedRoutes::shortest(3, |node| if node == 2 { None } else { Some(1 - node) });
    assert_eq!(agents[0].next_hop(Address(2)), None);
    assert_eq!(agents[0].next_hop(Address(1)), Some(Address(1)));
}

#[test]
fn all_routes_are_announced_and_packets_without_one_discarded() {
    let mut agent = FixedRoutes::new(Address(0), [(Address(2), Address(1), 2)]);
    let set = RouteEvent::Set { destination: Address(2), next_hop: Address(1), hops: 2 };
    assert_eq!(agent.poll_event(), Some(set));
    assert_eq!(agent.poll_event(), None);
    let packet = UnroutedPacket { packet: 7, source: Address(0), destination: Address(9) };
    agent.handle_unrouted(Instant::ZERO, packet);
    let discard = RouteEvent::Discard { packet: 7, cause: DiscardCause::NoRoute };
    assert_eq!(agent.poll_event(), Some(discard));
}
