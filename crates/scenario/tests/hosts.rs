//! Hosts with a limited processor: keys, tables and mistakes.

use serde_json::json;
use whimbrel_netsim::HostConfig;

use super::*;
use whimbrel_lab::record::Table;
use whimbrel_lab::run;

/// A sender of 2000 packets per second whose host processes 800.
const LIMITED: &str = r#"
[simulation]
duration = "10 s"
warm_up = "2 s"
[[node]]
name = "tablet{i}"
count = 2
host = { send_cost = "0.25 ms", send_cost_per_byte = "1 us", queue = "20 packets" }
[[node]]
name = "server"
[[link]]
between = ["tablet{i}", "server"]
count = 2
rate = "100 Mbit/s"
delay = "5 ms"
[[flow]]
name = "blast"
from = "tablet0"
to = "server"
transport = "udp"
packet_size = "1000 B"
traffic = { kind = "cbr", rate = "16 Mbit/s" }
[[flow]]
name = "download"
from = "server"
to = "tablet1"
transport = "tcp"
traffic = { kind = "cbr", rate = "1 Mbit/s" }
[record]
interval = "1 s"
delays = true
losses = true
"#;

fn numbers(table: &Table, column: &str) -> Vec<f64> {
    (0..table.rows()).map(|row| table.number(column, row).unwrap()).collect()
}

#[test]
fn each_copy_of_a_node_has_a_host() {
    let plan = document(LIMITED).plan().unwrap();
    let config = HostConfig {
        send_cost: Duration::from_micros(250),
        send_cost_per_byte: Duration::from_micros(1),
        queue: QueueLimit::Packets(20),
    };
    let hosts: Vec<_> = plan.hosts.iter().map(|host| (host.node, host.config)).collect();
    assert_eq!(hosts, [(0, config), (1, config)]);
}

#[test]
fn losses_at_a_host_have_a_cause_a_column_and_a_row_of_their_own() {
    let record = run(&document(LIMITED).plan().unwrap(), 1);
    let flows = record.table("flows").unwrap();
    let (sent, lost) = (numbers(flows, "sent_packets")[0], numbers(flows, "lost_host")[0]);
    // 1.25 ms per packet: 800 of 2000 packets per second leave.
    assert!((sent - 16_000.0).abs() < 2.0 && (lost - 9_600.0).abs() < 30.0, "{sent} {lost}");
    assert_eq!(numbers(flows, "lost_queue"), [0.0, 0.0]);
    let delivered = numbers(flows, "delivered_packets")[0] + numbers(flows, "under_way_packets")[0];
    assert_eq!(sent + numbers(flows, "carried_over_packets")[0], delivered + lost);

    let hosts = record.table("hosts").unwrap();
    assert_eq!(hosts.text("node", 0), Some("tablet0"));
    assert_eq!(numbers(hosts, "dropped_packets")[0], lost);
    let busy = numbers(hosts, "busy");
    assert!((busy[0] - 1.0).abs() < 1e-3, "the processor of the sender is always busy: {busy:?}");
    assert!(busy[1] > 0.01 && busy[1] < 0.9, "acknowledgements cost as well: {busy:?}");

    let losses = record.table("losses").unwrap();
    assert!((0..losses.rows()).all(|row| losses.text("cause", row) == Some("host")));
}

#[test]
fn an_interval_has_the_delay_of_its_last_packet_and_the_jitter_at_its_end() {
    let record = run(&document(LIMITED).plan().unwrap(), 1);
    let intervals = record.table("intervals").unwrap();
    let rows = (0..intervals.rows()).filter(|&row| intervals.text("flow", row) == Some("blast"));
    let rows: Vec<usize> = rows.collect();
    let delays: Vec<f64> = rows.iter().map(|&row| intervals.number("delay_s", row).unwrap()).collect();
    // A full queue of 20 packets of 1.25 ms, the link's 0.08 ms and 5 ms; there are no delays in the warm-up.
    assert!(delays[..2].iter().all(|delay| delay.is_nan()), "{delays:?}");
    assert!(delays[2..].iter().all(|delay| (0.0288..=0.0301).contains(delay)), "{delays:?}");
    let last = intervals.number("jitter_s", *rows.last().unwrap());
    assert_eq!(last, record.table("flows").unwrap().number("jitter_s", 0));
}

#[test]
fn a_scenario_without_hosts_has_no_table_and_no_column_of_them() {
    let record = run(&document(PLAIN).plan().unwrap(), 1);
    assert!(record.table("hosts").is_none());
    assert!(record.table("flows").unwrap().number("lost_host", 0).is_none());
}

#[test]
fn mistakes_of_hosts_are_named() {
    let cases = [
        (json!({}), "node[0].host.send_cost"),
        (json!({ "send_cost": "0 ms" }), "expected a time above zero, here or in `send_cost_per_byte`"),
        (json!({ "send_cost": "1" }), "node[0].host.send_cost"),
        (json!({ "send_cost": "1 ms", "queue": "0 packets" }), "node[0].host.queue = \"0 packets\""),
        (json!({ "send_cost": "1 ms", "cores": 2 }), "cores"),
    ];
    for (host, expected) in cases {
        let error = error_after("node[0].host", host.clone());
        assert!(error.contains(expected), "{host}: {error}");
    }
    let error = error_after("record.delays", json!(true));
    assert!(error.contains("record.interval"), "{error}");
}
