//! `whimbrel capacity`, the built program on captures of the simulator's 802.11 and on files that are none.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Output;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;
use whimbrel_lab::record::Table;
use whimbrel_lab::{Document, Run};

use crate::processes;
use processes::{finish, stderr, stdout, whimbrel};

/// Station `n1` sends to `n0` and `n3` to `n2`, all in range of each other, each a packet per
/// 12 ms, 6 ms apart: no station misses a frame by a collision, which a capture has.
const CELL: &str = r#"
[simulation]
duration = "5 s"
[[wifi]]
name = "air"
standard = "802.11b"
rate = "11 Mbit/s"
rts_threshold = "0 B"
controller = { law = "xcp-winf" }
[[node]]
name = "n{i}"
count = 5
wifi = "air"
layout = { kind = "grid", columns = 5, spacing = "20 m" }
[[flow]]
name = "f"
from = "n1"
to = "n0"
transport = "udp"
packet_size = "1500 B"
traffic = { kind = "cbr", rate = "1 Mbit/s" }
[[flow]]
name = "g"
from = "n3"
to = "n2"
transport = "udp"
packet_size = "300 B"
start = "6 ms"
traffic = { kind = "cbr", rate = "200 kbit/s" }
"#;

/// A run, captured: the file and the table of the estimates inside the simulator.
fn run(folder: &TempDir) -> (PathBuf, Table) {
    run_with(folder, CELL, "capacity")
}

/// A run of a scenario, captured, and a table of its record.
fn run_with(folder: &TempDir, scenario: &str, table: &str) -> (PathBuf, Table) {
    let plan = Document::from_toml(scenario).unwrap().plan().unwrap_or_else(|error| panic!("{error}"));
    let mut run = Run::new(&plan, 1);
    run.capture(|_| true);
    run.execute(|_| ControlFlow::Continue(()));
    let file = folder.path().join("air.pcapng");
    fs::write(&file, run.take_capture()).unwrap();
    let table = run.into_record().table(table).expect("a table").clone();
    (file, table)
}

fn capacity(arguments: &[&str]) -> Output {
    finish(whimbrel(&[&["capacity"], arguments].concat()).spawn().expect("it starts"))
}

fn json(arguments: &[&str]) -> Value {
    let output = capacity(&[arguments, &["--json"]].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

#[track_caller]
fn assert_equal(estimate: &Value, table: &Table, row: usize, column: &str) {
    for (key, share) in [("capacity", 1e-9), ("available", 1e-3)] {
        let expected = table.number(&format!("{column}_{key}_bps"), row).expect("a number");
        let value = estimate[format!("{key}_bps")].as_f64().expect("an estimate");
        assert!(
            (value / expected - 1.0).abs() < share,
            "{column} {key}: {value}, in the simulator {expected}"
        );
    }
}

#[test]
fn the_estimates_from_a_capture_are_those_inside_the_simulator() {
    let folder = TempDir::new().unwrap();
    let (file, table) = run(&folder);
    let report = json(&[file.to_str().unwrap()]);
    assert_eq!(report["stamps"]["moment"], "begin");
    assert!(report["stamps"]["error_us"].as_f64().unwrap() < 0.1);
    let channel = &report["channels"][0];
    let stations = channel["stations"].as_array().unwrap();
    let row = |node: &str| {
        let named = |row: &usize| table.text("station", *row) == Some(node);
        (0..table.rows()).find(named).expect("a station")
    };
    // The addresses count from the first station.
    for (number, column) in
        [(1, "winf_sender"), (3, "winf_sender"), (0, "winf_receiver"), (2, "winf_receiver")]
    {
        let column_of = if column == "winf_sender" { "sender" } else { "receiver" };
        let sent =
            |station: &&Value| station["address"].as_str().unwrap().ends_with(&format!("{number:02x}"));
        let station = stations.iter().find(sent).unwrap_or_else(|| panic!("{number}: {stations:?}"));
        assert_equal(&station[column_of], &table, row(&format!("n{number}")), column);
    }
    // The onlooker is n4, which takes no part.
    assert_equal(&channel["onlooker"], &table, row("n4"), "winf_onlooker");
    assert_equal(&channel["idle_gap"], &table, row("n4"), "idle_gap");
}

/// Five saturated senders, with and without RTS: the share of unanswered frames is what the MACs count.
#[test]
fn the_failure_probability_is_that_of_the_simulated_macs() {
    let folder = TempDir::new().unwrap();
    let (head, _) = CELL.split_once("[[flow]]").unwrap();
    for threshold in ["0 B", "3000 B"] {
        let head = head.replace("\"0 B\"", &format!("\"{threshold}\"")).replace("count = 5", "count = 6");
        let flow = |sender: u8| {
            format!(
                "[[flow]]\nname = \"f{sender}\"\nfrom = \"n{sender}\"\nto = \"n0\"\ntransport = \"udp\"\npacket_size = \"1500 B\"\n\
                 traffic = {{ kind = \"cbr\", rate = \"4 Mbit/s\" }}\n"
            )
        };
        let scenario = head + &(1..=5).map(flow).collect::<String>();
        let (file, table) = run_with(&folder, &scenario, "stations");
        let report = json(&[file.to_str().unwrap()]);
        for row in 1..=5 {
            let [attempts, failed] =
                ["attempts", "failed_attempts"].map(|column| table.number(column, row).unwrap());
            let station = &report["channels"][0]["stations"][row];
            let probability = station["failure_probability"].as_f64().unwrap();
            assert!(failed > 50.0, "{failed} of {attempts}");
            assert!((probability - failed / attempts).abs() < 0.005, "{station}: {failed} of {attempts}");
        }
    }
}

#[test]
fn intervals_and_text_show_the_same_estimates() {
    let folder = TempDir::new().unwrap();
    let (file, _) = run(&folder);
    let file = file.to_str().unwrap();
    let report = json(&[file, "--interval", "1s"]);
    let intervals = report["channels"][0]["intervals"].as_array().unwrap();
    assert_eq!(intervals.len(), 5);
    let text = stdout(&capacity(&[file, "--interval", "1s"]));
    for interval in intervals {
        let capacity = interval["onlooker"]["capacity_bps"].as_f64().unwrap();
        assert!(text.contains(&format!("{:.3}", capacity / 1e6)), "{text}");
        assert_eq!(interval["senders"].as_object().unwrap().len(), 2);
    }
    assert!(text.contains("2412 MHz") || text.contains(" MHz:"), "{text}");
}

#[test]
fn a_truncated_capture_is_estimated_up_to_its_end_and_reported() {
    let folder = TempDir::new().unwrap();
    let (file, _) = run(&folder);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let output = capacity(&[file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("rt-Winf, onlooker"));
    assert!(stderr(&output).contains("the file ends inside"), "{}", stderr(&output));
}

#[test]
fn files_without_802_11_frames_are_refused_with_what_they_hold() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    let name = path.to_str().unwrap();
    let pcap = |link: u8| {
        [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 8], &[0, 0, 1, 0, link, 0, 0, 0]].concat()
    };
    let ethernet = [pcap(1), vec![0; 8], vec![20, 0, 0, 0, 20, 0, 0, 0], vec![0; 20]].concat();
    for (bytes, expected) in [
        (b"no capture at all".to_vec(), "expected a pcap or pcapng file"),
        (pcap(127), "no frames"),
        (ethernet, "link type 1 (Ethernet)"),
    ] {
        fs::write(&path, bytes).unwrap();
        let output = capacity(&[name]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert!(stderr(&output).contains(name));
    }
    assert!(stderr(&capacity(&["/nowhere.pcap"])).contains("/nowhere.pcap"));
    assert!(!capacity(&[name, "--interval", "0"]).status.success());
}

/// Frames with timestamps of a host that are 300 to 353 us late, written without the simulator: the MAC's
/// clock is exact.
#[test]
fn late_stamps_are_replaced_by_those_of_the_mac() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/air/tsft");
    let folder = TempDir::new().unwrap();
    let packed = folder.path().join("air.pcap.gz");
    let mut encoder = GzEncoder::new(fs::File::create(&packed).unwrap(), Compression::default());
    encoder.write_all(&fs::read(file).unwrap()).unwrap();
    encoder.finish().unwrap();
    let [plain, inflated] = [json(&[file]), json(&[packed.to_str().unwrap()])];
    assert_eq!(plain, inflated);
    assert_eq!(
        (plain["stamps"]["clock"].as_str(), plain["stamps"]["moment"].as_str()),
        (Some("tsft"), Some("mpdu"))
    );
    // MSDUs of 1508 bytes, of which the capture has 108: DATA of 1310 us at 11 Mbit/s, ACK of 304 us.
    let capacity = plain["channels"][0]["onlooker"]["capacity_bps"].as_f64().unwrap();
    assert!((capacity / (8e6 * 1508.0 / (1310.0 + 304.0)) - 1.0).abs() < 1e-6, "{capacity}");
}
