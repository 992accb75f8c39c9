//! Comparison with ns-2's XCP: ten flows over one link, and flows that join, simulated by both.
//!
//! `benches/peers/xcp.tcl` is the network for ns-2. Its packets of 1000 bytes have 40 bytes of headers, so
//! ours have 1040 in all.
//!
//! Without `ns` nothing is compared, unless REQUIRE_ALL=1 requires it.

use std::env;
use std::process::Command;

use serde_json::Value;
use whimbrel_lab::Record;

use crate::rates;
use crate::simulation;
use rates::{jain, link};
use simulation::{in_repository, simulate};

/// Ten sources and sinks; the law is ns-2's.
const NETWORK: &str = dumbbell!(
    "10",
    r#"
rate = "$rate"
delay = "16 ms"
queue = "100 packets"
controller = { law = "xcp", reading = "ns-2" }
"#
);

/// Bytes of data in a packet of 1040 bytes: ours have 72 bytes of headers.
const PAYLOAD: f64 = 968.0;

/// The results of a run of one of both.
#[derive(Debug)]
struct Outcome {
    utilization: f64,
    queue: f64,
    drops: f64,
    /// Packets of each flow in each second.
    packets: Vec<Vec<f64>>,
}

/// Flows that start `spacing` seconds apart, or within 0.1 s.
#[derive(Clone, Copy)]
struct Setting {
    flows: usize,
    rate: u32,
    spacing: u32,
    duration: u32,
    warm_up: u32,
}

/// The outcome in ns-2; `None` if it is not installed.
fn ns2(setting: Setting) -> Option<Outcome> {
    let Setting { flows, rate, spacing, duration, warm_up } = setting;
    // ns-2 has no option that prints its version.
    let is_there = Command::new("ns").arg("/dev/null").output().is_ok();
    let is_required = env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
    assert!(is_there || !is_required, "ns-2 is required but not installed (Debian: apt-get install ns2)");
    if !is_there {
        eprintln!("skipped: ns-2 is not installed (Debian: apt-get install ns2)");
        return None;
    }
    let script = in_repository("benches/peers/xcp.tcl");
    let numbers = [flows as u32, rate, spacing, duration, warm_up].map(|number| number.to_string());
    let output = Command::new("ns").arg(script).args(numbers).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let numbers = |list: &Value| list.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
    Some(Outcome {
        utilization: result["utilisation"].as_f64().unwrap(),
        queue: result["queue"].as_f64().unwrap(),
        drops: result["drops"].as_f64().unwrap(),
        packets: result["packets"].as_array().unwrap().iter().map(numbers).collect(),
    })
}

fn ours(setting: Setting) -> Outcome {
    let Setting { flows, rate, spacing, duration, warm_up } = setting;
    let mut text = format!(
        "{NETWORK}[variables]\nrate = \"{rate} Mbit/s\"\n[simulation]\nduration = \"{duration} s\"\nwarm_up = \"{warm_up} s\"\n\
         [record]\ninterval = \"1 s\"\n"
    );
    for flow in 0..flows {
        let start =
            if spacing > 0 { f64::from(spacing) * flow as f64 } else { 0.1 * flow as f64 / flows as f64 };
        text += &format!(
            "[[flow]]\nname = \"f{flow}\"\nfrom = \"s{flow}\"\nto = \"d{flow}\"\ntransport = \"xcp\"\npacket_size = \"1040 B\"\n\
             start = \"{start} s\"\n"
        );
    }
    let record = simulate(&text, &[]);
    Outcome {
        utilization: link(&record, "bottleneck", "utilisation"),
        queue: link(&record, "bottleneck", "queue_mean_packets"),
        drops: link(&record, "bottleneck", "dropped_packets"),
        packets: (0..flows).map(|flow| packets(&record, flow)).collect(),
    }
}

/// Packets of data of a flow in each second.
fn packets(record: &Record, flow: usize) -> Vec<f64> {
    let intervals = record.table("intervals").unwrap();
    let name = format!("f{flow}");
    let words = [("flow", name.as_str())];
    let rows = simulation::rows_with(intervals, &words);
    rows.map(|row| intervals.number("goodput_bps", row).unwrap() / 8.0 / PAYLOAD).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn ten_flows_share_a_link_as_in_ns2() {
    let setting = Setting { flows: 10, rate: 10, spacing: 0, duration: 60, warm_up: 20 };
    let Some(ns2) = ns2(setting) else { return };
    let ours = ours(setting);
    assert!((ours.utilization - ns2.utilization).abs() < 0.012, "{ours:?} {ns2:?}");
    // Ours counts the packet in transmission, too.
    assert!((ours.queue - ours.utilization - ns2.queue).abs() < 0.3, "{} {}", ours.queue, ns2.queue);
    assert_eq!((ours.drops, ns2.drops), (0.0, 0.0));
    let shares = |outcome: &Outcome| -> Vec<f64> {
        outcome.packets.iter().map(|packets| mean(&packets[20..60])).collect()
    };
    let (ours, ns2) = (shares(&ours), shares(&ns2));
    assert!(jain(&ours) > 0.9999 && jain(&ns2) > 0.9999, "{ours:?} {ns2:?}");
    for (ours, ns2) in ours.iter().zip(&ns2) {
        assert!((ours / ns2 - 1.0).abs() < 0.03, "{ours} {ns2}");
    }
}

#[test]
fn flows_that_join_take_their_shares_as_fast_as_in_ns2() {
    let setting = Setting { flows: 3, rate: 20, spacing: 10, duration: 30, warm_up: 1 };
    let Some(ns2) = ns2(setting) else { return };
    let ours = ours(setting);
    for (flow, (ours, ns2)) in ours.packets.iter().zip(&ns2.packets).enumerate() {
        for (second, (ours, ns2)) in ours.iter().zip(ns2).enumerate() {
            // ns-2 counts the last packet acknowledged, from -1.
            let has_started = second >= 10 * flow;
            assert_eq!(*ours > 0.0, has_started, "{flow} {second}");
            assert!(
                !has_started || (ours / ns2 - 1.0).abs() < 0.06,
                "flow {flow}, second {second}: {ours} {ns2}"
            );
        }
    }
    assert!((ours.utilization - ns2.utilization).abs() < 0.005, "{} {}", ours.utilization, ns2.utilization);
    assert_eq!((ours.drops, ns2.drops), (0.0, 0.0));
}
