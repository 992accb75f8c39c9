//! Keys of 802.11 media and of their stations.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use whimbrel_netsim::{QueueLimit, StationIndex};
use whimbrel_wifi::dcf::{MacConfig, MacRules};
use whimbrel_wifi::mobility::Position;
use whimbrel_wifi::phy::{Phy, Preamble, Rate};
use whimbrel_wifi::propagation::{LinkBudget, Radio};
use whimbrel_wifi::routing::aodv::AodvConfig;

use super::*;
use whimbrel_lab::run;

const MESH: &str = r#"
[simulation]
duration = "5 s"
[[wifi]]
name = "air"
[[node]]
name = "n{i}"
count = 4
wifi = "air"
layout = { kind = "grid", spacing = "200 m" }
[[flow]]
name = "call"
from = "n0"
to = "n3"
transport = "udp"
payload = "160 B"
traffic = { kind = "cbr", rate = "75.2 kbit/s" }
"#;

/// The plan of a scenario with some keys changed.
pub(super) fn changed(text: &str, changes: &[(&str, Value)]) -> Result<Plan, ScenarioError> {
    let mut document = document(text);
    for (key, value) in changes {
        document.set_value(key, value.clone()).expect("a key that can be set");
    }
    document.plan()
}

fn mesh(changes: &[(&str, Value)]) -> Plan {
    changed(MESH, changes).unwrap()
}

/// The error of a scenario with some keys changed.
fn mistake(text: &str, changes: &[(&str, Value)]) -> String {
    changed(text, changes).expect_err("a mistake").to_string()
}

fn positions(plan: &Plan, seed: u64) -> Vec<Position> {
    let streams = whimbrel_netsim::random::RandomStreams::new(seed, 0);
    let site = plan.wifi[0].site(&plan.nodes, streams, plan.end);
    (0..site.stations()).map(|station| site.position(StationIndex::new(station), Instant::ZERO)).collect()
}

#[test]
fn an_802_11b_medium_with_the_standards_rules_is_the_default() {
    let plan = mesh(&[]);
    let air = &plan.wifi[0];
    assert_eq!(air.config.mac, MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11));
    assert_eq!((air.channel.radio, air.limit), (Radio::NS2, QueueLimit::Packets(50)));
    let xs: Vec<f64> = positions(&plan, 1).iter().map(|position| position.x).collect();
    assert_eq!(xs, [0.0, 200.0, 400.0, 600.0]);
    assert_eq!((plan.flows[0].path.len(), plan.flows[0].bottleneck), (0, None));
}

#[test]
fn packets_cross_a_mesh_and_the_record_counts_its_stations() {
    let record = run(&mesh(&[]), 1);
    let flows = record.table("flows").unwrap();
    assert_eq!(flows.number("received_packets", 0), Some(250.0));
    assert_eq!(flows.number("hops_mean", 0), Some(3.0));
    let stations = record.table("stations").unwrap();
    let taken: Vec<f64> = (0..4).map(|row| stations.number("taken_packets", row).unwrap()).collect();
    assert_eq!(taken, [250.0, 250.0, 250.0, 0.0]);
    assert!(stations.number("air_time", 1) > stations.number("air_time", 3));
}

#[test]
fn rules_of_ns_2_come_with_its_defaults() {
    let plan = mesh(&[("wifi.air.mac", json!("ns-2")), ("wifi.air.rate", json!("2 Mbit/s"))]);
    let expected = MacConfig { data_rate: Rate::Dsss2, ..MacConfig::ns2() };
    assert_eq!(plan.wifi[0].config.mac, expected);
    assert_eq!(plan.wifi[0].config.mac.rules, MacRules::Ns2);
    assert_eq!(plan.wifi[0].config.llc_bytes, 0);
}

#[test]
fn ranges_become_thresholds_of_the_same_radio() {
    let radio = json!({ "range": "400 m", "carrier_sense_range": "1 km", "frequency": "2.472 GHz" });
    let plan = mesh(&[("wifi.air.radio", radio)]);
    let channel = &plan.wifi[0].channel;
    let ranges = LinkBudget::new(&channel.path_loss, &channel.radio, &channel.radio).ranges();
    assert!(
        (ranges.receive - 400.0).abs() < 1e-6 && (ranges.carrier_sense - 1000.0).abs() < 1e-6,
        "{ranges:?}"
    );
}

#[test]
fn random_positions_differ_between_seeds_and_not_between_runs_of_one() {
    let random = json!({ "kind": "random", "area": [300, 300] });
    let plan = mesh(&[("node[0].layout", random)]);
    assert_eq!(positions(&plan, 1), positions(&plan, 1));
    assert_ne!(positions(&plan, 1), positions(&plan, 2));
    assert!(positions(&plan, 3).iter().all(|at| at.x <= 300.0 && at.y <= 300.0));
}

/// Two stations that are within range of each other for a part of the time: packets arrive then only if the
/// routes are computed again meanwhile, which the first interval does each second and the second one never.
#[test]
fn routes_follow_stations_that_move() {
    let received = |interval: &str| {
        let changes = [
            ("wifi.air.routing", json!({ "kind": "shortest-path", "interval": interval })),
            ("node[0].count", json!(2)),
            ("node[0].layout", Value::Null),
            (
                "node[0].mobility",
                json!({ "kind": "random-waypoint", "area": [2_000, 0], "speed": ["20 m/s", "20 m/s"] }),
            ),
            ("simulation.duration", json!("200 s")),
            ("flow.call.to", json!("n1")),
        ];
        let record = run(&mesh(&changes), 1);
        let flows = record.table("flows").unwrap();
        flows.number("received_packets", 0).unwrap() / flows.number("sent_packets", 0).unwrap()
    };
    let (often, never) = (received("1 s"), received("300 s"));
    assert!(often > 0.05 && often < 0.8, "{often}");
    assert_eq!(never, 0.0);
}

#[test]
fn mistakes_are_named_with_their_keys() {
    assert_eq!(
        mistake(MESH, &[("wifi.air.rate", json!("54 Mbit/s"))]),
        "wifi[0].rate = \"54 Mbit/s\": expected a rate of the physical layer: 1, 2, 5.5, 11 Mbit/s"
    );
    assert_eq!(
        mistake(MESH, &[("node[0].wifi", json!("ether"))]),
        "node[0].wifi = \"ether\": expected the name of a `[[wifi]]`: air"
    );
    assert_eq!(
        mistake(MESH, &[("node[0].wifi", Value::Null)]),
        "node[0].wifi: missing, expected the name of a `[[wifi]]`: `layout` is that of the node's station"
    );
    assert_eq!(
        mistake(MESH, &[("node[0].layout", Value::Null)]),
        "node[0].position: missing, expected `position`, `layout` or `mobility`: the node has a station"
    );
    assert_eq!(
        mistake(MESH, &[("wifi.air.area", json!([500, 100]))]),
        "node[0].layout = (600, 0): expected positions within the map, (0, 0) to (500, 100)"
    );
    assert_eq!(
        mistake(MESH, &[("wifi.air.radio", json!({ "range": "600 m" }))]),
        "wifi[0].radio.carrier_sense_range = \"...\": expected a range of carrier sense that is not below that of reception"
    );
    assert_eq!(
        mistake(MESH, &[("wifi.air.short_retries", json!(0))]),
        "wifi[0].short_retries = 0: expected at least 1: the first attempt counts"
    );
    assert_eq!(
        mistake(MESH, &[("wifi.air.fading", json!({ "kind": "rayleigh" }))]),
        "wifi[0].fading.coherence: missing"
    );
    assert_eq!(
        mistake(MESH, &[("node[0].off", json!([["3 s", "2 s"]]))]),
        "node[0].off = [\"3.000000000s\", \"2.000000000s\"]: expected intervals that end after they start, in order"
    );
    let waypoint = json!({ "kind": "random-waypoint", "speed": ["0 m/s", "5 m/s"], "area": [100, 100] });
    assert_eq!(
        mistake(MESH, &[("node[0].layout", Value::Null), ("node[0].mobility", waypoint)]),
        "node[0].mobility.speed = [...]: expected a lowest speed above 0 for a stationary start"
    );
}

#[test]
fn a_movement_file_names_its_lines() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("walk.tcl");
    let text = "$node_(0) set X_ 10\n$node_(0) set Y_ 20\n$node_(0) set X_ 11\n";
    fs::write(&file, text).unwrap();
    let changes = [
        ("node[0].layout", Value::Null),
        ("node[0].mobility", json!({ "kind": "setdest", "file": file.display().to_string() })),
    ];
    let message = mistake(MESH, &changes);
    assert!(message.contains("(line 3: $node_(0) set X_: the coordinate is set a second time"), "{message}");
}

const HOTSPOT: &str = include_str!("../../lab/tests/support/hotspot.toml");

#[test]
fn a_client_takes_its_stream_to_the_next_access_point() {
    let record = run(&document(HOTSPOT).plan().unwrap(), 1);
    let associations = record.table("associations").unwrap();
    let places: Vec<(&str, &str)> = (0..associations.rows())
        .map(|row| (associations.text("from", row).unwrap(), associations.text("to", row).unwrap()))
        .collect();
    assert_eq!(places, [("", "ap0"), ("ap0", "ap1")]);
    let handover = |name: &str| associations.number(name, 1).unwrap();
    let phases = handover("search_s") + handover("authentication_s") + handover("association_s");
    assert!((phases - handover("outage_s")).abs() < 1e-9);
    let flows = record.table("flows").unwrap();
    let delivered = flows.number("delivered_packets", 0).unwrap();
    assert!(delivered > 850.0, "{delivered} of 950 packets");
}

#[test]
fn mistakes_with_access_points_are_named_with_their_keys() {
    let mistake = |key: &str, value: Value| mistake(HOTSPOT, &[(key, value)]);
    assert_eq!(
        mistake("node.ap{i}.access_point.bssid", json!("02:00:00:00:00:07")),
        "node[1].access_point.bssid = \"02:00:00:00:00:07\": expected an address that `node[1]` has not: a BSSID is that of one access point"
    );
    assert_eq!(
        mistake("node.ap{i}.access_point.bssid", json!("02:00")),
        "node[1].access_point.bssid = \"02:00\": expected six bytes, such as \"02:00:00:00:00:01\""
    );
    assert_eq!(
        mistake("node.phone.client.ssid", json!("cafe")),
        "node[2].client.ssid = \"cafe\": expected the network of an access point: lab"
    );
    assert_eq!(
        mistake("node.phone.access_point", json!({ "ssid": "lab" })),
        "node[2].client = {...}: expected either `access_point` or `client`"
    );
    assert_eq!(
        mistake("node.ap{i}.access_point.beacon_interval", json!("0 s")),
        "node[1].access_point.beacon_interval = ...: expected 1.024 ms to 67.1 s (1 to 65535 time units)"
    );
}

/// Three hops. AODV asks for the route when the stream begins, DSDV has it by then.
#[test]
fn routing_agents_carry_a_stream_over_several_hops() {
    for protocol in ["dsdv", "aodv"] {
        let changes = [
            ("wifi.air.routing", json!(protocol)),
            ("simulation.duration", json!("60 s")),
            ("flow.call.start", json!("30 s")),
        ];
        let record = run(&mesh(&changes), 1);
        let flows = record.table("flows").unwrap();
        let share = flows.number("received_packets", 0).unwrap() / flows.number("sent_packets", 0).unwrap();
        assert!(share > 0.98, "{protocol}: {share}");
        let stations = record.table("stations").unwrap();
        let messages: f64 = (0..4).map(|row| stations.number("routing_packets", row).unwrap()).sum();
        assert!((5.0..100.0).contains(&messages), "{protocol}: {messages}");
    }
}

/// The signal of two stations is 39 dB above this noise where they are 100 m apart, and 10 dB where they are
/// 560 m apart: a fixed 54 Mbit/s reaches nothing there, and both adaptations do.
#[test]
fn rate_adaptation_follows_the_ratio_of_signal_to_noise() {
    let goodput = |control: &str, distance: f64| {
        let changes = [
            ("wifi.air.standard", json!("802.11g")),
            ("wifi.air.rate_control", json!(control)),
            ("wifi.air.noise", json!("-88 dBm")),
            ("wifi.air.radio", json!({ "range": "900 m", "carrier_sense_range": "1 km" })),
            ("node[0].count", json!(2)),
            ("node[0].layout", json!({ "kind": "grid", "spacing": format!("{distance} m") })),
            ("flow.call.to", json!("n1")),
            ("flow.call.payload", json!("1400 B")),
            ("flow.call.traffic", json!({ "kind": "cbr", "rate": "40 Mbit/s" })),
        ];
        let record = run(&mesh(&changes), 1);
        record.table("flows").unwrap().number("goodput_bps", 0).unwrap() / 1e6
    };
    for control in ["arf", "minstrel"] {
        let (near, far) = (goodput(control, 100.0), goodput(control, 560.0));
        assert!(near > 20.0 && far > 1.0 && far < 15.0, "{control}: {near} and {far} Mbit/s");
    }
    let (near, far) = (goodput("fixed", 100.0), goodput("fixed", 560.0));
    assert!(near > 25.0 && far < 0.1, "fixed: {near} and {far} Mbit/s");
}

#[test]
fn aodv_has_the_rules_of_ns_2_on_request() {
    let plan = mesh(&[("wifi.air.routing", json!({ "kind": "aodv", "rules": "ns-2" }))]);
    assert!(matches!(plan.wifi[0].routing, RoutingPlan::Aodv(AodvConfig::NS2)));
}

/// Backoffs are drawn: runs of a medium differ by their seeds, although nothing else is random.
#[test]
fn a_scenario_with_a_medium_is_random() {
    assert!(mesh(&[]).is_random());
}

const PAIRS: &str = r#"
[simulation]
duration = "5 s"
[[wifi]]
name = "air"
[[node]]
name = "gateway"
[[node]]
name = "n{i}"
count = 4
wifi = "air"
layout = { kind = "circle", radius = "100 m" }
[[flow]]
name = "call{i}"
count = 12
pairs = { of = "n{i}", seed = 7 }
transport = "udp"
payload = "160 B"
traffic = { kind = "cbr", rate = "10 kbit/s" }
"#;

/// All twelve ordered pairs of four nodes, each once.
#[test]
fn random_pairs_differ_and_belong_to_the_scenario() {
    let ends = |changes: &[(&str, Value)]| -> Vec<(usize, usize)> {
        changed(PAIRS, changes).unwrap().flows.iter().map(|flow| (flow.from, flow.to)).collect()
    };
    let all = ends(&[]);
    let distinct: BTreeSet<(usize, usize)> = all.iter().copied().collect();
    assert_eq!(distinct.len(), 12);
    assert!(distinct.iter().all(|(from, to)| from != to && (1..=4).contains(from) && (1..=4).contains(to)));
    assert_eq!(all, ends(&[]));
    assert_ne!(all, ends(&[("flow[0].pairs.seed", json!(8))]));
}

#[test]
fn mistakes_with_pairs_are_named_with_their_keys() {
    assert_eq!(
        mistake(PAIRS, &[("flow[0].count", json!(13))]),
        "flow[0].pairs.of = \"n{i}\": expected nodes with at least 13 pairs; these 4 have 12"
    );
    assert_eq!(
        mistake(PAIRS, &[("flow[0].pairs.of", json!("m{i}"))]),
        "flow[0].pairs.of = \"m{i}\": expected the `name` of nodes: gateway, n{i}"
    );
    assert_eq!(
        mistake(PAIRS, &[("flow[0].to", json!("n1"))]),
        "flow[0].to = \"n1\": expected either `from` and `to`, or `pairs`"
    );
    assert_eq!(
        mistake(PAIRS, &[("flow[0].pairs", Value::Null), ("flow[0].to", json!("n1"))]),
        "flow[0].from: missing, expected `from` and `to`, or `pairs`"
    );
}

/// The middle stations of the mesh hear each other: nothing overlaps but collisions, and the shares of the
/// channel are the sum and the union of the stations' own.
#[test]
fn the_record_counts_the_use_of_each_channel() {
    let record = run(&mesh(&[]), 1);
    let (channels, stations) = (record.table("channels").unwrap(), record.table("stations").unwrap());
    assert_eq!((channels.rows(), channels.number("channel", 0)), (1, Some(1.0)));
    let own: f64 = (0..4).map(|row| stations.number("air_time", row).unwrap()).sum();
    let (air_time, busy) = (channels.number("air_time", 0).unwrap(), channels.number("busy", 0).unwrap());
    assert!((air_time - own).abs() < 1e-3, "{air_time} and {own}");
    // 250 packets and their acknowledgements over three hops.
    let frames = channels.number("frames", 0).unwrap();
    assert!((1_500.0..1_520.0).contains(&frames), "{frames}");
    assert!((0.085..0.095).contains(&busy) && busy <= air_time, "{busy} of {air_time}");
    let overlapping = channels.number("overlapping_frames", 0).unwrap();
    assert_eq!(overlapping == 0.0, (air_time - busy).abs() < 1e-12);

    // Two access points on channels of their own.
    let grid = [("node.ap{i}.access_point.channel", json!(6))];
    let record = run(&changed(HOTSPOT, &grid).unwrap(), 1);
    let channels = record.table("channels").unwrap();
    assert_eq!((channels.rows(), channels.number("channel", 0)), (1, Some(6.0)));
    let frames = channels.number("frames", 0).unwrap();
    assert!(frames > 2_000.0 && channels.number("retries", 0).unwrap() < frames, "{frames}");
}

/// An 802.11g sender of datagrams of 1400 bytes to `to` without a pause, with an 802.11b station present.
const MIXED: &str = r#"
[simulation]
duration = "5 s"
[[wifi]]
name = "air"
standard = "802.11bg"
[[node]]
name = "g{i}"
count = 2
wifi = "air"
layout = { kind = "grid", spacing = "10 m" }
[[node]]
name = "b"
wifi = "air"
standard = "802.11b"
position = [0, 10]
[[flow]]
name = "load"
from = "g0"
to = "g1"
transport = "udp"
payload = "1400 B"
traffic = { kind = "cbr", rate = "60 Mbit/s" }
"#;

/// Microseconds per packet of the flow of [`MIXED`].
fn packet_time(changes: &[(&str, Value)]) -> f64 {
    let record = run(&changed(MIXED, changes).unwrap(), 1);
    5e6 / record.table("flows").unwrap().number("received_packets", 0).unwrap()
}

/// 1400 bytes of data with 28 of UDP and IP, 8 of LLC and SNAP, and 28 of the MAC at a rate in Mbit/s.
pub(super) fn air_times(rate: Rate, phy: &Phy) -> f64 {
    let (data, ack) = (phy.duration(rate, 1_464), phy.duration(phy.response_rate(rate), 14));
    // DIFS, the mean of a window of 15 slots, the frame, SIFS and the acknowledgement.
    (phy.difs() + phy.slot * 15 / 2 + data + phy.sifs + ack).as_micros() as f64
}

#[test]
fn an_802_11b_station_has_its_neighbours_protect_their_ofdm_frames() {
    let phy = Phy::erp_mixed(Preamble::Long);
    let cts = (phy.duration(Rate::Dsss1, 14) + phy.sifs).as_micros() as f64;
    let fast = air_times(Rate::Ofdm54, &phy);
    let cases = [
        (vec![], fast + cts),
        (vec![("node[1].standard", Value::Null)], fast),
        (vec![("wifi.air.protection", json!("none"))], fast),
    ];
    for (changes, expected) in cases {
        let measured = packet_time(&changes);
        assert!((measured / expected - 1.0).abs() < 0.01, "{changes:?}: {measured} us for {expected}");
    }
}

#[test]
fn frames_for_an_802_11b_station_and_from_it_have_its_rates() {
    let phy = Phy::erp_mixed(Preamble::Long);
    let slow = air_times(Rate::Hr11, &phy);
    let measured = packet_time(&[("flow.load.to", json!("b"))]);
    assert!((measured / slow - 1.0).abs() < 0.01, "{measured} us for {slow}");
    // An 802.11b station draws from a window of 31 slots.
    let measured = packet_time(&[("flow.load.from", json!("b"))]);
    let expected = slow + 8.0 * 20.0;
    assert!((measured / expected - 1.0).abs() < 0.01, "{measured} us for {expected}");
    // The measured rates of other stations have no use for it.
    let adapted = packet_time(&[("flow.load.to", json!("b")), ("wifi.air.rate_control", json!("minstrel"))]);
    assert!((adapted / slow - 1.0).abs() < 0.01, "{adapted} us for {slow}");
}

#[test]
fn mistakes_with_physical_layers_of_stations_are_named_with_their_keys() {
    assert_eq!(
        mistake(MIXED, &[("node[1].standard", json!("802.11a"))]),
        "node[1].standard = \"802.11a\": expected a physical layer beside that of the medium: 802.11bg, 802.11b, 802.11"
    );
    assert_eq!(
        mistake(MIXED, &[("wifi.air.standard", json!("802.11g"))]),
        "node[1].standard = \"802.11b\": expected a physical layer beside that of the medium: 802.11g"
    );
    assert_eq!(
        mistake(MIXED, &[("wifi.air.mac", json!("ns-2"))]),
        "node[1].standard = \"802.11b\": expected the physical layer of the medium, as with all stations under the rules of ns-2"
    );
    assert_eq!(
        mistake(MIXED, &[("wifi.air.group_rate", json!("6 Mbit/s"))]),
        "wifi[0].group_rate = \"6 Mbit/s\": expected a rate of all stations: some are \"802.11b\" stations"
    );
    assert_eq!(
        mistake(MIXED, &[("node[1].wifi", Value::Null), ("node[1].position", Value::Null)]),
        "node[1].wifi: missing, expected the name of a `[[wifi]]`: `standard` is that of the node's station"
    );
}
