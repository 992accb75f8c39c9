//! Sweeps beyond what works, and crowds: the run goes on, and a note names the cause.

use serde_json::{Value, json};

use super::wifi::changed;
use super::*;
use whimbrel_lab::record::Record;
use whimbrel_lab::run;

fn notes(record: &Record) -> Vec<String> {
    let Some(table) = record.table("notes") else { return Vec::new() };
    let text = |row| format!("{}: {}", table.text("subject", row).unwrap(), table.text("note", row).unwrap());
    (0..table.rows()).map(text).collect()
}

fn flow(record: &Record, column: &str) -> Vec<f64> {
    let flows = record.table("flows").unwrap();
    (0..flows.rows()).map(|row| flows.number(column, row).unwrap()).collect()
}

/// Two stations of 250 m of range.
const RANGE: &str = r#"
[simulation]
duration = "10 s"
[[wifi]]
name = "air"
standard = "802.11g"
rate = "6 Mbit/s"
[[node]]
name = "a"
wifi = "air"
position = [0, 0]
[[node]]
name = "b"
wifi = "air"
position = [300, 0]
[[flow]]
name = "ping"
from = "a"
to = "b"
transport = "udp"
packet_size = "100 B"
traffic = { kind = "cbr", rate = "8 kbit/s" }
"#;

#[test]
fn a_station_out_of_range_receives_nothing_and_a_note_says_why() {
    for transport in ["udp", "dccp"] {
        let at = |x: i32| {
            let changes = [
                ("node[1].position", json!([x, 0])),
                ("flow.ping.transport", json!(transport)),
                ("flow.ping.packet_size", json!("200 B")),
            ];
            let record = run(&changed(RANGE, &changes).unwrap(), 1);
            (flow(&record, "received_packets")[0], notes(&record))
        };
        let (near, none) = at(249);
        assert!(near > 49.0 && none.is_empty(), "{near}: {none:?}");
        let (far, said) = at(300);
        assert_eq!(far, 0.0);
        assert!(said[0].starts_with("air: nothing gets from 'a' to 'b': they are out of range"), "{said:?}");
        assert!(said[0].contains("up to 250.0 m; they are 300.0 m apart"), "{said:?}");
    }
    // With routing agents as well.
    for protocol in ["dsdv", "aodv"] {
        let record = run(&changed(RANGE, &[("wifi.air.routing", json!(protocol))]).unwrap(), 1);
        assert_eq!((flow(&record, "received_packets")[0], notes(&record).len()), (0.0, 1));
    }
    // Other causes than distance are errors.
    let alone = changed(RANGE, &[("node[1].wifi", Value::Null), ("node[1].position", Value::Null)]);
    assert!(
        alone.unwrap_err().to_string().starts_with("flow[0].to = \"b\": expected a node that can be reached")
    );
}

/// An access point and clients around it, which are on from the start.
const CELL: &str = r#"
[simulation]
duration = "6 s"
[[wifi]]
name = "air"
[[node]]
name = "server"
[[node]]
name = "ap"
wifi = "air"
position = [50, 50]
access_point = { ssid = "A", channel = 1 }
[[node]]
name = "c{i}"
count = 3
wifi = "air"
position = [50, 50]
layout = { kind = "circle", radius = "20 m" }
client = { ssid = "A" }
[[link]]
between = ["server", "ap"]
rate = "1 Gbit/s"
delay = "1 ms"
[[flow]]
name = "f"
from = "c0"
to = "server"
transport = "udp"
packet_size = "500 B"
traffic = { kind = "cbr", rate = "10 kbit/s" }
start = "5 s"
"#;

#[test]
fn clients_that_find_no_access_point_are_named() {
    let said = |changes: &[(&str, Value)]| {
        let record = run(&changed(CELL, changes).unwrap(), 1);
        (flow(&record, "received_packets")[0], notes(&record))
    };
    assert!(matches!(said(&[]), (received, none) if received > 0.0 && none.is_empty()));
    // Out of range of the access point.
    let (received, far) = said(&[("node[2].layout.radius", json!("300 m"))]);
    assert_eq!(received, 0.0);
    assert!(far[0].starts_with("air: nothing gets from 'c0' to 'server'"), "{far:?}");
    assert_eq!(far[1], "air: 3 of 3 clients were never associated with an access point: c0 c1 c2");
    // On other channels.
    let (received, deaf) = said(&[("node[2].client.channels", json!([6, 11]))]);
    assert_eq!(received, 0.0);
    assert!(deaf[0].starts_with("node[2].client.channels: no access point of its network is on"), "{deaf:?}");
    assert_eq!(deaf[1], "air: 3 of 3 clients were never associated with an access point: c0 c1 c2");
    // The access point is off for a while, and off at the end.
    let (_, back) = said(&[("node[1].off", json!([["3 s", "4 s"]]))]);
    assert!(
        back[0].starts_with("air: clients lost an access point and associated with the same again: 3 times"),
        "{back:?}"
    );
    let (_, gone) = said(&[("node[1].off", json!([["3 s", "7 s"]]))]);
    assert_eq!(gone, ["air: 3 of 3 clients have lost their access point and have none at the end: c0 c1 c2"]);
}

#[test]
fn a_rate_of_zero_and_a_start_after_the_end_are_silence() {
    for (key, value) in [("flow.f.traffic.rate", json!("0 bit/s")), ("flow.f.start", json!("6 s"))] {
        let record = run(&changed(CELL, &[(key, value)]).unwrap(), 1);
        assert_eq!(flow(&record, "sent_packets"), [0.0]);
        assert_eq!(notes(&record).len(), 1, "{:?}", notes(&record));
    }
}

/// Two equal rates of 10 Mbit/s through a full queue.
const PHASE: &str = r#"
[simulation]
duration = "20 s"
[[node]]
name = "a"
[[node]]
name = "r"
[[node]]
name = "b"
[[link]]
between = ["a", "r"]
rate = "1 Gbit/s"
delay = "1 ms"
[[link]]
name = "l"
between = ["r", "b"]
rate = "10 Mbit/s"
delay = "1 ms"
queue = "50 packets"
[[flow]]
name = "u{i}"
count = 2
from = "a"
to = "b"
transport = "udp"
packet_size = "1500 B"
traffic = { kind = "cbr", rate = "10 Mbit/s" }
"#;

#[test]
fn equal_rates_share_a_full_queue_equally_if_their_intervals_vary() {
    let shares = |traffic: Value, seed| {
        let plan = changed(PHASE, &[("flow[0].traffic", traffic)]).unwrap();
        let record = run(&plan, seed);
        let rates = flow(&record, "throughput_bps");
        (rates[0] / 1e6, rates[1] / 1e6, notes(&record), plan.is_random())
    };
    let (first, second, said, is_random) = shares(json!({ "kind": "cbr", "rate": "10 Mbit/s" }), 1);
    assert!(first > 9.8 && second < 0.2 && !is_random, "{first} and {second}");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("flow[0].traffic: 2 constant rates of equal intervals overload 'l'"),
        "{said:?}"
    );
    for traffic in [
        json!({ "kind": "cbr", "rate": "10 Mbit/s", "jitter": 0.5 }),
        json!({ "kind": "cbr", "rate": "10 Mbit/s", "jitter": "100 us" }),
        json!({ "kind": "poisson", "rate": "10 Mbit/s" }),
    ] {
        let (first, second, said, is_random) = shares(traffic.clone(), 1);
        // 16,000 packets find room, each of either flow with equal chances: a deviation of 1 % would be 2.5
        // standard deviations of independent draws; successive draws are not independent.
        assert!(
            (first / second - 1.0).abs() < 0.1 && is_random && said.is_empty(),
            "{first} and {second}: {traffic}"
        );
        assert!((first + second - 10.0).abs() < 0.1, "{first} and {second}: {traffic}");
        assert_ne!(shares(traffic, 2).0, first);
    }
    // There is no note where the flows fit, or where their intervals differ.
    let fits = json!({ "kind": "cbr", "rate": "4 Mbit/s" });
    assert_eq!(shares(fits, 1).2, Vec::<String>::new());
    let refused = changed(PHASE, &[("flow[0].traffic.jitter", json!("2 ms"))]).unwrap_err().to_string();
    assert_eq!(refused, "flow[0].traffic.jitter = 2ms: expected at most the interval between packets, 1.2ms");
}

/// Two saturated senders and a receiver within range of each other; `station` has the first one's parameters.
const PAIR: &str = r#"
[simulation]
duration = "4 s"
[[wifi]]
name = "air"
[[node]]
name = "s{i}"
count = 2
wifi = "air"
layout = { kind = "grid", spacing = "10 m" }
[[node]]
name = "t"
wifi = "air"
position = [5, 5]
[[flow]]
name = "f{i}"
count = 2
from = "s{i}"
to = "t"
transport = "udp"
packet_size = "1500 B"
traffic = { kind = "poisson", rate = "10 Mbit/s" }
"#;

/// The first sender alone in an entry of its own, with these keys.
fn pair(station: Value) -> Result<Plan, ScenarioError> {
    let text = PAIR.replacen(
        "count = 2\nwifi = \"air\"\nlayout = { kind = \"grid\", spacing = \"10 m\" }",
        "wifi = \"air\"\nposition = [10, 0]\n[[node]]\nname = \"s0\"\nwifi = \"air\"\nposition = [0, 0]",
        1,
    );
    let text = text.replacen("name = \"s{i}\"", "name = \"s1\"", 1);
    changed(&text, &[("node[1].station", station)])
}

#[test]
fn a_station_has_a_rate_a_window_and_limits_of_its_own() {
    let run = |station: Value| {
        let plan = pair(station).unwrap();
        let record = run(&plan, 1);
        let rates = flow(&record, "goodput_bps");
        let stations = record.table("stations").unwrap();
        let of = |name: &str, row| stations.number(name, row).unwrap();
        (rates[0] / rates[1], of("air_time", 1) / of("air_time", 0), record)
    };
    let (equal, ..) = run(json!({}));
    assert!((0.9..1.1).contains(&equal), "{equal}");
    // A frame each in turn, at a lower rate: the same shares of frames, not of time (M. Heusse et al., 2003).
    let (shares, times, _) = run(json!({ "rate": "1 Mbit/s" }));
    assert!((0.9..1.1).contains(&shares) && times > 6.0, "{shares}, {times}");
    // Backoffs from 0 to 7 and from 0 to 31 have means of 3.5 and 15.5 slots. The second sender collides in
    // more than a fifth of its attempts, after which its window doubles: about 27 slots per frame, against 4.
    let (shares, ..) = run(json!({ "cw_min": 7 }));
    assert!((5.5..8.5).contains(&shares), "{shares}");
    let (shares, ..) = run(json!({ "cw_min": 255 }));
    assert!((0.05..0.2).contains(&shares), "{shares}");
    let (shares, ..) = run(json!({ "aifsn": 9 }));
    assert!((0.2..0.7).contains(&shares), "{shares}");
    // With one attempt, each collision loses a packet.
    let (_, _, record) = run(json!({ "short_retries": 1 }));
    let stations = record.table("stations").unwrap();
    let of = |name: &str, row| stations.number(name, row).unwrap();
    assert!(of("retry_limit_packets", 1) > 50.0 && of("retry_limit_packets", 0) == 0.0);
    assert_eq!(of("retry_limit_packets", 1), of("failed_attempts", 1));
}

#[test]
fn mistakes_in_the_parameters_of_a_station_are_named() {
    let mistake = |station| pair(station).unwrap_err().to_string();
    assert_eq!(
        mistake(json!({ "rate": "6 Mbit/s" })),
        "node[1].station.rate = \"6 Mbit/s\": expected a rate of the physical layer: 1, 2, 5.5, 11 Mbit/s"
    );
    assert_eq!(
        mistake(json!({ "cw_min": 8 })),
        "node[1].station.cw_min = 8: expected a power of two minus one"
    );
    assert_eq!(mistake(json!({ "cw_max": 15 })), "node[1].station.cw_min = 31: expected at most cw_max, 15");
    assert_eq!(
        mistake(json!({ "short_retries": 0 })),
        "node[1].station.short_retries = 0: expected at least 1: the first attempt counts"
    );
    let wired = changed(CELL, &[("node[0].station", json!({ "cw_min": 7 }))]).unwrap_err().to_string();
    assert!(wired.starts_with("node[0].wifi: missing"), "{wired}");
}

/// The nodes of a file of a part of a network, whose numbers have gaps.
#[test]
fn copies_move_as_the_nodes_of_a_file_with_gaps() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("gap.tcl");
    let node = |number: u32, x: u32| format!("$node_({number}) set X_ {x}\n$node_({number}) set Y_ 0\n");
    fs::write(&file, [node(0, 10), node(3, 20), node(4, 30)].concat()).unwrap();
    let at = |first: u32, count: u32| {
        let changes = [
            ("node[0].count", json!(count)),
            ("node[0].layout", Value::Null),
            (
                "node[0].mobility",
                json!({ "kind": "setdest", "file": file.display().to_string(), "first": first }),
            ),
        ];
        changed(PAIR, &changes).map(|plan| {
            let site =
                plan.wifi[0].site(&plan.nodes, whimbrel_netsim::random::RandomStreams::new(1, 0), plan.end);
            let x = |station| site.position(station, Instant::ZERO).x;
            let notes: Vec<String> = plan.notes.iter().map(|note| note.text.clone()).collect();
            ((0..count as usize).map(whimbrel_netsim::StationIndex::new).map(x).collect::<Vec<f64>>(), notes)
        })
    };
    let (positions, notes) = at(0, 2).unwrap();
    assert_eq!(positions, [10.0, 20.0]);
    assert!(notes[0].contains("the copies move as the nodes 0; 3"), "{notes:?}");
    assert_eq!(at(3, 2).unwrap(), (vec![20.0, 30.0], Vec::new()));
    assert!(
        at(1, 3)
            .unwrap_err()
            .to_string()
            .ends_with("expected a file with 3 nodes from number 1 on; it has 2")
    );
}

/// 50 nodes at 20 m/s, with 15 flows: DSDV's default timing delivers more than ns-2's, for a bounded number
/// of updates.
#[test]
fn dsdv_announces_changes_once_per_second_and_delivers_more_than_with_the_timing_of_ns_2() {
    let outcome = |timing: &str| {
        let record = run(&changed(MANET, &[("wifi.air.routing.timing", json!(timing))]).unwrap(), 1);
        let total = |column| flow(&record, column).iter().sum::<f64>();
        let stations = record.table("stations").unwrap();
        let updates: f64 = (0..50).map(|row| stations.number("routing_packets", row).unwrap()).sum();
        (total("received_packets") / total("sent_packets"), updates / 50.0 / 40.0)
    };
    let (share, updates) = outcome("sane");
    let (patient, _) = outcome("ns-2");
    assert!(share > 0.7 && share > patient, "{share} and {patient}");
    assert!(updates < 1.1, "{updates} updates per second and station");
}

const MANET: &str = r#"
[simulation]
duration = "60 s"
warm_up = "20 s"
[[wifi]]
name = "air"
standard = "802.11"
rate = "2 Mbit/s"
mac = "ns-2"
area = [1000, 1000]
routing = { kind = "dsdv" }
[[node]]
name = "n{i}"
count = 50
wifi = "air"
mobility = { kind = "random-waypoint", speed = ["20 m/s", "20 m/s"] }
[[flow]]
name = "f{i}"
count = 15
pairs = { of = "n{i}", seed = 7 }
transport = "udp"
payload = "512 B"
traffic = { kind = "cbr", rate = "17.28 kbit/s" }
start = "10 s"
start_jitter = "5 s"
"#;
