//! Delivered and lost data: the counts add up, also where a receiver discards packets.

use whimbrel_lab::{Document, Record};

const JITTERY: &str = concat!(
    pair!(
        r#"
name = "radio"
rate = "10 Mbit/s"
loss = { model = "bernoulli", rate = "1 %" }
netem = { delay = "20 ms", jitter = "$jitter" }
"#
    ),
    r#"
[variables]
buffer = "10 ms"
jitter = "15 ms"
[simulation]
duration = "20 s"
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "dccp"
packet_size = "500 B"
traffic = { kind = "cbr", rate = "2 Mbit/s" }
dccp = { reorder_delay = "$buffer" }
[record]
packets = true
interval = "1 s"
"#
);

fn run(settings: &[(&str, &str)]) -> Record {
    let mut document = Document::from_toml(JITTERY).unwrap();
    for (key, value) in settings {
        document.set(key, value).unwrap();
    }
    whimbrel_lab::run(&document.plan().unwrap(), 1)
}

fn flow(record: &Record, column: &str) -> f64 {
    record.table("flows").unwrap().number(column, 0).unwrap_or_else(|| panic!("no {column}"))
}

/// The sum of all outcomes of packets sent.
fn accounted_for(record: &Record) -> f64 {
    let ends = [
        "delivered_packets",
        "late_packets",
        "refused_packets",
        "lost_queue",
        "lost_wireless",
        "lost_down",
        "lost_other",
        "waiting_packets",
        "under_way_packets",
    ];
    let flows = record.table("flows").unwrap();
    // Without a buffer there is no column of late packets.
    ends.iter().map(|column| flows.number(column, 0).unwrap_or(0.0)).sum()
}

#[test]
fn data_that_a_reorder_buffer_discards_are_not_delivered() {
    let record = run(&[]);
    assert_eq!(accounted_for(&record), flow(&record, "sent_packets"));
    let (delivered, late) = (flow(&record, "delivered_packets"), flow(&record, "late_packets"));
    // Delays of 5 to 35 ms and a D_max of 10 ms: many overtaken packets arrive too late.
    let received = flow(&record, "received_packets");
    assert!(late > 100.0 && late > 0.05 * received, "{late} of {received} late");
    // 500 bytes with 36 of headers.
    assert_eq!(flow(&record, "delivered_bytes"), delivered * 464.0);
    // The rows of packets and of intervals agree.
    let packets = record.table("packets").unwrap();
    let fates = |fate: &str| {
        (0..packets.rows()).filter(|row| packets.text("fate", *row) == Some(fate)).count() as f64
    };
    assert_eq!([fates("received"), fates("late"), fates("refused")], [delivered, late, 0.0]);
    let intervals = record.table("intervals").unwrap();
    let sum =
        |column: &str| (0..intervals.rows()).map(|row| intervals.number(column, row).unwrap()).sum::<f64>();
    assert_eq!([sum("delivered_packets"), sum("late_packets")], [delivered, late]);
}

#[test]
fn the_counts_add_up_with_every_receiver() {
    for settings in [
        &[("variables.jitter", "0 ms")][..],
        &[("variables.buffer", "200 ms")],
        &[("flow.call.dccp", "{ loss_detection = \"rack\" }")],
        &[("flow.call.ccid", "2"), ("link.radio.rate", "1 Mbit/s")],
        &[
            ("link.radio.damaged", "50 %"),
            ("flow.call.dccp.checksum_coverage", "1"),
            ("flow.call.dccp.data_checksum", "true"),
        ],
        &[("flow.call.stop", "10 s")],
        &[("flow.call.transport", "udp")],
    ] {
        let record = run(settings);
        assert_eq!(accounted_for(&record), flow(&record, "sent_packets"), "{settings:?}");
        assert!(flow(&record, "delivered_packets") > 1_000.0, "{settings:?}");
    }
    // Packets in transit when the measured time begins are accounted for, too.
    let record = run(&[("simulation.warm_up", "5 s"), ("flow.call.transport", "udp")]);
    let sent = flow(&record, "sent_packets") + flow(&record, "carried_over_packets");
    assert_eq!(accounted_for(&record), sent);
    assert!(flow(&record, "carried_over_packets") > 5.0);
}
