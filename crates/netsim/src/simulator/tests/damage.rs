//! Packets that arrive with damaged content.

use super::*;

fn masked(lost: &[u64]) -> LinkConfig {
    slow().with_impairment(Impairment::mask(lost.to_vec()))
}

#[test]
fn damage_travels_on_and_is_the_receivers_to_judge() {
    let mut simulator = simulator();
    let nodes = ["a", "b", "c"].map(|name| simulator.add_node(name));
    let radio = simulator.add_link(nodes[0], nodes[1], masked(&[1]).with_damaged(1.0));
    let wire = simulator.add_link(nodes[1], nodes[2], slow());
    simulator.add_agent(nodes[0], FLOW, sender(nodes[2], &[0, 0, 0]));
    let sink = simulator.add_agent(nodes[2], FLOW, Script::default());
    simulator.record_losses();
    simulator.run_until(Instant::from_secs(1));
    // 1 + 5 + 1 + 5 ms, and a millisecond more for each packet before.
    let sink = simulator.agent(sink);
    assert_eq!(sink.received, [(micros(12_000), 0), (micros(14_000), 2)]);
    assert_eq!(sink.damaged, [(micros(13_000), 1, radio)]);
    // An agent that does not handle damage loses the packet to the link that damaged it, on arrival.
    assert_eq!(sink.losses, [(micros(13_000), 1, LossCause::Wireless(radio))]);
    assert_eq!(simulator.losses(), []);
    let stats = simulator.link_stats(radio);
    assert_eq!((stats.delivered.packets, stats.damaged.packets, stats.wireless_lost.packets), (3, 1, 0));
    let stats = simulator.link_stats(wire);
    assert_eq!((stats.delivered.packets, stats.damaged.packets), (3, 0));
}

#[test]
fn the_first_link_to_damage_a_packet_is_named_and_the_one_to_lose_it() {
    let mut simulator = simulator();
    let nodes = ["a", "b", "c"].map(|name| simulator.add_node(name));
    let first = simulator.add_link(nodes[0], nodes[1], masked(&[0, 1, 2]).with_damaged(1.0));
    // Of three packets at once, the third finds no place; the first is damaged again, the second destroyed.
    let config = masked(&[0]).with_packet_limit(2).with_damaged(1.0);
    let second = simulator.add_link(
        nodes[1],
        nodes[2],
        LinkConfig { rate: DataRate::from_bytes_per_second(1e5).into(), ..config },
    );
    simulator.add_agent(nodes[0], FLOW, sender(nodes[2], &[0, 0, 0]));
    let sink = simulator.add_agent(nodes[2], FLOW, Script::default());
    simulator.run_until(micros(10_000));
    simulator.apply(crate::Command::LinkDown { link: second, policy: crate::DownPolicy::DropQueue });
    simulator.run_until(Instant::from_secs(1));
    let sink = simulator.agent(sink);
    assert_eq!(sink.damaged.iter().map(|(_, tag, link)| (*tag, *link)).collect::<Vec<_>>(), [(0, first)]);
    let causes: Vec<(u64, LossCause)> = sink.losses.iter().map(|(_, tag, cause)| (*tag, *cause)).collect();
    let expected = [
        (2, LossCause::QueueOverflow(second)),
        (1, LossCause::LinkDown(second)),
        (0, LossCause::Wireless(first)),
    ];
    assert_eq!(causes, expected);
    assert!(!simulator.packets.holds_damaged());
}

#[test]
fn damage_has_its_share_of_what_the_impairment_destroys_anyway() {
    let times: Vec<u64> = (0..20_000).map(|k| k * 1_000).collect();
    let destroyed = |share: f64| {
        let config = slow().with_impairment(Impairment::Bernoulli { loss: 0.25 }).with_damaged(share);
        let (mut simulator, _, sink) = pair(config, &times);
        simulator.run_until(Instant::from_secs(30));
        let sink = simulator.agent(sink);
        let tags: Vec<u64> = sink.losses.iter().map(|loss| loss.1).collect();
        (tags, sink.damaged.len() as f64)
    };
    let (none, some, all) = (destroyed(0.0), destroyed(0.3), destroyed(1.0));
    assert_eq!((none.1, all.1), (0.0, all.0.len() as f64));
    assert!(none.0 == some.0 && some.0 == all.0);
    // Five standard errors.
    let packets = some.0.len() as f64;
    assert!((some.1 / packets - 0.3).abs() < 5.0 * (0.21 / packets).sqrt(), "{} of {packets}", some.1);
}

#[test]
#[should_panic(expected = "damaged is 1.5, not a probability")]
fn a_share_of_damage_lies_between_nothing_and_everything() {
    pair(slow().with_damaged(1.5), &[]);
}
