mod ad_hoc;
mod agents;
mod arp;
mod cellular;
mod commands;
mod control;
mod crowd;
mod damage;
mod determinism;
mod handover;
mod host;
mod infrastructure;
mod media;
mod netem;
mod port;
mod power_save;
mod protection;
mod qos;
mod queueing;
mod routing;
mod spread;
mod token_bucket;
mod wifi;
mod wireless;

use std::collections::VecDeque;

use whimbrel_units::{DataRate, Duration, Instant};

use super::{SimulationConfig, Simulator};
use crate::medium::Observation;
use crate::{
    Agent, AgentId, Count, Ecn, FlowId, Impairment, LinkConfig, LinkId, LossCause, LossRecord, NodeId,
    Packet, PacketId, StationId,
};

/// Sends by a script and records what arrives.
#[derive(Default)]
struct Script {
    sends: VecDeque<Send>,
    received: Vec<(Instant, u64)>,
    marks: Vec<Ecn>,
    losses: Vec<(Instant, u64, LossCause)>,
    damaged: Vec<(Instant, u64, LinkId)>,
    observations: Vec<(Instant, StationId, Observation)>,
}

#[derive(Clone, Copy)]
struct Send {
    at: Instant,
    flow: FlowId,
    to: NodeId,
    size: u32,
    tag: u64,
}

impl Agent for Script {
    type Payload = u64;

    /// For routes that senders spread: every third packet has no choice that exists.
    fn path(tag: &u64) -> Option<usize> {
        usize::try_from(tag % 3).ok()
    }

    fn handle_packet(&mut self, now: Instant, packet: Packet<u64>) {
        self.received.push((now, packet.payload));
        self.marks.push(packet.ecn);
    }

    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<u64>> {
        self.sends.front().filter(|send| send.at <= now)?;
        let send = self.sends.pop_front()?;
        Some(Packet {
            id: PacketId(u64::MAX),
            flow: send.flow,
            source: NodeId::default(),
            destination: send.to,
            size: send.size,
            ecn: Ecn::Ect0,
            payload: send.tag,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.sends.front().map(|send| send.at)
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<u64>, cause: LossCause) {
        self.losses.push((now, packet.payload, cause));
    }

    fn handle_damaged(&mut self, now: Instant, packet: Packet<u64>, link: LinkId) {
        self.damaged.push((now, packet.payload, link));
        self.handle_loss(now, packet, LossCause::Wireless(link));
    }

    fn handle_observation(&mut self, now: Instant, station: StationId, observation: &Observation) {
        self.observations.push((now, station, *observation));
    }
}

const FLOW: FlowId = FlowId(1);

fn micros(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000)
}

fn simulator() -> Simulator<Script> {
    Simulator::new(SimulationConfig::default())
}

/// 1 byte per microsecond and 5 ms.
fn slow() -> LinkConfig {
    LinkConfig::new(DataRate::from_bytes_per_second(1e6), Duration::from_millis(5))
}

/// A script that sends packets of 1000 bytes at these microseconds, tagged 0, 1, 2...
fn sender(to: NodeId, times: &[u64]) -> Script {
    let sends = (0..)
        .zip(times)
        .map(|(tag, &time)| Send { at: micros(time), flow: FLOW, to, size: 1_000, tag })
        .collect();
    Script { sends, ..Script::default() }
}

/// Two nodes, a link with this configuration, a sender at these microseconds and a sink.
fn pair(config: LinkConfig, times: &[u64]) -> (Simulator<Script>, LinkId, AgentId) {
    let mut simulator = simulator();
    let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
    let link = simulator.add_link(a, b, config);
    simulator.add_agent(a, FLOW, sender(b, times));
    let sink = simulator.add_agent(b, FLOW, Script::default());
    (simulator, link, sink)
}

#[test]
fn each_hop_adds_its_serialisation_and_its_delay() {
    let mut simulator = simulator();
    let nodes = ["a", "b", "c", "d"].map(|name| simulator.add_node(name));
    let config =
        |rate, delay| LinkConfig::new(DataRate::from_bytes_per_second(rate), Duration::from_millis(delay));
    simulator.add_link(nodes[0], nodes[1], config(1e6, 1));
    simulator.add_link(nodes[1], nodes[2], config(0.25e6, 20));
    simulator.add_link(nodes[2], nodes[3], config(2e6, 3));
    simulator.add_agent(nodes[0], FLOW, sender(nodes[3], &[0, 0]));
    let sink = simulator.add_agent(nodes[3], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    // 1 + 1 + 4 + 20 + 0.5 + 3 ms; the second waits 3 ms for the slow link.
    assert_eq!(simulator.agent(sink).received, [(micros(29_500), 0), (micros(33_500), 1)]);
    assert_eq!(simulator.now(), Instant::from_secs(1));
    assert_eq!(simulator.packets_in_network(), 0);
}

#[test]
fn packets_of_one_time_arrive_in_the_order_they_were_sent() {
    let mut simulator = simulator();
    let hub = simulator.add_node("hub");
    let sink_node = simulator.add_node("sink");
    simulator.add_link(hub, sink_node, LinkConfig::new(DataRate::INFINITE, Duration::from_millis(1)));
    let sink = simulator.add_agent(sink_node, FLOW, Script::default());
    // The third source's link was added first; the order of sending counts.
    let sources: Vec<NodeId> = (0..3).map(|k| simulator.add_node(&format!("source {k}"))).collect();
    for &source in sources.iter().rev() {
        simulator.add_link(source, hub, slow());
    }
    for (k, &source) in (0..).zip(&sources) {
        let mut script = sender(sink_node, &[7, 7]);
        script.sends.iter_mut().for_each(|send| send.tag += 10 * k);
        simulator.add_agent(source, FLOW, script);
    }
    simulator.run_until(Instant::from_secs(1));
    let first = micros(7 + 1_000 + 5_000 + 1_000);
    let second = first + Duration::from_millis(1);
    let expected = [(first, 0), (first, 10), (first, 20), (second, 1), (second, 11), (second, 21)];
    assert_eq!(simulator.agent(sink).received, expected);
}

#[test]
fn the_receiver_is_notified_of_an_overflow_when_it_happens() {
    let (mut simulator, link, sink) = pair(slow().with_packet_limit(2), &[0, 10, 20, 990]);
    simulator.record_losses();
    simulator.run_until(Instant::from_secs(1));
    let cause = LossCause::QueueOverflow(link);
    let reported = &simulator.agent(sink).losses;
    assert_eq!(*reported, [(micros(20), 2, cause), (micros(990), 3, cause)]);
    assert!(cause.is_congestion());
    let record = simulator.losses()[1];
    let (source, _) = simulator.link_ends(link);
    let expected = LossRecord {
        at: micros(990),
        cause,
        flow: FLOW,
        source,
        receiver: Some(sink),
        packet: PacketId(3),
        size: 1_000,
    };
    assert_eq!(record, expected);
    assert_eq!(simulator.losses().len(), 2);
    let stats = simulator.link_stats(link);
    assert_eq!(stats.dropped, Count { packets: 2, bytes: 2_000 });
    assert_eq!(stats.delivered, Count { packets: 2, bytes: 2_000 });
}

#[test]
fn a_wireless_loss_occupies_the_link_and_is_reported_when_it_would_have_arrived() {
    let config = slow().with_impairment(Impairment::mask(vec![1]));
    let (mut simulator, link, sink) = pair(config, &[0, 0, 0]);
    simulator.run_until(Instant::from_secs(1));
    let cause = LossCause::Wireless(link);
    assert_eq!(simulator.agent(sink).received, [(micros(6_000), 0), (micros(8_000), 2)]);
    assert_eq!(simulator.agent(sink).losses, [(micros(7_000), 1, cause)]);
    let stats = simulator.link_stats(link);
    assert_eq!((stats.departed.packets, stats.delivered.packets, stats.wireless_lost.packets), (3, 2, 1));
    assert!(!cause.is_congestion());
}

#[test]
fn the_impairment_draws_only_for_what_the_queue_let_through() {
    let config = slow().with_packet_limit(1).with_impairment(Impairment::mask(vec![1]));
    let (mut simulator, _, sink) = pair(config, &[0, 1, 2, 3_000]);
    simulator.run_until(Instant::from_secs(1));
    let lost: Vec<u64> = simulator.agent(sink).losses.iter().map(|&(_, tag, _)| tag).collect();
    assert_eq!(lost, [1, 2, 3]);
}

#[test]
fn marks_reach_the_receiver() {
    let (mut simulator, link, sink) = pair(slow().with_marking_at(1), &[0, 0, 500, 5_000]);
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sink).marks, [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0]);
    assert_eq!(simulator.link_stats(link).marked.packets, 2);
}

#[test]
fn a_packet_to_the_own_node_needs_no_link() {
    let mut simulator = simulator();
    let node = simulator.add_node("alone");
    let mut script = sender(node, &[3, 3]);
    script.sends.iter_mut().for_each(|send| send.flow = FlowId(2));
    simulator.add_agent(node, FLOW, script);
    let sink = simulator.add_agent(node, FlowId(2), Script::default());
    simulator.run_until(micros(3));
    assert_eq!(simulator.agent(sink).received, [(micros(3), 0), (micros(3), 1)]);
}

#[test]
fn packets_that_cannot_arrive_are_lost_with_a_reason() {
    let (mut simulator, _, sink) = pair(slow(), &[]);
    simulator.record_losses();
    let (a, b) = (simulator.agent_node(sink), simulator.add_node("island"));
    let mut script = sender(b, &[0]);
    script.sends.push_back(Send { at: micros(9), flow: FlowId(99), to: a, size: 1, tag: 0 });
    let source = NodeId(0);
    simulator.add_agent(source, FlowId(7), script);
    simulator.run_until(Instant::from_secs(1));
    let causes: Vec<LossCause> = simulator.losses().iter().map(|loss| loss.cause).collect();
    assert_eq!(causes, [LossCause::NoRoute(source), LossCause::NoAgent(a)]);
    assert_eq!(simulator.packets_in_network(), 0);
}

#[test]
fn what_was_under_way_at_the_end_is_still_there_when_the_run_goes_on() {
    let (mut simulator, link, sink) = pair(slow(), &[0, 0, 0]);
    simulator.run_until(micros(6_500));
    assert_eq!(simulator.agent(sink).received.len(), 1);
    assert_eq!(simulator.packets_in_network(), 2);
    assert_eq!(simulator.queue_snapshot(link).under_way.packets, 2);
    simulator.run_until(micros(7_000));
    assert_eq!(simulator.agent(sink).received.len(), 2);
    simulator.run_until(Instant::FAR_FUTURE);
    assert_eq!(simulator.agent(sink).received.len(), 3);
}

#[test]
#[should_panic(expected = "there are two nodes named `a`")]
fn node_names_are_unique() {
    let mut simulator = simulator();
    simulator.add_node("a");
    simulator.add_node("a");
}

#[test]
#[should_panic(expected = "link `a>b`: loss is 2, not a probability")]
fn an_impossible_link_is_named() {
    pair(slow().with_impairment(Impairment::Bernoulli { loss: 2.0 }), &[]);
}

#[test]
fn parallel_links_have_names_of_their_own() {
    let (mut simulator, first, _) = pair(slow(), &[]);
    let (a, b) = simulator.link_ends(first);
    let second = simulator.add_link(a, b, slow());
    let back = simulator.add_link(b, a, slow());
    let names = [first, second, back].map(|link| simulator.link_name(link).to_owned());
    assert_eq!(names, ["a>b", "a>b#2", "b>a"]);
}

/// A campaign runs simulators on several threads.
#[test]
fn a_simulator_can_move_between_threads() {
    fn movable<T: std::marker::Send>(_: &T) {}
    movable(&simulator());
}
