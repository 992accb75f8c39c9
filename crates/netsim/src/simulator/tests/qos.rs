//! Stations of 802.11ax.

use std::collections::BTreeMap;

use whimbrel_wifi::Phy;
use whimbrel_wifi::airtime::QueueLimits;
use whimbrel_wifi::edca::{AccessCategory, EdcaConfig, TransmitRate};
use whimbrel_wifi::medium::MediumConfig;
use whimbrel_wifi::mobility::Presence;
use whimbrel_wifi::phy::{Format, GuardInterval, Mode, Width};

use super::wireless::{add_stations, at_metre, site, tags};
use super::*;
use crate::medium::{QosConfig, QosMedium, ReceiverQueues};
use crate::queue::FqCoDelConfig;
use crate::{MediumLoss, StationIndex};

pub(super) fn config() -> QosConfig {
    let mode = Mode::new(Format::He, 7, 2, Width::Mhz80, GuardInterval::Ns800).unwrap();
    let mac = EdcaConfig::station(Phy::ofdm(), TransmitRate::Mode(mode));
    QosConfig {
        air: MediumConfig::additive(),
        access_point: mac.clone(),
        mac,
        cells: Vec::new(),
        own_categories: BTreeMap::new(),
        weights: BTreeMap::new(),
        categories: BTreeMap::new(),
        queues: None,
        noise: None,
        seed: 1,
    }
}

/// The loss of half of the MPDUs: everything arrives once, in order, and nothing is left.
#[test]
fn packets_arrive_once_and_in_order_in_spite_of_noise() {
    let mut simulator = simulator();
    let paths = [0.0, 30.0].map(|metre| (at_metre(metre), Presence::ALWAYS));
    let site = site(paths);
    // HE MCS 7 x 2 at 80 MHz loses half of its MPDUs of 1458 bytes at 20.7 dB.
    let power = site.power(StationIndex(0), StationIndex(1), Instant::ZERO);
    let noise = Some(power / whimbrel_wifi::propagation::from_decibels(20.7));
    let (_, nodes, stations) =
        add_stations(&mut simulator, QosMedium::new(site, QosConfig { noise, ..config() }), 2, 800);
    let times: Vec<u64> = (0..600).collect();
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &times));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(2));
    assert_eq!(tags(&simulator, sink), times);
    assert_eq!(simulator.packets_in_network(), 0);
    let medium: &QosMedium = simulator.medium(stations[0].medium()).unwrap();
    let counters = medium.counters(StationIndex(0));
    assert_eq!((counters.acknowledged, counters.given_up), (600, 0));
    // Repetitions, in far fewer transmissions than packets.
    assert!(counters.mpdus > 900 && counters.mpdus < 1_600, "{counters:?}");
    assert!(counters.transmissions < 60, "{counters:?}");
}

#[test]
fn clients_reach_each_other_through_the_access_point() {
    let mut simulator = simulator();
    let site = site([0.0, 10.0, 20.0].map(|metre| (at_metre(metre), Presence::ALWAYS)));
    let cells = vec![Some(StationIndex(1)), None, Some(StationIndex(1))];
    let medium = QosMedium::new(site, QosConfig { cells, ..config() });
    let (_, nodes, stations) = add_stations(&mut simulator, medium, 3, 100);
    simulator.add_agent(nodes[0], FLOW, sender(nodes[2], &[0, 10, 20]));
    let sink = simulator.add_agent(nodes[2], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(tags(&simulator, sink), [0, 1, 2]);
    assert_eq!(simulator.station_stats(stations[1]).taken.packets, 3);
}

#[test]
fn a_receiver_out_of_range_is_the_cause_of_the_loss() {
    let mut simulator = simulator();
    let site = site([0.0, 240.0].map(|metre| (at_metre(metre), Presence::ALWAYS)));
    // The noise is stronger than the signal.
    let config = QosConfig { noise: Some(1e-8), ..config() };
    let (_, nodes, stations) = add_stations(&mut simulator, QosMedium::new(site, config), 2, 100);
    let source = simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0]));
    simulator.observe(stations[0], source);
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(5));
    assert!(tags(&simulator, sink).is_empty());
    let [(_, _, Observation::Failed(report))] = simulator.agent(source).observations[..] else {
        panic!("{:?}", simulator.agent(source).observations)
    };
    assert_eq!(report.attempts, 7);
    let causes: Vec<LossCause> = simulator.agent(sink).losses.iter().map(|&(_, _, cause)| cause).collect();
    assert_eq!(causes, [LossCause::Medium(stations[0], MediumLoss::Noise)]);
    assert_eq!(simulator.packets_in_network(), 0);
}

/// A sender of another flow.
fn sender_of(flow: FlowId, to: NodeId, times: &[u64]) -> Script {
    let mut script = sender(to, times);
    script.sends.iter_mut().for_each(|send| send.flow = flow);
    script
}

/// A receiver whose packets fill the queue, and one with a packet of its own. Returns when that packet
/// arrives, in milliseconds.
fn arrival_behind_a_full_queue(queues: Option<ReceiverQueues>) -> f64 {
    let mut simulator = simulator();
    let site = site([0.0, 10.0, 20.0].map(|metre| (at_metre(metre), Presence::ALWAYS)));
    let medium = QosMedium::new(site, QosConfig { queues, ..slow() });
    let (_, nodes, _) = add_stations(&mut simulator, medium, 3, 1_000);
    let times: Vec<u64> = vec![0; 900];
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &times));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.add_agent(nodes[0], FlowId(9), sender_of(FlowId(9), nodes[2], &[10]));
    let other = simulator.add_agent(nodes[2], FlowId(9), Script::default());
    simulator.run_until(Instant::from_secs(5));
    assert_eq!((simulator.agent(sink).received.len(), simulator.packets_in_network()), (900, 0));
    (simulator.agent(other).received[0].0 - Instant::ZERO).as_secs_f64() * 1e3
}

/// HE MCS 0 at 20 MHz.
fn slow() -> QosConfig {
    let mode = Mode::new(Format::He, 0, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
    let mac = EdcaConfig::station(Phy::ofdm(), TransmitRate::Mode(mode));
    QosConfig { access_point: mac.clone(), mac, ..config() }
}

fn receiver_queues() -> ReceiverQueues {
    ReceiverQueues { queue: FqCoDelConfig::default(), limits: QueueLimits::LINUX }
}

/// 900 packets of 1000 bytes take a second at 8.6 Mbit/s.
#[test]
fn a_full_queue_for_one_receiver_delays_no_other() {
    let shared = arrival_behind_a_full_queue(None);
    let by_receiver = arrival_behind_a_full_queue(Some(receiver_queues()));
    assert!(shared > 400.0, "{shared} ms");
    // Two exchanges with the other receiver at most.
    assert!(by_receiver < 10.0 + 12.0, "{by_receiver} ms");
}

/// The MAC has no more than 12 ms of airtime while it serves one receiver: 12 packets of 1028 bytes at 8.6
/// Mbit/s.
#[test]
fn little_waits_at_the_mac() {
    let waiting = |queues: Option<ReceiverQueues>| {
        let mut simulator = simulator();
        let site = site([0.0, 10.0].map(|metre| (at_metre(metre), Presence::ALWAYS)));
        let medium = QosMedium::new(site, QosConfig { queues, ..slow() });
        let (_, nodes, stations) = add_stations(&mut simulator, medium, 2, 1_000);
        simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0; 600]));
        simulator.add_agent(nodes[1], FLOW, Script::default());
        simulator.run_until(Instant::from_millis(100));
        let medium: &QosMedium = simulator.medium(stations[0].medium()).unwrap();
        medium.mac(StationIndex(0)).backlog(AccessCategory::BestEffort)
    };
    assert!(waiting(None) > 400);
    let few = waiting(Some(receiver_queues()));
    assert!((5..=13).contains(&few), "{few} packets");
}

/// A flow's category decides the parameters of its access, and has a queue of its own.
#[test]
fn packets_of_a_flow_go_in_its_category() {
    for queues in [None, Some(receiver_queues())] {
        let mut simulator = simulator();
        let site = site([0.0, 10.0].map(|metre| (at_metre(metre), Presence::ALWAYS)));
        let categories = BTreeMap::from([(FlowId(9), AccessCategory::Voice)]);
        let medium = QosMedium::new(site, QosConfig { queues, categories, ..slow() });
        let (_, nodes, stations) = add_stations(&mut simulator, medium, 2, 1_000);
        simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0; 900]));
        simulator.add_agent(nodes[1], FLOW, Script::default());
        simulator.add_agent(nodes[0], FlowId(9), sender_of(FlowId(9), nodes[1], &[50, 50]));
        let voice = simulator.add_agent(nodes[1], FlowId(9), Script::default());
        simulator.run_until(Instant::from_secs(5));
        let arrivals = &simulator.agent(voice).received;
        let last = arrivals[1].0 - Instant::ZERO;
        assert!(last < Duration::from_millis(60), "{last}");
        let medium: &QosMedium = simulator.medium(stations[0].medium()).unwrap();
        let acknowledged = |category| medium.mac(StationIndex(0)).counters(category).acknowledged;
        assert_eq!(acknowledged(AccessCategory::Voice), 2);
        assert_eq!(acknowledged(AccessCategory::BestEffort), 900);
    }
}

/// The queues of all receivers have one limit, and the fattest one gives way.
#[test]
fn receivers_share_the_limit_of_a_station() {
    let mut simulator = simulator();
    let site = site([0.0, 10.0, 20.0].map(|metre| (at_metre(metre), Presence::ALWAYS)));
    let medium = QosMedium::new(site, QosConfig { queues: Some(receiver_queues()), ..slow() });
    let (_, nodes, stations) = add_stations(&mut simulator, medium, 3, 100);
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0; 300]));
    let greedy = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.add_agent(nodes[0], FlowId(9), sender_of(FlowId(9), nodes[2], &[1; 20]));
    let modest = simulator.add_agent(nodes[2], FlowId(9), Script::default());
    simulator.run_until(Instant::from_secs(5));
    assert_eq!(simulator.agent(modest).received.len(), 20);
    let arrived = simulator.agent(greedy).received.len();
    assert!((60..=120).contains(&arrived), "{arrived}");
    let stats = simulator.station_stats(stations[0]);
    assert_eq!(stats.dropped.packets + stats.taken.packets, 320);
    assert_eq!(simulator.packets_in_network(), 0);
}
