//! Packets that take several ways.

use super::*;
use crate::{Command, Spread, SpreadBy};

/// Two ways from `a` to `b`, of 6 and 31 ms for a packet, over which packets go by these weights.
fn spread(by: SpreadBy, weights: [f64; 2], packets: u64) -> Vec<u64> {
    let mut simulator = simulator();
    let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
    let near = simulator.add_link(a, b, slow());
    let far = LinkConfig::new(DataRate::from_bytes_per_second(1e6), Duration::from_millis(30));
    let far = simulator.add_link(a, b, far);
    let times: Vec<u64> = (0..packets).map(|packet| packet * 1_000).collect();
    simulator.add_agent(a, FLOW, sender(b, &times));
    let sink = simulator.add_agent(b, FLOW, Script::default());
    let links = vec![(near, weights[0]), (far, weights[1])];
    simulator.apply(Command::SpreadRoute { node: a, destination: b, spread: Spread { links, by } });
    simulator.run_until(Instant::from_secs(100));
    let late = |(at, tag): &(Instant, u64)| *at == micros(tag * 1_000 + 31_000);
    let received = &simulator.agent(sink).received;
    assert_eq!(received.len() as u64, packets);
    received.iter().filter(|packet| late(packet)).map(|(_, tag)| *tag).collect()
}

#[test]
fn packets_spread_over_two_paths_in_turns_or_by_chance() {
    assert_eq!(spread(SpreadBy::Turns, [1.0, 1.0], 6), [1, 3, 5]);
    // Owed are 3 and 1, then (after a packet, which costs 4) 2 and 2, then 1 and 3: the third goes the far
    // way.
    assert_eq!(spread(SpreadBy::Turns, [3.0, 1.0], 8), [2, 6]);
    let chance = spread(SpreadBy::Chance, [3.0, 1.0], 4_000);
    // Four standard errors of a quarter.
    assert!(
        (chance.len() as f64 - 1_000.0).abs() < 4.0 * (4_000.0f64 * 0.25 * 0.75).sqrt(),
        "{}",
        chance.len()
    );
    let neighbours = chance.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as f64;
    assert!((neighbours - 250.0).abs() < 4.0 * (4_000.0f64 / 16.0 * 15.0 / 16.0).sqrt(), "{neighbours}");
}

#[test]
fn senders_choose_the_path_where_the_route_leaves_it_to_them() {
    // Of the packets without a valid choice, 2, 5, 8 and 11, every second one takes the far way.
    assert_eq!(spread(SpreadBy::Sender, [1.0, 1.0], 12), [1, 4, 5, 7, 10, 11]);
}

#[test]
fn a_single_route_ends_a_spread() {
    let mut simulator = simulator();
    let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
    let links = [simulator.add_link(a, b, slow()), simulator.add_link(a, b, slow())];
    let spread = Spread { links: links.map(|link| (link, 1.0)).to_vec(), by: SpreadBy::Turns };
    simulator.apply(Command::SpreadRoute { node: a, destination: b, spread });
    simulator.apply(Command::SetRoute { node: a, destination: b, link: links[1] });
    simulator.add_agent(a, FLOW, sender(b, &[0, 0]));
    simulator.add_agent(b, FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.link_stats(links[1]).delivered.packets, 2);
}
