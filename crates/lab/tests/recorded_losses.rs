//! Losses of a recording: of a table of losses, or of a capture of the stream itself.

use std::fs;
use std::ops::ControlFlow;

use whimbrel_lab::record::csv;
use whimbrel_lab::{Document, Record, Run};

const RADIO: &str = concat!(
    pair!(
        r#"
name = "radio"
rate = "10 Mbit/s"
delay = "10 ms"
loss = { model = "timed-gilbert-elliott", good = "900 ms", bad = "100 ms" }
"#
    ),
    r#"
[simulation]
duration = "30 s"
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "udp"
packet_size = "250 B"
traffic = { kind = "cbr", rate = "200 kbit/s" }
[record]
losses = true
"#
);

fn lost(record: &Record) -> f64 {
    record.table("flows").unwrap().number("lost_wireless", 0).unwrap()
}

fn notes(record: &Record) -> Vec<(Option<f64>, String, String)> {
    let Some(table) = record.table("notes") else { return Vec::new() };
    (0..table.rows())
        .map(|row| {
            let text = |column| table.text(column, row).unwrap().to_owned();
            let time = table.number("time_s", row).filter(|time| !time.is_nan());
            (time, text("subject"), text("note"))
        })
        .collect()
}

#[test]
fn a_runs_table_of_losses_loses_the_same_packets_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut document = Document::from_toml(RADIO).unwrap().relative_to(directory.path());
    let first = whimbrel_lab::run(&document.plan().unwrap(), 1);
    assert!(lost(&first) > 100.0, "{}", lost(&first));
    let losses = first.table("losses").unwrap();
    // A loss is noticed at the link's end: 10 ms after the packet left.
    let sent: Vec<String> = (0..losses.rows())
        .map(|row| format!("{}\n", losses.number("time_s", row).unwrap() - 0.010))
        .collect();
    fs::write(directory.path().join("losses.csv"), format!("time_s\n{}", sent.concat())).unwrap();
    document.set("link.radio.loss", r#"{ model = "trace", file = "losses.csv" }"#).unwrap();
    let again = whimbrel_lab::run(&document.plan().unwrap(), 2);
    let tags = |record: &Record| {
        let table = record.table("losses").unwrap();
        (0..table.rows()).map(|row| table.number("tag", row).unwrap() as u64).collect::<Vec<_>>()
    };
    assert_eq!(tags(&first), tags(&again));
    // The trace ended with the last loss, and a note reports it.
    let last = losses.number("time_s", losses.rows() - 1).unwrap() - 0.010;
    let [(Some(at), subject, text)] = &notes(&again)[..] else { panic!("{:?}", notes(&again)) };
    assert!(subject == "radio" && text.contains("nothing is lost any more"), "{subject}: {text}");
    assert!(*at > last && *at < last + 0.011, "{at} {last}");
    // With the recording's length it has not ended; repeated it never does.
    for settings in [r#"length = "30 s""#, r#"length = "25 s", repeat = true"#] {
        let loss = format!("{{ model = \"trace\", file = \"losses.csv\", {settings} }}");
        let mut longer = document.clone();
        longer.set("link.radio.loss", &loss).unwrap();
        if settings.contains("30 s") {
            let record = whimbrel_lab::run(&longer.plan().unwrap(), 2);
            assert!(notes(&record).is_empty(), "{:?}", notes(&record));
        } else {
            let message = longer.plan().unwrap_err().to_string();
            assert!(message.contains("covers all losses"), "{message}");
        }
    }
    assert!(csv(again.table("notes").unwrap()).lines().all(|line| line.split(',').count() == 3));
}

#[test]
fn a_mask_that_ended_is_noted_and_a_faster_flow_leaves_it_sooner() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("fade.txt"), "0001".repeat(100)).unwrap();
    let ended = |rate: &str, repeat: &str| {
        let mut document = Document::from_toml(RADIO).unwrap().relative_to(directory.path());
        document
            .set(
                "link.radio.loss",
                &format!("{{ model = \"mask\", file = \"fade.txt\", repeat = {repeat} }}"),
            )
            .unwrap();
        document.set("flow.call.traffic.rate", rate).unwrap();
        let record = whimbrel_lab::run(&document.plan().unwrap(), 1);
        (lost(&record), notes(&record).first().and_then(|note| note.0))
    };
    // 100 and 200 packets a second.
    let (lost, at) = ended("200 kbit/s", "false");
    assert!(lost == 100.0 && (at.unwrap() - 4.0).abs() < 0.011, "{lost} {at:?}");
    let (lost, at) = ended("400 kbit/s", "false");
    assert!(lost == 100.0 && (at.unwrap() - 2.0).abs() < 0.006, "{lost} {at:?}");
    let (lost, at) = ended("200 kbit/s", "true");
    assert!(lost > 740.0 && at.is_none(), "{lost} {at:?}");
}

#[test]
fn a_captured_stream_is_a_source_of_losses() {
    let directory = tempfile::tempdir().unwrap();
    let mut document = Document::from_toml(RADIO).unwrap().relative_to(directory.path());
    document.set("flow.call.transport", "dccp").unwrap();
    // A sender that does not slow down for them, so that its rate is the same in good and bad times.
    let mut captured = document.clone();
    captured.set("flow.call.classifier", "omniscient").unwrap();
    captured.set("flow.call.dccp.guard", "false").unwrap();
    let plan = captured.plan().unwrap();
    let mut run = Run::new(&plan, 1);
    run.capture(|link| link == "radio");
    run.execute(|_| ControlFlow::Continue(()));
    fs::write(directory.path().join("call.pcapng"), run.take_capture()).unwrap();
    let first = run.into_record();
    assert!(lost(&first) > 100.0);
    document.set("flow.call.transport", "udp").unwrap();
    let replay = |rate: &str| {
        let mut document = document.clone();
        document.set("link.radio.loss", r#"{ model = "capture", file = "call.pcapng" }"#).unwrap();
        document.set("flow.call.traffic.rate", rate).unwrap();
        let record = whimbrel_lab::run(&document.plan().unwrap(), 1);
        let note = notes(&record).into_iter().find(|note| note.0.is_none()).expect("a note on the stream");
        assert_eq!(note.1, "link[0].loss.file");
        assert!(note.2.contains("losses of DCCP") && note.2.contains("the only stream"), "{}", note.2);
        lost(&record)
    };
    // A stream of the same rate loses as much as the captured one, one that is twice as fast twice as much.
    let (same, twice) = (replay("200 kbit/s"), replay("400 kbit/s"));
    assert!((same / lost(&first) - 1.0).abs() < 0.1, "{same} {}", lost(&first));
    assert!((twice / same - 2.0).abs() < 0.1, "{twice} {same}");
}
