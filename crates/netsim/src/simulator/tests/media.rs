//! Stations on a shared medium.

use super::*;
use crate::medium::{FrameReport, IdealMedium, Observation, Position};
use crate::queue::{CoDelConfig, Discipline};
use crate::{MediumId, PacketId, QueueLimit, StationId, StationIndex};

/// 1 byte per microsecond, and no propagation delay worth a nanosecond within a metre.
const RATE: f64 = 1e6;

/// Stations in a row, that far apart, each on a node of its own, with a queue of `limit` packets. A station
/// receives its neighbours.
fn row(
    simulator: &mut Simulator<Script>,
    stations: usize,
    metres: f64,
    limit: u32,
) -> (MediumId, Vec<NodeId>, Vec<StationId>) {
    let places = (0..stations).map(|k| Position { x: k as f64 * metres, y: 0.0 }).collect();
    let rate = DataRate::from_bytes_per_second(RATE);
    let medium = IdealMedium::new(rate, metres * 1.5, places);
    wireless::add_stations(simulator, medium, stations, limit)
}

fn tags(simulator: &Simulator<Script>, agent: AgentId) -> Vec<u64> {
    simulator.agent(agent).received.iter().map(|&(_, tag)| tag).collect()
}

#[test]
fn a_station_receives_after_serialisation_and_propagation() {
    let mut simulator = simulator();
    // 299.792458 km: light needs a millisecond.
    let (_, nodes, stations) = row(&mut simulator, 2, 299_792.458, 10);
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0, 0]));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(sink).received, [(micros(2_000), 0), (micros(3_000), 1)]);
    assert_eq!(simulator.station_stats(stations[0]).taken.packets, 2);
    assert_eq!(simulator.station_stats(stations[1]).received, Count { packets: 2, bytes: 2_000 });
    assert_eq!(simulator.packets_in_network(), 0);
}

#[test]
fn stations_transmit_one_at_a_time_in_the_order_of_their_packets() {
    let mut simulator = simulator();
    let (_, nodes, _) = row(&mut simulator, 3, 1.0, 10);
    // Both ends send to the middle.
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0, 0]));
    let mut other = sender(nodes[1], &[1]);
    other.sends[0].tag = 9;
    simulator.add_agent(nodes[2], FLOW, other);
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    let received = &simulator.agent(sink).received;
    assert_eq!(tags(&simulator, sink), [0, 1, 9]);
    let whole_micros: Vec<u64> = received.iter().map(|(at, _)| at.as_nanos() / 1_000).collect();
    assert_eq!(whole_micros, [1_000, 2_000, 3_000]);
}

#[test]
fn routes_lead_from_station_to_station_and_on_over_links() {
    let mut simulator = simulator();
    let (_, nodes, stations) = row(&mut simulator, 3, 1.0, 10);
    let wired = simulator.add_node("wired");
    let (_, back) = simulator.add_duplex(nodes[2], wired, slow());
    simulator.add_agent(nodes[0], FLOW, sender(wired, &[0]));
    let sink = simulator.add_agent(wired, FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    // Two transmissions over the air, one over the link and its delay of 5 ms; metres add a few nanoseconds.
    let (at, _) = simulator.agent(sink).received[0];
    assert_eq!(at.as_nanos() / 1_000, 1_000 + 1_000 + 1_000 + 5_000);
    assert_eq!(simulator.station_stats(stations[1]).taken.packets, 1);
    // And the way back: over the link, then over the air.
    let next = simulator.route(wired, nodes[0]);
    assert_eq!(next, Some(crate::NextHop::Link(back)));
    let over_the_air = crate::NextHop::Station { station: stations[2], to: nodes[1] };
    assert_eq!(simulator.route(nodes[2], nodes[0]), Some(over_the_air));
}

#[test]
fn a_full_station_drops_and_reports_the_cause() {
    let mut simulator = simulator();
    let (_, nodes, stations) = row(&mut simulator, 2, 1.0, 2);
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0, 0, 0, 0]));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    // One on the air, two wait.
    assert_eq!(tags(&simulator, sink), [0, 1, 2]);
    let cause = LossCause::StationOverflow(stations[0]);
    assert_eq!(simulator.agent(sink).losses, [(Instant::ZERO, 3, cause)]);
    assert!(cause.is_congestion());
    assert_eq!(simulator.station_stats(stations[0]).dropped.packets, 1);
}

#[test]
fn marks_of_a_stations_discipline_reach_the_receiver() {
    let mut simulator = simulator();
    let rate = DataRate::from_bytes_per_second(RATE);
    let medium = simulator.add_medium(IdealMedium::new(rate, 1.0, vec![Position::default(); 2]));
    let nodes = ["a", "b"].map(|name| simulator.add_node(name));
    let codel = |target| Discipline::CoDel(CoDelConfig { target, ecn: true, ..CoDelConfig::default() });
    let limit = QueueLimit::Packets(1_000);
    let refused = simulator.add_station(nodes[0], medium, &codel(Duration::ZERO), limit);
    assert_eq!(refused.unwrap_err().parameter, "target");
    for node in nodes {
        simulator.add_station(node, medium, &codel(Duration::from_millis(5)), limit).unwrap();
    }
    // A standing queue of 300 ms.
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0; 300]));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    let marks = &simulator.agent(sink).marks;
    let marked = marks.iter().filter(|ecn| **ecn == Ecn::Ce).count();
    // The first after an interval of 100 ms, the next ones after 100 ms / sqrt(n).
    assert_eq!((marks.len(), marked), (300, 3));
    assert_eq!(marks.iter().position(|ecn| *ecn == Ecn::Ce), Some(105));
}

#[test]
fn a_next_hop_that_moved_out_of_range_is_lost_and_observed() {
    let mut simulator = simulator();
    let (medium, nodes, stations) = row(&mut simulator, 2, 1.0, 10);
    let source = simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0, 10_000]));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.observe(stations[0], source);
    simulator.run_until(micros(5_000));
    let moved = simulator.with_medium(medium, |medium: &mut IdealMedium, _| {
        medium.places[1] = Position { x: 100.0, y: 0.0 };
    });
    assert!(moved.is_some());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(tags(&simulator, sink), [0]);
    assert_eq!(
        simulator.agent(sink).losses[0].2,
        LossCause::Medium(stations[0], crate::MediumLoss::OutOfRange)
    );
    assert_eq!(simulator.station_stats(stations[0]).lost.packets, 1);
    let report = |packet| FrameReport {
        packet,
        flow: crate::queue::FlowKey { source: nodes[0], destination: nodes[1], flow: FLOW },
        size: 1_000,
        to: Some(nodes[1]),
        attempts: 1,
        service: Duration::from_millis(1),
    };
    let observed = &simulator.agent(source).observations;
    assert_eq!(
        *observed,
        [
            (micros(1_000), stations[0], Observation::Sent(report(PacketId(0)))),
            (micros(11_000), stations[0], Observation::Failed(report(PacketId(1)))),
        ]
    );
    // After a reroute there is no route any more.
    simulator.apply(crate::Command::Reroute);
    assert_eq!(simulator.route(nodes[0], nodes[1]), None);
}

#[test]
fn a_medium_is_found_by_its_type() {
    struct Other;
    impl crate::medium::Medium for Other {
        fn handle_backlog(&mut self, _: Instant, _: StationIndex, _: &mut crate::medium::MediumIo<'_>) {}
        fn handle_timeout(&mut self, _: Instant, _: &mut crate::medium::MediumIo<'_>) {}
        fn poll_timeout(&self) -> Option<Instant> {
            None
        }

        fn reaches(&self, _: Instant, _: StationIndex, _: StationIndex) -> bool {
            false
        }
    }
    let mut simulator = simulator();
    let (medium, ..) = row(&mut simulator, 2, 1.0, 10);
    assert!(simulator.medium::<IdealMedium>(medium).is_some());
    assert!(simulator.medium::<Other>(medium).is_none());
    assert!(simulator.with_medium(medium, |_: &mut Other, _| ()).is_none());
}

#[test]
fn a_broadcast_reaches_all_stations_in_range_and_goes_no_further() {
    let mut simulator = simulator();
    let (_, nodes, stations) = row(&mut simulator, 4, 1.0, 10);
    simulator.record_losses();
    simulator.add_agent(nodes[1], FLOW, sender(NodeId::BROADCAST, &[0]));
    let [left, right, far] = [0, 2, 3].map(|k| simulator.add_agent(nodes[k], FLOW, Script::default()));
    simulator.run_until(Instant::from_secs(1));
    assert_eq!((tags(&simulator, left), tags(&simulator, right)), (vec![0], vec![0]));
    assert!(tags(&simulator, far).is_empty());
    assert_eq!(simulator.station_stats(stations[1]).taken.packets, 1);
    assert_eq!(simulator.station_stats(stations[1]).received.packets, 0);
    assert_eq!((simulator.packets_in_network(), simulator.packets_sent()), (0, 1));
    assert!(simulator.losses().is_empty());
}

#[test]
fn a_broadcast_leaves_by_every_egress_and_links_deliver_it_to_their_far_nodes() {
    let mut simulator = simulator();
    let (_, nodes, _) = row(&mut simulator, 2, 1.0, 10);
    let (near, beyond) = (simulator.add_node("near"), simulator.add_node("beyond"));
    simulator.add_duplex(nodes[0], near, slow());
    simulator.add_duplex(near, beyond, slow());
    simulator.add_agent(nodes[0], FLOW, sender(NodeId::BROADCAST, &[0]));
    let air = simulator.add_agent(nodes[1], FLOW, Script::default());
    let wire = simulator.add_agent(near, FLOW, Script::default());
    let other_flow = simulator.add_agent(near, FlowId(5), Script::default());
    let hidden = simulator.add_agent(beyond, FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(simulator.agent(wire).received, [(micros(6_000), 0)]);
    assert_eq!(tags(&simulator, air), [0]);
    assert!(tags(&simulator, hidden).is_empty() && tags(&simulator, other_flow).is_empty());
    assert_eq!(simulator.packets_in_network(), 0);
}

#[test]
fn copies_of_a_damaged_broadcast_do_not_share_their_damage() {
    let mut simulator = simulator();
    let hub = simulator.add_node("hub");
    let [a, b] = ["a", "b"].map(|name| simulator.add_node(name));
    let damaging = slow().with_impairment(Impairment::mask(vec![0])).with_damaged(1.0);
    let links = [a, b].map(|node| simulator.add_link(hub, node, damaging.clone()));
    simulator.add_agent(hub, FLOW, sender(NodeId::BROADCAST, &[0]));
    let sinks = [a, b].map(|node| simulator.add_agent(node, FLOW, Script::default()));
    simulator.run_until(Instant::from_secs(1));
    for (sink, link) in sinks.into_iter().zip(links) {
        assert_eq!(simulator.agent(sink).damaged, [(micros(6_000), 0, link)]);
    }
}
