use whimbrel_units::{DataRate, Duration, Instant};

use super::{FLOW, Script, micros, pair, sender, simulator, slow};
use crate::{Command, DownPolicy, Impairment, LossCause, Simulator};

#[test]
fn commands_of_one_time_are_applied_in_the_order_of_scheduling_before_later_packets() {
    let (mut simulator, link, sink) = pair(slow(), &[0, 500]);
    simulator.schedule(micros(500), Command::set_rate(link, DataRate::from_bytes_per_second(7.0)));
    simulator.schedule(micros(500), Command::set_rate(link, DataRate::from_bytes_per_second(0.5e6)));
    simulator.schedule(micros(100), Command::SetDelay { link, delay: Duration::from_millis(1) });
    simulator.run_until(Instant::from_secs(1));
    // 500 bytes of the first are left at 0.5 B/us; the second follows in 2 ms.
    assert_eq!(simulator.agent(sink).received, [(micros(2_500), 0), (micros(4_500), 1)]);
}

#[test]
fn a_rate_change_moves_arrivals_both_ways() {
    let (mut simulator, link, sink) = pair(slow(), &[0, 0, 0]);
    // Slower, then faster than planned: neither an old plan nor a double arrival remains.
    for (at, rate) in [(500, 0.1e6), (600, 1e6), (700, 0.1e6), (800, 4e6), (800, 4e6)] {
        simulator.schedule(micros(at), Command::set_rate(link, DataRate::from_bytes_per_second(rate)));
    }
    simulator.run_until(Instant::from_secs(1));
    // Sent: 500 + 10 + 100 + 10 bytes by 800 us; the other 380 take 95 us.
    let expected = [(5_895, 0), (6_145, 1), (6_395, 2)].map(|(at, tag)| (micros(at), tag));
    assert_eq!(simulator.agent(sink).received, expected);
}

#[test]
fn a_link_that_goes_down_loses_what_its_policy_says() {
    let lost_with = |policy| {
        let (mut simulator, link, sink) = pair(slow(), &[0, 0, 0, 2_000, 9_000]);
        simulator.schedule(micros(1_500), Command::LinkDown { link, policy });
        simulator.schedule(micros(8_000), Command::LinkUp { link });
        simulator.run_until(Instant::from_secs(1));
        assert!(simulator.link_is_up(link));
        assert_eq!(simulator.packets_in_network(), 0);
        let sink = simulator.agent(sink);
        for &(_, _, cause) in &sink.losses {
            assert_eq!(cause, LossCause::LinkDown(link));
        }
        let lost: Vec<_> = sink.losses.iter().map(|&(at, tag, _)| (at, tag)).collect();
        let received: Vec<_> = sink.received.clone();
        (lost, received)
    };
    let times = |pairs: &[(u64, u64)]| -> Vec<(Instant, u64)> {
        pairs.iter().map(|&(at, tag)| (micros(at), tag)).collect()
    };
    let (lost, received) = lost_with(DownPolicy::Hold);
    assert_eq!(lost, []);
    assert_eq!(received, times(&[(6_000, 0), (14_000, 1), (15_000, 2), (16_000, 3), (17_000, 4)]));
    let (lost, received) = lost_with(DownPolicy::DropQueue);
    assert_eq!(lost, times(&[(1_500, 2), (2_000, 3)]));
    assert_eq!(received, times(&[(6_000, 0), (7_000, 1), (15_000, 4)]));
    let (lost, received) = lost_with(DownPolicy::DropAll);
    assert_eq!(lost, times(&[(1_500, 0), (1_500, 1), (1_500, 2), (2_000, 3)]));
    assert_eq!(received, times(&[(15_000, 4)]));
}

#[test]
fn routes_avoid_a_link_that_is_down_when_asked_to() {
    let mut simulator = simulator();
    let nodes = ["a", "direct", "b", "detour 1", "detour 2"].map(|name| simulator.add_node(name));
    let [a, direct, b, detour_1, detour_2] = nodes;
    let short = simulator.add_link(a, direct, slow());
    simulator.add_link(direct, b, slow());
    simulator.add_link(a, detour_1, slow());
    simulator.add_link(detour_1, detour_2, slow());
    simulator.add_link(detour_2, b, slow());
    let sink = simulator.add_agent(b, FLOW, Script::default());
    simulator.add_agent(a, FLOW, sender(b, &[0, 10_000, 20_000, 40_000]));
    simulator.schedule(micros(5_000), Command::LinkDown { link: short, policy: DownPolicy::DropQueue });
    simulator.schedule(micros(15_000), Command::Reroute);
    simulator.schedule(micros(30_000), Command::LinkUp { link: short });
    simulator.schedule(micros(30_000), Command::Reroute);
    simulator.run_until(Instant::from_secs(1));
    let expected = [(12_000, 0), (38_000, 2), (52_000, 3)].map(|(at, tag)| (micros(at), tag));
    assert_eq!(simulator.agent(sink).received, expected);
    assert_eq!(simulator.agent(sink).losses, [(micros(10_000), 1, LossCause::LinkDown(short))]);
}

#[test]
fn a_route_set_by_hand_holds_and_a_circle_is_broken() {
    let mut simulator = simulator();
    let (a, b, c) = (simulator.add_node("a"), simulator.add_node("b"), simulator.add_node("c"));
    simulator.add_link(a, c, slow());
    let (there, back) = simulator.add_duplex(a, b, slow());
    let onward = simulator.add_link(b, c, slow());
    let sink = simulator.add_agent(c, FLOW, Script::default());
    simulator.add_agent(a, FLOW, sender(c, &[0, 100_000]));
    simulator.apply(Command::SetRoute { node: a, destination: c, link: there });
    simulator.run_until(micros(50_000));
    assert_eq!(simulator.agent(sink).received, [(micros(12_000), 0)]);
    assert_eq!(simulator.link_stats(onward).delivered.packets, 1);
    simulator.apply(Command::SetRoute { node: b, destination: c, link: back });
    simulator.run_until(Instant::from_secs(10));
    // 255 links of 6 ms from 100 ms on; the 255th leads from a to b.
    assert_eq!(simulator.agent(sink).losses, [(micros(100_000 + 255 * 6_000), 1, LossCause::HopLimit(b))]);
}

#[test]
fn an_impairment_can_set_in_and_end() {
    let (mut simulator, link, sink) = pair(slow(), &[0, 10_000, 20_000]);
    let impairment = |loss| Command::SetImpairment { link, impairment: Impairment::Bernoulli { loss } };
    simulator.schedule(micros(9_000), impairment(1.0));
    simulator.schedule(micros(19_000), impairment(0.0));
    simulator.run_until(Instant::from_secs(1));
    let received: Vec<u64> = simulator.agent(sink).received.iter().map(|&(_, tag)| tag).collect();
    assert_eq!(received, [0, 2]);
}

#[test]
fn an_impairment_set_again_draws_afresh() {
    let times: Vec<u64> = (0..200).map(|k| 1_000 * k).collect();
    let coin = Impairment::Bernoulli { loss: 0.5 };
    let (mut simulator, link, sink) = pair(slow().with_impairment(coin.clone()), &times);
    // Packet 100 arrives at 106 ms: it is the first for the new impairment.
    simulator.schedule(micros(105_500), Command::SetImpairment { link, impairment: coin });
    simulator.run_until(Instant::from_secs(1));
    let losses = &simulator.agent(sink).losses;
    let lost = |packets: core::ops::Range<u64>| -> Vec<u64> {
        let tags = losses.iter().map(|&(_, tag, _)| tag).filter(|tag| packets.contains(tag));
        tags.map(|tag| tag - packets.start).collect()
    };
    assert_eq!(lost(0..100).len() + lost(100..200).len(), losses.len());
    assert_ne!(lost(0..100), lost(100..200));
}

#[test]
fn a_call_may_build_and_schedule() {
    let (mut simulator, link, sink) = pair(slow(), &[]);
    simulator.schedule(
        micros(100),
        Command::call(move |simulator: &mut Simulator<Script>| {
            let (_, b) = simulator.link_ends(link);
            let c = simulator.add_node("c");
            simulator.add_link(c, b, slow());
            let sends = sender(b, &[0, 300]).sends;
            let late = simulator.add_agent(c, FLOW, Script::default());
            simulator.schedule(
                micros(200),
                Command::agent(late, move |script: &mut Script, _| script.sends = sends),
            );
        }),
    );
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sink).received, [(micros(6_200), 0), (micros(7_200), 1)]);
}
