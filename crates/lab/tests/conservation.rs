//! Conservation of packets: each one sent is received, lost or in transit.

use std::ops::ControlFlow;

use whimbrel_lab::{Document, Run};

const SCENARIO: &str = r#"
[simulation]
duration = "40 s"
[[node]]
name = "a"
[[node]]
name = "r"
[[node]]
name = "b"
[[link]]
name = "access"
between = ["a", "r"]
rate = "10 Mbit/s"
delay = "1 ms"
queue = "15 kB"
[[link]]
name = "radio"
between = ["r", "b"]
rate = "2 Mbit/s"
delay = "15 ms"
queue = "10 packets"
mark_at = 8
loss = { model = "run-length", rate = 0.05, runs = [0.7, 0.25, 0.05] }
reverse = { loss = { model = "bernoulli", rate = 0.02 } }
[[flow]]
name = "dccp{i}"
count = 2
from = "a"
to = "b"
transport = "dccp"
ccid = "$ccid"
stop = "25 s"
[[flow]]
name = "tcp"
from = "a"
to = "b"
transport = "tcp"
tcp = { delayed_acks = true, ecn = true }
start = "1 s"
[[flow]]
name = "bursts"
from = "a"
to = "b"
transport = "udp"
traffic = { kind = "on-off", rate = "1 Mbit/s" }
[[event]]
time = "10 s"
link = "radio"
up = false
when_down = "drop-all"
[[event]]
time = "11 s"
link = "radio"
up = true
[variables]
ccid = 3
"#;

#[test]
fn every_packet_arrives_or_is_lost_or_is_in_transit() {
    for ccid in ["2", "3"] {
        let mut document = Document::from_toml(SCENARIO).unwrap();
        document.set("variables.ccid", ccid).unwrap();
        let plan = document.plan().unwrap();
        let mut run = Run::new(&plan, 1);
        run.execute(|_| ControlFlow::Continue(()));
        let simulator = run.simulator();
        let mut unaccounted = 0;
        for (flow, ends) in plan.flows.iter().zip(run.flows()) {
            let counters =
                *simulator.agent(ends[0]).meter().counters() + *simulator.agent(ends[1]).meter().counters();
            let lost =
                counters.lost_queue + counters.lost_wireless + counters.lost_down + counters.lost_other;
            assert!(counters.sent_packets > 100, "{}: {counters:?}", flow.name);
            assert!(counters.received_packets > 100, "{}: {counters:?}", flow.name);
            assert!(counters.lost_wireless > 0, "{}: {counters:?}", flow.name);
            assert_eq!(counters.lost_other, 0, "{}", flow.name);
            unaccounted += counters.sent_packets - counters.received_packets - lost;
            assert!(counters.bottleneck_packets >= counters.received_packets);
            assert!(counters.bottleneck_packets <= counters.received_packets + counters.lost_wireless);
        }
        // The rest is inside the network, and so is some feedback.
        assert!(unaccounted <= simulator.packets_in_network() as u64, "CCID {ccid}: {unaccounted}");
        for link in run.links() {
            let stats = simulator.link_stats(*link);
            let queue = simulator.queue_snapshot(*link);
            let under_way = queue.under_way.packets;
            assert!(
                stats.departed.packets >= stats.delivered.packets + stats.wireless_lost.packets + under_way
            );
            assert!(stats.enqueued.packets >= stats.departed.packets + queue.queued.packets);
        }
        let radio = simulator.link_stats(run.links()[2]);
        assert!(radio.marked.packets > 0 && radio.dropped.packets > 0, "{radio:?}");
        let record = run.into_record();
        let flows = record.table("flows").unwrap();
        let total = |name: &str| (0..flows.rows()).map(|row| flows.number(name, row).unwrap()).sum::<f64>();
        let losses = total("lost_queue");
        let links = record.table("links").unwrap();
        let dropped: f64 = (0..links.rows()).map(|row| links.number("dropped_packets", row).unwrap()).sum();
        // Feedback may be dropped too.
        assert!(losses <= dropped && dropped <= losses + total("lost_feedback"), "{losses} {dropped}");
        assert!(total("marked_packets") > 0.0 && total("lost_down") > 0.0);
    }
}

#[test]
fn recorded_packets_agree_with_the_counters() {
    let mut document = Document::from_toml(SCENARIO).unwrap();
    document.set("record", "{ packets = true, losses = true }").unwrap();
    let plan = document.plan().unwrap();
    let record = whimbrel_lab::run(&plan, 3);
    let (flows, packets, losses) =
        (record.table("flows").unwrap(), record.table("packets").unwrap(), record.table("losses").unwrap());
    let total =
        |name: &str| (0..flows.rows()).map(|row| flows.number(name, row).unwrap()).sum::<f64>() as usize;
    let fates =
        |fate: &str| (0..packets.rows()).filter(|row| packets.text("fate", *row) == Some(fate)).count();
    assert_eq!(fates("received"), total("received_packets"));
    assert_eq!(fates("queue"), total("lost_queue"));
    assert_eq!(fates("wireless"), total("lost_wireless"));
    assert_eq!(fates("link-down"), total("lost_down"));
    assert_eq!(losses.rows(), total("lost_queue") + total("lost_wireless") + total("lost_down"));
    for row in 0..packets.rows() {
        let received = packets.number("received_s", row).unwrap();
        assert_eq!(received.is_nan(), packets.text("fate", row) != Some("received"));
        // 16 ms of propagation at least.
        assert!(received.is_nan() || received - packets.number("sent_s", row).unwrap() > 0.016);
    }
}

#[test]
fn a_scenario_without_flows_leaves_empty_tables() {
    let mut document = Document::from_toml(SCENARIO).unwrap();
    document.set("flow", "[]").unwrap();
    document.set("record", "{ packets = true, losses = true, interval = \"1 s\" }").unwrap();
    let record = whimbrel_lab::run(&document.plan().unwrap(), 1);
    let rows: Vec<usize> = record.tables().iter().map(|table| table.rows()).collect();
    assert_eq!(rows, [0, 4, 0, 0, 0]);
}
