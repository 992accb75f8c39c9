//! Access points with many clients.

use whimbrel_wifi::mobility::{Path, Position, Presence};

use super::wireless::{Campus, access_point, client, mac, site};
use crate::StationIndex;
use crate::medium::{InfrastructureConfig, StationRole, WifiConfig};

/// An access point in the middle of that many clients.
fn crowd(clients: u32, change: impl Fn(&mut StationRole)) -> Campus {
    let place = |number: u32| {
        let angle = std::f64::consts::TAU * f64::from(number) / f64::from(clients);
        let radius = if number == 0 { 0.0 } else { 20.0 };
        Path::fixed(Position { x: radius * libm::cos(angle), y: radius * libm::sin(angle) })
    };
    let site = site((0..=clients).map(|number| (place(number), Presence::ALWAYS)));
    let mut roles = vec![access_point(0, 1)];
    roles.extend((1..=clients).map(|number| client(number, &[1])));
    roles.iter_mut().for_each(change);
    Campus::on(site, WifiConfig::standard(mac(), 1), &InfrastructureConfig::new(roles))
}

/// The requests and answers of all of them exceed the channel's capacity at first.
#[test]
fn fifty_clients_that_start_together_associate_within_seconds() {
    let mut campus = crowd(50, |_| {});
    campus.run(5);
    let associated = (1..=50).filter(|&client| campus.wifi().access_point(StationIndex(client)).is_some());
    assert_eq!(associated.count(), 50);
    // Each once: no answer came too late.
    assert_eq!(campus.wifi().handovers().len(), 50);
    // Afterwards, beacons have the channel for themselves.
    let sent = |campus: &Campus| {
        (0..=50).map(|station| campus.wifi().management_stats(StationIndex(station)).sent).sum::<u64>()
    };
    let before = sent(&campus);
    campus.run(8);
    assert_eq!(sent(&campus), before);
}

/// Clients leave after a silence of three beacons, and half of the beacons collide with their data.
#[test]
fn clients_whose_data_are_acknowledged_stay_without_beacons() {
    let mut campus = crowd(20, |role| {
        if let StationRole::Client { config, .. } = role {
            config.trigger.missed_beacons = Some(3);
        }
    });
    campus.run(2);
    let nodes = campus.nodes.clone();
    let times: Vec<u64> = (0..1_000).map(|packet| 2_000_000 + packet * 2_000).collect();
    for (flow, &node) in (1..).zip(&nodes[1..]) {
        campus.flow(flow, node, campus.host, &times);
    }
    let associations = campus.wifi().handovers().len();
    assert_eq!(associations, 20);
    campus.run(4);
    let (sent, received) = (
        campus.wifi().management_stats(StationIndex(0)).beacons_sent,
        (1..=20).map(|client| campus.wifi().management_stats(StationIndex(client)).beacons_received).min(),
    );
    assert!(received.is_some_and(|received| received + 5 < sent), "{received:?} of {sent} beacons");
    assert_eq!(campus.wifi().handovers().len(), associations);
}
