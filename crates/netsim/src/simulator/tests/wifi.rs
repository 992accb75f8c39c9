//! Stations of an 802.11 medium.

use proptest::prelude::*;
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::mobility::{Path, Position, Presence};
use whimbrel_wifi::phy::Rate;

use super::wireless::{add, at_metre, hidden, mac, moving, row, site, sixty_packets, stations, tags};
use super::*;
use crate::medium::{WifiConfig, WifiMedium};
use crate::{FixedRoutes, MediumLoss, NextHop};

/// DIFS, the data frame with 36 bytes of headers, 3 m; then SIFS and the acknowledgement.
#[test]
fn a_packet_takes_difs_its_frame_and_the_acknowledgement() {
    let mut simulator = simulator();
    let (_, nodes, stations) = stations(&mut simulator, row(2, 3.0), WifiConfig::standard(mac(), 1));
    let source = simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[100]));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.observe(stations[0], source);
    simulator.run_until(Instant::from_secs(1));
    let data = mac().phy.duration(Rate::Hr11, 1_036);
    let propagation = Duration::from_nanos(10);
    let start = micros(100) + Duration::from_micros(50);
    assert_eq!(simulator.agent(sink).received, [(start + data + propagation, 0)]);
    let acknowledgement = mac().phy.duration(Rate::Dsss2, 14);
    let end = start + data + propagation + Duration::from_micros(10) + acknowledgement + propagation;
    let [(at, station, Observation::Sent(report))] = simulator.agent(source).observations[..] else {
        panic!("{:?}", simulator.agent(source).observations)
    };
    assert_eq!((at, station, report.to, report.attempts), (end, stations[0], Some(nodes[1]), 1));
    assert_eq!(report.service, end - micros(100));
    assert_eq!(simulator.packets_in_network(), 0);
}

#[test]
fn packets_cross_several_hops() {
    let mut simulator = simulator();
    let (_, nodes, stations) = stations(&mut simulator, row(4, 200.0), WifiConfig::standard(mac(), 1));
    let times: Vec<u64> = (0..20).collect();
    simulator.add_agent(nodes[0], FLOW, sender(nodes[3], &times));
    let sink = simulator.add_agent(nodes[3], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(tags(&simulator, sink), times);
    let taken: Vec<u64> = stations.iter().map(|&s| simulator.station_stats(s).taken.packets).collect();
    assert_eq!(taken, [20, 20, 20, 0]);
    assert_eq!(simulator.packets_in_network(), 0);
}

/// The station drives away at 100 m/s and is out of range from the third second on. The MAC transmits each
/// packet seven times.
#[test]
fn a_receiver_that_left_is_out_of_range() {
    let mut simulator = simulator();
    let paths = vec![at_metre(0.0), moving((0.0, 0), (10_000.0, 100))];
    let (_, nodes, stations) = stations(&mut simulator, paths, WifiConfig::standard(mac(), 1));
    let source = simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[1_000_000, 3_000_000, 8_000_000]));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.observe(stations[0], source);
    simulator.run_until(Instant::from_secs(10));
    assert_eq!(tags(&simulator, sink), [0]);
    let causes: Vec<LossCause> = simulator.agent(sink).losses.iter().map(|&(_, _, cause)| cause).collect();
    assert_eq!(causes, [LossCause::Medium(stations[0], MediumLoss::OutOfRange); 2]);
    let attempts: Vec<u32> = simulator
        .agent(source)
        .observations
        .iter()
        .filter_map(|(_, _, observation)| match observation {
            Observation::Failed(report) => Some(report.attempts),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [7, 7]);
    assert_eq!(simulator.packets_in_network(), 0);
}

/// Another station in range does not hide that the receiver is out of range.
#[test]
fn a_receiver_out_of_range_among_others_in_range_is_out_of_range() {
    let mut simulator = simulator();
    let paths = vec![at_metre(0.0), at_metre(5.0), moving((200.0, 0), (10_200.0, 10))];
    let (_, nodes, stations) = stations(&mut simulator, paths, WifiConfig::standard(mac(), 1));
    simulator.add_agent(nodes[0], FLOW, sender(nodes[2], &[0, 3_000_000]));
    let sink = simulator.add_agent(nodes[2], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(10));
    assert_eq!(tags(&simulator, sink), [0]);
    let (_, _, cause) = simulator.agent(sink).losses[0];
    assert_eq!(cause, LossCause::Medium(stations[0], MediumLoss::OutOfRange));
}

/// The station arrives in range in the third second; the routes follow when they are computed again.
#[test]
fn routes_lead_to_where_the_stations_are_now() {
    let mut simulator = simulator();
    let paths = vec![at_metre(0.0), moving((1_000.0, 0), (0.0, 10))];
    let (_, nodes, stations) = stations(&mut simulator, paths, WifiConfig::standard(mac(), 1));
    assert_eq!(simulator.route(nodes[0], nodes[1]), None);
    simulator.run_until(Instant::from_secs(9));
    simulator.apply(crate::Command::Reroute);
    let route = simulator.route(nodes[0], nodes[1]);
    assert_eq!(route, Some(NextHop::Station { station: stations[0], to: nodes[1] }));
}

#[test]
fn a_broadcast_is_sent_once_and_reaches_the_stations_that_decode_it() {
    let mut simulator = simulator();
    let (_, nodes, stations) = stations(&mut simulator, row(4, 200.0), WifiConfig::standard(mac(), 1));
    simulator.add_agent(nodes[1], FLOW, sender(NodeId::BROADCAST, &[0, 10]));
    let [left, right, far] = [0, 2, 3].map(|k| simulator.add_agent(nodes[k], FLOW, Script::default()));
    simulator.run_until(Instant::from_secs(1));
    assert_eq!((tags(&simulator, left), tags(&simulator, right)), (vec![0, 1], vec![0, 1]));
    assert!(tags(&simulator, far).is_empty());
    assert_eq!(simulator.station_stats(stations[1]).taken.packets, 2);
    assert_eq!((simulator.packets_in_network(), simulator.packets_sent()), (0, 2));
}

/// The EtherType behind LLC and SNAP is the one of the packet's version.
#[test]
fn captured_frames_name_the_version_of_their_packets() {
    for (version, kind) in [(0x45, [0x08, 0x00]), (0x60, [0x86, 0xdd])] {
        let mut simulator = simulator();
        let (medium, nodes, _) = stations(&mut simulator, row(2, 3.0), WifiConfig::standard(mac(), 1));
        let packet = move |_: &Packet<u64>, out: &mut Vec<u8>| out.extend([version, 0x77]);
        simulator.set_capture_format(packet);
        simulator.capture_medium(medium, "air");
        simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &[0]));
        simulator.add_agent(nodes[1], FLOW, Script::default());
        simulator.run_until(Instant::from_secs(1));
        let file = simulator.take_capture();
        let expected = [&[0xaa, 0xaa, 3, 0, 0, 0], &kind[..], &[version, 0x77]].concat();
        let found = file.windows(expected.len()).filter(|bytes| **bytes == expected).count();
        assert_eq!(found, 1, "{version:x}");
    }
}

/// Two stations that do not sense each other send to a third one between them.
#[test]
fn hidden_stations_collide_and_rts_cts_prevents_most_of_it() {
    let run = |rts_threshold| {
        let mut simulator = simulator();
        let mac = MacConfig { rts_threshold, ..mac() };
        let present = row(3, 249.0).into_iter().map(|path| (path, Presence::ALWAYS));
        let (site, config) = hidden(present, mac);
        let (_, nodes, _) = add(&mut simulator, WifiMedium::new(site, config), 1_000);
        let times: Vec<u64> = (0..400).collect();
        simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &times));
        simulator.add_agent(nodes[2], FLOW, sender(nodes[1], &times));
        let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
        simulator.run_until(Instant::from_secs(10));
        let sink = simulator.agent(sink);
        assert_eq!(sink.received.len() + sink.losses.len(), 800);
        let collided = |(_, _, cause): &&(Instant, u64, LossCause)| {
            matches!(cause, LossCause::Medium(_, MediumLoss::Collision))
        };
        (sink.losses.iter().filter(collided).count(), sink.losses.len())
    };
    let (collisions, lost) = run(2_347);
    assert!(collisions > 20 && collisions == lost, "{collisions} collisions of {lost} losses");
    let (_, lost_behind_rts) = run(500);
    assert!(lost_behind_rts * 3 < lost, "{lost_behind_rts} of {lost}");
}

/// A saturated sender, and the maximum throughput of its rate.
#[test]
fn one_saturated_sender_has_the_maximum_throughput() {
    let mut simulator = simulator();
    let (_, nodes, _) = stations(&mut simulator, row(2, 3.0), WifiConfig::standard(mac(), 1));
    // 1000 bytes each 1.3 ms is more than the link carries.
    let times: Vec<u64> = (0..6_000).map(|k| k * 1_300).collect();
    simulator.add_agent(nodes[0], FLOW, sender(nodes[1], &times));
    let sink = simulator.add_agent(nodes[1], FLOW, Script::default());
    simulator.run_until(micros(5_000_000));
    let received = simulator.agent(sink).received.len() as f64;
    let measured = received * 8_000.0 / 5.0 / 1e6;
    let theory =
        whimbrel_wifi_validation::theory::SingleSender::new(&mac().phy, Rate::Hr11, Rate::Dsss2, 36, false);
    let expected = theory.megabits_per_second(1_000);
    assert!((measured / expected - 1.0).abs() < 0.01, "{measured} Mbit/s, by theory {expected}");
}

#[test]
fn a_noted_frame_is_received_if_its_receiver_has_decoded_it() {
    let mut simulator = simulator();
    simulator.set_routing(FixedRoutes);
    // 1 reaches 0, and 2 only while it is near.
    let paths = vec![at_metre(0.0), at_metre(200.0), moving((400.0, 1), (500.0, 2))];
    let site = site(paths.into_iter().map(|path| (path, Presence::ALWAYS)));
    let mut wifi = WifiMedium::new(site, WifiConfig::standard(mac(), 1));
    wifi.monitor(100);
    let (medium, nodes, stations) = add(&mut simulator, wifi, 50);
    let next = NextHop::Station { station: stations[1], to: nodes[2] };
    simulator.set_route(nodes[1], nodes[2], Some(next));
    simulator.add_agent(nodes[1], FLOW, sender(nodes[2], &[0, 3_000_000]));
    simulator.add_agent(nodes[2], FLOW, Script::default());
    simulator.run_until(Instant::from_secs(4));
    let wifi: &WifiMedium = simulator.medium(medium).expect("an 802.11 medium");
    let noted =
        |frame: &crate::medium::AirFrame| (frame.sender.0, frame.receiver.map(|to| to.0), frame.is_received);
    let frames: Vec<_> = wifi.frames().iter().map(noted).collect();
    let mut expected = vec![(1, Some(2), true), (2, Some(1), true)];
    // Station 0 decodes all attempts.
    expected.extend([(1, Some(2), false); 7]);
    assert_eq!(frames, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Every packet is delivered once or lost once, regardless of the topology and the rules.
    #[test]
    fn packets_are_conserved(
        places in proptest::collection::vec((0.0..700.0f64, 0.0..700.0f64), 2..8),
        flows in proptest::collection::vec((0usize..8, 0usize..8, 1u64..4000), 1..6),
        rts_threshold in prop_oneof![Just(0u32), Just(2347)],
        is_ns2 in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut simulator = simulator();
        let paths: Vec<Path> = places.iter().map(|&(x, y)| Path::fixed(Position { x, y })).collect();
        let mut config = if is_ns2 { WifiConfig::ns2(seed) } else { WifiConfig::standard(mac(), seed) };
        config.mac.rts_threshold = rts_threshold;
        let (_, nodes, _) = stations(&mut simulator, paths, config);
        simulator.record_losses();
        let sinks = sixty_packets(&mut simulator, &nodes, flows);
        simulator.run_until(Instant::from_secs(60));
        prop_assert_eq!(simulator.packets_in_network(), 0);
        for sink in sinks {
            let sink = simulator.agent(sink);
            let lost: Vec<u64> = sink.losses.iter().map(|&(_, tag, _)| tag).collect();
            let mut all: Vec<u64> = sink.received.iter().map(|&(_, tag)| tag).chain(lost).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..60).collect::<Vec<u64>>());
        }
    }
}
