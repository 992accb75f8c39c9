//! Handovers of a link and their effects on flows.

use crate::simulation;
use simulation::{number, simulate};

const WALK: &str = r#"
[simulation]
duration = "30 s"
seed = 1
[[node]]
name = "camera"
[[node]]
name = "router"
[[node]]
name = "viewer"
[[link]]
between = ["camera", "router"]
rate = "100 Mbit/s"
delay = "1 ms"
[[link]]
name = "radio"
between = ["router", "viewer"]
network = "802.11b"
[[flow]]
name = "call"
from = "camera"
to = "viewer"
transport = "udp"
packet_size = "500 B"
traffic = { kind = "cbr", rate = "320 kbit/s" }
[[handover]]
time = "10 s"
link = "radio"
to = "umts"
duration = "2 s"
"#;

#[test]
fn only_packets_sent_while_the_link_is_down_are_lost() {
    let record = simulate(WALK, &[]);
    // 80 packets per second for 2 s.
    assert_eq!(number(&record, "lost_down"), 160.0);
    assert_eq!(
        number(&record, "received_packets") + 160.0,
        number(&record, "sent_packets") - in_flight(&record)
    );
    let handovers = record.table("handovers").unwrap();
    assert_eq!((handovers.number("down_s", 0), handovers.number("up_s", 0)), (Some(10.0), Some(12.0)));
    assert_eq!(handovers.text("link", 0), Some("radio"));
}

/// At the end 260 ms of packets are in transit: 1 ms, one packet's 10.4 ms at 384 kbit/s, and 250 ms.
fn in_flight(record: &whimbrel_lab::Record) -> f64 {
    let missing =
        number(record, "sent_packets") - number(record, "received_packets") - number(record, "lost_down");
    assert!((20.0..=22.0).contains(&missing), "{missing}");
    missing
}

#[test]
fn queued_packets_are_lost_too_unless_the_link_holds_them() {
    // 2 Mbit/s into 384 kbit/s: 50 packets are at the link when it goes down, and one of them is under
    // transmission.
    let full = [("flow[0].traffic.rate", "2 Mbit/s"), ("link.radio.network", "umts")];
    let dropped = number(&simulate(WALK, &full), "lost_down");
    let held =
        number(&simulate(WALK, &[&full[..], &[("handover[0].when_down", "hold")]].concat()), "lost_down");
    // 500 packets per second for 2 s, and the queue.
    assert!((1049.0..=1050.0).contains(&dropped), "{dropped}");
    assert_eq!(held, 0.0);
}

#[test]
fn the_new_network_has_the_new_rate_and_delay() {
    let record = simulate(WALK, &[("simulation.warm_up", "20 s")]);
    // A packet takes 1 ms, its transmission (40 us at 100 Mbit/s, 10.4 ms at 384 kbit/s) and 250 ms.
    let delay = number(&record, "delay_max_s");
    assert!((delay - 0.261_456_7).abs() < 1e-4, "{delay}");
}
