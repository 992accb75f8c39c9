//! CCID 4: streams of small packets among large ones (RFC 4828), over minutes of simulated time.

use whimbrel_lab::Record;

use crate::simulation;
use simulation::{equation, number_of, simulate};

const LOSSY_PATH: &str = concat!(
    pair!(
        r#"
rate = "100 Mbit/s"
delay = "$delay"
loss = { model = "bernoulli", rate = "$loss" }
"#
    ),
    r#"
[variables]
loss = 0.01
delay = "25 ms"
payload = "160 B"
ccid = 4
[simulation]
duration = "620 s"
warm_up = "20 s"
[[flow]]
name = "flow"
from = "a"
to = "b"
transport = "dccp"
ccid = "$ccid"
payload = "$payload"
[[flow]]
name = "tcp"
from = "a"
to = "b"
transport = "tcp"
tcp = { variant = "sack" }
payload = "1460 B"
"#
);

/// Packets per second.
fn packet_rate(record: &Record, flow: &str) -> f64 {
    number_of(record, flow, "sent_packets") / number_of(record, flow, "measured_s")
}

/// RFC 4828's goal. A round-trip time of 1.5 seconds, so that less than 100 packets per second are asked for
/// at 1 %. The equation for RFC 4828's nominal segment, less headers of 36 bytes (RFC 5622, Section 5), in
/// byte/s.
fn small_packet_equation(payload: f64, r: f64, p: f64) -> f64 {
    equation(1460.0, r, p) * payload / (payload + 36.0)
}

#[test]
fn small_packets_obey_the_equation_of_large_ones() {
    for loss in ["0.01", "0.02", "0.05"] {
        let changes =
            [("variables.loss", loss), ("variables.delay", "750 ms"), ("simulation.duration", "3020 s")];
        let record = simulate(LOSSY_PATH, &changes);
        let (p, rtt) =
            (number_of(&record, "flow", "loss_event_rate_mean"), number_of(&record, "flow", "rtt_mean_s"));
        let sent = packet_rate(&record, "flow") * 160.0;
        let ratio = sent / small_packet_equation(160.0, rtt, p);
        let with_headers = sent * 196.0 / 160.0;
        let of_tcp = with_headers / (number_of(&record, "tcp", "goodput_bps") / 8.0);
        println!(
            "loss {loss}: p {p:.4}, R {rtt:.4} s, sent {sent:.0} B/s: {ratio:.3} of the equation; with headers {of_tcp:.3} of TCP"
        );
        assert!((ratio - 1.0).abs() < 0.1, "loss {loss}: {ratio}");
        assert!((0.7..1.6).contains(&of_tcp), "loss {loss}: {of_tcp}");
    }
}

#[test]
fn small_packets_go_every_10_ms_at_most() {
    let record = simulate(LOSSY_PATH, &[("simulation.duration", "120 s"), ("record.packets", "true")]);
    let rate = packet_rate(&record, "flow");
    assert!((99.0..=100.1).contains(&rate), "{rate}");
    let packets = record.table("packets").unwrap();
    let of_flow = (0..packets.rows()).filter(|row| packets.text("flow", *row) == Some("flow"));
    let times: Vec<f64> = of_flow.map(|row| packets.number("sent_s", row).unwrap()).collect();
    assert!(times.len() > 10_000);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] > 0.01 - 1e-9));
}

/// RFC 4828, Table 9, has 180, 127 and 55 kbit/s for packets of 200 bytes on a path of 240 ms, and 39, 22 and
/// 9 for TFRC with these packets; headers included.
#[test]
fn small_packets_get_what_the_rfcs_simulations_show() {
    for (loss, small, standard) in [("0.05", 180.08, 39.44), ("0.1", 127.33, 21.96), ("0.2", 54.66, 9.40)] {
        let rate = |ccid: &str| {
            let record = simulate(
                LOSSY_PATH,
                &[
                    ("variables.loss", loss),
                    ("variables.delay", "120 ms"),
                    ("variables.payload", "200 B"),
                    ("variables.ccid", ccid),
                    ("simulation.duration", "2020 s"),
                ],
            );
            packet_rate(&record, "flow") * 232.0 * 8e-3
        };
        let (ccid_4, ccid_3) = (rate("4"), rate("3"));
        println!("loss {loss}: CCID 4 {ccid_4:.1} ({small}) kbit/s, CCID 3 {ccid_3:.1} ({standard})");
        assert!((0.9..1.2).contains(&(ccid_4 / small)), "{loss}: {ccid_4} kbit/s");
        assert!(ccid_4 > 3.5 * ccid_3, "{loss}: {ccid_4} and {ccid_3} kbit/s");
    }
}

const SHARED_PATH: &str = concat!(
    dumbbell!(
        4,
        r#"
rate = "1500 kbit/s"
delay = "40 ms"
queue = "40 packets"
"#
    ),
    r#"
[simulation]
duration = "630 s"
warm_up = "30 s"
[[flow]]
name = "tcp{i}"
count = 4
from = "s{i}"
to = "d{i}"
transport = "tcp"
tcp = { variant = "sack", jitter = "8 ms" }
packet_size = "1500 B"
start_jitter = "5 s"
[[flow]]
name = "large{i}"
count = 4
from = "s{i}"
to = "d{i}"
transport = "dccp"
ccid = 3
packet_size = "1500 B"
start_jitter = "5 s"
[[flow]]
name = "small{i}"
count = 4
from = "s{i}"
to = "d{i}"
transport = "dccp"
ccid = 4
payload = "200 B"
start_jitter = "5 s"
"#
);

/// Behind a queue that counts packets, all have the same loss rate, and so about the same rate.
#[test]
fn small_packets_share_with_tcp_and_tfrc() {
    let record = simulate(SHARED_PATH, &[]);
    let flows = record.table("flows").unwrap();
    let total = |prefix: &str| -> f64 {
        (0..flows.rows())
            .filter(|row| flows.text("flow", *row).unwrap().starts_with(prefix))
            .map(|row| flows.number("throughput_bps", row).unwrap())
            .sum()
    };
    let [tcp, large, small] = ["tcp", "large", "small"].map(total);
    println!("TCP {tcp:.0}, CCID 3 {large:.0}, CCID 4 {small:.0} bit/s");
    assert!((0.5..2.0).contains(&(small / large)), "CCID 4 over CCID 3: {}", small / large);
    assert!((0.5..2.0).contains(&(small / tcp)), "CCID 4 over TCP: {}", small / tcp);
}
