//! Address resolution at the stations of an 802.11 medium.

use proptest::prelude::*;
use whimbrel_wifi::FrameKind;
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::mobility::{Path, Position, Presence};
use whimbrel_wifi::phy::Rate;

use super::wireless::{
    Campus, access_point, add, at_metre, client, mac, moving, row, site, sixty_packets, stations, tags,
};
use super::*;
use crate::medium::{ArpConfig, ArpStats, InfrastructureConfig, StationRole, WifiConfig, WifiMedium};
use crate::{MediumLoss, StationIndex};

fn with_arp(arp: ArpConfig) -> WifiConfig {
    WifiConfig { arp: Some(arp), ..WifiConfig::standard(mac(), 1) }
}

/// The frames of a medium that is monitored: beginning in microseconds, sender, receiver, length, and packet.
type Line = (u64, usize, Option<usize>, u32, Option<u64>);

fn data_frames(wifi: &WifiMedium) -> Vec<Line> {
    let data = wifi.frames().iter().filter(|frame| frame.kind == FrameKind::Data);
    data.map(|frame| {
        let packet = frame.packet.map(|(packet, _)| packet.0);
        (
            frame.at.as_nanos() / 1_000,
            frame.sender.index(),
            frame.receiver.map(StationIndex::index),
            frame.size,
            packet,
        )
    })
    .collect()
}

fn wifi(simulator: &Simulator<Script>, medium: crate::MediumId) -> &WifiMedium {
    simulator.medium(medium).expect("an 802.11 medium")
}

fn monitor(simulator: &mut Simulator<Script>, medium: crate::MediumId) {
    simulator.with_medium(medium, |wifi: &mut WifiMedium, _| wifi.monitor(1_000));
}

/// Times of the frames without backoff: DIFS of 50 us precedes the request; the target waits DIFS after its
/// end, the first station DIFS after the acknowledgement of the reply, or the backoff after its broadcast if
/// that ends later.
#[test]
fn the_first_packet_waits_for_a_request_and_a_reply_and_later_ones_do_not() {
    for arp in [ArpConfig::STANDARD, ArpConfig::NS2] {
        let mut simulator = simulator();
        let (medium, nodes, stations) = stations(&mut simulator, row(3, 3.0), with_arp(arp));
        monitor(&mut simulator, medium);
        let source = simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0, 50_000]));
        let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
        // The target has learnt the address of the station that asked.
        let back = FlowId(7);
        let mut answer = sender(nodes[0], &[100_000]);
        answer.sends.iter_mut().for_each(|send| send.flow = back);
        simulator.add_agent(nodes[1], back, answer);
        let answered = simulator.add_agent(nodes[0], back, Script::default());
        simulator.observe(stations[0], source);
        simulator.run_until(Instant::from_secs(1));
        assert_eq!((tags(&simulator, sink), tags(&simulator, answered)), (vec![0, 1], vec![0]));
        let wifi = wifi(&simulator, medium);
        let frames = data_frames(wifi);
        let message = 28 + arp.message_size;
        let order: Vec<_> =
            frames.iter().map(|&(_, from, to, size, packet)| (from, to, size, packet.is_some())).collect();
        let packet = 1_036;
        assert_eq!(
            order,
            [
                (0, None, message, false),
                (1, Some(0), message, false),
                (0, Some(1), packet, true),
                (0, Some(1), packet, true),
                (1, Some(0), packet, true),
            ]
        );
        let request = mac().phy.duration(Rate::Dsss1, message);
        assert_eq!(frames[0].0, 50);
        let reply_at = Duration::from_micros(50) + request + Duration::from_micros(50);
        let slots = (frames[1].0 as i64 - (reply_at.as_nanos() / 1_000) as i64) / 20;
        assert!((0..=31).contains(&slots), "reply at {} us", frames[1].0);
        let stats = |station| wifi.arp_stats(station);
        assert_eq!(stats(StationIndex(0)), ArpStats { requests: 1, ..ArpStats::default() });
        assert_eq!(stats(StationIndex(1)), ArpStats { replies: 1, ..ArpStats::default() });
        assert_eq!(stats(StationIndex(2)), ArpStats::default());
        let Observation::Sent(report) = simulator.agent(source).observations[0].2 else { panic!("not sent") };
        assert!(report.service > request, "service has the resolution: {}", report.service);
        assert_eq!(simulator.packets_in_network(), 0);
    }
}

/// A third station that receives a request makes an entry under ns-2's rules only (RFC 826 updates entries,
/// but adds none).
#[test]
fn a_station_that_overhears_a_request_learns_under_the_rules_of_ns2_only() {
    for (arp, requests) in [(ArpConfig::STANDARD, 1), (ArpConfig::NS2, 0)] {
        let mut simulator = simulator();
        let (medium, nodes, _) = stations(&mut simulator, row(3, 3.0), with_arp(arp));
        simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0]));
        simulator.add_agent(nodes[1], FLOW, Script::default());
        let other = FlowId(7);
        let mut script = sender(nodes[0], &[100_000]);
        script.sends.iter_mut().for_each(|send| send.flow = other);
        simulator.add_agent(nodes[2], other, script);
        let sink = simulator.add_agent(nodes[0], other, Script::default());
        simulator.run_until(Instant::from_secs(1));
        assert_eq!(tags(&simulator, sink), [0]);
        assert_eq!(wifi(&simulator, medium).arp_stats(StationIndex(2)).requests, requests);
    }
}

/// While a packet for an unknown neighbour is held, ten come for a known one. In ns-2 an address is resolved
/// in front of the queue, behind whose packets a resolved one then waits; otherwise it precedes them.
#[test]
fn a_resolved_packet_waits_in_the_queue_under_the_rules_of_ns2_only() {
    for (arp, is_last) in [(ArpConfig::STANDARD, false), (ArpConfig::NS2, true)] {
        let mut simulator = simulator();
        let (medium, nodes, _) = stations(&mut simulator, row(3, 3.0), with_arp(arp));
        monitor(&mut simulator, medium);
        let mut times = vec![0];
        times.extend((0..10).map(|packet| 50_001 + packet));
        simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &times));
        simulator.add_agent(nodes[1], FLOW, Script::default());
        let other = FlowId(7);
        let mut script = sender(nodes[2], &[50_000]);
        script.sends.iter_mut().for_each(|send| send.flow = other);
        simulator.add_agent(nodes[0], other, script);
        simulator.add_agent(nodes[2], other, Script::default());
        simulator.run_until(Instant::from_secs(1));
        let frames = data_frames(wifi(&simulator, medium));
        let packets: Vec<_> = frames.iter().filter(|frame| frame.1 == 0 && frame.4.is_some()).collect();
        assert_eq!(packets.len(), 12);
        let place = packets.iter().position(|frame| frame.2 == Some(2));
        assert_eq!(place == Some(11), is_last, "{place:?}");
        assert_eq!(simulator.packets_in_network(), 0);
    }
}

/// A neighbour has left: packets for it take no room in the queue under ns-2's rules, whose requests and
/// replies find it full.
#[test]
fn packets_for_an_unknown_neighbour_fill_no_queue_under_the_rules_of_ns2() {
    for (arp, lost) in [(ArpConfig::STANDARD, true), (ArpConfig::NS2, false)] {
        let mut simulator = simulator();
        // The third station is out of range as soon as the simulation has begun.
        let paths = vec![at_metre(0.0), at_metre(3.0), moving((3.0, 0), (10_000.0, 1))];
        let (medium, nodes, stations) = stations(&mut simulator, paths, with_arp(arp));
        let gone = FlowId(7);
        let times: Vec<u64> = (0..60).map(|packet| 50_000 + packet).collect();
        let mut script = sender(nodes[2], &times);
        script.sends.iter_mut().for_each(|send| send.flow = gone);
        simulator.add_agent(nodes[0], gone, script);
        simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0, 50_100]));
        let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
        simulator.run_until(Instant::from_secs(5));
        assert_eq!(tags(&simulator, sink).contains(&1), !lost);
        let dropped = simulator.station_stats(stations[0]).dropped.packets;
        assert_eq!(dropped > 0, lost, "{dropped}");
        assert_eq!(wifi(&simulator, medium).held_packets(StationIndex(0)), 0);
        assert_eq!(simulator.packets_in_network(), 0);
    }
}

/// Three packets come while the first request is in service: the last one is sent. One per neighbour is held.
#[test]
fn a_newer_packet_replaces_the_one_held_which_is_lost() {
    let mut simulator = simulator();
    let (medium, nodes, stations) = stations(&mut simulator, row(3, 3.0), with_arp(ArpConfig::STANDARD));
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0, 1, 2]));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    let other = FlowId(7);
    let mut script = sender(nodes[2], &[3]);
    script.sends.iter_mut().for_each(|send| send.flow = other);
    simulator.add_agent(nodes[0], other, script);
    let second = simulator.add_agent(nodes[2], other, Script::default());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!((tags(&simulator, sink), tags(&simulator, second)), (vec![2], vec![0]));
    let losses: Vec<(u64, LossCause)> =
        simulator.agent(sink).losses.iter().map(|&(_, tag, cause)| (tag, cause)).collect();
    let cause = LossCause::Medium(stations[0], MediumLoss::Unresolved);
    assert_eq!(losses, [(0, cause), (1, cause)]);
    assert_eq!(MediumLoss::Unresolved.name(), "arp");
    let stats = wifi(&simulator, medium).arp_stats(StationIndex(0));
    assert_eq!((stats.requests, stats.replaced, stats.unresolved), (2, 2, 0));
}

/// The neighbour is out of range when the packet leaves the queue, as the routes are of the beginning.
fn departed(arp: ArpConfig, times: &[u64]) -> (Simulator<Script>, crate::MediumId, AgentId, AgentId) {
    let mut simulator = simulator();
    let paths = vec![at_metre(0.0), moving((0.0, 0), (10_000.0, 1))];
    let (medium, nodes, stations) = stations(&mut simulator, paths, with_arp(arp));
    monitor(&mut simulator, medium);
    let source = simulator.add_agent(nodes[0], FLOW, sender(nodes[1], times));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.observe(stations[0], source);
    simulator.run_until(Instant::from_secs(20));
    (simulator, medium, source, sink)
}

fn failures(simulator: &Simulator<Script>, agent: AgentId) -> Vec<(u64, u32)> {
    let observations = simulator.agent(agent).observations.iter();
    observations
        .filter_map(|&(at, _, observation)| match observation {
            Observation::Failed(report) => Some((at.as_nanos() / 1_000_000, report.attempts)),
            _ => None,
        })
        .collect()
}

/// One request per second (RFC 1122, section 2.3.2.1), three in all; the packet is lost a second after the
/// third one.
#[test]
fn a_request_is_repeated_each_second_up_to_three_times_and_then_the_packet_is_lost() {
    let (simulator, medium, source, sink) = departed(ArpConfig::STANDARD, &[2_000_000, 10_000_000]);
    let requests: Vec<u64> =
        data_frames(wifi(&simulator, medium)).iter().map(|frame| frame.0 / 1_000_000).collect();
    assert_eq!(requests, [2, 3, 4, 10, 11, 12]);
    let lost: Vec<(u64, u64)> =
        simulator.agent(sink).losses.iter().map(|&(at, tag, _)| (at.as_nanos() / 1_000_000, tag)).collect();
    assert_eq!(lost, [(5_000, 0), (13_000, 1)]);
    assert_eq!(failures(&simulator, source), [(5_000, 0), (13_000, 0)]);
    assert_eq!(wifi(&simulator, medium).arp_stats(StationIndex(0)).unresolved, 2);
    assert_eq!(simulator.packets_in_network(), 0);
}

/// ns-2 repeats no request by itself. The fourth packet sends no request: it is lost with the third one, and
/// both are reported.
#[test]
fn under_the_rules_of_ns2_each_packet_sends_a_request_and_the_fourth_one_is_given_up() {
    let times: Vec<u64> = (2..7).map(|second| second * 1_000_000).collect();
    let (simulator, medium, source, sink) = departed(ArpConfig::NS2, &times);
    let wifi = wifi(&simulator, medium);
    let requests: Vec<u64> = data_frames(wifi).iter().map(|frame| frame.0 / 1_000_000).collect();
    assert_eq!(requests, [2, 3, 4, 6]);
    let lost: Vec<(u64, u64)> =
        simulator.agent(sink).losses.iter().map(|&(at, tag, _)| (at.as_nanos() / 1_000_000, tag)).collect();
    assert_eq!(lost, [(3_000, 0), (4_000, 1), (5_000, 2), (5_000, 3)]);
    assert_eq!(failures(&simulator, source), [(5_000, 0), (5_000, 0)]);
    assert_eq!(
        (wifi.arp_stats(StationIndex(0)).replaced, wifi.arp_stats(StationIndex(0)).unresolved),
        (2, 2)
    );
    // The last packet is held until the end of the run.
    assert_eq!((wifi.held_packets(StationIndex(0)), simulator.packets_in_network()), (1, 1));
}

/// The second packet comes within the lifetime, the third one after it.
#[test]
fn an_entry_that_has_outlived_its_lifetime_is_resolved_anew() {
    let mut simulator = simulator();
    let arp = ArpConfig { lifetime: Some(Duration::from_secs(1)), ..ArpConfig::STANDARD };
    let (medium, nodes, _) = stations(&mut simulator, row(2, 3.0), with_arp(arp));
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0, 900_000, 1_100_000]));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(2));
    assert_eq!(tags(&simulator, sink), [0, 1, 2]);
    assert_eq!(wifi(&simulator, medium).arp_stats(StationIndex(0)).requests, 2);
}

/// Ad hoc stations next to a network with an access point resolve addresses; client and access point do not.
#[test]
fn clients_and_access_points_send_no_requests() {
    let roles = [access_point(0, 1), client(1, &[1]), StationRole::default(), StationRole::default()];
    let paths = [0.0, 3.0, 6.0, 9.0].map(|x| (at_metre(x), Presence::ALWAYS));
    let roles = InfrastructureConfig::new(roles.to_vec());
    let mut campus = Campus::on(site(paths), with_arp(ArpConfig::STANDARD), &roles);
    let (_, managed) = campus.flow(1, campus.host, campus.nodes[1], &[1_000_000, 1_100_000]);
    let (_, direct) = campus.flow(2, campus.nodes[2], campus.nodes[3], &[1_000_000, 1_100_000]);
    campus.run(2);
    assert_eq!((campus.outcome(managed).0, campus.outcome(direct).0), (vec![0, 1], vec![0, 1]));
    let requests: Vec<u64> =
        (0..4).map(|station| campus.wifi().arp_stats(StationIndex(station)).requests).collect();
    assert_eq!(requests, [0, 0, 1, 0]);
}

/// EtherType 0x0806 and the fields of RFC 826 in the capture: a request to all, and the reply to the station
/// that asked.
#[test]
fn a_capture_has_the_request_and_the_reply() {
    let mut simulator = simulator();
    let (medium, nodes, _) = stations(&mut simulator, row(2, 3.0), with_arp(ArpConfig::STANDARD));
    simulator.set_capture_format(|_: &Packet<u64>, out: &mut Vec<u8>| out.push(0x45));
    simulator.capture_medium(medium, "air");
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0]));
    simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    let bytes = simulator.take_capture();
    let header = [0xaa, 0xaa, 3, 0, 0, 0, 8, 6, 0, 1, 8, 0, 6, 4];
    let found: Vec<&[u8]> = (0..bytes.len() - header.len())
        .filter(|&at| bytes[at..].starts_with(&header))
        .map(|at| &bytes[at + header.len()..at + header.len() + 22])
        .collect();
    let [first, second] = [0, 1].map(|k| whimbrel_wifi::MacAddress::station(k).0);
    let (one, two) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let request = [&[0, 1][..], &first, &one, &[0; 6], &two].concat();
    let reply = [&[0, 2][..], &second, &two, &first, &one].concat();
    assert_eq!(found, [request, reply]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Every packet is delivered once, lost once, or held at the end, for any topology and rules.
    #[test]
    fn packets_are_conserved_with_address_resolution(
        places in proptest::collection::vec((0.0..700.0f64, 0.0..700.0f64), 2..8),
        speed in 0.0..60.0f64,
        flows in proptest::collection::vec((0usize..8, 0usize..8, 1u64..40_000), 1..6),
        rts_threshold in prop_oneof![Just(0u32), Just(2347)],
        is_ns2 in any::<bool>(),
        lifetime in prop_oneof![Just(None), Just(Some(Duration::from_millis(50)))],
        seed in any::<u64>(),
    ) {
        let mut simulator = simulator();
        let paths: Vec<Path> = places.iter().map(|&(x, y)| {
            let end = Position { x: x + 3.0 * speed, y };
            Path::through(&[(Instant::ZERO, Position { x, y }), (Instant::from_secs(3), end)]).expect("a path")
        }).collect();
        let count = paths.len();
        let rules = if is_ns2 { ArpConfig::NS2 } else { ArpConfig::STANDARD };
        let config = if is_ns2 { WifiConfig::ns2(seed) } else { WifiConfig::standard(mac(), seed) };
        let mac = MacConfig { rts_threshold, ..config.mac.clone() };
        let config = WifiConfig { mac, arp: Some(ArpConfig { lifetime, ..rules }), ..config };
        let site = site(paths.into_iter().map(|path| (path, Presence::ALWAYS)));
        let (medium, nodes, _) = add(&mut simulator, WifiMedium::new(site, config), 50);
        let sinks = sixty_packets(&mut simulator, &nodes, flows);
        simulator.run_until(Instant::from_secs(60));
        let wifi: &WifiMedium = simulator.medium(medium).expect("an 802.11 medium");
        let held: usize = (0..count).map(|station| wifi.held_packets(StationIndex::new(station))).sum();
        prop_assert!(is_ns2 || held == 0);
        prop_assert_eq!(simulator.packets_in_network(), held);
        let mut missing = 0;
        for sink in sinks {
            let sink = simulator.agent(sink);
            let lost = sink.losses.iter().map(|&(_, tag, _)| tag);
            let mut all: Vec<u64> = sink.received.iter().map(|&(_, tag)| tag).chain(lost).collect();
            all.sort_unstable();
            let ended = all.len();
            all.dedup();
            prop_assert_eq!(all.len(), ended, "a packet ended twice");
            missing += 60 - ended;
        }
        prop_assert_eq!(missing, held);
    }
}
