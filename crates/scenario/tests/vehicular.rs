//! Keys of 802.11p.

use serde_json::{Value, json};
use whimbrel_netsim::medium::QosConfig;
use whimbrel_units::Duration;
use whimbrel_wifi::Rate;
use whimbrel_wifi::edca::{AccessCategory, OCB_CATEGORIES, TransmitRate};

use super::wifi::changed;

const CARS: &str = r#"
[simulation]
duration = "2 s"
[[wifi]]
name = "air"
standard = "802.11p"
[[node]]
name = "car{i}"
count = 2
wifi = "air"
layout = { kind = "grid", spacing = "20 m" }
[[flow]]
name = "messages"
from = "car0"
to = "car1"
transport = "udp"
broadcast = true
payload = "300 B"
traffic = { kind = "cbr", rate = "24 kbit/s" }
"#;

fn config(changes: &[(&str, Value)]) -> QosConfig {
    changed(CARS, changes).unwrap().wifi[0].qos.clone().expect("a MAC with quality of service")
}

#[test]
fn cars_send_without_an_association_at_rates_of_10_mhz() {
    let mac = config(&[]).mac;
    assert_eq!((mac.rate, mac.categories), (TransmitRate::Legacy(Rate::Ofdm12), OCB_CATEGORIES));
    assert_eq!((mac.phy.slot, mac.phy.sifs), (Duration::from_micros(13), Duration::from_micros(32)));
    // Groups at 6 Mbit/s, too: 40 us and 51 symbols of 8 us for 300 bytes.
    assert_eq!(mac.phy.duration(mac.phy.basic.lowest(), 300), Duration::from_micros(448));
    let fast = config(&[("wifi.air.rate", json!("27 Mbit/s"))]).mac;
    assert_eq!((fast.rate, fast.phy.basic.lowest()), (TransmitRate::Legacy(Rate::Ofdm54), Rate::Ofdm24));
    let slow = config(&[("wifi.air.rate", json!("3 Mbit/s"))]).mac;
    assert_eq!((slow.rate, slow.phy.basic.lowest()), (TransmitRate::Legacy(Rate::Ofdm6), Rate::Ofdm6));
    let edca = config(&[("wifi.air.edca.voice.aifsn", json!(4))]).mac;
    assert_eq!(edca.categories[AccessCategory::Voice as usize].aifsn, 4);
}

#[test]
fn what_cars_do_not_have_is_named_with_its_key() {
    let cases: [(&str, Value, &str); 7] = [
        (
            "wifi.air.rate",
            json!("54 Mbit/s"),
            "wifi[0].rate = \"54 Mbit/s\": expected a rate of a channel of 10 MHz: 3, 4.5, 6",
        ),
        ("wifi.air.width", json!("20 MHz"), "wifi[0].width"),
        ("wifi.air.ampdu", json!({}), "wifi[0].ampdu"),
        ("wifi.air.group_rate", json!("6 Mbit/s"), "wifi[0].group_rate"),
        ("wifi.air.short_retries", json!(0), "wifi[0].short_retries"),
        ("node.car{i}.access_point", json!({ "ssid": "road" }), "node[0].access_point"),
        ("node.car{i}.station", json!({ "cw_min": 7 }), "node[0].station.cw_min"),
    ];
    for (key, value, expected) in cases {
        let error = changed(CARS, &[(key, value)]).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
