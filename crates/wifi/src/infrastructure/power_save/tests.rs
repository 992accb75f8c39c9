//! A client that saves power, without a MAC.

use whimbrel_units::{Duration, Instant};

use super::super::{TrafficIndication, Uapsd};
use super::{PowerSave, PowerSaveConfig};
use crate::edca::AccessCategory;

const INTERVAL: Duration = Duration::from_micros(102_400);
const ID: u16 = 5;

fn beacon(number: u64, period: u8, has_packets: bool, has_group: bool) -> TrafficIndication {
    let mut indication = TrafficIndication::new(Instant::ZERO + INTERVAL * number, INTERVAL, period);
    indication.has_group = has_group;
    if has_packets {
        indication.add(ID);
    }
    indication
}

/// A client that dozes after the first beacon and the timeout.
fn dozing(listen_interval: u16, period: u8) -> PowerSave {
    dozing_with(PowerSaveConfig { listen_interval, ..PowerSaveConfig::default() }, period)
}

fn dozing_with(config: PowerSaveConfig, period: u8) -> PowerSave {
    let mut client = PowerSave::new(config);
    client.begin();
    assert_eq!(client.poll_timeout(), None, "no doze before the beacons are known");
    client.handle_beacon(Instant::ZERO, INTERVAL, &beacon(0, period, false, false), ID);
    let until = Instant::from_millis(100);
    assert_eq!(client.poll_timeout(), Some(until));
    client.handle_timeout(until);
    assert_eq!(client.poll_null(), Some(true));
    client.handle_null(until, true, true);
    assert!(client.is_dozing());
    client
}

#[test]
fn a_dozing_client_wakes_up_for_its_beacons_and_for_those_before_group_frames() {
    let wakes = |listen_interval, period| {
        let mut client = dozing(listen_interval, period);
        (0..4)
            .map(|_| {
                let at = client.poll_timeout().unwrap();
                client.handle_timeout(at);
                assert!(!client.is_dozing());
                let number = (at - Instant::ZERO).as_nanos() / INTERVAL.as_nanos();
                client.handle_beacon(at, INTERVAL, &beacon(number, period, false, false), ID);
                assert!(client.is_dozing());
                number
            })
            .collect::<std::vec::Vec<_>>()
    };
    assert_eq!(wakes(1, 2), [1, 2, 3, 4]);
    assert_eq!(wakes(10, 3), [3, 6, 9, 10]);
    assert_eq!(wakes(4, 4), [4, 8, 12, 16]);
}

#[test]
fn a_client_asks_for_its_packets_and_dozes_after_the_next_pause() {
    let mut client = dozing(1, 2);
    let at = client.poll_timeout().unwrap();
    client.handle_timeout(at);
    client.handle_beacon(at, INTERVAL, &beacon(1, 2, true, false), ID);
    assert_eq!((client.is_dozing(), client.poll_null()), (false, Some(false)));
    let data = at + Duration::from_millis(40);
    client.handle_traffic(data, Some(AccessCategory::BestEffort));
    assert_eq!(client.poll_timeout(), Some(data + Duration::from_millis(100)));
}

#[test]
fn a_client_waits_for_the_last_group_frame() {
    let mut client = dozing(1, 2);
    for (number, is_awake) in [(1, false), (2, true)] {
        let at = client.poll_timeout().unwrap();
        client.handle_timeout(at);
        client.handle_beacon(at, INTERVAL, &beacon(number, 2, false, true), ID);
        assert_eq!(!client.is_dozing(), is_awake, "the beacon {number} precedes group frames or not");
    }
    let now = Instant::ZERO + INTERVAL * 2;
    client.handle_group(now, true);
    assert!(!client.is_dozing());
    client.handle_group(now, false);
    assert!(client.is_dozing());
}

/// A client that was not heard, or has something to send, stays awake.
#[test]
fn a_client_dozes_only_if_the_access_point_knows() {
    for (is_acknowledged, is_idle) in [(false, true), (true, false)] {
        let mut client = dozing(1, 2);
        client.handle_own_packet(Instant::from_millis(101), AccessCategory::BestEffort);
        let until = Instant::from_millis(201);
        assert_eq!((client.is_dozing(), client.poll_timeout()), (false, Some(until)));
        client.handle_timeout(until);
        assert_eq!(client.poll_null(), Some(true));
        client.handle_null(until, is_acknowledged, is_idle);
        assert!(!client.is_dozing());
    }
}

/// A frame that triggers a delivery has the power management bit. The client dozes again at the end of the
/// service period, unless another trigger waits, or after the timeout if the trigger was lost.
#[test]
fn a_client_with_automatic_delivery_is_on_for_a_service_period() {
    let uapsd = Uapsd::default().with(AccessCategory::Voice);
    let config = PowerSaveConfig { uapsd, ..PowerSaveConfig::default() };
    let now = Instant::from_millis(101);
    let served = || {
        let mut client = dozing_with(config, 2);
        client.handle_own_packet(now, AccessCategory::Voice);
        assert_eq!((client.is_dozing(), client.is_announced()), (false, true));
        client
    };
    let mut client = served();
    client.handle_service_end(now, false);
    assert!(!client.is_dozing());
    client.handle_service_end(now, true);
    assert!(client.is_dozing());
    let mut client = served();
    let until = client.poll_timeout().unwrap();
    assert_eq!(until, now + config.timeout);
    client.handle_timeout(until);
    assert!(client.is_dozing());
    // Another category wakes the client up, as does a beacon that names it.
    let mut client = served();
    client.handle_own_packet(now, AccessCategory::BestEffort);
    assert_eq!((client.is_dozing(), client.is_announced()), (false, false));
    let mut client = served();
    client.handle_beacon(Instant::ZERO + INTERVAL, INTERVAL, &beacon(1, 2, true, false), ID);
    assert_eq!((client.is_announced(), client.poll_null()), (false, Some(false)));
}
