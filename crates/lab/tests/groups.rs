//! A flow to several stations of a cell.

use serde_json::json;
use whimbrel_lab::{Document, Record, run};

const HOME: &str = r#"
[simulation]
duration = "21 s"
[[wifi]]
name = "air"
standard = "802.11ax"
[[node]]
name = "router"
wifi = "air"
position = [0, 0]
access_point = { ssid = "home" }
[[node]]
name = "screen{i}"
count = 3
wifi = "air"
layout = { kind = "circle", radius = "3 m" }
client = { ssid = "home" }
[[flow]]
name = "picture"
from = "router"
to = "screen0"
transport = "udp"
broadcast = true
payload = "1000 B"
traffic = { kind = "cbr", rate = "205.6 kbit/s" }
start = "1 s"
stop = "20 s"
"#;

/// The flows of two more receivers.
fn members() -> String {
    let member = |number| {
        format!(
            "[[flow]]\nname = \"picture of {number}\"\nfrom = \"router\"\nto = \"screen{number}\"\n\
             transport = \"udp\"\njoins = \"picture\"\n"
        )
    };
    [1, 2].map(member).concat()
}

fn record(text: &str, changes: &[(&str, serde_json::Value)]) -> Record {
    let mut document = Document::from_toml(text).unwrap();
    changes.iter().for_each(|(key, value)| document.set_value(key, value.clone()).unwrap());
    run(&document.plan().unwrap(), 1)
}

/// A datagram is on the air once, at 6 Mbit/s, and each receiver has figures of its own: so many receivers
/// cost the access point what one costs.
#[test]
fn each_receiver_of_a_group_counts_what_is_sent_once() {
    let [alone, all] = [HOME.to_owned(), HOME.to_owned() + &members()].map(|text| record(&text, &[]));
    let air_time = |record: &Record| record.table("stations").unwrap().number("air_time", 0).unwrap();
    assert_eq!(air_time(&alone), air_time(&all));
    let flows = all.table("flows").unwrap();
    assert_eq!(flows.rows(), 3);
    for row in 0..3 {
        assert_eq!(flows.number("sent_packets", row), Some(475.0));
        assert_eq!(flows.number("received_packets", row), Some(475.0), "{row}");
        // 1064 bytes at 6 Mbit/s, in 356 symbols.
        let delay = flows.number("delay_mean_s", row).unwrap();
        assert!((0.001_444..0.002).contains(&delay), "{delay}");
    }
}

/// The datagrams wait for the announced beacon, every second one, while one of the receivers dozes.
#[test]
fn a_group_waits_for_its_dozing_receiver() {
    let text = HOME.to_owned() + &members();
    let text = text.replace("count = 3\n", "count = 2\n")
        + "[[node]]\nname = \"screen2\"\nwifi = \"air\"\nposition = [0, 3]\nclient = { ssid = \"home\", power_save = {} }\n";
    let record = record(&text, &[]);
    let flows = record.table("flows").unwrap();
    for row in 0..3 {
        assert_eq!(flows.number("received_packets", row), Some(475.0), "{row}");
        let delay = flows.number("delay_mean_s", row).unwrap();
        assert!((delay - 0.1024).abs() < 0.01, "{delay}");
    }
}

#[test]
fn a_group_that_does_not_exist_is_named_with_its_key() {
    let text = HOME.to_owned() + &members();
    let cases = [
        (
            "flow.picture of 1.joins",
            json!("pictures"),
            "flow[1].joins = \"pictures\": expected the name of an earlier flow",
        ),
        (
            "flow.picture of 1.to",
            json!("screen0"),
            "flow[1].to = \"screen0\": expected a node that does not receive `picture` already",
        ),
        (
            "flow.picture of 1.from",
            json!("screen2"),
            "flow[1].from = \"screen2\": expected \"router\", which sends `picture`",
        ),
        ("flow.picture of 1.traffic", json!({ "kind": "cbr", "rate": "1 Mbit/s" }), "flow[1].traffic"),
        ("flow.picture of 1.broadcast", json!(true), "flow[1].joins"),
        ("flow.picture.broadcast", json!(false), "flow[1].joins = \"picture\""),
    ];
    for (key, value, expected) in cases {
        let mut document = Document::from_toml(&text).unwrap();
        document.set_value(key, value).unwrap();
        let error = document.plan().expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
