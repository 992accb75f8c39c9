//! Access points and clients of an 802.11 medium.

use whimbrel_wifi::dcf::{MacConfig, Step};
use whimbrel_wifi::frame::bytes::Flags;
use whimbrel_wifi::infrastructure::{AccessPointConfig, HandoverReport, Scan, StationConfig};
use whimbrel_wifi::mobility::Presence;
use whimbrel_wifi::phy::Rate;
use whimbrel_wifi::site::Site;
use whimbrel_wifi::{FrameKind, MacAddress};

use super::wireless::{Campus, access_point, at_metre, client, hidden, mac, moving, site, ssid};
use super::*;
use crate::medium::{InfrastructureConfig, Medium, StationRole, WifiConfig, WifiMedium};
use crate::{MediumLoss, NextHop, StationIndex};

/// Microseconds from `start` on, at a fixed interval.
pub(super) fn every(interval: u64, start: u64, count: u64) -> Vec<u64> {
    (0..count).map(|k| start + k * interval).collect()
}

/// Stations that stay at these places of a line.
pub(super) fn fixed(places: &[f64]) -> Site {
    site(places.iter().map(|&x| (at_metre(x), Presence::ALWAYS)))
}

/// With a contention window of 0, each frame follows DIFS after the response to the last. 3 m take 10 ns.
#[test]
fn joining_takes_the_exchanges_of_scanning_authentication_and_association() {
    let mut mac = mac();
    mac.phy.cw_min = 0;
    let roles = InfrastructureConfig::new(vec![access_point(0, 1), client(1, &[1])]);
    let mut campus = Campus::on(fixed(&[0.0, 3.0]), WifiConfig::standard(mac.clone(), 1), &roles);
    let observer = campus.observer(1);
    campus.run(1);
    let frame = |body: u32| mac.phy.duration(Rate::Dsss1, 28 + body) + Duration::from_nanos(10);
    let (sifs, difs) = (Duration::from_micros(10), Duration::from_micros(50));
    let acknowledged = sifs + mac.phy.duration(Rate::Dsss1, 14) + difs;
    // 2 ms to the channel, 0.1 ms of ProbeDelay, 40 ms of MaxChannelTime because the response to the probe
    // request is sensed.
    let scanned = micros(2_000 + 100 + 40_000);
    let authenticated = scanned + Duration::from_millis(2) + difs + frame(6) + acknowledged + frame(6);
    let associated = authenticated + acknowledged + frame(4 + 5 + 10) + acknowledged + frame(6 + 10);
    let expected = HandoverReport {
        from: None,
        to: campus.wifi().address(StationIndex(0)),
        last_contact: Instant::ZERO,
        detected: Instant::ZERO,
        scanned,
        authenticated,
        associated,
    };
    assert_eq!(campus.wifi().handovers(), [(StationIndex(1), expected)]);
    let observations = &campus.simulator.agent(observer).observations;
    let [(at, station, Observation::Associated(handover))] = observations[..] else {
        panic!("{observations:?}")
    };
    assert_eq!((at, station), (associated, campus.stations[1]));
    assert_eq!((handover.from, handover.to, handover.report), (None, campus.nodes[0], expected));
    let stats = campus.wifi().management_stats(StationIndex(1));
    // Probe, authentication and association, in both directions.
    assert_eq!((stats.sent, stats.received, stats.associations, stats.handovers), (3, 3, 1, 0));
    assert_eq!(campus.wifi().management_stats(StationIndex(0)).sent, 3);
    // At 102.4 ms and multiples; the first one at time 0 preceded the station.
    assert_eq!(
        (campus.wifi().management_stats(StationIndex(0)).beacons_sent, stats.beacons_received),
        (10, 9)
    );
}

/// Two access points at 0 m and 400 m on different channels; the client leaves the range of the first one,
/// 250 m, after 20 s.
fn walk() -> Campus {
    Campus::new(vec![
        (at_metre(0.0), access_point(0, 1)),
        (at_metre(400.0), access_point(1, 6)),
        (moving((50.0, 0), (350.0, 30)), client(2, &[1, 6, 11])),
    ])
}

#[test]
fn a_hand_over_loses_the_packets_of_the_outage_and_no_other() {
    let mut campus = walk();
    let (_, sink) = campus.flow(1, campus.host, campus.nodes[2], &every(10_000, 505_000, 2_900));
    campus.run(32);
    let [(_, _), (client, report)] = campus.wifi().handovers()[..] else {
        panic!("{:?}", campus.wifi().handovers())
    };
    assert_eq!(
        (client, campus.wifi().access_point(StationIndex(2))),
        (StationIndex(2), Some(StationIndex(1)))
    );
    // Seven beacons and a half after the last one.
    assert_eq!(report.detection(), Duration::from_micros(102_400 * 15 / 2));
    let (received, losses) = campus.outcome(sink);
    let lost: Vec<u64> = losses.iter().map(|&(tag, _)| tag).collect();
    let mut all: Vec<u64> = received.iter().chain(&lost).copied().collect();
    all.sort_unstable();
    assert_eq!(all, (0..2_900).collect::<Vec<u64>>());
    assert!(received.is_sorted());
    // A packet arrives at an access point 1 ms after it was sent, none within 5 ms of the end of the range.
    let arrival = |tag: u64| micros(505_000 + tag * 10_000 + 1_000);
    let outage = Instant::from_secs(20)..report.associated;
    for tag in 0..2_900 {
        assert_eq!(lost.contains(&tag), outage.contains(&arrival(tag)), "{tag} at {}", arrival(tag));
    }
    // The access point sends some in vain; those that wait when the client associates with the other one are
    // lost then.
    let out_of_range = LossCause::Medium(campus.stations[0], MediumLoss::OutOfRange);
    let not_associated = LossCause::Medium(campus.stations[0], MediumLoss::NotAssociated);
    let off_channel = LossCause::Medium(campus.stations[0], MediumLoss::OffChannel);
    let overflow = LossCause::StationOverflow(campus.stations[0]);
    let count = |cause| losses.iter().filter(|&&(_, other)| other == cause).count();
    let counts = [out_of_range, not_associated, off_channel, overflow].map(count);
    assert_eq!(counts.iter().sum::<usize>(), lost.len(), "{losses:?}");
    assert!(counts[0] > 10 && counts[1] > 10, "{counts:?}");
    assert_eq!(campus.simulator.packets_in_network(), 0);
}

/// The frame in service when the client gives up goes to the new access point with those that wait. Of those
/// before, the MAC has dropped two after seven attempts each.
#[test]
fn a_clients_packets_wait_during_a_hand_over() {
    let mut campus = walk();
    let (source, sink) = campus.flow(1, campus.nodes[2], campus.host, &every(50_000, 525_000, 580));
    campus.simulator.observe(campus.stations[2], source);
    campus.run(32);
    let [(_, _), (_, report)] = campus.wifi().handovers()[..] else { panic!() };
    let (received, losses) = campus.outcome(sink);
    let out_of_range = LossCause::Medium(campus.stations[2], MediumLoss::OutOfRange);
    let [(first, cause), (second, other)] = losses[..] else { panic!("{losses:?}") };
    assert_eq!((cause, other, second), (out_of_range, out_of_range, first + 1));
    assert!(received.is_sorted());
    assert_eq!(received.len(), 578);
    // Twenty failed attempts, of the packets that were sent after 20 s.
    assert_eq!(first, (20_000 - 525) / 50 + 1);
    assert!(report.detected > micros(20_000_000) && report.detected < micros(20_200_000), "{report:?}");
    let reports: Vec<(u32, NodeId)> = campus
        .simulator
        .agent(source)
        .observations
        .iter()
        .filter_map(|(_, _, observation)| match observation {
            Observation::Sent(report) | Observation::Failed(report) if report.attempts > 5 => {
                Some((report.attempts, report.to?))
            }
            _ => None,
        })
        .collect();
    // Six attempts in vain and one through the new access point.
    assert_eq!(reports, [(7, campus.nodes[0]), (7, campus.nodes[0]), (7, campus.nodes[1])]);
    assert_eq!(campus.simulator.packets_in_network(), 0);
}

/// A packet from one client to another is transmitted twice, no matter what the route says of the next hop.
#[test]
fn clients_of_one_access_point_talk_through_it() {
    for has_direct_route in [false, true] {
        let roles = [access_point(0, 1), client(1, &[1]), client(2, &[1])];
        let config = WifiConfig::standard(MacConfig { is_traced: true, ..mac() }, 1);
        let mut campus =
            Campus::on(fixed(&[0.0, 3.0, 6.0]), config, &InfrastructureConfig::new(roles.to_vec()));
        let observer = campus.observer(1);
        campus.run(1);
        if has_direct_route {
            let next = NextHop::Station { station: campus.stations[1], to: campus.nodes[2] };
            campus.simulator.set_route(campus.nodes[1], campus.nodes[2], Some(next));
        } else {
            let next = NextHop::Station { station: campus.stations[1], to: campus.nodes[0] };
            assert_eq!(campus.simulator.route(campus.nodes[1], campus.nodes[2]), Some(next));
        }
        let (_, sink) = campus.flow(1, campus.nodes[1], campus.nodes[2], &every(10_000, 1_000_000, 20));
        campus.run(2);
        assert_eq!(campus.outcome(sink), ((0..20).collect(), vec![]));
        let stats = [0, 1, 2].map(|k| campus.simulator.station_stats(campus.stations[k]).taken.packets);
        assert_eq!(stats, [20, 20, 0]);
        // To the distribution system first, and then from it.
        let wifi = campus.wifi();
        let destination = wifi.address(if has_direct_route { StationIndex(2) } else { StationIndex(0) });
        let addresses = (wifi.address(StationIndex(0)), wifi.address(StationIndex(1)));
        let mut sent = 0;
        for (_, _, observation) in &campus.simulator.agent(observer).observations {
            match observation {
                Observation::Mac { step: Step::TransmitStarted { frame }, .. }
                    if frame.kind == FrameKind::Data =>
                {
                    assert_eq!((frame.receiver, frame.transmitter), addresses);
                    assert_eq!(frame.addressing.flags, Flags::TO_DS);
                    assert_eq!(frame.addressing.address3, Some(destination));
                    sent += 1;
                }
                Observation::Mac { step: Step::Received { frame }, .. } if frame.kind == FrameKind::Data => {
                    assert_eq!(
                        (frame.receiver, frame.transmitter),
                        (wifi.address(StationIndex(2)), wifi.address(StationIndex(0)))
                    );
                    assert_eq!(frame.addressing.flags, Flags::FROM_DS);
                    assert_eq!(frame.addressing.address3, Some(wifi.address(StationIndex(0))));
                }
                _ => {}
            }
        }
        assert_eq!(sent, 20);
    }
}

/// The access point repeats the broadcast of a client, which does not receive its own. Other networks do not
/// receive it.
#[test]
fn a_clients_broadcast_is_repeated_by_its_access_point() {
    let ad_hoc = StationRole::AdHoc { channel: 1 };
    let roles = vec![access_point(0, 1), client(1, &[1]), client(2, &[1]), ad_hoc, access_point(4, 1)];
    let mut campus = Campus::on(
        fixed(&[0.0, 3.0, 6.0, 9.0, 12.0]),
        WifiConfig::standard(mac(), 1),
        &InfrastructureConfig::new(roles).with_staggered_beacons(),
    );
    let source = campus.simulator.add_agent(campus.nodes[1], FLOW, sender(NodeId::BROADCAST, &[1_000_000]));
    let sinks = [0, 2, 3, 4].map(|k| campus.simulator.add_agent(campus.nodes[k], FLOW, Script::default()));
    campus.run(2);
    let serving = [campus.wifi().access_point(StationIndex(1)), campus.wifi().access_point(StationIndex(2))];
    assert_eq!(serving, [Some(StationIndex(0)); 2]);
    let received = sinks.map(|sink| campus.outcome(sink).0.len());
    assert_eq!((received, campus.outcome(source).0.len()), ([1, 1, 0, 0], 0));
    assert_eq!(campus.simulator.packets_in_network(), 0);
}

#[test]
fn roles_that_do_not_work_are_refused() {
    let refused = |roles: Vec<StationRole>| {
        let config = InfrastructureConfig::new(roles);
        let medium =
            WifiMedium::with_infrastructure(fixed(&[0.0, 3.0]), WifiConfig::standard(mac(), 1), &config);
        medium.map(|_| ()).expect_err("the roles do not work").to_string()
    };
    assert_eq!(
        refused(vec![access_point(7, 1), access_point(7, 6)]),
        "stations 0 and 1 have one address (BSSID), 02:00:00:00:00:07: expected an address of its own for each"
    );
    // The address of a station without one of its own counts.
    assert!(
        refused(vec![StationRole::default(), access_point(0, 6)]).starts_with("stations 0 and 1 have one")
    );
    assert_eq!(refused(vec![access_point(0, 1)]), "1 roles for 2 stations: expected one for each");
    let without_channels = vec![access_point(0, 1), client(1, &[])];
    assert_eq!(refused(without_channels), "station 1: channels: expected at least one channel");
    let mut silent = AccessPointConfig::new(MacAddress::station(0), ssid(), 1);
    silent.beacon_interval = Duration::ZERO;
    let silent = vec![StationRole::AccessPoint(silent), client(1, &[1])];
    assert_eq!(
        refused(silent),
        "station 0: beacon_interval: expected 1.024 ms to 67.1 s (1 to 65535 time units)"
    );
    let group = StationConfig::new(MacAddress::BROADCAST, ssid(), vec![1]);
    assert_eq!(
        refused(vec![access_point(0, 1), StationRole::client(group)]),
        "station 1: the address ff:ff:ff:ff:ff:ff is a group address, expected a unicast address"
    );
}

/// Two saturated networks side by side: on two channels each has the throughput that it has alone, on one
/// they share it.
#[test]
fn networks_on_different_channels_do_not_interfere() {
    let run = |second: u8| {
        let roles = vec![access_point(0, 1), client(1, &[1]), access_point(2, second), client(3, &[second])];
        let mut campus = Campus::on(
            fixed(&[0.0, 3.0, 6.0, 9.0]),
            WifiConfig::standard(mac(), 1),
            &InfrastructureConfig::new(roles).with_staggered_beacons(),
        );
        // 1000 bytes each 1.3 ms is more than a channel carries.
        let times = every(1_300, 1_000_000, 3_000);
        let sinks =
            [(1, 0), (3, 2)].map(|(from, to)| campus.flow(1, campus.nodes[from], campus.nodes[to], &times).1);
        campus.run(4);
        sinks.map(|sink| campus.outcome(sink).0.len() as f64 * 8_000.0 / 3.0 / 1e6)
    };
    let theory =
        whimbrel_wifi_validation::theory::SingleSender::new(&mac().phy, Rate::Hr11, Rate::Dsss2, 36, false);
    let alone = theory.megabits_per_second(1_000);
    // Beacons take a little.
    for rate in run(6) {
        assert!(rate > 0.97 * alone && rate <= alone, "{rate} Mbit/s, by theory {alone}");
    }
    let [first, second] = run(1);
    let sum = first + second;
    // Two stations contend with a shorter mean backoff than one, and sometimes collide.
    assert!((first / sum - 0.5).abs() < 0.1 && sum < 1.1 * alone, "{first} and {second} Mbit/s");
}

/// Two clients that do not sense each other send to their access point between them.
#[test]
fn hidden_clients_collide_and_rts_cts_prevents_most_of_it() {
    let run = |rts_threshold| {
        let paths = [0.0, -249.0, 249.0].map(|x| (at_metre(x), Presence::ALWAYS));
        let (site, config) = hidden(paths, MacConfig { rts_threshold, ..mac() });
        let roles = vec![access_point(0, 1), client(1, &[1]), client(2, &[1])];
        let mut campus = Campus::on(site, config, &InfrastructureConfig::new(roles));
        let times = every(5_000, 1_000_000, 400);
        let sinks = [1, 2].map(|k| campus.flow(k, campus.nodes[k as usize], campus.nodes[0], &times).1);
        campus.run(10);
        let outcomes = sinks.map(|sink| campus.outcome(sink));
        assert!(outcomes.iter().all(|(received, lost)| received.len() + lost.len() == 400));
        let is_collision =
            |&&(_, cause): &&(u64, LossCause)| matches!(cause, LossCause::Medium(_, MediumLoss::Collision));
        let collisions = outcomes.iter().map(|(_, lost)| lost.iter().filter(is_collision).count());
        let losses: usize = outcomes.iter().map(|(_, lost)| lost.len()).sum();
        (collisions.sum::<usize>(), losses)
    };
    let (collisions, lost) = run(2_347);
    assert!(collisions > 20, "{collisions} collisions, {lost} losses");
    let (_, lost_behind_rts) = run(500);
    assert!(lost_behind_rts * 3 < lost, "{lost_behind_rts} of {lost}");
}

/// Frames of 8.5 ms occupy the first channel. One of them is on the air when the wait for activity begins,
/// and lasts longer than the wait: the station stays for MaxChannelTime, as on the channel of the access
/// point.
#[test]
fn a_frame_on_the_air_is_activity_on_the_channel() {
    let ad_hoc = StationRole::AdHoc { channel: 1 };
    let (probe_delay, min, max) =
        (Duration::from_millis(12), Duration::from_micros(1_500), Duration::from_millis(30));
    let mut config = StationConfig::new(MacAddress::station(3), ssid(), vec![1, 2]);
    config.scan = Scan::Active { probe_delay, min_channel_time: min, max_channel_time: max };
    let roles = vec![ad_hoc.clone(), ad_hoc, access_point(2, 2), StationRole::client(config)];
    let mac = MacConfig { data_rate: Rate::Dsss1, ..mac() };
    let mut campus = Campus::on(
        fixed(&[0.0, 3.0, 6.0, 9.0]),
        WifiConfig::standard(mac, 1),
        &InfrastructureConfig::new(roles),
    );
    campus.flow(1, campus.nodes[0], campus.nodes[1], &every(8_000, 0, 50));
    campus.run(1);
    let [(_, report)] = campus.wifi().handovers() else { panic!("{:?}", campus.wifi().handovers()) };
    assert_eq!(report.search(), (Duration::from_millis(2) + probe_delay + max) * 2);
}

#[test]
fn stations_reach_their_access_point_and_ad_hoc_stations_those_of_their_channel() {
    let ad_hoc = |channel| StationRole::AdHoc { channel };
    let mut campus = Campus::new(vec![
        (at_metre(0.0), access_point(0, 1)),
        (at_metre(50.0), access_point(1, 1)),
        (at_metre(10.0), client(2, &[1])),
        (at_metre(20.0), ad_hoc(1)),
        (at_metre(30.0), ad_hoc(1)),
        (at_metre(40.0), ad_hoc(6)),
    ]);
    campus.run(3);
    let wifi = campus.wifi();
    let own = wifi.access_point(StationIndex(2)).expect("an association").0;
    let reached = |from| -> Vec<u32> {
        let reaches = |&to: &u32| wifi.reaches(Instant::from_secs(3), StationIndex(from), StationIndex(to));
        (0..6).filter(reaches).collect()
    };
    assert_eq!((reached(2), reached(own), reached(1 - own)), (vec![own], vec![2], vec![]));
    assert_eq!((reached(3), reached(4), reached(5)), (vec![4], vec![3], vec![]));
}
