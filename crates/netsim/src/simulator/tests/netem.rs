//! Packets that are delayed at a link's end, each by a time of its own.

use super::*;
use crate::netem::{Duplicate, NetemConfig, Reorder};

fn netem(reorder: Option<Reorder>) -> NetemConfig {
    NetemConfig { delay: Duration::from_millis(20), reorder, ..NetemConfig::default() }
}

#[test]
fn a_constant_delay_is_added_and_keeps_the_order() {
    let (mut simulator, link, sink) = pair(slow().with_netem(netem(None)), &[0, 0, 5_000]);
    simulator.run_until(micros(25_999));
    // Of three packets one is at the link's end, two are on their way to it: all are under way.
    assert_eq!(simulator.link_stats(link).delivered.packets, 0);
    assert_eq!(simulator.queue_snapshot(link).under_way.packets, 3);
    simulator.run_until(Instant::from_secs(1));
    // 1 ms to send, 5 of delay, 20 at the end.
    let expected = [(micros(26_000), 0), (micros(27_000), 1), (micros(31_000), 2)];
    assert_eq!(simulator.agent(sink).received, expected);
    assert_eq!(simulator.link_stats(link).delivered.packets, 3);
    assert_eq!(simulator.packets_in_network(), 0);
}

#[test]
fn a_reordered_packet_overtakes_those_that_are_delayed() {
    let third = Reorder { probability: 1.0, correlation: 0.0, gap: 3 };
    let (mut simulator, _, sink) = pair(slow().with_netem(netem(Some(third))), &[0, 0, 0, 0]);
    simulator.run_until(Instant::from_secs(1));
    // The third is at the end after 3 + 5 ms and goes on at once.
    let expected = [(micros(8_000), 2), (micros(26_000), 0), (micros(27_000), 1), (micros(29_000), 3)];
    assert_eq!(simulator.agent(sink).received, expected);
}

#[test]
fn jitter_alone_reorders_too_and_loses_nothing() {
    let jitter = NetemConfig { jitter: Duration::from_millis(15), ..netem(None) };
    let times: Vec<u64> = (0..500).map(|packet| packet * 1_000).collect();
    let (mut simulator, _, sink) = pair(slow().with_netem(jitter), &times);
    simulator.run_until(Instant::from_secs(2));
    let tags: Vec<u64> = simulator.agent(sink).received.iter().map(|(_, tag)| *tag).collect();
    assert!(!tags.is_sorted());
    let mut sorted = tags.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..500).collect::<Vec<_>>());
    // No packet is more than 30 ms off.
    for (at, tag) in &simulator.agent(sink).received {
        let late = at.saturating_since(micros(6_000 + tag * 1_000 + 5_000));
        assert!(late <= Duration::from_millis(30), "{tag} is {late} late");
    }
}

#[test]
fn what_finds_no_room_is_lost_there() {
    let crowded = NetemConfig { limit: 2, ..netem(None) };
    let (mut simulator, link, sink) = pair(slow().with_netem(crowded), &[0, 0, 0, 30_000]);
    simulator.record_losses();
    simulator.run_until(Instant::from_secs(1));
    let tags: Vec<u64> = simulator.agent(sink).received.iter().map(|(_, tag)| *tag).collect();
    assert_eq!(tags, [0, 1, 3]);
    assert_eq!(simulator.agent(sink).losses, [(micros(8_000), 2, LossCause::QueueOverflow(link))]);
    let stats = simulator.link_stats(link);
    assert_eq!((stats.departed.packets, stats.delivered.packets, stats.dropped.packets), (4, 3, 1));
}

#[test]
#[should_panic(expected = "link `a>b`: reordering needs a delay, and a gap of 1 or more")]
fn what_makes_no_sense_is_named_with_the_link() {
    let nothing = Reorder { probability: 0.5, correlation: 0.0, gap: 0 };
    pair(slow().with_netem(netem(Some(nothing))), &[]);
}

#[test]
fn a_copy_arrives_beside_each_packet_and_is_not_copied_again() {
    let always = Duplicate { probability: 1.0, correlation: 0.0 };
    let twice = NetemConfig { duplicate: Some(always), ..NetemConfig::default() };
    let (mut simulator, link, sink) = pair(slow().with_netem(twice), &[0, 0]);
    simulator.run_until(Instant::from_secs(1));
    let expected = [(micros(6_000), 0), (micros(6_000), 0), (micros(7_000), 1), (micros(7_000), 1)];
    assert_eq!(simulator.agent(sink).received, expected);
    let stats = simulator.link_stats(link);
    assert_eq!((stats.departed.packets, stats.duplicated.packets, stats.delivered.packets), (2, 2, 4));
    assert_eq!(simulator.packets_in_network(), 0);
}

#[test]
fn the_share_of_copies_is_the_probability() {
    let some = Duplicate { probability: 0.1, correlation: 0.0 };
    let config = NetemConfig { duplicate: Some(some), jitter: Duration::from_millis(3), ..netem(None) };
    let times: Vec<u64> = (0..5_000).map(|packet| packet * 1_000).collect();
    let (mut simulator, link, sink) = pair(slow().with_netem(config), &times);
    simulator.run_until(Instant::from_secs(10));
    let copies = simulator.link_stats(link).duplicated.packets;
    // Five standard deviations.
    assert!((394..606).contains(&copies), "{copies}");
    assert_eq!(simulator.agent(sink).received.len() as u64, 5_000 + copies);
}
