//! Protection in the network of an access point, for the sake of 802.11b clients.

use serde_json::{Value, json};
use whimbrel_wifi::dcf::Protection;
use whimbrel_wifi::phy::{Phy, Preamble, Rate};

use super::wifi::{air_times, changed};
use whimbrel_lab::run;

/// An 802.11g access point that sends datagrams of 1400 bytes to an 802.11g client without a pause, from 1 s
/// to 6 s, and an 802.11b client.
const CELL: &str = r#"
[simulation]
duration = "6 s"
[[wifi]]
name = "air"
standard = "802.11bg"
[[node]]
name = "ap"
wifi = "air"
position = [0, 0]
access_point = { ssid = "net" }
[[node]]
name = "g"
wifi = "air"
position = [10, 0]
client = { ssid = "net" }
[[node]]
name = "b"
wifi = "air"
standard = "802.11b"
position = [0, 10]
client = { ssid = "net" }
[[flow]]
name = "load"
from = "ap"
to = "g"
transport = "udp"
payload = "1400 B"
start = "1 s"
traffic = { kind = "cbr", rate = "60 Mbit/s" }
"#;

#[test]
fn ofdm_frames_are_protected_only_while_an_802_11b_client_is_associated() {
    let phy = Phy::erp_mixed(Preamble::Long);
    let cts = (phy.duration(Rate::Dsss1, 14) + phy.sifs).as_micros() as f64;
    let fast = air_times(Rate::Ofdm54, &phy);
    let absent = ("node[2].client.joins_at", json!("1 h"));
    let cases = [
        (vec![], fast + cts),
        (vec![absent.clone()], fast),
        // The scenario's decision holds at all times.
        (vec![("wifi.air.protection", json!("none"))], fast),
        (vec![absent, ("wifi.air.protection", json!("cts-to-self"))], fast + cts),
    ];
    for (changes, expected) in cases {
        let record = run(&changed(CELL, &changes).unwrap(), 1);
        let received = record.table("flows").unwrap().number("received_packets", 0).unwrap();
        // Beacons take about 1 % of the time.
        let measured = 5e6 / received;
        assert!((measured / expected - 1.01).abs() < 0.01, "{changes:?}: {measured} us for {expected}");
    }
}

#[test]
fn access_points_announce_older_stations_only_where_the_medium_has_some() {
    let protection = |changes: &[(&str, Value)]| {
        let plan = changed(CELL, changes).unwrap();
        plan.wifi[0].infrastructure.as_ref().unwrap().protection
    };
    assert_eq!(protection(&[]), Some(Protection::CtsToSelf { rate: Rate::Dsss1 }));
    assert_eq!(protection(&[("node[2].standard", Value::Null)]), None);
    assert_eq!(protection(&[("wifi.air.protection", json!("rts-cts"))]), None);
}
