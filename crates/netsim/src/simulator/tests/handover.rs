//! Changes of the access point, outages, and what becomes of the packets meanwhile.

use proptest::prelude::*;
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::infrastructure::{AccessPointConfig, HandoverTrigger, StationConfig};
use whimbrel_wifi::mobility::{Path, Position, Presence};

use super::infrastructure::every;
use super::wireless::{Campus, access_point, at_metre, client, mac, moving, site, ssid};
use super::*;
use crate::medium::{InfrastructureConfig, StationRole, WifiConfig};
use crate::{MediumLoss, StationIndex};

/// Stations that are off between two times in milliseconds.
fn off(from: u64, until: u64) -> Presence {
    Presence::except(&[(Instant::from_millis(from), Instant::from_millis(until))]).expect("an interval")
}

fn campus(stations: Vec<(Path, Presence, StationRole)>) -> Campus {
    let (present, roles): (Vec<_>, Vec<_>) =
        stations.into_iter().map(|(path, presence, role)| ((path, presence), role)).unzip();
    let roles = InfrastructureConfig::new(roles).with_staggered_beacons();
    Campus::on(site(present), WifiConfig::standard(mac(), 1), &roles)
}

/// Times and names of a station's changes of its association.
fn changes(campus: &Campus, observer: AgentId) -> Vec<(Instant, &'static str, NodeId)> {
    let name = |&(at, _, observation): &(Instant, StationId, Observation)| match observation {
        Observation::Associated(handover) => Some((at, "associated", handover.to)),
        Observation::Disassociated { access_point } => Some((at, "disassociated", access_point)),
        Observation::Stayed { access_point } => Some((at, "stayed", access_point)),
        Observation::StationJoined { client } => Some((at, "joined", client)),
        Observation::StationLeft { client } => Some((at, "left", client)),
        _ => None,
    };
    campus.simulator.agent(observer).observations.iter().filter_map(name).collect()
}

fn names<'a>(changes: &[(Instant, &'a str, NodeId)]) -> Vec<&'a str> {
    changes.iter().map(|&(_, name, _)| name).collect()
}

/// An access point that is switched off loses its stations: no route leads to them. The client notices it by
/// the absence of beacons and data.
#[test]
fn an_access_point_that_goes_off_is_detected_by_its_beacons() {
    let mut campus = campus(vec![
        (at_metre(0.0), off(5_000, 10_000), access_point(0, 1)),
        (at_metre(100.0), Presence::ALWAYS, access_point(1, 6)),
        (at_metre(10.0), Presence::ALWAYS, client(2, &[1, 6])),
    ]);
    let observers = [0, 1, 2].map(|station| campus.observer(station));
    let (_, sink) = campus.flow(1, campus.host, campus.nodes[2], &every(10_000, 505_000, 1_400));
    campus.run(15);
    let [first, second] = campus.wifi().handovers() else { panic!("{:?}", campus.wifi().handovers()) };
    assert_eq!(
        (first.1.to, second.1.from),
        (campus.wifi().address(StationIndex(0)), Some(campus.wifi().address(StationIndex(0))))
    );
    assert_eq!(second.1.detection(), Duration::from_micros(102_400 * 15 / 2));
    // The last packet leaves the host at 4.995 s and arrives more than 1 ms later; the last beacon is sent at
    // 4.9152 s.
    let last_contact = second.1.last_contact - Instant::ZERO;
    assert!(last_contact > Duration::from_micros(4_996_000) && last_contact < Duration::from_secs(5));
    let client = changes(&campus, observers[2]);
    assert_eq!(names(&client), ["associated", "disassociated", "associated"]);
    assert_eq!((client[1].0, client[2].0), (second.1.detected, second.1.associated));
    let at_first = changes(&campus, observers[0]);
    assert_eq!(names(&at_first), ["joined", "left"]);
    assert_eq!(at_first[1].0, Instant::from_secs(5));
    assert_eq!(names(&changes(&campus, observers[1])), ["joined"]);
    let (received, losses) = campus.outcome(sink);
    assert_eq!(received.len() + losses.len(), 1_400);
    assert!(losses.iter().all(|&(_, cause)| cause == LossCause::NoRoute(campus.host)), "{losses:?}");
    // Routes lead to the other access point when it has accepted the client, which learns of it a frame
    // later.
    let joined = changes(&campus, observers[1])[0].0;
    assert!(joined < second.1.associated && joined + Duration::from_millis(2) > second.1.associated);
    let sent = |tag: u64| Instant::from_nanos((505_000 + tag * 10_000) * 1_000);
    assert!(losses.iter().all(|&(tag, _)| sent(tag) > Instant::from_secs(5) && sent(tag) < joined));
    assert_eq!(
        losses.len(),
        (4_995..).step_by(10).take_while(|&k| sent((k - 505) / 10) < joined).count() - 1
    );
}

/// The access point restarts before the client misses it. It does not know the client any more: it refuses
/// the next packet, and the client joins anew.
#[test]
fn an_access_point_that_has_restarted_refuses_the_frames_of_its_former_clients() {
    let mut campus = campus(vec![
        (at_metre(0.0), off(5_000, 5_300), access_point(0, 1)),
        (at_metre(10.0), Presence::ALWAYS, client(1, &[1])),
    ]);
    let (_, sink) =
        campus.flow(1, campus.nodes[1], campus.host, &[4_000_000, 5_500_000, 5_510_000, 6_000_000]);
    campus.run(8);
    let [_, (_, report)] = campus.wifi().handovers() else { panic!("{:?}", campus.wifi().handovers()) };
    assert_eq!(
        (report.from, report.to),
        (Some(campus.wifi().address(StationIndex(0))), campus.wifi().address(StationIndex(0)))
    );
    assert!(report.detected > micros(5_500_000) && report.detected < micros(5_510_000), "{report:?}");
    let not_associated = LossCause::Medium(campus.stations[1], MediumLoss::NotAssociated);
    assert_eq!(campus.outcome(sink), (vec![0, 2, 3], vec![(1, not_associated)]));
}

#[test]
fn a_client_that_was_off_joins_again() {
    let mut campus = campus(vec![
        (at_metre(0.0), Presence::ALWAYS, access_point(0, 1)),
        (at_metre(10.0), off(5_000, 6_000), client(1, &[1])),
    ]);
    let observer = campus.observer(1);
    let times = [4_000_000, 5_500_000, 7_000_000];
    let (_, up) = campus.flow(1, campus.nodes[1], campus.host, &times);
    let (_, down) = campus.flow(2, campus.host, campus.nodes[1], &times);
    campus.run(8);
    let changes = changes(&campus, observer);
    assert_eq!(names(&changes), ["associated", "disassociated", "associated"]);
    assert_eq!(changes[1].0, Instant::from_secs(5));
    // The time of joining: 2.1 ms to the channel, 20 ms to 40 ms there, 2 ms to it again, the exchanges.
    assert!(changes[2].0 > micros(6_025_000) && changes[2].0 < micros(6_055_000), "{changes:?}");
    // The packet that it sends while it is off waits; the access point sends the one for it in vain.
    assert_eq!(campus.outcome(up), (vec![0, 1, 2], vec![]));
    let out_of_range = LossCause::Medium(campus.stations[0], MediumLoss::OutOfRange);
    assert_eq!(campus.outcome(down), (vec![0, 2], vec![(1, out_of_range)]));
}

/// The client sends a probe request from 2.15 ms to 2.69 ms and is off when the response begins, which the
/// access point repeats six times.
#[test]
fn a_message_to_a_client_that_is_gone_is_given_up() {
    let mut mac = mac();
    mac.phy.cw_min = 0;
    let client_is_off = Presence::except(&[(micros(2_700), micros(200_000))]).expect("an interval");
    let present = [(at_metre(0.0), Presence::ALWAYS), (at_metre(3.0), client_is_off)];
    let roles = InfrastructureConfig::new(vec![access_point(0, 1), client(1, &[1])]);
    let mut campus = Campus::on(site(present), WifiConfig::standard(mac, 1), &roles);
    campus.simulator.run_until(micros(150_000));
    let stats = campus.wifi().management_stats(StationIndex(0));
    assert_eq!((stats.received, stats.sent, stats.dropped), (1, 0, 1));
    assert_eq!(campus.wifi().mac(StationIndex(0)).counters().failed_attempts, 7);
    campus.run(1);
    assert_eq!(campus.wifi().access_point(StationIndex(1)), Some(StationIndex(0)));
}

/// Until the distribution system is updated, packets for the client go to its access point before, where they
/// are lost.
#[test]
fn packets_take_the_access_point_before_until_the_distribution_system_is_updated() {
    let delay = Duration::from_millis(500);
    let roles = vec![access_point(0, 1), access_point(1, 6), client(2, &[1, 6])];
    let roles = InfrastructureConfig { distribution_delay: delay, ..InfrastructureConfig::new(roles) };
    let paths = [at_metre(0.0), at_metre(400.0), moving((50.0, 0), (350.0, 30))];
    let present = paths.map(|path| (path, Presence::ALWAYS));
    let config = WifiConfig::standard(mac(), 1);
    let mut campus = Campus::on(site(present), config, &roles.with_staggered_beacons());
    let (_, down) = campus.flow(1, campus.host, campus.nodes[2], &every(100_000, 1_005_000, 280));
    campus.run(30);
    let [_, (_, report)] = campus.wifi().handovers() else { panic!("{:?}", campus.wifi().handovers()) };
    let (received, losses) = campus.outcome(down);
    assert_eq!(received.len() + losses.len(), 280);
    let sent = |tag: u64| Instant::from_nanos((1_005_000 + tag * 100_000) * 1_000);
    let after = losses.iter().filter(|&&(tag, _)| sent(tag) > report.associated).count();
    assert_eq!(after, 5, "{losses:?}");
    assert!(losses.iter().all(|&(tag, _)| sent(tag) < report.associated + delay));
    let off_channel = LossCause::Medium(campus.stations[0], MediumLoss::OffChannel);
    let out_of_range = LossCause::Medium(campus.stations[0], MediumLoss::OutOfRange);
    assert!(losses.iter().all(|&(_, cause)| cause == off_channel || cause == out_of_range), "{losses:?}");
}

/// The clients lose their access point at one instant, scan in step, and still do not collide for ever.
#[test]
fn clients_that_lose_their_access_point_together_all_find_the_other_one() {
    let mut stations = vec![
        (at_metre(0.0), off(5_000, 60_000), access_point(0, 1)),
        (at_metre(100.0), Presence::ALWAYS, access_point(1, 6)),
    ];
    for number in 2..12 {
        stations.push((at_metre(f64::from(number)), Presence::ALWAYS, client(number, &[1, 6])));
    }
    let mut campus = campus(stations);
    campus.run(7);
    let serving: Vec<Option<StationIndex>> =
        (2..12).map(|client| campus.wifi().access_point(StationIndex(client))).collect();
    assert_eq!(serving, [Some(StationIndex(1)); 10]);
    let [first, second] = [0, 1].map(|station| campus.wifi().management_stats(StationIndex(station)));
    assert_eq!((first.disassociations, second.associations), (first.associations, 10));
    // Some have joined the second one at first, because they missed the first.
    let handovers: u64 =
        (2..12).map(|client| campus.wifi().management_stats(StationIndex(client)).handovers).sum();
    assert!(first.associations == handovers && handovers >= 5, "{handovers}");
}

/// The client looks for another access point where the beacons are weak: it returns to the present one until
/// the other is stronger, and loses nothing but what is sent while it scans.
#[test]
fn a_client_with_a_weak_signal_changes_before_it_loses_the_access_point() {
    let paths = || {
        [at_metre(0.0), at_metre(400.0), moving((50.0, 0), (350.0, 30))].map(|path| (path, Presence::ALWAYS))
    };
    // The power at 150 m, where the client is after 10 s. The other access point is stronger from 200 m on.
    let threshold = site(paths()).power(StationIndex(0), StationIndex(2), Instant::from_secs(10));
    let mut config = StationConfig::new(MacAddress::station(2), ssid(), vec![1, 6]);
    config.trigger = HandoverTrigger { weak_signal: Some((threshold, 1.2)), ..config.trigger };
    let roles = vec![access_point(0, 1), access_point(1, 6), StationRole::client(config)];
    let roles = InfrastructureConfig::new(roles).with_staggered_beacons();
    let mut campus = Campus::on(site(paths()), WifiConfig::standard(mac(), 1), &roles);
    let observer = campus.observer(2);
    let (_, down) = campus.flow(1, campus.host, campus.nodes[2], &every(10_000, 1_005_000, 2_900));
    campus.run(31);
    let changes = changes(&campus, observer);
    // Once per second from 10 s on, where it is 150 m from the first access point, until 20 s, where the
    // second is 150 m away.
    let mut expected = vec!["associated"];
    expected.extend(["disassociated", "stayed"].repeat(6));
    expected.extend(["disassociated", "associated"]);
    expected.extend(["disassociated", "stayed"].repeat(3));
    assert_eq!(names(&changes), expected);
    let [_, (_, report)] = campus.wifi().handovers() else { panic!("{:?}", campus.wifi().handovers()) };
    assert!(
        report.detected > Instant::from_secs(15) && report.detected < Instant::from_secs(17),
        "{report:?}"
    );
    let (received, losses) = campus.outcome(down);
    assert_eq!(received.len() + losses.len(), 2_900);
    // On the access point's channel the client receives also while it scans, and on the other one it stays
    // about as long as the MAC repeats a frame: few packets are lost.
    let cause = |&(_, cause): &(u64, LossCause)| match cause {
        LossCause::Medium(station, MediumLoss::OffChannel) => (station, true),
        LossCause::Medium(station, MediumLoss::NotAssociated) => (station, false),
        other => panic!("{other:?}"),
    };
    let causes: Vec<(StationId, bool)> = losses.iter().map(cause).collect();
    assert!(causes.iter().all(|&(station, is_off_channel)| is_off_channel || station == campus.stations[0]));
    assert!(losses.len() < 20, "{losses:?}");
}

/// Mishra, Shin and Arbaugh (An Empirical Analysis of the IEEE 802.11 MAC Layer Handoff Process, 2003)
/// measured hand-offs of 60 ms to 400 ms between 802.11b cards and access points, more than 90 % of it
/// between probe request and response, and authentication and association of a few milliseconds each. A scan
/// of the eleven channels with the default times is in that range; the times per channel of a card decide on
/// the place in it.
#[test]
fn the_phases_of_a_hand_over_are_like_measured_ones() {
    let channels: Vec<u8> = (1..=11).collect();
    let mut campus = campus(vec![
        (at_metre(0.0), Presence::ALWAYS, access_point(0, 1)),
        (at_metre(400.0), Presence::ALWAYS, access_point(1, 6)),
        (moving((50.0, 0), (350.0, 30)), Presence::ALWAYS, client(2, &channels)),
    ]);
    campus.run(25);
    let [_, (_, report)] = campus.wifi().handovers() else { panic!("{:?}", campus.wifi().handovers()) };
    let milliseconds = |duration: Duration| duration.as_nanos() as f64 / 1e6;
    let total = milliseconds(report.outage());
    assert!((60.0..400.0).contains(&total), "{total} ms");
    assert!(milliseconds(report.search()) > 0.9 * total);
    let (authentication, association) =
        (milliseconds(report.authentication()), milliseconds(report.association()));
    assert!((1.0..10.0).contains(&authentication) && (1.0..10.0).contains(&association), "{report:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Every packet is delivered once, lost once or waits at a client without an access point.
    #[test]
    fn packets_are_conserved(
        places in proptest::collection::vec((0.0..500.0f64, 0.0..500.0f64, -60.0..60.0f64), 3..8),
        roles in proptest::collection::vec(0u8..4, 8),
        channels in proptest::collection::vec(1u8..3, 8),
        outage in (0usize..8, 500u64..3_000, 1u64..2_000),
        flows in proptest::collection::vec((0usize..9, 0usize..9, 1u64..40_000), 1..6),
        rts_threshold in prop_oneof![Just(0u32), Just(2347)],
        delay in prop_oneof![Just(0u64), Just(300)],
        is_ns2 in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let count = places.len();
        let stations: Vec<_> = places.iter().enumerate().map(|(k, &(x, y, speed))| {
            let path = Path::through(&[
                (Instant::ZERO, Position { x, y }),
                (Instant::from_secs(5), Position { x: x + 5.0 * speed, y }),
            ]).expect("a path");
            let (which, from, length) = outage;
            (path, if which == k { off(from, from + length) } else { Presence::ALWAYS })
        }).collect();
        let role = |k: usize| match roles[k] {
            _ if k == 0 => access_point(0, channels[0]),
            0 => StationRole::AdHoc { channel: channels[k] },
            1 => StationRole::AccessPoint(AccessPointConfig::new(MacAddress::station(k as u32), ssid(), channels[k])),
            _ => client(k as u32, &[1, 2]),
        };
        let roles: Vec<StationRole> = (0..count).map(role).collect();
        let is_client: Vec<bool> = roles.iter().map(|role| matches!(role, StationRole::Client { .. })).collect();
        let roles = InfrastructureConfig { distribution_delay: Duration::from_millis(delay), ..InfrastructureConfig::new(roles) };
        let mut config = if is_ns2 { WifiConfig::ns2(seed) } else { WifiConfig::standard(mac(), seed) };
        config.mac.rts_threshold = rts_threshold;
        let mut campus = Campus::on(site(stations), config, &roles.with_staggered_beacons());
        let node = |campus: &Campus, k: usize| if k % (count + 1) == count { campus.host } else { campus.nodes[k % (count + 1)] };
        let mut sinks = Vec::new();
        for (flow, (from, to, gap)) in (1..).zip(flows) {
            let (source, destination) = (node(&campus, from), node(&campus, to));
            if source != destination {
                sinks.push(campus.flow(flow, source, destination, &every(gap, 200_000, 100)).1);
            }
        }
        campus.run(20);
        let mut missing = 0;
        for &sink in &sinks {
            let (received, lost) = campus.outcome(sink);
            let mut all: Vec<u64> = received.into_iter().chain(lost.into_iter().map(|(tag, _)| tag)).collect();
            let present = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), present);
            missing += 100 - present;
        }
        prop_assert_eq!(campus.simulator.packets_in_network(), missing);
        let waits = |k: usize| campus.simulator.station_backlog(campus.stations[k]).packets as usize;
        let waiting: usize = (0..count).filter(|&k| is_client[k] && campus.wifi().access_point(StationIndex::new(k)).is_none()).map(|k| waits(k) + 1).sum();
        prop_assert!(missing <= waiting, "{missing} in the network, {waiting} may wait at clients");
    }
}
