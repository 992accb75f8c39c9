use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use whimbrel_lab::Record;
use whimbrel_lab::scenario::Document;

/// A stream over a recorded rate and recorded losses. The rate is 2 Mbit/s for 20 s, then 0.4 Mbit/s for 20
/// s; losses are in the slow part only. A run lasts 10 s.
const RECORDED: &str = r#"
[simulation]
duration = "10 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
trace = { file = "rate.tsv", format = "rate", start = "random" }
reverse = { rate = "1 Mbit/s" }
delay = "5 ms"
loss = { model = "trace", file = "losses.csv", length = "40 s", repeat = true, start = "random" }
[[link]]
name = "other"
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "50 ms"
loss = { model = "bernoulli", rate = "10 %" }
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "udp"
packet_size = "250 B"
traffic = { kind = "cbr", rate = "1 Mbit/s" }
[[flow]]
name = "second"
from = "a"
to = "b"
transport = "udp"
traffic = { kind = "on-off", rate = "400 kbit/s" }
"#;

fn document(base: &Path) -> Document {
    // Two steps of 20 s, so that the period is 40 s.
    fs::write(base.join("rate.tsv"), "0 2\n20 0.4\n").unwrap();
    fs::write(base.join("losses.csv"), "from_s,to_s\n20,40\n").unwrap();
    let mut stamps = String::new();
    // 40 s of which the second half has a fifth of the opportunities.
    (0..20_000).step_by(6).for_each(|at| writeln!(stamps, "{at}").unwrap());
    (20_000..=40_000).step_by(30).for_each(|at| writeln!(stamps, "{at}").unwrap());
    writeln!(stamps, "40000").unwrap();
    fs::write(base.join("rate.mahimahi"), stamps).unwrap();
    Document::from_toml(RECORDED).expect("TOML").relative_to(base)
}

fn capacity(record: &Record) -> f64 {
    record.table("links").unwrap().number("capacity_bps", 0).unwrap()
}

fn lost(record: &Record) -> f64 {
    record.table("links").unwrap().number("wireless_lost_packets", 0).unwrap()
}

#[test]
fn each_seed_meets_another_part_of_a_recording() {
    let base = tempfile::tempdir().unwrap();
    let plan = document(base.path()).plan().unwrap();
    assert!(plan.is_random() && plan.fixed_recordings.is_empty());
    let records: Vec<Record> = (1..=20).map(|seed| whimbrel_lab::run(&plan, seed)).collect();
    let rates: Vec<f64> = records.iter().map(capacity).collect();
    let distinct = rates.iter().filter(|rate| **rate > 0.45e6 && **rate < 1.95e6).count();
    assert!(rates.iter().any(|rate| *rate > 1.9e6) && rates.iter().any(|rate| *rate < 0.6e6), "{rates:?}");
    assert!(distinct > 0, "some runs meet the change: {rates:?}");
    // The recordings of a link start together: there are losses exactly where the rate is low.
    for (record, rate) in records.iter().zip(&rates) {
        let slow = (2e6 - rate) / 1.6e6;
        assert_eq!(lost(record) > 0.0, slow > 0.001, "{rate} {}", lost(record));
    }
    // The same seed meets the same part.
    assert_eq!(format!("{:?}", whimbrel_lab::run(&plan, 3)), format!("{:?}", records[2]));
}

#[test]
fn a_recording_that_starts_at_its_beginning_is_the_same_in_each_run() {
    let base = tempfile::tempdir().unwrap();
    let mut document = document(base.path());
    document.set("link.radio.trace.start", "beginning").unwrap();
    document.set("link.radio.loss.start", "beginning").unwrap();
    let plan = document.plan().unwrap();
    assert_eq!(plan.fixed_recordings, ["link.radio.trace", "link.radio.loss"]);
    for seed in 1..4 {
        let record = whimbrel_lab::run(&plan, seed);
        assert_eq!((capacity(&record).round(), lost(&record)), (2e6, 0.0));
    }
}

#[test]
fn other_draws_do_not_depend_on_the_start_of_a_recording() {
    let base = tempfile::tempdir().unwrap();
    let other = |start: &str| {
        let mut document = document(base.path());
        document.set("link.radio.trace.start", start).unwrap();
        document.set("link.radio.loss.start", start).unwrap();
        document.set("flow.call.start", "9 s").unwrap();
        document.set("route", r#"[{ at = "a", to = "b", via = ["other"] }]"#).unwrap();
        let record = whimbrel_lab::run(&document.plan().unwrap(), 7);
        let links = record.table("links").unwrap();
        let row = (0..links.rows()).find(|row| links.text("link", *row) == Some("other")).unwrap();
        let number = |name: &str| links.number(name, row).unwrap();
        (number("departed_packets"), number("wireless_lost_packets"))
    };
    let (departed, lost) = other("random");
    assert!(departed > 100.0 && lost > 5.0, "{departed} {lost}");
    assert_eq!(other("beginning"), (departed, lost));
}

#[test]
fn masks_events_and_packet_traces_start_anywhere_too() {
    let base = tempfile::tempdir().unwrap();
    fs::write(base.path().join("mask.txt"), "1".repeat(50) + &"0".repeat(20_000)).unwrap();
    for (key, value, shows) in [
        (
            "link.radio.loss",
            r#"{ model = "mask", file = "mask.txt", repeat = true, start = "random" }"#,
            "lost",
        ),
        (
            "event",
            r#"[{ time = "1 s", link = "radio", direction = "forward", loss = { model = "trace", file = "losses.csv", length = "40 s", repeat = true, start = "random" } }]"#,
            "lost",
        ),
        (
            "link.radio.trace",
            r#"{ file = "rate.mahimahi", format = "mahimahi", start = "random" }"#,
            "departed",
        ),
    ] {
        let mut document = document(base.path());
        document.set("link.radio.loss", "none").unwrap();
        document.set("link.radio.trace.start", "beginning").unwrap();
        document.set("flow.second.background", "true").unwrap();
        document.set(key, value).unwrap();
        let plan = document.plan().unwrap_or_else(|error| panic!("{key}: {error}"));
        assert!(plan.is_random());
        let column = if shows == "lost" { "wireless_lost_packets" } else { "departed_packets" };
        let found: Vec<f64> = (1..=20)
            .map(|seed| whimbrel_lab::run(&plan, seed).table("links").unwrap().number(column, 0).unwrap())
            .collect();
        let (least, most) =
            (found.iter().copied().fold(f64::MAX, f64::min), found.iter().copied().fold(0.0, f64::max));
        assert!(most > least + 40.0, "{key}: {found:?}");
    }
}

#[test]
fn a_random_start_needs_a_recording_that_repeats() {
    let base = tempfile::tempdir().unwrap();
    for (key, value, place) in [
        ("link.radio.trace.repeat", "false", "link[0].trace.start = \"random\""),
        ("link.radio.loss.repeat", "false", "link[0].loss.start = \"random\""),
    ] {
        let mut document = document(base.path());
        document.set(key, value).unwrap();
        let error = document.plan().unwrap_err().to_string();
        assert!(error.contains(place) && error.contains("`repeat = true`"), "{error}");
    }
}

#[test]
fn a_trace_in_the_other_format_is_named() {
    let base = tempfile::tempdir().unwrap();
    let document = document(base.path());
    fs::write(base.path().join("lte.csv"), "Timestamp,DL_bitrate_kbps\n0,8082\n1,9078\n2,8090\n").unwrap();
    let tried = |file: &str, format: &str| {
        let mut changed = document.clone();
        let trace = format!("{{ file = \"{file}\", format = \"{format}\" }}");
        changed.set("link.radio.trace", &trace).unwrap();
        changed.plan().map_err(|error| error.to_string())
    };
    let plan = tried("lte.csv", "rate").expect("a table is read");
    let record = whimbrel_lab::run(&plan, 1);
    // Three seconds, repeated: 8082, 9078 and 8090 kbit/s, of which 8082 lasts four of ten seconds.
    assert!((capacity(&record) / 1e3 - (4.0 * 8082.0 + 3.0 * 9078.0 + 3.0 * 8090.0) / 10.0).abs() < 10.0);
    assert!(tried("lte.csv", "mahimahi").unwrap_err().contains("is of format = \"rate\""));
    assert!(tried("rate.mahimahi", "rate").unwrap_err().contains("are of format = \"mahimahi\""));
}
