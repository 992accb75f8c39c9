//! `whimbrel fit`, the built program.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Output;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

use crate::processes;
use processes::{finish, stderr, stdout, whimbrel};

/// A link with losses, over which 40,000 packets of a stream of constant rate pass.
const SCENARIO: &str = r#"
[simulation]
duration = "100 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
rate = "10 Mbit/s"
LOSS
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "udp"
packet_size = "250 B"
traffic = { kind = "cbr", rate = "800 kbit/s" }
[record]
losses = true
"#;

fn run(arguments: &[&str]) -> Output {
    finish(whimbrel(arguments).spawn().expect("it starts"))
}

#[track_caller]
fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{output:?}");
    stdout(&output)
}

/// A little-endian pcap file of raw IP packets: RTP with these sequence numbers, a packet in 10 ms.
fn rtp(sequences: impl Iterator<Item = u16>) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];
    for (position, sequence) in sequences.enumerate() {
        let mut packet = vec![0x45, 0, 0, 44, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        packet.extend([0x0f, 0xa0, 0x13, 0x8c, 0, 24, 0, 0, 0x80, 96]);
        packet.extend(sequence.to_be_bytes());
        packet.extend([0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0]);
        let micros = position as u32 * 10_000;
        for word in [micros / 1_000_000, micros % 1_000_000, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

fn gzip(path: &Path, content: &[u8]) {
    let mut encoder = GzEncoder::new(File::create(path).expect("a file"), Compression::fast());
    encoder.write_all(content).expect("it is written");
    encoder.finish().expect("it is written");
}

#[test]
fn losses_of_a_compressed_rtp_capture_are_fitted() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("call.pcap.gz");
    // Of 70,000 packets, beyond the wrap of the numbers, three in a row are lost after each hundred and one.
    let passing = (0u32..70_000).filter(|number| number % 103 < 100).map(|number| number as u16);
    gzip(&file, &rtp(passing));
    let name = file.to_str().expect("a plain path");
    let report: Value = serde_json::from_str(&succeed(&["fit", name, "--json"])).expect("JSON");
    assert_eq!(report["packets"], 70_000 - 70_000 % 103 + 63);
    assert_eq!(report["lost"], 70_000 / 103 * 3);
    assert_eq!(report["mean_burst"], 3.0);
    assert_eq!(report["bursts"][2]["observed"], 70_000 / 103);
    assert_eq!(report["stream"], "RTP 192.0.2.1:4000 > 192.0.2.2:5004 ssrc 01020304");
    // Transitions can be counted: from 100 packets to one burst, from three lost packets to one delivery.
    let simple =
        report["models"].as_array().expect("models").iter().find(|one| one["model"] == "simple-gilbert");
    let value =
        |index: usize| simple.expect("fitted")["parameters"][index]["value"].as_f64().expect("a number");
    assert!((value(0) - 679.0 / 67_963.0).abs() < 1e-6, "{}", value(0));
    assert!((value(1) - 1.0 / 3.0).abs() < 1e-9, "{}", value(1));
    let text = succeed(&["fit", name]);
    assert!(text.contains("70000 packets, 2037 lost") && text.contains("\nloss = { model = \""), "{text}");
    let other = run(&["fit", name, "--port", "5005"]);
    assert!(
        stderr(&other).contains("expected a capture of a DCCP, RTP or TCP stream to port 5005"),
        "{other:?}"
    );
}

/// The losses of a run, as a text of 0 and 1.
fn marks(directory: &Path, loss: &str, seed: &str) -> String {
    let scenario = directory.join("scenario.toml");
    fs::write(&scenario, SCENARIO.replace("LOSS", loss)).expect("it is written");
    let out =
        succeed(&["run", scenario.to_str().expect("a plain path"), "--quiet", "--seed", seed, "--json"]);
    let record: Value = serde_json::from_str(&out).expect("JSON");
    let tables = record.get("tables").unwrap_or(&record);
    let tags = tables["losses"]["tag"].as_array().expect("a column");
    let mut marks = vec![b'0'; 40_000];
    for tag in tags {
        marks[tag.as_f64().expect("a number") as usize] = b'1';
    }
    String::from_utf8(marks).expect("text")
}

/// The fragment goes into a scenario as it is, and a run with it has the parameters of the first one.
#[test]
fn a_run_takes_the_fragment_and_reproduces_the_losses() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("losses.txt");
    let name = file.to_str().expect("a plain path");
    let truth = [("p13", 0.02), ("p31", 0.25), ("p32", 0.25), ("p23", 0.3), ("p14", 0.02)];
    let keys: Vec<String> = truth.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let mut loss = format!("loss = {{ model = \"four-state\", {} }}", keys.join(", "));
    for seed in ["1", "2"] {
        fs::write(&file, marks(directory.path(), &loss, seed)).expect("it is written");
        let fitted: Value = serde_json::from_str(&succeed(&["fit", name, "--json"])).expect("JSON");
        assert_eq!(fitted["best"], "four-state", "{fitted}");
        for (index, (key, value)) in truth.iter().enumerate() {
            let parameter = &fitted["models"][0]["parameters"][index];
            let bound = |which: usize| parameter["interval"][which].as_f64().expect("a bound");
            let middle = parameter["value"].as_f64().expect("a number");
            // Two half intervals are four standard deviations; the second run starts from the first one's
            // estimate.
            let half = (bound(1) - bound(0)) / 2.0;
            assert!((middle - value).abs() < 3.0 * half && half < 0.25 * value, "{key}: {parameter}");
        }
        loss = succeed(&["fit", name, "--toml"]);
    }
}

/// A run's packets and its own loss rate.
#[test]
fn a_runs_table_of_packets_is_fitted() {
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("a plain path").to_owned();
    let scenario = SCENARIO.replace("LOSS", "loss = { model = \"bernoulli\", rate = \"4 %\" }");
    fs::write(path("s.toml"), scenario.replace("losses = true", "packets = true")).expect("it is written");
    let out = succeed(&["run", &path("s.toml"), "--quiet", "--json", "--out", &path("tables")]);
    let record: Value = serde_json::from_str(&out).expect("JSON");
    let fitted: Value = serde_json::from_str(&succeed(&["fit", &path("tables"), "--json"])).expect("JSON");
    assert_eq!(fitted["lost"], record["tables"]["flows"]["lost_wireless"][0]);
    assert_eq!((fitted["best"].as_str(), fitted["stream"].as_str()), (Some("bernoulli"), Some("flow call")));
    let unknown = run(&["fit", &path("tables"), "--flow", "video"]);
    assert!(stderr(&unknown).contains("--flow video: expected one of call"), "{unknown:?}");
    let other = run(&["fit", &path("tables/flows.csv")]);
    assert!(
        stderr(&other).contains("expected the column `sent_s`, as in the packets.csv of a run"),
        "{other:?}"
    );
}

#[test]
fn bad_input_is_named() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("losses.txt");
    let name = file.to_str().expect("a plain path");
    let complaint = |content: &[u8], options: &[&str]| {
        fs::write(&file, content).expect("it is written");
        let output = run(&[&["fit", name], options].concat());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        stderr(&output)
    };
    assert!(complaint(b"0100 2", &[]).contains("a text of 0 and 1 (mark 4 is `2`)"));
    assert!(complaint(b"0100", &[]).contains("4 packets are too few to fit a model, expected at least 20"));
    assert!(complaint(b"", &[]).contains("0 packets are too few"));
    let none = [b'0'; 50];
    let no_loss = complaint(&none, &["--model", "gilbert"]);
    assert!(no_loss.contains("--model gilbert: 0 of 50 packets lost do not determine it"), "{no_loss}");
    assert!(complaint(&none, &["--port", "5004"]).contains("--port: "));
    fs::write(&file, none).expect("it is written");
    assert_eq!(succeed(&["fit", name, "--toml"]), "loss = { model = \"bernoulli\", rate = 0.0 }\n");
    assert_eq!(run(&["fit", name, "--model", "markov"]).status.code(), Some(2));
    assert!(stderr(&run(&["fit", "/nowhere/at.all"])).contains("/nowhere/at.all"));
}

/// A phone between two cells that change at four times, with a stream in each direction.
const CELLS: &str = r#"
[variables]
period = "10 ms"
gap = "120 ms"
rate = "100 kbit/s"
[simulation]
duration = "60 s"
[[node]]
name = "server"
[[node]]
name = "operator"
gateway = { shadowing = { deviation = "0 dB" }, handover = { by_level = false, gap = "$gap" } }
[[node]]
name = "phone"
cell = "west"
position = [250, 30]
cell_changes = [{ time = "11 s", to = "east" }, { time = "22.003 s", to = "west" }, { time = "33.007 s", to = "east" }, { time = "44.011 s", to = "west" }]
[[cell]]
name = "west"
gateway = "operator"
position = [0, 0]
idle = { always_on = true }
radio = { propagation = "macro", fading = "none" }
sr_period = "$period"
queue = { limit = "300 kB" }
[[cell]]
name = "east"
gateway = "operator"
position = [500, 0]
idle = { always_on = true }
radio = { propagation = "macro", fading = "none" }
sr_period = "$period"
queue = { limit = "300 kB" }
[[link]]
between = ["server", "operator"]
rate = "1 Gbit/s"
delay = "10 ms"
[[flow]]
name = "down"
from = "server"
to = "phone"
transport = "udp"
packet_size = "141 B"
traffic = { kind = "cbr", rate = "$rate" }
[[flow]]
name = "up"
from = "phone"
to = "server"
transport = "udp"
packet_size = "100 B"
traffic = { kind = "cbr", rate = "14.9 kbit/s" }
[record]
packets = true
"#;

/// Estimates of `fit --cell` from a run, by stream.
fn of_cell(directory: &Path, changes: &[&str]) -> [Value; 2] {
    let scenario = directory.join("cells.toml");
    fs::write(&scenario, CELLS).expect("it is written");
    let tables = directory.join("tables");
    let tables = tables.to_str().expect("UTF-8");
    let sets = changes.iter().flat_map(|change| ["--set", change]);
    let arguments: Vec<&str> =
        ["run", scenario.to_str().expect("UTF-8"), "--out", tables].into_iter().chain(sets).collect();
    succeed(&arguments);
    let found: Value = serde_json::from_str(&succeed(&["fit", "--cell", tables, "--json"])).expect("JSON");
    ["down", "up"].map(|name| {
        let streams = found["streams"].as_array().expect("streams").iter();
        streams.clone().find(|stream| stream["stream"] == name).expect("the stream")["cell"].clone()
    })
}

#[track_caller]
fn is_near(estimate: &Value, expected: f64, most: f64) {
    let value = estimate["value"].as_f64().unwrap_or(f64::NAN);
    assert!((value - expected).abs() < most, "{estimate}, expected {expected}");
}

#[test]
fn a_drive_tells_the_parameters_of_its_cells() {
    let directory = tempfile::tempdir().expect("a directory");
    for (period, gap) in [(0.01, 0.12), (0.04, 0.06)] {
        let [period_key, gap_key] = [("period", period), ("gap", gap)]
            .map(|(name, value)| format!("variables.{name}={} ms", value * 1e3));
        let [down, up] = of_cell(directory.path(), &[&period_key, &gap_key]);
        assert!(down["step_s"].is_null(), "blocks of a strong signal arrive: {down}");
        is_near(&up["request_period_s"], period, 0.15 * period);
        let gaps = down["gaps"].as_array().expect("gaps");
        assert_eq!(gaps.len(), 4, "{down}");
        for (found, at) in gaps.iter().zip([11.0, 22.003, 33.007, 44.011]) {
            let [low, high] =
                [0, 1].map(|bound| found["length_s"]["interval"][bound].as_f64().expect("a bound"));
            // The first block of the new cell may be repeated once.
            assert!(low <= gap && gap <= high && high - low < 0.0221, "{found}");
            let until = found["until_s"].as_f64().expect("a time");
            assert!((0.0..0.012).contains(&(until - at - gap)), "{found}, {at}");
        }
    }
    let weak = ["west", "east"].map(|cell| format!("cell.{cell}.radio.penetration=40 dB"));
    let fades = ["west", "east"].map(|cell| format!("cell.{cell}.radio.fading=eva"));
    let [down, _] = of_cell(directory.path(), &[&weak[0], &weak[1], &fades[0], &fades[1]]);
    is_near(&down["step_s"], 0.008, 0.0006);
    let [down, _] = of_cell(directory.path(), &["variables.rate=60 Mbit/s", "simulation.duration=5 s"]);
    is_near(&down["queue_bytes"], 300e3, 15e3);
    assert!(down["step_s"].is_null() && down["gaps"].as_array().is_some_and(Vec::is_empty), "{down}");
}

#[test]
fn a_file_without_delays_tells_no_cell() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("other.csv");
    fs::write(&file, "time_s,rate\n1,2\n").expect("it is written");
    let output = run(&["fit", "--cell", file.to_str().expect("UTF-8")]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("expected a column `sent_s`"), "{output:?}");
    fs::write(&file, "sent_s,delay_s,class\n0.5,0.03,ping\n").expect("it is written");
    let text = succeed(&["fit", "--cell", file.to_str().expect("UTF-8")]);
    assert_eq!(text.trim_end(), "ping: 1 packets\n  shows no parameter of a cell");
}
