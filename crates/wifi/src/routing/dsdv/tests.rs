use super::*;
use crate::routing::harness::{DataOutcome, Network, at, connected_graphs, grid_links};
use crate::routing::{DataPacket, DiscardCause};
use crate::{PacketId, SplitMix64};
use proptest::prelude::*;
use std::vec::Vec;

mod convergence;

type Agent = Dsdv<SplitMix64>;

fn network(config: DsdvConfig, nodes: u32, links: &[(u32, u32)], seed: u64) -> Network<Agent> {
    let agent = |address, random| Dsdv::new(Instant::ZERO, address, config, random);
    let mut network = Network::of(nodes, links, seed, agent);
    network.feedback = config.link_layer_feedback;
    network.law = assert_order;
    network
}

/// Every next hop has a strictly better route: a fresher number, or the same number and fewer hops. No loop
/// can exist.
fn assert_order(network: &Network<Agent>) {
    network.assert_no_loops();
    for agent in &network.agents {
        for (destination, next_hop, sequence, metric) in agent.routes() {
            if next_hop == destination {
                continue;
            }
            let (next_sequence, next_metric) =
                network.agents[next_hop.0 as usize].metric(destination).unwrap();
            assert!(
                next_sequence > sequence || (next_sequence == sequence && next_metric < metric),
                "{} to {destination} over {next_hop}: ({sequence}, {metric}) against ({next_sequence}, {next_metric})",
                agent.address()
            );
        }
    }
}

#[test]
fn a_broken_link_is_noticed_after_three_periods_of_silence_under_ns2s_rules() {
    for seed in 0..5 {
        let mut network = network(DsdvConfig::NS2, 2, &[(0, 1)], seed);
        network.run_until(at(50.0));
        assert_eq!(network.next(0, 1), Some(1));
        network.set_link_at(at(50.0), 0, 1, false);
        network.run_until(at(50.0 + 45.0 - 15.1));
        assert_eq!(network.next(0, 1), Some(1), "the last update came at most 15 s before");
        network.run_until(at(50.0 + 45.1));
        assert_eq!(network.next(0, 1), None);
        let (sequence, metric) = network.agents[0].metric(Address(1)).unwrap();
        assert_eq!((sequence % 2, metric), (1, INFINITY));
    }
}

#[test]
fn the_link_layers_report_breaks_routes_by_default_and_not_in_ns2() {
    for (config, is_kept) in [(DsdvConfig::NS2, true), (DsdvConfig::default(), false)] {
        let mut network = network(config, 2, &[(0, 1)], 1);
        network.run_until(at(50.0));
        network.agents[0].handle_link_failure(network.now, Address(1), None);
        assert_eq!(network.agents[0].next_hop(Address(1)).is_some(), is_kept);
    }
}

#[test]
fn intervals_and_jitter_of_ns2() {
    // Alone: nothing but full updates. Means over 4000 s: 15 s * (0.75 + 0.125) = 13.125 s.
    let mut agent = Dsdv::new(Instant::ZERO, Address(0), DsdvConfig::NS2, SplitMix64::new(3));
    let (mut updates, mut times) = (Vec::new(), Vec::new());
    while let Some(now) = agent.poll_timeout().filter(|&now| now < at(4_000.0)) {
        agent.handle_timeout(now);
        while let Some(transmit) = agent.poll_transmit(now) {
            assert_eq!((transmit.to, transmit.size), (Receiver::Broadcast, 32));
            updates.push(transmit.message.entries()[0]);
            times.push(now);
        }
    }
    assert!(times[0] < at(2.01));
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    assert!(gaps.iter().all(|gap| (11.24..15.01).contains(gap)));
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean - 13.125).abs() < 0.2, "{mean}");
    assert!(updates.iter().all(|entry| entry.metric == 0 && entry.sequence % 2 == 0));
    assert!(updates.windows(2).all(|pair| pair[1].sequence == pair[0].sequence + 2));
}

/// An agent and the updates that it sends until `until`.
fn run(agent: &mut Agent, until: f64) -> Vec<(f64, DsdvUpdate)> {
    let mut sent = Vec::new();
    while let Some(now) = agent.poll_timeout().filter(|&now| now <= at(until)) {
        agent.handle_timeout(now);
        while let Some(transmit) = agent.poll_transmit(now) {
            sent.push((now.as_secs_f64(), transmit.message));
        }
    }
    sent
}

fn entry(destination: u32, metric: Metric, sequence: u32) -> DsdvEntry {
    DsdvEntry { destination: Address(destination), metric, sequence }
}

/// An agent with number 0 that has just sent a full update at about 20 s, and the time.
fn settled(config: DsdvConfig) -> (Agent, f64) {
    let mut agent = Dsdv::new(Instant::ZERO, Address(0), config, SplitMix64::new(5));
    let mut now = 0.0;
    while now < 20.0 {
        let next = agent.poll_timeout().unwrap().as_secs_f64();
        now = run(&mut agent, next).last().map_or(now, |&(at, _)| at);
    }
    (agent, now)
}

/// Neighbours report the node as unreachable, and new routes come and go, ten times a second.
#[test]
fn whatever_happens_an_agent_sends_one_update_per_second_by_default() {
    for (config, limit) in
        [(DsdvConfig::default(), 22), (DsdvConfig { corrects_at_once: true, ..DsdvConfig::default() }, 1_000)]
    {
        let (mut agent, start) = settled(config);
        let mut sent = Vec::new();
        for step in 1..=200u32 {
            let now = start + 0.1 * f64::from(step);
            sent.append(&mut run(&mut agent, now));
            let metric = if step % 2 == 0 { INFINITY } else { 3 };
            let update = [
                entry(0, INFINITY, 2 * step + 1_001),
                entry(9, metric, step),
                entry(10 + step % 50, 2, 2 * step),
            ];
            agent.handle_packet(at(now), Address(1), DsdvUpdate::new(&update));
        }
        assert!(sent.len() <= limit, "{} updates", sent.len());
        // One each second: nothing is suppressed for longer.
        assert!(sent.len() >= 19, "{} updates", sent.len());
        if limit < 100 {
            // The jitter of either is up to 10 ms.
            assert!(sent.windows(2).all(|pair| pair[1].0 - pair[0].0 > 0.98), "{sent:?}");
        } else {
            assert!(sent.len() > 100, "without the limit, {} updates", sent.len());
        }
    }
}

#[test]
fn a_fresh_sequence_number_triggers_no_update_in_ns2() {
    let (mut agent, now) = settled(DsdvConfig::NS2);
    agent.handle_packet(at(now + 1.0), Address(1), DsdvUpdate::new(&[entry(1, 0, 2)]));
    // The new destination triggers one after 12 s, if no full update comes first.
    agent.handle_packet(at(now + 2.0), Address(1), DsdvUpdate::new(&[entry(1, 0, 4)]));
    let sent = run(&mut agent, now + 11.2);
    assert_eq!(sent, [], "no update before the full one");
}

#[test]
fn a_shorter_route_is_advertised_after_two_settling_times() {
    let (mut agent, start) = settled(DsdvConfig { period: Duration::from_secs(1_000), ..DsdvConfig::NS2 });
    agent.handle_packet(at(start + 1.0), Address(1), DsdvUpdate::new(&[entry(9, 4, 2)]));
    let first = run(&mut agent, start + 20.0);
    assert_eq!(first.len(), 1);
    assert!((first[0].0 - start - 13.0).abs() < 0.011, "{first:?}");
    assert_eq!(first[0].1.entries(), [entry(9, 5, 2)]);
    agent.handle_packet(at(start + 21.0), Address(2), DsdvUpdate::new(&[entry(9, 2, 2)]));
    assert_eq!(agent.next_hop(Address(9)), Some(Address(2)));
    let second = run(&mut agent, start + 60.0);
    assert_eq!(second.len(), 1);
    // The metric of the first update is advertised again: only a full update clears the mark of a change.
    assert_eq!(second[0].1.entries(), [entry(9, 3, 2)]);
    assert!((second[0].0 - start - 33.0).abs() < 0.011, "{second:?}");
}

#[test]
fn the_settling_time_follows_the_measured_one_with_weight_an_eighth() {
    let (mut agent, start) = settled(DsdvConfig { period: Duration::from_secs(1_000), ..DsdvConfig::NS2 });
    // The best route comes 4 s after the first with the number: 0.875 * 6 s + 0.125 * 4 s = 5.75 s.
    agent.handle_packet(at(start + 1.0), Address(1), DsdvUpdate::new(&[entry(9, 4, 2)]));
    agent.handle_packet(at(start + 5.0), Address(2), DsdvUpdate::new(&[entry(9, 2, 2)]));
    run(&mut agent, start + 30.0);
    agent.handle_packet(at(start + 31.0), Address(1), DsdvUpdate::new(&[entry(9, 4, 4)]));
    agent.handle_packet(at(start + 31.0), Address(2), DsdvUpdate::new(&[entry(9, 1, 4)]));
    let sent = run(&mut agent, start + 60.0);
    assert_eq!(sent.len(), 1);
    assert!((sent[0].0 - start - 31.0 - 11.5).abs() < 0.011, "{sent:?}");
}

#[test]
fn triggered_updates_are_at_least_a_second_apart() {
    let (period, entries_per_packet) = (Duration::from_secs(1_000), usize::MAX);
    let (mut agent, start) = settled(DsdvConfig { period, entries_per_packet, ..DsdvConfig::default() });
    let mut sent = Vec::new();
    for step in 0..400u32 {
        let now = at(start + 5.0 + f64::from(step) * 0.05);
        sent.extend(run(&mut agent, now.as_secs_f64()));
        // A new destination each time.
        agent.handle_packet(now, Address(1), DsdvUpdate::new(&[entry(100 + step, 3, 2)]));
        while let Some(transmit) = agent.poll_transmit(now) {
            sent.push((now.as_secs_f64(), transmit.message));
        }
    }
    assert!((18..=22).contains(&sent.len()), "{}", sent.len());
    // The jitter of up to 10 ms moves each of them.
    assert!(sent.windows(2).all(|pair| pair[1].0 - pair[0].0 > 0.989), "{sent:?}");
}

#[test]
fn much_change_makes_a_full_update() {
    let (mut agent, start) = settled(DsdvConfig { period: Duration::from_secs(1_000), ..DsdvConfig::NS2 });
    let before = agent.stats();
    // Four changed routes of six entries (with the own and the neighbour's): more than a third and more than
    // three.
    let routes: Vec<DsdvEntry> = (5..9).map(|node| entry(node, 2, 2)).collect();
    agent.handle_packet(at(start + 1.0), Address(1), DsdvUpdate::new(&routes));
    let sent = run(&mut agent, start + 20.0);
    assert_eq!(sent.len(), 1);
    assert!(sent[0].1.entries().iter().any(|entry| entry.destination == Address(0)), "its own entry");
    assert_eq!(agent.stats().full_updates, before.full_updates + 1);
    // Three are too few.
    let routes: Vec<DsdvEntry> = (5..8).map(|node| entry(node, 1, 2)).collect();
    agent.handle_packet(at(start + 21.0), Address(1), DsdvUpdate::new(&routes));
    let sent = run(&mut agent, start + 40.0);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1.entries().len(), 3);
}

#[test]
fn a_report_that_this_node_is_unreachable_is_answered_by_a_full_update_with_a_fresh_number() {
    for config in [DsdvConfig::NS2, DsdvConfig::default()] {
        let (mut agent, start) = settled(config);
        let own = agent.metric(Address(0)).unwrap().0;
        agent.handle_packet(at(start + 3.0), Address(1), DsdvUpdate::new(&[entry(0, INFINITY, own + 1)]));
        let sent = run(&mut agent, start + 3.02);
        assert_eq!(sent.len(), 1, "{config:?}");
        assert!(sent[0].1.entries().contains(&entry(0, 0, own + 2)));
    }
}

#[test]
fn an_old_report_of_a_broken_route_is_answered_by_a_triggered_update() {
    for config in [DsdvConfig::NS2, DsdvConfig::default()] {
        let (mut agent, start) = settled(config);
        agent.handle_packet(at(start + 2.0), Address(1), DsdvUpdate::new(&[entry(9, 1, 10)]));
        agent.handle_packet(at(start + 4.0), Address(2), DsdvUpdate::new(&[entry(9, INFINITY, 9)]));
        assert_eq!(agent.next_hop(Address(9)), Some(Address(1)));
        let sent = run(&mut agent, start + 4.02);
        assert!(sent.last().unwrap().1.entries().contains(&entry(9, 2, 10)), "{config:?}: {sent:?}");
    }
}

#[test]
fn packets_wait_for_a_route_and_the_sixth_displaces_the_first() {
    let (mut agent, now) = settled(DsdvConfig::NS2);
    for packet in 0..6 {
        let packet =
            DataPacket { packet: PacketId(packet), source: Address(0), destination: Address(1), hops: 0 };
        agent.handle_unrouted(at(now), packet);
    }
    assert_eq!(
        agent.poll_event(),
        Some(RouteEvent::Discard { packet: PacketId(0), cause: DiscardCause::BufferFull })
    );
    agent.handle_packet(at(now + 1.0), Address(1), DsdvUpdate::new(&[entry(1, 0, 2)]));
    let set = RouteEvent::Set { destination: Address(1), next_hop: Address(1), hops: 1 };
    assert_eq!(agent.poll_event(), Some(set));
    for packet in 1..6 {
        assert_eq!(agent.poll_event(), Some(RouteEvent::Forward { packet: PacketId(packet) }));
    }
    assert_eq!(agent.poll_event(), None);
}

#[test]
fn updates_are_split_at_the_greatest_number_of_entries() {
    let config = DsdvConfig { entries_per_packet: 10, ..DsdvConfig::default() };
    let (mut agent, now) = settled(config);
    let routes: Vec<DsdvEntry> = (1..33).map(|node| entry(node, 1, 2)).collect();
    agent.handle_packet(at(now + 2.0), Address(1), DsdvUpdate::new(&routes));
    let sizes: Vec<usize> = run(&mut agent, now + 2.1).iter().map(|(_, sent)| sent.entries().len()).collect();
    assert_eq!(sizes, [10, 10, 10, 3]);
}

#[test]
fn sequence_numbers_of_the_network_do_not_overflow() {
    let (mut agent, now) = settled(DsdvConfig::default());
    agent.handle_packet(
        at(now + 1.0),
        Address(1),
        DsdvUpdate::new(&[entry(9, 255, u32::MAX), entry(8, 249, u32::MAX)]),
    );
    agent.handle_packet(at(now + 1.0), Address(1), DsdvUpdate::new(&[entry(7, 248, u32::MAX)]));
    assert_eq!(agent.next_hop(Address(8)), None, "249 hops and one are infinite");
    assert_eq!(agent.next_hop(Address(7)), Some(Address(1)));
    agent.handle_link_failure(at(now + 2.0), Address(1), None);
    assert_eq!(agent.next_hop(Address(7)), None);
}

#[test]
fn data_reaches_its_destination_over_the_shortest_route() {
    let mut network = network(DsdvConfig::default(), 16, &grid_links(4, 4), 4);
    let early = network.send_at(at(0.0), 0, 15);
    let late = network.send_at(at(40.0), 0, 15);
    network.run_until(at(41.0));
    assert!(matches!(network.outcome(early), DataOutcome::Delivered { .. }), "{:?}", network.outcome(early));
    assert!(
        matches!(network.outcome(late), DataOutcome::Delivered { hops: 6, .. }),
        "{:?}",
        network.outcome(late)
    );
}

#[test]
fn with_the_link_layers_report_a_broken_route_is_replaced_within_seconds() {
    // A ring of six: the report of the lost packet makes the numbers odd, triggered updates carry them to the
    // destination over the other half of the ring, and its full update restores the route.
    let ring: Vec<(u32, u32)> = (0..6).map(|node| (node, (node + 1) % 6)).collect();
    for seed in 0..5 {
        let mut network = network(DsdvConfig::default(), 6, &ring, seed);
        network.run_until(at(60.0));
        network.set_link_at(at(60.0), 0, 1, false);
        let lost = network.send_at(at(60.1), 0, 1);
        network.run_until(at(75.0));
        assert_eq!(network.outcome(lost), DataOutcome::Lost);
        let found = network.send_at(at(75.0), 0, 1);
        network.run_until(at(76.0));
        assert!(
            matches!(network.outcome(found), DataOutcome::Delivered { hops: 5, .. }),
            "{:?}",
            network.outcome(found)
        );
    }
}

#[test]
fn encoding_is_undone_by_parsing() {
    let update = DsdvUpdate::new(&[entry(1, 0, 2), entry(u32::MAX, INFINITY, 7)]);
    let mut bytes = Vec::new();
    update.encode(&mut bytes);
    assert_eq!(bytes.len() + 20, update.size() as usize);
    assert_eq!(DsdvUpdate::parse(&bytes), Ok(update));
    assert_eq!(DsdvUpdate::parse(&bytes[..13]), Err(MalformedUpdate { expected: 24, found: 13 }));
    assert_eq!(DsdvUpdate::parse(&[0xff; 12]).unwrap().entries()[0].metric, INFINITY);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// No loops under any change of topology and any loss of broadcasts, at any time, in the tables of the
    /// hosts; and each next hop is strictly nearer in the order of the protocol.
    #[test]
    fn no_loop_ever_forms(
        seed in any::<u64>(),
        nodes in 3u32..9,
        loss in prop_oneof![Just(0u64), 1u64..60],
        ns2 in any::<bool>(),
        changes in prop::collection::vec((0u64..6_000, any::<u32>(), any::<u32>(), any::<bool>()), 1..60),
        data in prop::collection::vec((0u64..200_000, any::<u32>(), any::<u32>()), 0..40),
    ) {
        let config = if ns2 { DsdvConfig::NS2 } else { DsdvConfig::default() };
        let links: Vec<(u32, u32)> = (1..nodes).map(|node| (node - 1, node)).collect();
        let mut network = network(config, nodes, &links, seed);
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
        network.run_until(now + Duration::from_secs(20));
    }

    /// For any arrivals, the agent keeps its laws: deadlines after now, no panic.
    #[test]
    fn any_update_is_survived(
        updates in prop::collection::vec(
            (0u64..5_000, 0u32..6, prop::collection::vec((0u32..6, any::<u8>(), any::<u32>()), 0..8)),
            1..40,
        ),
    ) {
        let mut agent = settled(DsdvConfig::default()).0;
        let mut now = at(40.0);
        run(&mut agent, 40.0);
        for (wait, from, entries) in updates {
            now += Duration::from_millis(wait);
            run(&mut agent, now.as_secs_f64());
            let entries: Vec<DsdvEntry> = entries.into_iter().map(|(d, m, s)| entry(d, m, s)).collect();
            agent.handle_packet(now, Address(from), DsdvUpdate::new(&entries));
            while agent.poll_transmit(now).is_some() {}
            prop_assert!(agent.poll_timeout().is_none_or(|at| at > now));
        }
    }
}
