//! A link with two recordings, whose load chooses between them.

use std::fs;

use whimbrel_lab::{Document, Record};

const CELLULAR: &str = concat!(
    pair!(
        r#"
name = "cell"
trace = { file = "heavy.mahimahi", format = "mahimahi", light = "light.txt" }
delay = "5 ms"
reverse = { rate = "100 Mbit/s" }
"#
    ),
    r#"
[simulation]
duration = "20 s"
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "udp"
packet_size = "1500 B"
traffic = { kind = "cbr", rate = "120 kbit/s" }
"#
);

/// 12 Mbit/s under saturation; trains of four packets 4 ms apart after a base delay of 30 ms.
fn run(rate: &str) -> Record {
    let directory = tempfile::tempdir().unwrap();
    let heavy: String = (1..=1_000).map(|stamp| format!("{stamp}\n")).collect();
    fs::write(directory.path().join("heavy.mahimahi"), heavy).unwrap();
    fs::write(directory.path().join("light.txt"), "0 30 0 4 8 12\n1000 30 0 4 8 12\n").unwrap();
    let mut document = Document::from_toml(CELLULAR).unwrap().relative_to(directory.path());
    document.set("flow.call.traffic.rate", &format!("\"{rate}\"")).unwrap();
    whimbrel_lab::run(&document.plan().unwrap(), 1)
}

fn of(record: &Record, column: &str) -> f64 {
    record.table("flows").unwrap().number(column, 0).unwrap()
}

#[test]
fn a_light_flow_has_the_base_delay_and_a_heavy_one_the_rate() {
    // A packet each 100 ms finds the link idle.
    let light = run("120 kbit/s");
    assert!((of(&light, "delay_mean_s") - 0.035).abs() < 1e-6, "{}", of(&light, "delay_mean_s"));
    assert!((of(&light, "delay_max_s") - 0.035).abs() < 1e-6);
    // More than the link carries: its queue of 100 packets overflows, and the heavy recording sets the rate.
    let heavy = run("16 Mbit/s");
    assert!((of(&heavy, "throughput_bps") / 12e6 - 1.0).abs() < 0.005, "{}", of(&heavy, "throughput_bps"));
    assert!(of(&heavy, "lost_queue") > 1_000.0);
    // 100 ms of queue, 30 ms of base delay, 5 ms of the link's own.
    assert!((of(&heavy, "delay_p50_s") - 0.135).abs() < 0.002, "{}", of(&heavy, "delay_p50_s"));
}

#[test]
fn the_keys_of_a_light_recording_are_checked() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("heavy.mahimahi"), "1\n").unwrap();
    fs::write(directory.path().join("light.txt"), "0 30\n").unwrap();
    let complaint = |trace: &str| {
        let mut document = Document::from_toml(CELLULAR).unwrap().relative_to(directory.path());
        document.set("link.cell.trace", trace).unwrap();
        document.plan().unwrap_err().to_string()
    };
    let short = complaint(r#"{ file = "heavy.mahimahi", format = "mahimahi", light = "light.txt" }"#);
    assert!(
        short.contains("trace.light = \"light.txt\"") && short.contains("expected at least two trains"),
        "{short}"
    );
    let alone = complaint(r#"{ file = "heavy.mahimahi", format = "mahimahi", idle = "5 ms" }"#);
    assert!(alone.contains("trace.idle") && alone.contains("nothing without `light`"), "{alone}");
    let rate = complaint(r#"{ file = "heavy.mahimahi", format = "rate", light = "light.txt" }"#);
    assert!(rate.contains("trace.light") && rate.contains("only a mahimahi trace"), "{rate}");
}
