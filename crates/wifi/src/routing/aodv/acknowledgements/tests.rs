use std::vec::Vec;

use whimbrel_units::Instant;

use crate::SplitMix64;
use crate::routing::aodv::{Aodv, AodvConfig, AodvMessage, RouteRequest};
use crate::routing::harness::{DataOutcome, Network, at};
use crate::routing::{Address, Receiver, RoutingAgent};

const CONFIG: AodvConfig = AodvConfig { unidirectional_links: true, ..AodvConfig::NS2 };

fn agent() -> Aodv<SplitMix64> {
    Aodv::new(Instant::ZERO, Address(0), CONFIG, SplitMix64::new(1))
}

/// A request of node 1 for node 0, and the replies to it.
fn ask(agent: &mut Aodv<SplitMix64>, now: Instant, id: u32) -> Vec<AodvMessage> {
    let request = RouteRequest {
        destination_only: false,
        gratuitous_reply: false,
        hops: 0,
        id,
        destination: Address(0),
        destination_sequence: None,
        originator: Address(1),
        originator_sequence: id,
        ttl: 1,
    };
    agent.handle_packet(now, Address(1), AodvMessage::Request(request));
    let mut replies = Vec::new();
    while let Some(transmit) = agent.poll_transmit(now) {
        assert_eq!(transmit.to, Receiver::Neighbour(Address(1)));
        replies.push(transmit.message);
    }
    replies
}

/// NEXT_HOP_WAIT is NODE_TRAVERSAL_TIME + 10 ms; BLACKLIST_TIMEOUT is RREQ_RETRIES * NET_TRAVERSAL_TIME
/// (section 10).
#[test]
fn requests_of_a_neighbour_that_did_not_acknowledge_a_reply_are_ignored_for_the_blacklist_timeout() {
    let mut agent = agent();
    let [AodvMessage::Reply(reply)] = ask(&mut agent, at(1.0), 1)[..] else { panic!("a reply") };
    assert!(reply.is_acknowledged);
    assert_eq!(agent.poll_timeout(), Some(at(1.0) + CONFIG.next_hop_wait()));
    agent.handle_timeout(at(1.04));
    assert!(ask(&mut agent, at(2.0), 2).is_empty());
    let over = at(1.04) + CONFIG.blacklist_timeout();
    assert!(ask(&mut agent, at(1.03) + CONFIG.blacklist_timeout(), 3).is_empty());
    assert_eq!(ask(&mut agent, over, 4).len(), 1);
}

#[test]
fn an_acknowledgement_in_time_keeps_a_neighbour_off_the_blacklist() {
    let mut agent = agent();
    assert_eq!(ask(&mut agent, at(1.0), 1).len(), 1);
    agent.handle_packet(at(1.02), Address(1), AodvMessage::ReplyAck);
    agent.handle_timeout(at(1.04));
    assert_eq!(ask(&mut agent, at(2.0), 2).len(), 1);
}

#[test]
fn a_reply_that_the_link_layer_gave_up_puts_its_receiver_on_the_blacklist() {
    let mut agent = agent();
    assert_eq!(ask(&mut agent, at(1.0), 1).len(), 1);
    agent.handle_link_failure(at(1.01), Address(1), None);
    assert!(ask(&mut agent, at(2.0), 2).is_empty());
    // A failure of anything else does not.
    let mut other = self::agent();
    assert_eq!(ask(&mut other, at(1.0), 1).len(), 1);
    other.handle_packet(at(1.01), Address(1), AodvMessage::ReplyAck);
    other.handle_link_failure(at(1.02), Address(1), None);
    assert_eq!(ask(&mut other, at(2.0), 2).len(), 1);
}

#[test]
fn routes_are_found_with_acknowledged_replies() {
    let links = [(0, 1), (1, 2), (2, 3)];
    let new = |address, random| Aodv::new(Instant::ZERO, address, CONFIG, random);
    let mut network = Network::of(4, &links, 1, new);
    let packet = network.send_at(at(1.0), 0, 3);
    network.run_until(at(5.0));
    assert!(matches!(network.outcome(packet), DataOutcome::Delivered { hops: 3, .. }));
    assert!(network.agents.iter().all(|agent| agent.replies.blacklist.is_empty()));
}
