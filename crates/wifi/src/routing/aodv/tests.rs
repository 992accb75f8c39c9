use super::*;
use crate::routing::harness::{DataOutcome, Network, at, connected_graphs, grid_links};
use crate::routing::{DataPacket, DiscardCause, RoutingAgent, Transmit};
use crate::{PacketId, SplitMix64};
use proptest::prelude::*;
use std::vec::Vec;

mod errors;
mod ns2;

type Agent = Aodv<SplitMix64>;

fn network(config: AodvConfig, nodes: u32, links: &[(u32, u32)], seed: u64) -> Network<Agent> {
    let agent = |address, random| Aodv::new(Instant::ZERO, address, config, random);
    let mut network = Network::of(nodes, links, seed, agent);
    network.feedback = config.link_layer_feedback;
    network.law = assert_order;
    network
}

/// The next hop of every route has a fresher number, or the same and a shorter valid route, as long as it
/// remembers one.
fn assert_order(network: &Network<Agent>) {
    network.assert_no_loops();
    for agent in &network.agents {
        for (destination, next_hop, sequence, hops) in agent.routes() {
            let Some((Some(next_sequence), next_hops, is_valid)) =
                network.agents[next_hop.0 as usize].entry(destination)
            else {
                continue;
            };
            let Some(sequence) = sequence else { panic!("a route of several hops without a number") };
            assert!(
                is_fresher(next_sequence, sequence)
                    || (next_sequence == sequence && is_valid && next_hops < hops),
                "{} to {destination} over {next_hop}: ({sequence}, {hops}) against ({next_sequence}, {next_hops}, {is_valid})",
                agent.address()
            );
        }
    }
}

fn chain(nodes: u32) -> Vec<(u32, u32)> {
    (1..nodes).map(|node| (node - 1, node)).collect()
}

fn hops(outcome: DataOutcome) -> Option<u32> {
    if let DataOutcome::Delivered { hops, .. } = outcome { Some(hops) } else { None }
}

#[test]
fn a_packet_starts_a_search_and_is_forwarded_over_the_route_found() {
    let mut network = network(AodvConfig::default(), 5, &chain(5), 1);
    network.run_until(at(10.0));
    assert_eq!(network.messages, 0, "nothing is sent without traffic");
    let first = network.send_at(at(10.0), 0, 4);
    let second = network.send_at(at(12.0), 0, 4);
    let back = network.send_at(at(12.5), 4, 0);
    network.run_until(at(13.0));
    assert_eq!([first, second, back].map(|packet| hops(network.outcome(packet))), [Some(4); 3]);
    assert_eq!(network.agents[4].stats().requests, 0, "the reverse route carries the answer");
    // Rings of 1, 3 and 5 hops.
    assert_eq!(network.agents[0].stats().requests, 3);
}

#[test]
fn rings_grow_as_the_rfc_says() {
    let mut agent = Aodv::new(Instant::ZERO, Address(0), AodvConfig::default(), SplitMix64::new(1));
    agent.handle_unrouted(
        Instant::ZERO,
        DataPacket { packet: PacketId(9), source: Address(0), destination: Address(1), hops: 0 },
    );
    let mut sent = Vec::new();
    let mut end = None;
    while let Some(now) = agent.poll_timeout() {
        agent.handle_timeout(now);
        while let Some(transmit) = agent.poll_transmit(now) {
            let AodvMessage::Request(request) = transmit.message else { panic!("a request") };
            assert_eq!((transmit.size, transmit.to), (52, Receiver::Broadcast));
            sent.push((now.as_secs_f64(), request.ttl, request.id, request.originator_sequence));
        }
        if agent.poll_event()
            == Some(RouteEvent::Discard { packet: PacketId(9), cause: DiscardCause::NoRoute })
        {
            end = Some(now.as_secs_f64());
        }
    }
    let reaches: Vec<u8> = sent.iter().map(|&(_, ttl, ..)| ttl).collect();
    assert_eq!(reaches, [1, 3, 5, 7, 35, 35, 35]);
    // RING_TRAVERSAL_TIME = 80 ms * (TTL + 2), then NET_TRAVERSAL_TIME = 2.8 s, doubled with each repetition.
    let mut due = 0.0;
    for (&(time, ..), wait) in sent.iter().zip([0.24, 0.4, 0.56, 0.72, 2.8, 5.6, 11.2]) {
        assert!(time >= due && time < due + 0.0101, "{time} for {due}");
        due += wait;
    }
    assert!((end.unwrap() - due).abs() < 1e-9, "{end:?} for {due}");
    assert!(sent.windows(2).all(|pair| pair[1].2 == pair[0].2 + 1 && pair[1].3 > pair[0].3));
    assert_eq!(agent.stats().failed_searches, 1);
}

#[test]
fn requests_are_limited_to_ten_per_second() {
    let mut agent = Aodv::new(Instant::ZERO, Address(0), AodvConfig::default(), SplitMix64::new(1));
    for destination in 1..40 {
        let packet = DataPacket {
            packet: PacketId(destination),
            source: Address(0),
            destination: Address(destination as u32),
            hops: 0,
        };
        agent.handle_unrouted(at(5.0), packet);
    }
    let mut times = Vec::new();
    while let Some(now) = agent.poll_timeout().filter(|&now| now < at(20.0)) {
        let before = agent.stats().requests;
        agent.handle_timeout(now);
        times.extend((before..agent.stats().requests).map(|_| now));
        while agent.poll_transmit(now).is_some() {}
    }
    assert!(times.len() > 100);
    // The first ten were sent at 5 s, at the packets.
    assert!(times.windows(11).all(|window| window[10] - window[0] >= Duration::from_secs(1)), "{times:?}");
    assert!(times[0] >= at(6.0));
}

#[test]
fn a_node_with_a_fresh_route_answers_for_the_destination() {
    // 0 - 1 - 2 - 3, and 4 at 1.
    let mut links = chain(4);
    links.push((1, 4));
    for (destination_only, answers) in [(false, 1), (true, 2)] {
        let config = AodvConfig { destination_only, ..AodvConfig::default() };
        let mut network = network(config, 5, &links, 2);
        network.send_at(at(1.0), 0, 3);
        let late = network.send_at(at(2.0), 4, 3);
        network.run_until(at(3.0));
        assert_eq!(hops(network.outcome(late)), Some(3), "{:?} {destination_only}", network.outcome(late));
        assert_eq!(network.agents[3].stats().replies, answers, "destination_only = {destination_only}");
    }
}

#[test]
fn a_gratuitous_reply_gives_the_destination_the_route_back() {
    let mut links = chain(4);
    links.push((1, 4));
    for gratuitous_reply in [false, true] {
        let config = AodvConfig { gratuitous_reply, ..AodvConfig::default() };
        let mut network = network(config, 5, &links, 2);
        network.send_at(at(1.0), 0, 3);
        network.send_at(at(2.0), 4, 3);
        network.run_until(at(2.0) + Duration::from_millis(300));
        assert_eq!(network.next(3, 4).is_some(), gratuitous_reply);
    }
}

#[test]
fn unused_routes_expire_and_used_ones_do_not() {
    let mut network = network(AodvConfig::default(), 3, &chain(3), 3);
    for step in 0..20 {
        network.send_at(at(1.0 + f64::from(step)), 0, 2);
    }
    network.run_until(at(20.5));
    assert_eq!(network.agents[0].stats().requests, 2, "found once, by rings of 1 and 3 hops");
    assert_eq!(network.next(0, 2), Some(1));
    network.run_until(at(29.0));
    assert!((0..3).all(|node| (0..3).all(|other| network.next(node, other).is_none())));
    let (sequence, _, is_valid) = network.agents[0].entry(Address(2)).unwrap();
    assert!(sequence.is_some() && !is_valid, "the number is kept for the delete period");
    network.run_until(at(60.0));
    assert_eq!(network.agents[0].entry(Address(2)), None);
}

#[test]
fn a_broken_link_is_reported_to_the_source_which_searches_again() {
    // Two paths from 0 to 4: over 1, 2, 3 and over 5, 6, 7, 8.
    let links = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 6), (6, 7), (7, 8), (8, 4)];
    let mut network = network(AodvConfig::default(), 9, &links, 4);
    let first = network.send_at(at(1.0), 0, 4);
    network.run_until(at(2.0));
    assert_eq!(hops(network.outcome(first)), Some(4));
    network.set_link_at(at(2.0), 3, 4, false);
    let lost = network.send_at(at(2.1), 0, 4);
    network.run_until(at(2.5));
    assert_eq!(network.outcome(lost), DataOutcome::Lost);
    assert_eq!(network.next(0, 4), None, "the error has reached the source");
    assert!(network.agents[1].stats().errors == 1 && network.agents[3].stats().errors == 1);
    let found = network.send_at(at(2.6), 0, 4);
    network.run_until(at(8.0));
    assert_eq!(hops(network.outcome(found)), Some(5));
}

#[test]
fn a_local_repair_spares_the_source_the_search() {
    // 0 - 1 - 2 - 3, and a detour 1 - 4 - 3.
    let mut links = chain(4);
    links.extend([(1, 4), (4, 3)]);
    let config = AodvConfig { local_repair: LocalRepair::Rfc3561, ..AodvConfig::default() };
    let mut network = network(config, 5, &links, 5);
    for step in 0..10 {
        network.send_at(at(1.0 + f64::from(step) * 0.3), 0, 3);
    }
    network.run_until(at(4.0));
    let requests = network.agents[0].stats().requests;
    let middle = network.next(1, 3).unwrap();
    network.set_link_at(at(4.0), middle, 3, false);
    network.set_link_at(at(4.0), 1, middle, false);
    let lost = network.send_at(at(4.1), 0, 3);
    let later = network.send_at(at(4.5), 0, 3);
    network.run_until(at(6.0));
    assert_eq!(network.outcome(lost), DataOutcome::Lost);
    assert_eq!(hops(network.outcome(later)), Some(3));
    assert_eq!(network.agents[0].stats().requests, requests, "the source did not search");
    // One for the destination, one for the neighbour, which has become a destination as well.
    assert_eq!(network.agents[1].stats().requests, 2);
    assert_eq!(network.next(0, 3), Some(1), "the source has kept its route");
}

#[test]
fn a_local_repair_that_fails_is_reported() {
    let config = AodvConfig { local_repair: LocalRepair::Rfc3561, ..AodvConfig::default() };
    let mut network = network(config, 4, &chain(4), 6);
    network.send_at(at(1.0), 0, 3);
    network.set_link_at(at(2.0), 2, 3, false);
    network.send_at(at(2.1), 0, 3);
    let waiting = network.send_at(at(2.2), 0, 3);
    network.run_until(at(4.0));
    assert_eq!(network.outcome(waiting), DataOutcome::Discarded(DiscardCause::NoRoute));
    assert_eq!(network.next(0, 3), None);
    assert_eq!(network.agents[2].stats().errors, 1);
}

#[test]
fn a_node_searches_for_its_own_packets_after_its_repair_has_failed() {
    // 0 - 1 - 2, and a detour of 7 hops, beyond the reach of a repair, from 1 to 2.
    let config = AodvConfig { local_repair: LocalRepair::Rfc3561, ..AodvConfig::default() };
    let mut links = chain(3);
    links.extend([(1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 2)]);
    let mut network = network(config, 9, &links, 6);
    network.send_at(at(1.0), 0, 2);
    network.send_at(at(1.1), 1, 2);
    network.set_link_at(at(2.0), 1, 2, false);
    network.send_at(at(2.1), 0, 2);
    let (forwarded, own) = (network.send_at(at(2.12), 0, 2), network.send_at(at(2.12), 1, 2));
    network.run_until(at(12.0));
    assert_eq!(network.outcome(forwarded), DataOutcome::Discarded(DiscardCause::NoRoute));
    assert_eq!(hops(network.outcome(own)), Some(7));
    assert_eq!(network.agents[1].stats().errors, 1);
}

#[test]
fn hellos_notice_a_silent_neighbour_without_the_link_layer() {
    let config = AodvConfig { hellos: true, link_layer_feedback: false, ..AodvConfig::default() };
    let mut network = network(config, 3, &chain(3), 7);
    for step in 0..40 {
        network.send_at(at(1.0 + f64::from(step) * 0.25), 0, 2);
    }
    network.run_until(at(8.0));
    assert_eq!(network.next(0, 2), Some(1));
    network.set_link_at(at(8.0), 1, 2, false);
    network.run_until(at(8.5));
    assert_eq!(network.next(1, 2), Some(2), "the silence is too short");
    // Two hello intervals after the last message at the latest, and the time of the error to the source.
    network.run_until(at(10.2));
    assert_eq!((network.next(1, 2), network.next(0, 2)), (None, None));
    assert!(network.agents[1].stats().hellos > 0);
}

#[test]
fn exhaustive_small_topologies_carry_packets_before_and_after_every_link_failure() {
    for nodes in 2..=5 {
        for links in connected_graphs(nodes) {
            for &(a, b) in &links {
                let mut network = network(AodvConfig::default(), nodes, &links, u64::from(a * 8 + b));
                let pairs: Vec<(u32, u32)> = (0..nodes)
                    .flat_map(|from| (0..nodes).filter(move |&to| to != from).map(move |to| (from, to)))
                    .collect();
                let send = |network: &mut Network<Agent>, start: f64| -> Vec<DataOutcome> {
                    let packets: Vec<u64> =
                        pairs.iter().map(|&(from, to)| network.send_at(at(start), from, to)).collect();
                    network.run_until(at(start + 30.0));
                    packets.into_iter().map(|packet| network.outcome(packet)).collect()
                };
                assert!(send(&mut network, 0.0).iter().all(|&outcome| hops(outcome).is_some()), "{links:?}");
                // In use when the link breaks.
                let outcomes = send(&mut network, 30.0);
                assert!(outcomes.iter().all(|&outcome| hops(outcome).is_some()), "{links:?}");
                let last: Vec<u64> =
                    pairs.iter().map(|&(from, to)| network.send_at(at(60.0), from, to)).collect();
                network.run_until(at(62.0));
                assert!(last.iter().all(|&packet| hops(network.outcome(packet)).is_some()));
                network.set_link_at(at(62.0), a, b, false);
                // These find the break; the next ones the new routes.
                pairs.iter().for_each(|&(from, to)| {
                    network.send_at(at(62.1), from, to);
                });
                network.run_until(at(65.0));
                let outcomes = send(&mut network, 65.0);
                for (&(from, to), outcome) in pairs.iter().zip(outcomes) {
                    let is_connected = network.distances(to)[from as usize].is_some();
                    assert_eq!(
                        hops(outcome).is_some(),
                        is_connected,
                        "{links:?} without {a}-{b}: {from} to {to}: {outcome:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_route_is_found_in_the_time_of_its_rings() {
    // A corner of a 4x4 grid to the other, 6 hops: rings of 1, 3 and 5 hops fail in 0.24 + 0.4 + 0.56 s, the
    // fourth succeeds within 12 hops of at most 20 ms.
    for seed in 0..10 {
        let mut network = network(AodvConfig::default(), 16, &grid_links(4, 4), seed);
        let packet = network.send_at(at(1.0), 0, 15);
        network.run_until(at(5.0));
        let DataOutcome::Delivered { at: delivered, hops } = network.outcome(packet) else {
            panic!("not delivered")
        };
        let time = delivered.as_secs_f64() - 1.0;
        assert!((1.2..1.2 + 12.0 * 0.02 + 0.06).contains(&time), "{time}");
        assert!((6..=8).contains(&hops), "{hops}: the first copy of the request wins, not the shortest path");
    }
}

#[test]
fn sequence_numbers_are_compared_in_a_circle() {
    assert!(is_fresher(1, 0) && !is_fresher(0, 1) && !is_fresher(7, 7));
    assert!(is_fresher(3, u32::MAX - 3) && !is_fresher(u32::MAX - 3, 3));
}

fn message() -> impl Strategy<Value = AodvMessage> {
    let millis = any::<u32>().prop_map(|millis| Duration::from_millis(u64::from(millis)));
    let request = (any::<[bool; 2]>(), any::<u8>(), any::<[u32; 4]>(), any::<Option<u32>>(), any::<u8>());
    prop_oneof![
        request.prop_map(|(flags, hops, words, destination_sequence, ttl)| {
            AodvMessage::Request(RouteRequest {
                destination_only: flags[0],
                gratuitous_reply: flags[1],
                hops,
                id: words[0],
                destination: Address(words[1]),
                destination_sequence,
                originator: Address(words[2]),
                originator_sequence: words[3],
                ttl,
            })
        }),
        (1u8.., any::<[u32; 3]>(), millis.clone(), any::<bool>()).prop_map(
            |(hops, words, lifetime, is_acknowledged)| {
                AodvMessage::Reply(RouteReply {
                    hops,
                    destination: Address(words[0]),
                    destination_sequence: words[1],
                    originator: Address(words[2]),
                    lifetime,
                    is_acknowledged,
                })
            }
        ),
        Just(AodvMessage::ReplyAck),
        (any::<u32>(), millis).prop_map(|(sequence, lifetime)| AodvMessage::Hello { sequence, lifetime }),
        (any::<bool>(), prop::collection::vec((any::<u32>(), any::<u32>()), 1..20)).prop_map(
            |(no_delete, list)| {
                let unreachable =
                    list.into_iter().map(|(node, sequence)| (Address(node), sequence)).collect();
                AodvMessage::Error(RouteError { no_delete, unreachable })
            }
        ),
    ]
}

#[test]
fn the_bytes_of_a_request_are_those_of_section_5_1() {
    let request = RouteRequest {
        destination_only: true,
        gratuitous_reply: false,
        hops: 3,
        id: 0x0102_0304,
        destination: Address(0x0a00_0001),
        destination_sequence: None,
        originator: Address(0x0a00_0002),
        originator_sequence: 9,
        ttl: 5,
    };
    let mut bytes = Vec::new();
    AodvMessage::Request(request).encode(Address(0), &mut bytes);
    assert_eq!(bytes, [1, 0x18, 0, 3, 1, 2, 3, 4, 10, 0, 0, 1, 0, 0, 0, 0, 10, 0, 0, 2, 0, 0, 0, 9]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn encoding_is_undone_by_parsing(message in message()) {
        let mut bytes = Vec::new();
        message.encode(Address(77), &mut bytes);
        prop_assert_eq!(bytes.len() as u32 + 28, message.size(AodvRule::Rfc3561));
        let ttl = if let AodvMessage::Request(request) = &message { request.ttl } else { 1 };
        prop_assert_eq!(AodvMessage::parse(&bytes, ttl), Ok(message));
        for length in 0..bytes.len() {
            prop_assert!(AodvMessage::parse(&bytes[..length], ttl).is_err());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = AodvMessage::parse(&bytes, 1);
    }

    /// For any arrivals, the agent keeps its laws: deadlines after now, no panic.
    #[test]
    fn any_message_is_survived(messages in prop::collection::vec((0u64..3_000, 0u32..4, message()), 1..40)) {
        let config = AodvConfig {
            hellos: true,
            local_repair: LocalRepair::Rfc3561,
            unidirectional_links: true,
            ..AodvConfig::default()
        };
        let mut agent = Aodv::new(Instant::ZERO, Address(0), config, SplitMix64::new(1));
        let mut now = Instant::ZERO;
        for (wait, from, message) in messages {
            now += Duration::from_millis(wait);
            while let Some(due) = agent.poll_timeout().filter(|&due| due <= now) {
                agent.handle_timeout(due);
                while agent.poll_transmit(due).is_some() {}
            }
            agent.handle_packet(now, Address(from), message);
            while agent.poll_event().is_some() {}
            while agent.poll_transmit(now).is_some() {}
            prop_assert!(agent.poll_timeout().is_none_or(|at| at > now));
        }
    }

    /// No loops under any change of topology and any loss of broadcasts with any traffic, at any time.
    #[test]
    fn no_loop_ever_forms(
        seed in any::<u64>(),
        nodes in 3u32..9,
        loss in prop_oneof![Just(0u64), 1u64..60],
        repairs in any::<bool>(),
        hellos in any::<bool>(),
        gratuitous_reply in any::<bool>(),
        changes in prop::collection::vec((0u64..2_000, any::<u32>(), any::<u32>(), any::<bool>()), 1..80),
        data in prop::collection::vec((0u64..80_000, any::<u32>(), any::<u32>()), 0..300),
    ) {
        let local_repair = if repairs { LocalRepair::Rfc3561 } else { LocalRepair::Never };
        let config = AodvConfig { local_repair, hellos, gratuitous_reply, ..AodvConfig::default() };
        let mut network = network(config, nodes, &chain(nodes), seed);
        network.loss = loss;
        let mut now = Instant::ZERO;
        for (wait, a, b, up) in changes {
            now += Duration::from_millis(wait);
            let (a, b) = (a % nodes, b % nodes);
            if a != b {
                network.set_link_at(now, a, b, up);
            }
        }
        for (millis, source, destination) in data {
            network.send_at(Instant::from_millis(millis), source % nodes, destination % nodes);
        }
        // The laws are asserted after every change of a table.
        network.run_until(at(90.0));
    }
}
