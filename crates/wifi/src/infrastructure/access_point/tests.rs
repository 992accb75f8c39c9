use super::*;
use crate::infrastructure::{InvalidInfrastructure, check_access_points};
use std::string::ToString;
use std::vec::Vec;

const AP: MacAddress = MacAddress::station(1);

fn ssid() -> Ssid {
    Ssid::new("net").unwrap()
}

fn access_point(max_stations: usize) -> AccessPoint {
    AccessPoint::new(AccessPointConfig { max_stations, ..AccessPointConfig::new(AP, ssid(), 6) })
}

fn request(previous: Option<MacAddress>) -> ManagementMessage {
    ManagementMessage::AssociationRequest {
        ssid: ssid(),
        previous,
        is_erp: true,
        listen_interval: 1,
        uapsd: Uapsd::default(),
    }
}

fn answer(ap: &mut AccessPoint, station: u32, message: ManagementMessage) -> ManagementMessage {
    ap.handle_packet(Instant::ZERO, MacAddress::station(station), &message);
    let transmit = ap.poll_transmit().expect("an answer");
    assert_eq!((transmit.to, ap.poll_transmit()), (MacAddress::station(station), None));
    transmit.message
}

#[test]
fn beacons_are_due_at_multiples_of_the_interval() {
    let mut ap = access_point(10);
    let mut times = Vec::new();
    for _ in 0..4 {
        // The driver is late by a random time.
        let now = ap.poll_timeout().unwrap() + Duration::from_micros(700);
        ap.handle_timeout(now);
        times.push(now.as_nanos() / 1_000);
        let transmit = ap.poll_transmit().unwrap();
        assert!(matches!(transmit.message, ManagementMessage::Beacon(_)) && transmit.to.is_group());
    }
    assert_eq!(times, [700, 103_100, 205_500, 307_900]);
    let early = ap.poll_timeout().unwrap().saturating_sub(Duration::from_nanos(1));
    ap.handle_timeout(early);
    assert_eq!(ap.poll_transmit(), None);
}

#[test]
fn probe_requests_for_the_network_and_for_all_are_answered() {
    let mut ap = access_point(10);
    for wanted in [None, Some(ssid())] {
        let answer = answer(&mut ap, 5, ManagementMessage::ProbeRequest { ssid: wanted });
        assert!(matches!(answer, ManagementMessage::ProbeResponse(Announcement { channel: 6, .. })));
    }
    let other = ManagementMessage::ProbeRequest { ssid: Some(Ssid::new("other").unwrap()) };
    ap.handle_packet(Instant::ZERO, MacAddress::station(5), &other);
    assert_eq!(ap.poll_transmit(), None);
}

#[test]
fn a_station_authenticates_then_associates() {
    let mut ap = access_point(10);
    assert_eq!(answer(&mut ap, 5, request(None)), ManagementMessage::Deauthentication, "not authenticated");
    let accepted = ManagementMessage::AuthenticationResponse(Status::Success);
    assert_eq!(answer(&mut ap, 5, ManagementMessage::AuthenticationRequest), accepted);
    assert!(!ap.is_associated(MacAddress::station(5)));
    let success = |id| ManagementMessage::AssociationResponse { status: Status::Success, id };
    assert_eq!(answer(&mut ap, 5, request(Some(MacAddress::station(2)))), success(1));
    // A repetition gets the same answer and is no second event.
    assert_eq!(answer(&mut ap, 5, request(None)), success(1));
    let (station, previous) = (MacAddress::station(5), Some(MacAddress::station(2)));
    assert_eq!(ap.poll_event(), Some(AccessPointEvent::Associated { station, previous }));
    assert_eq!(ap.poll_event(), None);
    ap.handle_moved(station);
    assert_eq!(ap.poll_event(), Some(AccessPointEvent::Left { station }));
    assert_eq!(answer(&mut ap, 5, request(None)), ManagementMessage::Deauthentication);
}

#[test]
fn a_full_access_point_refuses_and_identifiers_are_used_again() {
    let mut ap = access_point(2);
    for station in [5, 6, 7] {
        answer(&mut ap, station, ManagementMessage::AuthenticationRequest);
    }
    let response = |status, id| ManagementMessage::AssociationResponse { status, id };
    assert_eq!(answer(&mut ap, 5, request(None)), response(Status::Success, 1));
    assert_eq!(answer(&mut ap, 6, request(None)), response(Status::Success, 2));
    assert_eq!(answer(&mut ap, 7, request(None)), response(Status::TooManyStations, 0));
    ap.handle_packet(Instant::ZERO, MacAddress::station(5), &ManagementMessage::Disassociation);
    assert_eq!(answer(&mut ap, 7, request(None)), response(Status::Success, 1));
    assert_eq!(ap.associated().count(), 2);
}

#[test]
fn a_flood_of_authentications_takes_bounded_room() {
    let mut ap = access_point(4);
    for station in 0..1_000 {
        answer(&mut ap, station, ManagementMessage::AuthenticationRequest);
    }
    assert_eq!(ap.stations.len(), 8);
}

#[test]
fn a_network_needs_different_addresses_and_an_interval() {
    let config = |address| AccessPointConfig::new(MacAddress::station(address), ssid(), 1);
    assert_eq!(check_access_points(&[config(1), config(2), config(3)]), Ok(()));
    let error = check_access_points(&[config(1), config(2), config(1)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "access points 0 and 2 have one BSSID, 02:00:00:00:00:01; expected an address of its own for each"
    );
    let beacons =
        |micros| [AccessPointConfig { beacon_interval: Duration::from_micros(micros), ..config(1) }];
    let (parameter, expected) = ("beacon_interval", "1.024 ms to 67.1 s (1 to 65535 time units)");
    for micros in [0, 1_023, 1_024 * 65_535 + 1] {
        let error = InvalidInfrastructure::Value { parameter, expected };
        assert_eq!(check_access_points(&beacons(micros)), Err(error));
    }
    assert_eq!(check_access_points(&beacons(1_024)), Ok(()));
    let group = AccessPointConfig { address: MacAddress::BROADCAST, ..config(1) };
    assert!(check_access_points(&[group]).is_err());
}

#[test]
fn data_of_a_station_is_accepted_only_while_it_is_associated() {
    let mut ap = access_point(10);
    let station = MacAddress::station(5);
    let refused = |ap: &mut AccessPoint| {
        assert!(!ap.handle_data(station));
        let transmit = ap.poll_transmit().expect("a notification");
        assert_eq!(transmit.to, station);
        transmit.message
    };
    assert_eq!(refused(&mut ap), ManagementMessage::Deauthentication);
    answer(&mut ap, 5, ManagementMessage::AuthenticationRequest);
    assert_eq!(refused(&mut ap), ManagementMessage::Disassociation);
    answer(&mut ap, 5, request(None));
    assert!(ap.handle_data(station));
    assert_eq!(ap.poll_transmit(), None);
}

#[test]
fn an_access_point_that_restarts_has_forgotten_its_stations() {
    let mut ap = access_point(10);
    for station in [5, 6] {
        answer(&mut ap, station, ManagementMessage::AuthenticationRequest);
    }
    answer(&mut ap, 5, request(None));
    assert!(matches!(ap.poll_event(), Some(AccessPointEvent::Associated { .. })));
    ap.handle_timeout(Instant::ZERO);
    let now = Instant::from_millis(250);
    ap.restart(now);
    // The beacon that was to be sent is forgotten, and the next one is due at a multiple of 102.4 ms.
    assert_eq!(
        (ap.poll_transmit(), ap.poll_timeout()),
        (None, Some(Instant::ZERO + Duration::from_micros(307_200)))
    );
    assert_eq!(ap.poll_event(), Some(AccessPointEvent::Left { station: MacAddress::station(5) }));
    assert_eq!(ap.poll_event(), None);
    assert_eq!(answer(&mut ap, 6, request(None)), ManagementMessage::Deauthentication);
}

/// The announcement in answer to a probe request.
fn announced(ap: &mut AccessPoint) -> Option<ErpInformation> {
    match answer(ap, 99, ManagementMessage::ProbeRequest { ssid: None }) {
        ManagementMessage::ProbeResponse(announcement) => announcement.erp,
        other => panic!("{other:?}"),
    }
}

fn join(ap: &mut AccessPoint, station: u32, is_erp: bool) {
    answer(ap, station, ManagementMessage::AuthenticationRequest);
    let request = ManagementMessage::AssociationRequest {
        ssid: ssid(),
        previous: None,
        is_erp,
        listen_interval: 1,
        uapsd: Uapsd::default(),
    };
    let response = answer(ap, station, request);
    assert!(matches!(response, ManagementMessage::AssociationResponse { status: Status::Success, .. }));
}

fn protections(ap: &mut AccessPoint) -> Vec<bool> {
    let events = core::iter::from_fn(|| ap.poll_event());
    let protection = |event| match event {
        AccessPointEvent::Protection { is_needed } => Some(is_needed),
        _ => None,
    };
    events.filter_map(protection).collect()
}

#[test]
fn protection_is_announced_while_a_station_without_ofdm_is_associated() {
    let config = AccessPointConfig { announces_erp: true, ..AccessPointConfig::new(AP, ssid(), 6) };
    let mut ap = AccessPoint::new(config);
    let none = Some(ErpInformation::default());
    let needed = Some(ErpInformation { has_non_erp: true, uses_protection: true });
    assert_eq!(announced(&mut ap), none);
    join(&mut ap, 5, true);
    assert_eq!((announced(&mut ap), protections(&mut ap)), (none, Vec::new()));
    join(&mut ap, 6, false);
    assert_eq!((announced(&mut ap), protections(&mut ap)), (needed, std::vec![true]));
    ap.handle_timeout(Instant::ZERO);
    let beacon = ap.poll_transmit().unwrap().message;
    assert!(matches!(beacon, ManagementMessage::Beacon(Announcement { erp, .. }) if erp == needed));
    // A second one makes no difference, and neither does the end of one of the two.
    join(&mut ap, 7, false);
    ap.handle_packet(Instant::ZERO, MacAddress::station(6), &ManagementMessage::Disassociation);
    assert_eq!((announced(&mut ap), protections(&mut ap)), (needed, Vec::new()));
    // The other one leaves for another access point.
    ap.handle_moved(MacAddress::station(7));
    assert_eq!((announced(&mut ap), protections(&mut ap)), (none, std::vec![false]));
    // An authenticated station is not associated. One that authenticates anew no longer is.
    join(&mut ap, 8, false);
    answer(&mut ap, 8, ManagementMessage::AuthenticationRequest);
    assert_eq!((announced(&mut ap), protections(&mut ap)), (none, std::vec![true, false]));
    // An access point that is switched off forgets its stations.
    join(&mut ap, 8, false);
    ap.restart(Instant::ZERO);
    assert_eq!((announced(&mut ap), protections(&mut ap)), (none, std::vec![true, false]));
}

#[test]
fn an_access_point_of_one_physical_layer_announces_nothing_about_others() {
    let mut ap = access_point(10);
    join(&mut ap, 5, false);
    assert_eq!((announced(&mut ap), protections(&mut ap)), (None, Vec::new()));
}
