//! The simulated TCP with the recovery of Linux's of today.

use std::collections::BTreeMap;
use std::fs;

use crate::simulation;
use simulation::{document, in_repository, number, simulate};
use whimbrel_lab::Record;

/// 10 Mbit/s, 40 ms and a buffer of half of that path's bandwidth-delay product.
const PATH: &str = r#"
[simulation]
duration = "100 s"
warm_up = "5 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "path"
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "17 packets"
reverse = { rate = "100 Mbit/s", queue = "1000 packets" }
[[flow]]
name = "flow"
from = "a"
to = "b"
packet_size = "1500 B"
transport = "tcp"
"#;

fn with(tcp: &str, changes: &[(&str, &str)]) -> Record {
    let all: Vec<(&str, &str)> =
        [("flow.flow.tcp", tcp)].into_iter().chain(changes.iter().copied()).collect();
    simulate(PATH, &all)
}

#[test]
fn each_law_fills_a_drop_tail_path_without_timeouts() {
    for law in ["reno", "cubic", "veno", "westwood"] {
        let record = with(&format!("{{ preset = \"linux\", congestion = \"{law}\" }}"), &[]);
        let rate = number(&record, "throughput_bps");
        assert!((8.5e6..10.01e6).contains(&rate), "{law}: {rate}");
        assert_eq!(number(&record, "timeouts"), 0.0, "{law}");
        // Losses shortly before the end of the measured time are repaired after it, and the other way round.
        let (lost, again) = (number(&record, "lost_queue"), number(&record, "retransmitted_packets"));
        assert!((again - lost).abs() <= 10.0, "{law}: {again} retransmissions for {lost} losses");
    }
}

/// The path of `interop/stacks/emulated.py` on which 5 % of the packets are late by 50 ms: Linux 6.18 sends
/// 7.95 Mbit/s with Reno and 7.97 with CUBIC.
#[test]
fn reordering_costs_linux_nothing() {
    let netem =
        "{ delay = \"50 ms\", jitter = \"20 ms\", distribution = \"normal\", reorder = \"95 %\", gap = 1 }";
    let path = [
        ("link.path.rate", "8 Mbit/s"),
        ("link.path.delay", "25 ms"),
        ("link.path.queue", "200 packets"),
        ("link.path.netem", netem),
        ("link.path.reverse", "{ rate = \"8 Mbit/s\", delay = \"25 ms\", queue = \"1000 packets\" }"),
    ];
    let rate = |tcp: &str| number(&with(tcp, &path), "throughput_bps");
    for (law, linux) in [("reno", 7.95e6), ("cubic", 7.97e6)] {
        let simulated = rate(&format!("{{ preset = \"linux\", congestion = \"{law}\" }}"));
        assert!((simulated / linux - 1.0).abs() < 0.03, "{law}: {simulated}");
    }
    let without = rate("{ preset = \"linux\", undo = false }");
    assert!(without < 2e6, "{without}");
}

/// If each twentieth packet is lost, so are retransmissions: RFC 6675 waits for a timeout, RACK does not.
#[test]
fn rack_repairs_lost_retransmissions_without_timeouts() {
    let loss = [("link.path.loss", "{ model = \"bernoulli\", rate = 0.05 }")];
    let timeouts = |tcp: &str| number(&with(tcp, &loss), "timeouts");
    let linux = timeouts("{ preset = \"linux\" }");
    let without = timeouts("{ preset = \"linux\", rack = false }");
    assert!(linux < without / 2.0, "{linux} and {without}");
}

#[test]
fn each_part_of_the_preset_can_be_changed() {
    let plan = |tcp: &str| {
        document(PATH, &[("flow.flow.tcp", tcp)]).plan().map(drop).map_err(|error| error.to_string())
    };
    for tcp in [
        "{ preset = \"linux\", initial_window = 3 }",
        "{ preset = \"linux\", loss_probe = false, rate_reduction = false }",
        "{ preset = \"linux\", rack = false }",
        "{ preset = \"linux\", undo = false }",
        "{ preset = \"linux\", congestion = \"cubic\", hystart = false }",
        "{ preset = \"linux\", congestion = \"prague\" }",
        "{ rack = true, loss_probe = true, rate_reduction = true }",
    ] {
        assert_eq!(plan(tcp), Ok(()), "{tcp}");
    }
    for (tcp, error) in [
        ("{ loss_probe = true }", "flow[0].tcp.loss_probe = true: expected false without `rack`"),
        (
            "{ preset = \"linux\", rack = false, rate_reduction = true }",
            "flow[0].tcp.rate_reduction = true: expected false without `rack`",
        ),
        ("{ undo = true }", "flow[0].tcp.undo = true: expected false without `rack`"),
        (
            "{ variant = \"reno\", rack = true }",
            "flow[0].tcp.rack = true: expected false, or `variant = \"sack\"` with another preset than ns2",
        ),
        (
            "{ preset = \"linux\", variant = \"reno\" }",
            "flow[0].tcp.variant = \"reno\": expected \"sack\" with `preset = \"linux\"`",
        ),
    ] {
        assert_eq!(plan(tcp), Err(error.to_owned()));
    }
}

/// The path of `interop/stacks/tcp.py`: a token bucket of 8 Mbit/s of Ethernet frames of 1514 bytes, and a
/// round-trip time of 50 ms. The bucket passes a packet at the end of the one before, so that a packet takes
/// no time of its own.
const EMULATED: &str = r#"
[simulation]
duration = "1010 s"
warm_up = "10 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "path"
between = ["a", "b"]
rate = "7.926 Mbit/s"
delay = "23.486 ms"
reverse = { rate = "1 Gbit/s", delay = "25 ms", queue = "10000 packets", loss = { model = "none" } }
[[flow]]
name = "flow"
from = "a"
to = "b"
packet_size = "1500 B"
transport = "tcp"
"#;

fn emulated(law: &str, path: &str) -> f64 {
    let tcp = format!("{{ preset = \"linux\", congestion = \"{law}\" }}");
    let loss = match path {
        "random-loss" => [
            ("link.path.queue", "200 packets"),
            ("link.path.loss", "{ model = \"bernoulli\", rate = 0.005 }"),
        ],
        _ => [("link.path.queue", "8 packets"), ("link.path.loss", "{ model = \"none\" }")],
    };
    let changes: Vec<(&str, &str)> = [("flow.flow.tcp", tcp.as_str())].into_iter().chain(loss).collect();
    number(&simulate(EMULATED, &changes), "throughput_bps")
}

/// Mean throughput of Linux 6.1 in the runs of `interop/stacks/tcp.py`, by path and law.
fn recorded() -> BTreeMap<(String, String), f64> {
    let file = in_repository("interop/stacks/tcp_runs.csv");
    let text = fs::read_to_string(&file).expect("the recorded runs");
    let mut sums: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let sum = sums.entry((fields[0].to_owned(), fields[1].to_owned())).or_default();
        *sum = (sum.0 + fields[3].parse::<f64>().expect("a number"), sum.1 + 1.0);
    }
    sums.into_iter().map(|(cell, (sum, count))| (cell, sum / count)).collect()
}

/// Linux 6.1 has version 1 of BBR, Whimbrel version 3. At the short queue they retransmit 2.1 and 0.2 %.
#[test]
fn the_throughput_is_within_a_tenth_of_linux() {
    let recorded = recorded();
    let mut faults = Vec::new();
    for path in ["drop-tail", "random-loss"] {
        for law in ["reno", "cubic", "veno", "westwood", "bbr"] {
            let linux = recorded[&(path.to_owned(), law.to_owned())];
            let ratio = emulated(law, path) / linux;
            if (ratio - 1.0).abs() >= 0.1 {
                faults.push(format!("{path}, {law}: {ratio:.3} of Linux's {linux} bit/s"));
            }
            println!("{path}, {law}: {:.0} bit/s, {ratio:.3} of Linux's", ratio * linux);
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
