//! `whimbrel inspect` on a capture of 802.11ax of the simulator, and tshark.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::processes;
use processes::{finish, stdout, whimbrel};

/// A download in A-MPDUs and a call, over noise.
const CELL: &str = r#"
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
position = [8, 0]
client = { ssid = "home" }
[[flow]]
name = "download"
from = "router"
to = "phone"
transport = "udp"
payload = "1200 B"
traffic = { kind = "cbr", rate = "100 Mbit/s" }
[[flow]]
name = "call"
from = "phone"
to = "router"
transport = "udp"
payload = "160 B"
dscp = "EF"
traffic = { kind = "cbr", rate = "64 kbit/s" }
"#;

/// Frames, repetitions, A-MPDUs and frames in A-MPDUs.
type Counts = [u64; 4];
/// Transmitter, receiver and traffic identifier.
type Key = (String, String, u64);

fn run(arguments: &[&str]) -> String {
    let output = finish(whimbrel(arguments).spawn().expect("it starts"));
    assert!(output.status.success(), "{output:?}");
    stdout(&output)
}

fn inspected(capture: &str) -> BTreeMap<Key, Counts> {
    let report: Value = serde_json::from_str(&run(&["inspect", capture, "--json"])).expect("JSON");
    let text = |stream: &Value, name: &str| stream[name].as_str().expect("a text").to_owned();
    let count = |stream: &Value, name: &str| stream[name].as_u64().expect("a number");
    let streams = report["wireless"]["streams"].as_array().expect("streams");
    let of = |stream: &Value| {
        let key = (text(stream, "transmitter"), text(stream, "receiver"), count(stream, "identifier"));
        (key, ["frames", "retries", "ampdus", "aggregated"].map(|name| count(stream, name)))
    };
    streams.iter().map(of).collect()
}

/// The same counts by tshark; `None` without it.
fn by_tshark(capture: &str) -> Option<BTreeMap<Key, Counts>> {
    const FIELDS: [&str; 5] =
        ["wlan.ta", "wlan.ra", "wlan.qos.tid", "wlan.fc.retry", "radiotap.ampdu.reference"];
    let mut command = Command::new("tshark");
    command.args(["-r", capture, "-Y", "wlan.fc.type_subtype == 0x28", "-T", "fields"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.output().ok().filter(|output| output.status.success())?;
    let mut counts: BTreeMap<Key, Counts> = BTreeMap::new();
    let mut last: BTreeMap<Key, String> = BTreeMap::new();
    for line in stdout(&output).lines() {
        let [from, to, identifier, retry, ampdu] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let key = (from.to_owned(), to.to_owned(), identifier.parse().expect("an identifier"));
        let count = counts.entry(key.clone()).or_default();
        count[0] += 1;
        count[1] += u64::from(matches!(retry, "1" | "True"));
        if !ampdu.is_empty() {
            count[3] += 1;
            count[2] += u64::from(last.insert(key, ampdu.to_owned()).as_deref() != Some(ampdu));
        }
    }
    Some(counts)
}

#[test]
fn the_traffic_identifiers_and_aggregates_are_those_of_tshark() {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let (scenario, capture) = (path("cell.toml"), path("cell.pcapng"));
    std::fs::write(&scenario, CELL).expect("a file");
    run(&["run", &scenario, "--quiet", "--pcap", &capture]);

    let streams = inspected(&capture);
    let [router, phone] = ["02:00:00:00:00:00", "02:00:00:00:00:01"].map(str::to_owned);
    let [frames, retries, ampdus, aggregated] = streams[&(router.clone(), phone.clone(), 0)];
    assert!(frames > 10_000 && retries > 0, "{streams:?}");
    assert!(aggregated > ampdus && aggregated <= frames, "{streams:?}");
    // 188 bytes with headers at 64 kbit/s, in category voice, which is not aggregated.
    let [frames, retries, ampdus, _] = streams[&(phone, router, 6)];
    assert_eq!((frames - retries, ampdus), (43, 0), "{streams:?}");
    if let Some(theirs) = by_tshark(&capture) {
        assert_eq!(streams, theirs);
    }

    let text = run(&["inspect", &capture]);
    let head = text.lines().skip_while(|line| !line.starts_with("802.11, QoS")).nth(1).expect("a table");
    assert!(head.contains("A-MPDUs") && head.contains("again"), "{text}");
}
