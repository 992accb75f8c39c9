//! Bounds of a scenario's demands and output.

use std::fs;

use serde_json::json;

use super::{PLAIN, document};
use whimbrel_lab::scenario::Document;

const SMALL: &str = r#"
title = "small"
[simulation]
duration = "1 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "l"
between = ["a", "b"]
rate = "1 Mbit/s"
[[flow]]
name = "f"
from = "a"
to = "b"
transport = "udp"
traffic = { kind = "cbr", rate = "80 kbit/s" }
"#;

fn complaint(key: &str, value: serde_json::Value) -> String {
    let mut document = Document::from_toml(SMALL).expect("TOML");
    document.set_value(key, value).expect("a key");
    document.plan().expect_err("it is refused").to_string()
}

#[test]
fn a_unit_of_two_meanings_is_refused_with_the_probable_one() {
    for (wrong, meant) in [("1gb/s", "1 Gbit/s"), ("1.5 Mb/s", "1.5 Mbit/s"), ("64 KB/s", "64 kB/s")] {
        let message = complaint("link.l.rate", json!(wrong));
        assert!(message.ends_with(&format!("did you mean \"{meant}\"?")), "{message}");
    }
    let message = complaint("link.l.delay", json!("20 MS"));
    assert!(message.ends_with("did you mean \"20 ms\"?"), "{message}");
    assert!(!complaint("link.l.rate", json!("fast")).contains("did you mean"));
}

#[test]
fn numbers_beyond_all_measure_are_refused() {
    for (key, value) in [
        ("link.l.rate", "1e308 GB/s"),
        ("link.l.delay", "1e300 h"),
        ("simulation.duration", "1e18 s"),
        ("record.interval", "1e19 s"),
    ] {
        let message = complaint(key, json!(value));
        assert!(message.contains("expected") && message.contains(value), "{message}");
    }
}

#[test]
fn a_message_quotes_no_more_than_a_line() {
    let long = "x".repeat(3_000_000);
    let line = Document::from_toml(&format!("title = {long}")).expect_err("no TOML").to_string();
    let value = complaint("link.l.rate", json!(long));
    let key = Document::from_toml(&format!("{SMALL}\n[{long}]\na = 1")).expect("TOML");
    let key = key.plan().expect_err("no such key").to_string();
    for message in [line, value, key] {
        assert!(message.len() < 3_000, "{} bytes", message.len());
    }
}

#[test]
fn files_in_other_encodings_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wide.toml");
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(SMALL.bytes().flat_map(|byte| [byte, 0])).collect();
    fs::write(&file, wide).unwrap();
    let message = Document::from_file(&file).expect_err("UTF-16").to_string();
    assert!(
        message.contains("wide.toml: it is in UTF-16") && message.contains("save it as UTF-8"),
        "{message}"
    );
    fs::write(&file, [b"\xef\xbb\xbf", SMALL.as_bytes()].concat()).unwrap();
    Document::from_file(&file).expect("a byte order mark is no error").plan().expect("a plan");
    // A scenario is no dump of a disk.
    fs::write(&file, vec![b'#'; (16 << 20) + 1]).unwrap();
    let message = Document::from_file(&file).expect_err("too long").to_string();
    assert!(message.contains("more than 16777216 bytes"), "{message}");
}

#[test]
fn names_and_titles_can_stand_in_tables_and_figures() {
    for title in ["bell \u{7}", "\u{1b}]0;x\u{7}", "no\u{fffe}character"] {
        let message = complaint("title", json!(title));
        assert!(message.starts_with("title = ") && !message.chars().any(char::is_control), "{message:?}");
    }
    for name in ["=1+1", "+x", "-x", "@x"] {
        assert!(complaint("flow.f.name", json!(name)).contains("as formulas of spreadsheets do"));
    }
    for name in ["=1+1", "a\u{7}"] {
        let sweep = json!({ "case": [{ "name": name, "link.l.rate": "1 Mbit/s" }] });
        assert!(complaint("sweep", sweep).starts_with("sweep.case[0].name = "));
    }
}

#[test]
fn a_sweep_has_a_bound() {
    let values: Vec<u32> = (1..=3_500).collect();
    let message = complaint("sweep", json!({ "link.l.mark_at": values, "flow.f.dscp": values }));
    assert!(message.starts_with("sweep = 12250000: expected at most 100000 combinations"), "{message}");
    // Each of ten thousand values is tried within the time of a test.
    let mut wide = Document::from_toml(SMALL).expect("TOML");
    wide.set_value("sweep", json!({ "link.l.mark_at": (1..=10_000).collect::<Vec<u32>>() })).unwrap();
    wide.plan().expect("it is within the bound");
}

#[test]
fn parameters_of_classifiers_clocks_and_timeouts_out_of_range_are_named() {
    let error = |key: &str, value: &str| {
        let mut document = document(PLAIN);
        document.set(&format!("flow[0].dccp.{key}"), value).unwrap();
        document.plan().unwrap_err().to_string()
    };
    assert!(error("classification.mbiaz_upper", "2.5").contains("mbiaz_upper from 1 to 2"));
    assert!(error("classification.spike_end", "0.7").contains("spike_end <= spike_start"));
    assert!(error("clock_drift_ppm", "1e6").contains("flow[0].dccp.clock_drift_ppm"));
    assert!(error("timeout_tick", "0 ms").contains("flow[0].dccp.timeout_tick"));
    assert!(error("classification.zigzag_trip", "last").contains("before-gap"));
}
