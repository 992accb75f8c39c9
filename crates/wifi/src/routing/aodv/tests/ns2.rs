use super::*;
use crate::PacketId;

/// The middle node of a chain of seven, after a packet from end to end, loses the link to the next node and
/// is given the failure of a packet that has made `hops` hops.
fn after_a_failure(local_repair: LocalRepair, hops: u8) -> (Network<Agent>, DataPacket) {
    let mut network = network(AodvConfig { local_repair, ..AodvConfig::NS2 }, 7, &chain(7), 3);
    network.send_at(at(1.0), 0, 6);
    network.run_until(at(2.0));
    assert_eq!(network.agents[3].entry(Address(6)).map(|(_, hops, _)| hops), Some(3));
    let packet = DataPacket { packet: PacketId(0), source: Address(0), destination: Address(6), hops };
    network.agents[3].handle_link_failure(network.now, Address(4), Some(packet));
    (network, packet)
}

#[test]
fn ns2_repairs_the_route_of_a_packet_that_has_made_more_hops_than_remain() {
    let (mut network, packet) = after_a_failure(LocalRepair::Ns2, 4);
    let agent = &mut network.agents[3];
    let number = agent.entry(Address(6)).unwrap().0;
    assert!(agent.salvages(packet) && agent.next_hop(Address(6)).is_none());
    agent.handle_unrouted(network.now, packet);
    let Some(Transmit { message: AodvMessage::Request(request), .. }) = agent.poll_transmit(network.now)
    else {
        panic!("a request at once")
    };
    assert_eq!((request.destination, request.destination_sequence), (Address(6), number));
    assert_eq!(request.ttl, 5, "three hops and TTL_INCREMENT");
    assert_eq!(agent.stats().errors, 0);
}

#[test]
fn ns2_reports_the_break_to_a_packet_that_has_made_fewer_hops_than_remain_or_as_many() {
    for (rule, hops) in [(LocalRepair::Ns2, 3), (LocalRepair::Never, 4)] {
        let (mut network, packet) = after_a_failure(rule, hops);
        let agent = &mut network.agents[3];
        assert!(!agent.salvages(packet));
        assert!(
            matches!(
                agent.poll_transmit(network.now),
                Some(Transmit { to: Receiver::Broadcast, message: AodvMessage::Error(_), .. })
            ),
            "{rule:?}: an error without delay"
        );
        let flush = RouteEvent::Flush { neighbour: Address(4), is_salvage: false };
        assert!(core::iter::from_fn(|| agent.poll_event()).any(|event| event == flush));
    }
}

#[test]
fn ns2_ignores_failures_of_routing_messages() {
    let (mut network, _) = after_a_failure(LocalRepair::Ns2, 4);
    network.agents[2].handle_link_failure(network.now, Address(3), None);
    assert_eq!(network.agents[2].next_hop(Address(6)), Some(Address(3)));
}

#[test]
fn ns2_makes_no_routes_to_the_neighbours_that_messages_come_from() {
    for (config, is_known) in [(AodvConfig::NS2, false), (AodvConfig::default(), true)] {
        let mut network = network(config, 4, &chain(4), 3);
        network.send_at(at(1.0), 0, 3);
        network.run_until(at(3.0));
        assert!(network.next(0, 3).is_some());
        assert_eq!(network.next(0, 1).is_some(), is_known);
    }
}

#[test]
fn ns2_waits_for_the_time_per_hop_of_the_last_search_and_for_ten_seconds_after_the_last_one() {
    let mut agent = Aodv::new(Instant::ZERO, Address(0), AodvConfig::NS2, SplitMix64::new(1));
    let mut sent = Vec::new();
    let mut ends = Vec::new();
    for round in 0..80_u64 {
        let now = at(0.25 * round as f64);
        let packet =
            DataPacket { packet: PacketId(round), source: Address(0), destination: Address(1), hops: 0 };
        agent.handle_timeout(now);
        agent.handle_unrouted(now, packet);
        while let Some(Transmit { message: AodvMessage::Request(request), size, .. }) =
            agent.poll_transmit(now)
        {
            assert_eq!(size, 48);
            sent.push((now.as_secs_f64(), request.ttl));
        }
        if agent.stats().failed_searches > ends.len() as u64 {
            ends.push(now.as_secs_f64());
        }
    }
    // Waits of 0.3, 0.42, 1.8, 3.6, 5.4 and 7.2 s, each until the next packet or the next multiple of 0.5 s.
    assert_eq!(sent[..6], [(0.0, 5), (0.5, 7), (1.0, 30), (3.0, 30), (6.75, 30), (12.25, 30)]);
    assert_eq!(ends, [19.5]);
}
