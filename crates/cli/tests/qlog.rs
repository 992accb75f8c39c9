//! `whimbrel run --qlog`, the built program: the files follow the schema and agree with the record.

use std::fs;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::processes;
use processes::{finish, stderr, stdout, whimbrel};

/// A DCCP and a TCP flow, and one in the background, over a link with radio losses and a short queue.
const SCENARIO: &str = r#"
[simulation]
duration = "20 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
between = ["a", "b"]
rate = "2 Mbit/s"
delay = "20 ms"
queue = "12 packets"
loss = { model = "bernoulli", rate = "1 %" }
[[flow]]
name = "video/1"
from = "a"
to = "b"
transport = "dccp"
ccid = 3
[[flow]]
name = "window"
from = "a"
to = "b"
transport = "dccp"
ccid = 2
[[flow]]
name = "download"
from = "a"
to = "b"
transport = "tcp"
[[flow]]
name = "noise"
from = "a"
to = "b"
transport = "udp"
background = true
traffic = { kind = "cbr", rate = "100 kbit/s" }
"#;

fn run(arguments: &[&str]) -> Output {
    finish(whimbrel(arguments).spawn().expect("it starts"))
}

/// The records of a JSON text sequence (RFC 7464).
fn records(text: &str) -> Vec<Value> {
    text.split('\u{1e}')
        .skip(1)
        .map(|record| {
            assert!(record.ends_with('\n'), "{record}");
            serde_json::from_str(record).expect("JSON")
        })
        .collect()
}

#[test]
fn each_flow_has_a_log_that_agrees_with_the_record() {
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("a plain path").to_owned();
    fs::write(path("s.toml"), SCENARIO).expect("it is written");
    let output = run(&["run", &path("s.toml"), "--quiet", "--json", "--qlog", &path("logs")]);
    assert!(output.status.success(), "{output:?}");
    let record: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let flows = &record["tables"]["flows"];
    let mut files: Vec<String> = fs::read_dir(path("logs"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    files.sort();
    assert_eq!(files, ["download.sqlog", "video_1.sqlog", "window.sqlog"]);
    // The run is the same without logs.
    let plain: Value =
        serde_json::from_str(&stdout(&run(&["run", &path("s.toml"), "--quiet", "--json"]))).expect("JSON");
    assert_eq!(plain, record);
    for (index, (name, file)) in
        [("video/1", "video_1"), ("window", "window"), ("download", "download")].into_iter().enumerate()
    {
        assert_eq!(flows["flow"][index], name);
        let text = fs::read_to_string(path(&format!("logs/{file}.sqlog"))).expect("text");
        let all = records(&text);
        let (header, events) = all.split_first().expect("a header");
        assert_eq!(header["qlog_version"], "0.3");
        assert_eq!(header["qlog_format"], "JSON-SEQ");
        assert_eq!(header["trace"]["common_fields"]["time_format"], "relative");
        assert_eq!(header["trace"]["vantage_point"]["type"], "client");
        let times: Vec<f64> = events.iter().map(|event| event["time"].as_f64().expect("a time")).collect();
        assert!(times.is_sorted() && times[times.len() - 1] <= 20_000.0);
        let of = |name: &str| events.iter().filter(|event| event["name"] == name).collect::<Vec<_>>();
        let column = |name: &str| flows[name][index].as_u64().expect("a number");
        let (sent, received, lost) =
            (of("transport:packet_sent"), of("transport:packet_received"), of("recovery:packet_lost"));
        assert_eq!(sent.len() as u64, column("sent_packets"), "{name}");
        assert_eq!(received.len() as u64, column("received_packets"), "{name}");
        let causes = ["lost_queue", "lost_wireless", "lost_down", "lost_other"].map(column);
        assert_eq!(lost.len() as u64, causes.iter().sum::<u64>(), "{name}");
        let by_radio = lost.iter().filter(|event| event["data"]["trigger"] == "wireless").count() as u64;
        assert_eq!(by_radio, causes[1], "{name}");
        let bytes: u64 =
            sent.iter().map(|event| event["data"]["raw"]["length"].as_u64().expect("bytes")).sum();
        assert_eq!(bytes, column("sent_bytes"), "{name}");
        for event in sent.iter().chain(&received).chain(&lost) {
            let header = &event["data"]["header"];
            assert!(header["packet_number"].is_u64() && header["packet_type"] == "1RTT", "{event}");
        }
        // Ten samples per second, once there are estimates.
        let metrics = of("recovery:metrics_updated");
        assert!((180..=200).contains(&metrics.len()), "{name}: {}", metrics.len());
        let last = &metrics[metrics.len() - 1]["data"];
        let number = |key: &str| last[key].as_f64().unwrap_or_else(|| panic!("{key} of {last}"));
        assert!(number("smoothed_rtt") >= number("min_rtt") && number("min_rtt") >= 40.0, "{last}");
        assert!(number("bytes_in_flight") < 200_000.0);
        match name {
            "video/1" => assert!(number("pacing_rate") > 1e4, "{last}"),
            _ => assert!(number("congestion_window") >= 500.0, "{last}"),
        }
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("a plain path").to_owned();
    fs::write(path("s.toml"), SCENARIO).expect("it is written");
    fs::write(path("taken"), "").expect("it is written");
    let output = run(&["run", &path("s.toml"), "--quiet", "--qlog", &path("taken/logs")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--qlog "), "{output:?}");
}
