//! Speed of the laboratory: CPU seconds of a few scenarios, and link forwards per CPU second.
//!
//! `cargo run --release -p whimbrel-lab --example speed [F1|F3|F3T|N1|D1|AX]... [--repeat N] [--seconds S]`
//!
//! | run | what |
//! |---|---|
//! | F1 | 10 TCP NewReno and 10 CCID 3 flows over 100 Mbit/s for 60 s |
//! | F3 | the wireless backbone with 16 CCID 3 flows, 222 s |
//! | F3T | the same with 16 TCP SACK flows |
//! | N1 | 20 TCP SACK flows over 100 Mbit/s for 60 s |
//! | D1 | 20 CCID 3 flows over 100 Mbit/s for 60 s; only if named |
//! | AX | 50 stations of 802.11ax that always have packets for their access point, 10 s; only if named |
//!
//! `--seconds` changes the simulated time. `benches/instructions.py` counts instructions with it.
//!
//! CPU time is this thread's, from `/proc`: load on the machine changes it less than wall time.

use std::ops::ControlFlow;
use std::path::Path;
use std::{env, fs};

use serde_json::json;
use whimbrel_lab::{Document, Run, ScenarioError};
use whimbrel_netsim::StationId;
use whimbrel_netsim::medium::QosMedium;

/// 50 clients of 802.11ax (80 MHz, two streams) offer 16 Mbit/s each, more than the medium carries. Queues
/// are as long as in the ns-3 program to which this is compared.
const CELL: &str = r#"
[simulation]
duration = "10 s"
[[wifi]]
name = "air"
standard = "802.11ax"
queue = "1000 packets"
[[node]]
name = "router"
wifi = "air"
position = [0, 0]
access_point = { ssid = "office" }
[[node]]
name = "s{i}"
count = 50
wifi = "air"
layout = { kind = "circle", radius = "10 m" }
client = { ssid = "office" }
[[flow]]
name = "upload{i}"
count = 50
from = "s{i}"
to = "router"
transport = "udp"
payload = "1472 B"
traffic = { kind = "cbr", rate = "16 Mbit/s" }
start_jitter = "100 ms"
"#;

/// CPU time that this thread has used, in seconds; NaN if the system does not report it.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(f64::NAN) * 1e-9
}

fn document(name: &str) -> Result<Document, ScenarioError> {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios");
    let sixteen = |document: &mut Document| -> Result<(), ScenarioError> {
        document.set("variables.n", "16")?;
        document.set("variables.backbone", "1600 kbit/s")?;
        document.set("variables.backbone_queue", "26 packets")?;
        document.set("variables.warm_up_rate", "800 kbit/s")
    };
    Ok(match name {
        "F1" => {
            let mut document = Document::from_file(scenarios.join("dumbbell.toml"))?;
            document.set("simulation.warm_up", "0 s")?;
            document
        }
        "D1" => {
            let mut document = Document::from_file(scenarios.join("dumbbell.toml"))?;
            document.set("simulation.warm_up", "0 s")?;
            document.set("variables.tcp", "0")?;
            document.set("variables.tfrc", "20")?;
            document
        }
        "AX" => Document::from_toml(CELL)?,
        "F3" => {
            let mut document = Document::from_file(scenarios.join("wb.toml"))?;
            sixteen(&mut document)?;
            document
        }
        "F3T" => {
            let mut document = Document::from_file(scenarios.join("wb.toml"))?;
            sixteen(&mut document)?;
            let flow = json!({
                "name": "tcp{i}", "count": "$n", "from": "s{i}", "to": "d{i}", "transport": "tcp",
                "tcp": { "preset": "ns2", "variant": "sack", "window_limit": 1000 },
                "packet_size": "762 B", "start": "20 s", "start_jitter": "1 s"
            });
            document.set_value("flow[0]", flow)?;
            document
        }
        _ => Document::from_file(scenarios.join("tcp_dumbbell.toml"))?,
    })
}

/// MPDUs that the stations of media of 802.11ax have transmitted.
fn mpdus(run: &Run<'_>) -> u64 {
    let stations = run.stations().iter().flatten();
    let of = |station: &StationId| {
        let medium = run.simulator().medium::<QosMedium>(station.medium());
        medium.map_or(0, |medium| medium.counters(station.index()).mpdus)
    };
    stations.map(of).sum()
}

/// Takes the option `name` and its value out of the arguments; `None` without it.
fn option(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let position = arguments.iter().position(|argument| argument == name)?;
    arguments.remove(position);
    (position < arguments.len()).then(|| arguments.remove(position))
}

fn main() -> Result<(), ScenarioError> {
    let mut names: Vec<String> = env::args().skip(1).collect();
    let repeat = option(&mut names, "--repeat").and_then(|count| count.parse().ok()).unwrap_or(1);
    let seconds = option(&mut names, "--seconds");
    if names.is_empty() {
        names = ["F1", "F3", "F3T", "N1"].map(str::to_owned).to_vec();
    }
    println!("run   cpu_s  forwards  forwards/cpu_s  events  delivered_packets  sent_packets  mpdus");
    for name in &names {
        for _ in 0..repeat {
            let mut document = document(name)?;
            if let Some(seconds) = &seconds {
                document.set("simulation.duration", &format!("{seconds} s"))?;
            }
            let plan = document.plan()?;
            let before = cpu_seconds();
            let mut run = Run::new(&plan, 1);
            run.execute(|_| ControlFlow::Continue(()));
            let cpu = cpu_seconds() - before;
            let simulator = run.simulator();
            let forwards: u64 =
                simulator.links().map(|link| simulator.link_stats(link).departed.packets).sum();
            let delivered: u64 = run
                .flows()
                .iter()
                .map(|ends| simulator.agent(ends[1]).meter().counters().received_packets)
                .sum();
            println!(
                "{name:<4}{cpu:>7.3}{forwards:>10}{:>16.2e}{:>10}{delivered:>10}{:>10}{:>10}",
                forwards as f64 / cpu,
                simulator.events_handled(),
                simulator.packets_sent(),
                mpdus(&run),
            );
        }
    }
    Ok(())
}
