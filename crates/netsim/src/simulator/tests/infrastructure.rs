//! Access points and clients of an 802.11 medium.

use whimbrel_wifi::infrastructure::HandoverReport;
use whimbrel_wifi::phy::Rate;

use super::wireless::{Campus, access_point, at_metre, client, mac, moving, site};
use super::*;
use crate::MediumLoss;
use crate::medium::{InfrastructureConfig, WifiConfig};
use whimbrel_wifi::mobility::Presence;

/// Microseconds from `start` on, at a fixed interval.
fn every(interval: u64, start: u64, count: u64) -> Vec<u64> {
    (0..count).map(|k| start + k * interval).collect()
}

/// With a contention window of 0, each frame follows DIFS after the response to the one before. 3 m take 10 ns.
#[test]
fn joining_takes_the_exchanges_of_scanning_authentication_and_association() {
    let mut mac = mac();
    mac.phy.cw_min = 0;
    let present = [at_metre(0.0), at_metre(3.0)].map(|path| (path, Presence::ALWAYS));
    let roles = InfrastructureConfig::new(vec![access_point(0, 1), client(1, &[1])]);
    let mut campus = Campus::on(site(present), WifiConfig::standard(mac.clone(), 1), &roles);
    let observer = campus.observer(1);
    campus.run(1);
    let frame = |body: u32| mac.phy.duration(Rate::Dsss1, 28 + body) + Duration::from_nanos(10);
    let (sifs, difs) = (Duration::from_micros(10), Duration::from_micros(50));
    let acknowledged = sifs + mac.phy.duration(Rate::Dsss1, 14) + difs;
    // 2 ms to the channel, 0.1 ms of ProbeDelay, 40 ms of MaxChannelTime because the response to the probe request is
    // sensed.
    let scanned = micros(2_000 + 100 + 40_000);
    let authenticated = scanned + Duration::from_millis(2) + difs + frame(6) + acknowledged + frame(6);
    let associated = authenticated + acknowledged + frame(4 + 5 + 10) + acknowledged + frame(6 + 10);
    let expected = HandoverReport {
        from: None,
        to: campus.wifi().address(0),
        last_contact: Instant::ZERO,
        detected: Instant::ZERO,
        scanned,
        authenticated,
        associated,
    };
    assert_eq!(campus.wifi().handovers(), [(1, expected)]);
    let observations = &campus.simulator.agent(observer).observations;
    let [(at, station, Observation::Associated(handover))] = observations[..] else {
        panic!("{observations:?}")
    };
    assert_eq!((at, station), (associated, campus.stations[1]));
    assert_eq!((handover.from, handover.to, handover.report), (None, campus.nodes[0], expected));
    let stats = campus.wifi().management_stats(1);
    // Probe, authentication and association, in both directions.
    assert_eq!((stats.sent, stats.received, stats.associations, stats.handovers), (3, 3, 1, 0));
    assert_eq!(campus.wifi().management_stats(0).sent, 3);
    // At 102.4 ms and multiples; the first one at time 0 preceded the station.
    assert_eq!((campus.wifi().management_stats(0).beacons_sent, stats.beacons_received), (10, 9));
}

/// Two access points at 0 m and 400 m on different channels; the client leaves the range of the first one, 250 m, after 20 s.
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
    assert_eq!((client, campus.wifi().access_point(2)), (2, Some(1)));
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
    // The access point sends some in vain; those that wait when the client associates with the other one are lost then.
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

/// The frame in service when the client gives up goes to the new access point with those that wait. Of those before, the MAC
/// has dropped two after seven attempts each.
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
