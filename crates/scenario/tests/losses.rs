use std::fs;

use serde_json::json;
use whimbrel_netsim::Impairment;

use whimbrel_lab::scenario::Document;

const PLAIN: &str = r#"
[simulation]
duration = "10 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
rate = "1 Mbit/s"
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "udp"
packet_size = "200 B"
traffic = { kind = "cbr", rate = "80 kbit/s" }
"#;

fn with_loss(loss: serde_json::Value, base: &std::path::Path) -> Result<Impairment, String> {
    let mut document = Document::from_toml(PLAIN).expect("TOML").relative_to(base);
    document.set_value("link.radio.loss", loss).expect("a key");
    let plan = document.plan().map_err(|error| error.to_string())?;
    Ok(plan.links[0].config.impairment.clone())
}

#[test]
fn masks_and_traces_have_their_length() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("fade.txt"), "0 1\n10").unwrap();
    fs::write(directory.path().join("none.txt"), " \n").unwrap();
    fs::write(directory.path().join("spans.csv"), "from_s,to_s\n1,2\n").unwrap();
    let loss = |value| with_loss(value, directory.path());
    let mask = |lost, length, repeats| Ok(Impairment::Mask { lost, length, repeats });
    assert_eq!(loss(json!({ "model": "mask", "file": "fade.txt" })), mask(vec![1, 2], 4, false));
    assert_eq!(
        loss(json!({ "model": "mask", "file": "fade.txt", "repeat": true })),
        mask(vec![1, 2], 4, true)
    );
    assert_eq!(loss(json!({ "model": "mask", "packets": [3] })), mask(vec![3], u64::MAX, false));
    assert_eq!(
        loss(json!({ "model": "mask", "packets": [3], "length": 9, "repeat": true })),
        mask(vec![3], 9, true)
    );
    let Ok(Impairment::Trace(trace)) =
        loss(json!({ "model": "trace", "file": "spans.csv", "length": "10 s", "repeat": true }))
    else {
        panic!("no trace")
    };
    assert!(trace.repeats() && trace.length().as_millis() == 10_000);
    let wrong = |value, words: &str| {
        let message = loss(value).expect_err("a mistake");
        assert!(message.contains(words), "{message}");
    };
    wrong(json!({ "model": "mask", "packets": [3], "repeat": true }), "link[0].loss.length: missing");
    wrong(json!({ "model": "mask", "packets": [3], "length": 3 }), "behind its end");
    wrong(json!({ "model": "mask", "file": "fade.txt", "length": 3 }), "as many packets as it has marks");
    wrong(json!({ "model": "mask", "file": "none.txt" }), "none.txt");
    wrong(json!({ "model": "trace", "file": "spans.csv", "repeat": true }), "a length");
    wrong(json!({ "model": "trace", "file": "fade.txt" }), "a trace of losses (line 1");
    wrong(json!({ "model": "capture", "file": "spans.csv" }), "a pcap or pcapng file");
    wrong(json!({ "model": "capture", "file": "gone.pcap" }), "a readable file");
}
