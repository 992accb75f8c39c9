//! Clients of 802.11ax that associate, and change from an access point to another.

use std::ops::ControlFlow;

use serde_json::json;
use whimbrel_lab::{Document, Record, Run, run};

const CAMPUS: &str = r#"
[simulation]
duration = "20 s"
[[wifi]]
name = "air"
standard = "802.11ax"
noise = "-88 dBm"
rate_control = "minstrel"
radio = { power = "20 dBm", frequency = "5.5 GHz", receive_threshold = "-82 dBm", carrier_sense_threshold = "-82 dBm" }
propagation = { kind = "log-distance", exponent = 3 }
[[node]]
name = "server"
[[node]]
name = "ap0"
wifi = "air"
position = [0, 0]
access_point = { ssid = "campus", channel = 36 }
[[node]]
name = "ap1"
wifi = "air"
position = [60, 0]
access_point = { ssid = "campus", channel = 149 }
[[node]]
name = "phone"
wifi = "air"
client = { ssid = "campus", weak_signal = "-70 dBm", failed_attempts = 0, key_exchange = "50 ms" }
mobility = { kind = "waypoints", points = [{ at = "2 s", position = [5, 2] }, { at = "18 s", position = [58, 2] }] }
[[link]]
between = ["server", "ap{i}"]
count = 2
rate = "1 Gbit/s"
delay = "5 ms"
queue = "1000 packets"
[[flow]]
name = "call"
from = "phone"
to = "server"
transport = "udp"
payload = "160 B"
dscp = "EF"
traffic = { kind = "cbr", rate = "80 kbit/s" }
start = "1 s"
[[flow]]
name = "video"
from = "server"
to = "phone"
transport = "udp"
payload = "1200 B"
traffic = { kind = "cbr", rate = "20 Mbit/s" }
start = "1 s"
"#;

fn walk(changes: &[(&str, serde_json::Value)]) -> Record {
    let mut document = Document::from_toml(CAMPUS).unwrap();
    changes.iter().for_each(|(key, value)| document.set_value(key, value.clone()).unwrap());
    run(&document.plan().unwrap(), 1)
}

/// The association that the handover leads to has the time of its keys, and the data goes on at the next
/// access point.
#[test]
fn a_client_changes_to_the_stronger_access_point_on_another_channel() {
    for (changes, keys) in
        [(&[][..], 0.050), (&[("node.phone.client.fast_transition", json!("10 ms"))], 0.010)]
    {
        let record = walk(changes);
        let table = record.table("associations").unwrap();
        let name = |column, row| table.text(column, row).unwrap().to_owned();
        assert_eq!(table.rows(), 2, "{table:?}");
        assert_eq!(
            (name("to", 0), name("from", 1), name("to", 1)),
            ("ap0".into(), "ap0".into(), "ap1".into())
        );
        let association = |row| table.number("association_s", row).unwrap();
        assert!((0.050..0.055).contains(&association(0)), "{}", association(0));
        assert!((keys..keys + 0.005).contains(&association(1)), "{}", association(1));
        let outage = table.number("outage_s", 1).unwrap();
        let flows = record.table("flows").unwrap();
        let lost = |row| {
            let number = |column| flows.number(column, row).unwrap();
            number("sent_packets") - number("received_packets")
        };
        // Datagrams to the client while it has no access point are lost. The client's own wait: five are
        // given up where the rate adapts, and six more would be lost.
        let missing = outage * 20e6 / 9600.0;
        assert!(lost(1) > 0.5 * missing && lost(1) < 2.0 * missing + 100.0, "{} of {missing}", lost(1));
        assert!(lost(0) <= 7.0, "{} datagrams of the call", lost(0));
    }
}

/// Two access points send a beacon each 102.4 ms if clients associate, and none otherwise.
#[test]
fn beacons_are_sent_if_clients_associate() {
    let beacons = |association: bool| {
        let mut document = Document::from_toml(CAMPUS).unwrap();
        for (key, value) in [
            ("wifi.air.association", json!(association)),
            ("node.ap1.access_point", json!({ "ssid": "other", "channel": 36 })),
            ("node.phone.client", json!({ "ssid": "campus" })),
        ] {
            document.set_value(key, value).unwrap();
        }
        let plan = document.plan().unwrap();
        let mut run = Run::new(&plan, 1);
        run.record_replay(usize::MAX);
        run.execute(|_| ControlFlow::Continue(()));
        let replay = run.replay().unwrap();
        let kinds = replay["frames"]["kind"].as_array().unwrap();
        kinds.iter().filter(|kind| kind.as_u64() == Some(4)).count()
    };
    // 20 s and two access points: 390 or 391 beacons.
    let sent = beacons(true);
    assert!((388..=392).contains(&sent), "{sent}");
    assert_eq!(beacons(false), 0);
}
