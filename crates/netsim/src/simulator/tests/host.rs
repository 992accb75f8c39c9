//! Hosts with a limited processor.

use proptest::prelude::*;
use whimbrel_units::{Duration, Instant};

use super::{FLOW, Script, Send, micros, sender, simulator, slow};
use crate::{AgentId, HostConfig, LossCause, NodeId, QueueLimit, Simulator};

/// 2 ms and 1 us per byte: 3 ms for the packets of [`sender`].
fn config(queue: QueueLimit) -> HostConfig {
    HostConfig { send_cost: Duration::from_millis(2), send_cost_per_byte: Duration::from_micros(1), queue }
}

/// Two nodes, a link, a sender at a node with this host and a sink.
fn limited(config: HostConfig, times: &[u64]) -> (Simulator<Script>, NodeId, AgentId) {
    let mut simulator = simulator();
    let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
    simulator.add_link(a, b, slow());
    simulator.set_host(a, config);
    simulator.add_agent(a, FLOW, sender(b, times));
    let sink = simulator.add_agent(b, FLOW, Script::default());
    (simulator, a, sink)
}

#[test]
fn a_packet_enters_the_network_after_its_processing() {
    let (mut simulator, _, sink) = limited(config(QueueLimit::Packets(5)), &[0, 10_000]);
    simulator.run_until(Instant::from_secs(1));
    // 3 ms of processing, then 1 ms of transmission and 5 ms of delay.
    assert_eq!(simulator.agent(sink).received, [(micros(9_000), 0), (micros(19_000), 1)]);
}

#[test]
fn packets_wait_for_the_processor_and_those_that_find_its_queue_full_are_lost_at_the_host() {
    let (mut simulator, node, sink) = limited(config(QueueLimit::Packets(2)), &[0, 0, 0, 3_000, 3_000]);
    simulator.run_until(Instant::from_secs(1));
    let sink = simulator.agent(sink);
    assert_eq!(sink.received, [(micros(9_000), 0), (micros(12_000), 1), (micros(15_000), 3)]);
    let full = LossCause::HostOverflow(node);
    assert_eq!(sink.losses, [(Instant::ZERO, 2, full), (micros(3_000), 4, full)]);
    assert!(full.is_congestion());
    let stats = simulator.host_stats(node).unwrap();
    assert_eq!((stats.accepted.packets, stats.dropped.packets), (3, 2));
    assert_eq!(stats.busy, Duration::from_millis(9));
    assert_eq!(simulator.packets_in_network(), 0);
}

#[test]
fn a_limit_in_bytes_counts_bytes_and_accepts_one_packet_that_is_longer() {
    let (mut simulator, _, sink) = limited(config(QueueLimit::Bytes(2_500)), &[0, 0, 0]);
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sink).received.len(), 2);
    let (mut simulator, _, sink) = limited(config(QueueLimit::Bytes(999)), &[0, 0]);
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sink).received, [(micros(9_000), 0)]);
}

#[test]
fn all_agents_of_a_node_share_its_processor() {
    let mut simulator = simulator();
    let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
    simulator.add_link(a, b, slow());
    let other = crate::FlowId(2);
    simulator.add_agent(a, FLOW, sender(b, &[0]));
    // The host also limits agents that were added before it.
    simulator.set_host(a, config(QueueLimit::Packets(5)));
    let send = Send { at: Instant::ZERO, flow: other, to: b, size: 1_000, tag: 0 };
    simulator.add_agent(a, other, Script { sends: [send].into(), ..Script::default() });
    let sinks = [FLOW, other].map(|flow| simulator.add_agent(b, flow, Script::default()));
    simulator.run_until(Instant::from_secs(1));
    let times = sinks.map(|sink| simulator.agent(sink).received[0].0);
    assert_eq!(times, [micros(9_000), micros(12_000)]);
}

#[test]
fn forwarded_packets_and_packets_to_the_own_node_cost_nothing() {
    let mut simulator = simulator();
    let [a, router, b] = ["a", "router", "b"].map(|name| simulator.add_node(name));
    simulator.add_link(a, router, slow());
    simulator.add_link(router, b, slow());
    simulator.set_host(router, config(QueueLimit::Packets(1)));
    simulator.add_agent(a, FLOW, sender(b, &[0, 0]));
    let sink = simulator.add_agent(b, FLOW, Script::default());
    let own = simulator.add_agent(router, FLOW, sender(router, &[0, 0]));
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sink).received, [(micros(12_000), 0), (micros(13_000), 1)]);
    assert_eq!(simulator.agent(own).received, [(Instant::ZERO, 0), (Instant::ZERO, 1)]);
}

proptest! {
    /// Packets keep their order, none disappears, and the processor is never idle while a packet waits.
    #[test]
    fn a_host_is_a_fifo_with_one_server(
        mut times in prop::collection::vec(0_u64..60_000, 1..40),
        limit in 1_u32..6,
    ) {
        times.sort_unstable();
        let (mut simulator, node, sink) = limited(config(QueueLimit::Packets(limit)), &times);
        simulator.run_until(Instant::from_secs(2));
        let mut done: Vec<u64> = Vec::new();
        let (mut expected, mut lost) = (Vec::new(), 0);
        for (tag, &time) in (0..).zip(&times) {
            if done.iter().filter(|&&end| end > time).count() >= limit as usize {
                lost += 1;
                continue;
            }
            let end = done.last().copied().unwrap_or(0).max(time) + 3_000;
            done.push(end);
            expected.push((micros(end + 6_000), tag));
        }
        prop_assert_eq!(&simulator.agent(sink).received, &expected);
        prop_assert_eq!(simulator.agent(sink).losses.len(), lost);
        prop_assert_eq!(simulator.host_stats(node).unwrap().dropped.packets, lost as u64);
    }
}
