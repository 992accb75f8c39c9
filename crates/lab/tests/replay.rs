//! The replay of a run: movements, routes, associations, frames on the air and rates over time.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use whimbrel_lab::runner::Run;
use whimbrel_lab::scenario::Document;
use whimbrel_lab::watch::Sample;

const WALK: &str = include_str!("support/hotspot.toml");

/// The replay with up to `frames` frames, the samples of the flow's goodput, and that in the run's record.
fn replay(frames: usize) -> (Value, Vec<f64>, f64) {
    let mut document = Document::from_toml(WALK).unwrap();
    document.set("variables.transport", "udp").unwrap();
    let plan = document.plan().unwrap();
    let mut run = Run::new(&plan, 1);
    run.record_replay(frames);
    run.execute(|_| ControlFlow::Continue(()));
    let replay = run.replay().expect("a replay");
    let of_sample =
        |sample: &Sample| sample.flows[0].counts.delivered_bytes as f64 * 8.0 / sample.length.as_secs_f64();
    let rates = run.samples().iter().map(of_sample).collect();
    let goodput = run.into_record().table("flows").unwrap().number("goodput_bps", 0).unwrap();
    (replay, rates, goodput)
}

fn numbers(column: &Value) -> Vec<f64> {
    column.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn a_replay_has_movements_routes_associations_and_rates() {
    let (replay, rates, goodput) = replay(usize::MAX);
    let phone = &replay["nodes"][3];
    assert_eq!((&phone["name"], &phone["role"]), (&json!("phone"), &json!("client")));
    assert_eq!(phone["off"], json!([[0.0, 0.5]]));
    assert_eq!(phone["points"].as_array().unwrap().last(), Some(&json!([20.0, 300.0, 10.0])));
    assert_eq!(replay["nodes"][1]["points"], json!([[0.0, 0.0, 0.0]]), "an access point stands still");

    let states: Vec<(&str, Option<u64>)> = replay["associations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["state"].as_str().unwrap(), row["access_point"].as_u64()))
        .collect();
    let expected = [("scanning", None), ("associated", Some(1)), ("scanning", None), ("associated", Some(2))];
    assert_eq!(states, expected);

    let paths: Vec<&Value> =
        replay["routes"].as_array().unwrap().iter().map(|route| &route["path"]).collect();
    let (first, second) = (json!([0, 1, 3]), json!([0, 2, 3]));
    let of_access_points: Vec<&Value> =
        paths.into_iter().filter(|&path| *path == first || *path == second).collect();
    assert_eq!(of_access_points.first(), Some(&&first), "{:?}", replay["routes"]);
    assert_eq!(of_access_points.last(), Some(&&second), "{:?}", replay["routes"]);

    assert_eq!(rates.len(), 200);
    let mean = rates.iter().sum::<f64>() / 200.0;
    assert!((mean - goodput).abs() < 1e-6 * goodput, "{mean} and {goodput} bit/s");
    assert_eq!(replay["frames_until"], json!(20.0));
}

/// Every beacon, data frame and acknowledgement has its row; a data frame of the flow goes from an access
/// point to the phone.
#[test]
fn frames_name_their_stations_and_their_flow() {
    let (replay, ..) = replay(usize::MAX);
    let frames = &replay["frames"];
    let (from, to) = (numbers(&frames["from"]), numbers(&frames["to"]));
    let (kind, flow) = (numbers(&frames["kind"]), numbers(&frames["flow"]));
    let starts = numbers(&frames["t"]);
    assert!(starts.is_sorted());
    let of_flow: Vec<usize> = (0..starts.len()).filter(|&row| flow[row] == 0.0).collect();
    assert!(of_flow.len() > 900, "{}", of_flow.len());
    for row in of_flow {
        assert!(kind[row] == 0.0 && [1.0, 2.0].contains(&from[row]) && to[row] == 3.0, "row {row}");
    }
    let beacons = kind.iter().filter(|&&kind| kind == 4.0).count();
    assert!((385..=392).contains(&beacons), "{beacons} beacons of two access points in 20 s");
}

/// Frames beyond the limit are not in the replay, which names the time of the first one that is missing.
#[test]
fn a_replay_keeps_the_first_frames_up_to_its_limit() {
    let (whole, ..) = replay(usize::MAX);
    let (part, ..) = replay(100);
    let (all, kept) = (numbers(&whole["frames"]["t"]), numbers(&part["frames"]["t"]));
    assert_eq!(kept, all[..100]);
    let until = part["frames_until"].as_f64().unwrap();
    assert!((until - all[100]).abs() < 1e-9, "{until} and {}", all[100]);
}

const AGGREGATES: &str = r#"
[simulation]
duration = "1 s"
[[wifi]]
name = "air"
standard = "802.11ax"
mcs = 7
noise = "-88 dBm"
radio = { power = "20 dBm", frequency = "5.5 GHz", receive_threshold = "-82 dBm", carrier_sense_threshold = "-82 dBm" }
propagation = { kind = "log-distance", exponent = 3 }
[[node]]
name = "router"
wifi = "air"
position = [0, 0]
access_point = { ssid = "home" }
[[node]]
name = "phone"
wifi = "air"
position = [12, 0]
client = { ssid = "home" }
[[flow]]
name = "download"
from = "router"
to = "phone"
transport = "udp"
payload = "1200 B"
traffic = { kind = "cbr", rate = "100 Mbit/s" }
"#;

/// An A-MPDU is one frame of the replay, with its MPDUs and those that arrived.
#[test]
fn an_aggregate_has_its_mpdus_and_those_that_arrived() {
    let plan = Document::from_toml(AGGREGATES).unwrap().plan().unwrap();
    let mut run = Run::new(&plan, 1);
    run.record_replay(usize::MAX);
    run.execute(|_| ControlFlow::Continue(()));
    let replay = run.replay().unwrap();
    let column = |name: &str| numbers(&replay["frames"][name]);
    let (mpdus, arrived, ok) = (column("mpdus"), column("arrived"), column("ok"));
    let record = run.into_record();
    let received = record.table("flows").unwrap().number("received_packets", 0).unwrap();
    assert!(mpdus.iter().any(|&count| count > 3.0));
    assert!(mpdus.iter().zip(&arrived).all(|(mpdus, arrived)| arrived <= mpdus));
    let [sent, there]: [f64; 2] = [&mpdus, &arrived].map(|column| column.iter().sum());
    assert!(there < sent, "noise destroys some of {sent}");
    // Single frames, and repetitions whose acknowledgement was lost, are the difference.
    assert!((there - received).abs() < 0.05 * received, "{there} MPDUs, {received} packets");
    for place in 0..mpdus.len() {
        assert!(mpdus[place] == 0.0 || ok[place] == f64::from(u8::from(arrived[place] > 0.0)));
    }
}

#[test]
fn a_replay_has_base_stations_and_who_is_served() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scenarios/drive.toml");
    let mut document = Document::from_file(path).unwrap();
    document.set("simulation.duration", "22 s").unwrap();
    let plan = document.plan().unwrap();
    let mut run = Run::new(&plan, 1);
    run.record_replay(0);
    run.execute(|_| ControlFlow::Continue(()));
    let replay = run.replay().expect("a replay");
    let nodes = replay["nodes"].as_array().unwrap();
    let (car, west) = (&nodes[2], &nodes[3]);
    assert_eq!((&car["role"], &west["role"]), (&json!("terminal"), &json!("base station")));
    assert_eq!((&west["name"], &west["gateway"]), (&json!("west"), &json!(1)));
    assert_eq!(west["points"], json!([[0.0, 0.0, 0.0]]));
    assert_eq!(car["points"].as_array().unwrap().last().unwrap()[0], json!(22.0));
    // Each gap stands between two cells, with the times of the table.
    let serving = replay["serving"].as_array().unwrap();
    let first = json!({ "t": 0.0, "node": 2, "station": 3, "state": "served" });
    assert_eq!(serving.first(), Some(&first));
    let milliseconds = |seconds: f64| (seconds * 1e3).round() as u64;
    let starts: Vec<u64> = serving
        .windows(2)
        .filter(|pair| pair[0]["state"] == "served" && pair[1]["state"] != "served")
        .map(|pair| milliseconds(pair[1]["t"].as_f64().unwrap()))
        .collect();
    let gaps = run.cell_gaps();
    let begun: Vec<u64> = gaps.iter().map(|gap| milliseconds(gap.start.as_secs_f64())).collect();
    assert_eq!(starts, begun);
    assert!(gaps.len() > 1 && gaps.iter().all(|gap| gap.node == 2), "{gaps:?}");
    let record = run.into_record();
    let table = record.table("cell_changes").unwrap();
    let times = (0..table.rows()).filter_map(|row| table.number("time_s", row));
    assert_eq!(starts, times.map(milliseconds).collect::<Vec<_>>());
}
