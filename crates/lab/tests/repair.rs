//! Repair in simulated networks: the layer of the sockets, and the frames that it saves.

use whimbrel_lab::record::{Table, csv};
use whimbrel_lab::{Document, Record, run};

/// A flow of 25 frames of four packets in a second, over a link that loses.
fn text(loss: &str, repair: &str) -> String {
    let mut schedule = String::from("time_s,size_bytes,frame,type\n");
    for frame in 0..25 {
        for _ in 0..4 {
            schedule.push_str(&format!("{:.2},900,{frame},P\n", f64::from(frame) * 0.04));
        }
    }
    let file = std::env::temp_dir().join(format!("whimbrel-frames-{}.csv", std::process::id()));
    std::fs::write(&file, schedule).expect("a temporary file");
    format!(
        r#"
[simulation]
duration = "25 s"
warm_up = "4 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
between = ["a", "b"]
rate = "20 Mbit/s"
delay = "20 ms"
{loss}
[[flow]]
name = "video"
from = "a"
to = "b"
transport = "dccp"
ccid = 3
classifier = "spike"
traffic = {{ kind = "video", schedule = "{}", repeat = true }}
{repair}
"#,
        file.display()
    )
}

fn record(text: &str) -> Record {
    let document = Document::from_toml(text).expect("a scenario");
    run(&document.plan().unwrap_or_else(|error| panic!("{error}\n{text}")), 1)
}
fn number(flows: &Table, name: &str) -> f64 {
    flows.number(name, 0).unwrap_or_else(|| panic!("no {name}"))
}

const LOSS: &str = "loss = { model = \"bernoulli\", rate = 0.03 }";

#[test]
fn repair_saves_the_frames_that_losses_take() {
    let plain = record(&text(LOSS, "repair = { latency = \"150 ms\", kind = \"none\" }"));
    let repaired = record(&text(LOSS, "repair = { latency = \"150 ms\" }"));
    let (plain, repaired) = (plain.table("flows").expect("flows"), repaired.table("flows").expect("flows"));
    // 20 seconds of the measured time are at least a second before the end.
    let frames = number(repaired, "frames");
    assert!((498.0..=501.0).contains(&frames), "{frames}");
    let share = |flows: &Table| number(flows, "frames_in_time") / number(flows, "frames");
    // Of frames of four packets 88 % are whole; of those with two rounds nearly all.
    assert!((0.82..0.93).contains(&share(plain)), "{}", share(plain));
    assert!(share(repaired) > 0.98, "{}", share(repaired));
    assert!(number(plain, "frozen_s") > 1.0 && number(plain, "freezes") > 30.0);
    assert!(number(repaired, "frozen_s") < 0.5, "{}", number(repaired, "frozen_s"));
    let overhead = number(repaired, "repair_overhead");
    assert!((0.03..0.12).contains(&overhead), "{overhead}");
    assert!((number(repaired, "repaired_datagrams") - 75.0).abs() < 40.0);
    assert_eq!(number(plain, "repair_overhead"), 0.0);
}

#[test]
fn without_losses_repair_costs_its_headers_and_no_frame() {
    let record = record(&text("", "repair = { latency = \"150 ms\" }"));
    let flows = record.table("flows").expect("flows");
    assert_eq!(number(flows, "frames_in_time"), number(flows, "frames"));
    // 13 bytes of 900, and the parity that is sent before anything is known of the path.
    assert!(number(flows, "repair_overhead") < 0.03, "{}", number(flows, "repair_overhead"));
}

#[test]
fn a_run_with_repair_is_repeatable() {
    let text = text(LOSS, "repair = { latency = \"80 ms\", early = true }");
    let tables = || csv(record(&text).table("flows").expect("flows"));
    assert_eq!(tables(), tables());
}

#[test]
fn what_repair_does_not_do_is_refused() {
    for (loss, repair, expected) in [
        ("", "repair = { latency = \"150 ms\" }\ndccp = { encryption = \"dtls\" }", "dccp.encryption"),
        ("", "repair = { latency = \"150 ms\", kind = \"srt\" }", "kind"),
        ("", "repair = { early = true }", "latency"),
    ] {
        let document = Document::from_toml(&text(loss, repair));
        let error = document.and_then(|document| document.plan().map(drop)).expect_err(repair).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let bulk = text("", "repair = { latency = \"150 ms\" }");
    let start = bulk.find("traffic").expect("traffic");
    let end = start + bulk[start..].find('\n').expect("its end");
    let bulk = format!("{}traffic = \"bulk\"{}", &bulk[..start], &bulk[end..]);
    let error = Document::from_toml(&bulk).and_then(|document| document.plan().map(drop)).expect_err("bulk");
    assert!(error.to_string().contains("repair"), "{error}");
}
