//! Lost links, and the errors that report them.

use super::*;
use crate::PacketId;

/// A chain of seven after a packet from end to end.
fn in_use(config: AodvConfig) -> Network<Agent> {
    let mut network = network(config, 7, &chain(7), 3);
    network.send_at(at(1.0), 0, 6);
    network.run_until(at(3.0));
    assert_eq!(network.agents[3].next_hop(Address(6)), Some(Address(4)));
    network
}

fn error(no_delete: bool, destination: u32, sequence: u32) -> AodvMessage {
    AodvMessage::Error(RouteError { no_delete, unreachable: [(Address(destination), sequence)].into() })
}

fn events(agent: &mut Agent) -> Vec<RouteEvent> {
    core::iter::from_fn(|| agent.poll_event()).collect()
}

#[test]
fn packets_queued_for_a_lost_neighbour_wait_for_a_new_route_at_their_source() {
    let mut network = in_use(AodvConfig::default());
    let agent = &mut network.agents[3];
    let packet = |source| DataPacket {
        packet: PacketId(0),
        source: Address(source),
        destination: Address(6),
        hops: 3,
    };
    agent.handle_link_failure(network.now, Address(4), Some(packet(0)));
    let flush = RouteEvent::Flush { neighbour: Address(4), is_salvage: true };
    assert!(events(agent).contains(&flush));
    // Other nodes' packets are lost, as their sources are informed.
    assert!(agent.salvages(packet(3)) && !agent.salvages(packet(0)));
}

#[test]
fn ns2_drops_what_is_queued_for_the_sender_of_an_error() {
    for (config, expected) in [(AodvConfig::NS2, true), (AodvConfig::default(), false)] {
        let mut network = in_use(config);
        let agent = &mut network.agents[3];
        let sequence = agent.entry(Address(6)).unwrap().0.unwrap();
        agent.handle_packet(network.now, Address(4), error(false, 6, sequence + 1));
        let flush = RouteEvent::Flush { neighbour: Address(4), is_salvage: false };
        assert_eq!(events(agent).contains(&flush), expected);
        assert_eq!(agent.next_hop(Address(6)), None);
    }
}

#[test]
fn an_error_of_a_repaired_route_is_passed_on_and_deletes_nothing() {
    // Section 6.12: the only action is the retransmission, if it comes from the next hop and there are
    // precursors.
    let mut network = in_use(AodvConfig::default());
    let agent = &mut network.agents[3];
    let sequence = agent.entry(Address(6)).unwrap().0.unwrap();
    let repaired = error(true, 6, sequence);
    agent.handle_packet(network.now, Address(2), repaired.clone());
    assert_eq!(agent.poll_transmit(network.now), None, "not from the next hop");
    agent.handle_packet(network.now, Address(4), repaired.clone());
    let sent = agent.poll_transmit(network.now).expect("an error");
    assert_eq!((sent.to, sent.message), (Receiver::Neighbour(Address(2)), repaired.clone()));
    assert_eq!(agent.next_hop(Address(6)), Some(Address(4)));
    // The source has no precursors.
    let source = &mut network.agents[0];
    source.handle_packet(network.now, Address(1), repaired);
    assert_eq!(source.poll_transmit(network.now), None);
    assert_eq!(source.next_hop(Address(6)), Some(Address(1)));
}
