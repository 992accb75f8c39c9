//! Scalable congestion control through a dual queue (RFC 9332).

use crate::simulation;
use simulation::{document, number_of, simulate};
use whimbrel_lab::Record;

const RATE: f64 = 40e6;

/// A path with 25 ms of round-trip time, and flows that are added.
const PATH: &str = concat!(
    pair!(
        r#"
name = "bottleneck"
rate = "40 Mbit/s"
delay = "12.5 ms"
queue = "1000 packets"
discipline = "dualpi2"
reverse = { rate = "400 Mbit/s" }
"#
    ),
    r#"
[simulation]
duration = "60 s"
warm_up = "20 s"
"#
);

fn flow(name: &str, keys: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\npacket_size = \"1500 B\"\n{keys}\n")
}

fn prague(name: &str, keys: &str) -> String {
    flow(name, &format!("transport = \"tcp\"\ntcp = {{ congestion = \"prague\"{keys} }}"))
}

fn cubic(name: &str) -> String {
    flow(name, "transport = \"tcp\"\ntcp = { congestion = \"cubic\", ecn = true }")
}

fn run(flows: &[String], changes: &[(&str, &str)]) -> Record {
    simulate(&format!("{PATH}{}", flows.concat()), changes)
}

fn rate(record: &Record, flow: &str) -> f64 {
    number_of(record, flow, "throughput_bps")
}

/// Mean delay in the queue in milliseconds, without 12.5 ms of propagation and the transmission.
fn queueing_delay(record: &Record, flow: &str) -> f64 {
    1e3 * number_of(record, flow, "delay_mean_s") - 12.5 - 1500.0 * 8.0 / RATE * 1e3
}

/// Share of marked packets.
fn marking(record: &Record, flow: &str) -> f64 {
    number_of(record, flow, "marked_packets") / number_of(record, flow, "received_packets")
}

/// Ratio of the mean rates of that many Prague and CUBIC flows, and the record.
fn contest(scalable: usize, classic: usize, keys: &str, changes: &[(&str, &str)]) -> (f64, Record) {
    let names =
        |prefix: &str, count: usize| -> Vec<String> { (0..count).map(|k| format!("{prefix}{k}")).collect() };
    let (scalable, classic) = (names("p", scalable), names("c", classic));
    let flows: Vec<String> = scalable
        .iter()
        .map(|name| prague(name, keys))
        .chain(classic.iter().map(|name| cubic(name)))
        .collect();
    let record = run(&flows, changes);
    let mean =
        |names: &[String]| names.iter().map(|name| rate(&record, name)).sum::<f64>() / names.len() as f64;
    (mean(&scalable) / mean(&classic), record)
}

/// The low-latency queue marks from 0.8 ms on, and certainly from 1.2 ms.
#[test]
fn a_scalable_flow_alone_fills_the_link_with_a_queue_of_less_than_a_millisecond() {
    let record = run(&[prague("prague", "")], &[]);
    let (rate, delay) = (rate(&record, "prague"), queueing_delay(&record, "prague"));
    assert!(rate > 0.98 * RATE, "{rate} bit/s");
    assert!((0.1..0.8).contains(&delay), "{delay} ms");
    assert_eq!(number_of(&record, "prague", "lost_queue"), 0.0);
}

/// RFC 9332, Section 2.1: the Classic queue marks with p'^2 and the other with 2 p'. The window of CUBIC in
/// its Reno-friendly region is sqrt(1.5) / p' (RFC 9438, Section 4.3), and the window of Prague 2 / (2 p'),
/// or up to sqrt(6) / 2 p'; their round-trip times are 25 ms and 15 ms more. The rates are therefore as 1.3
/// or 1.6 to 1 for many flows; the sawtooth of a few is not stationary.
#[test]
fn coupled_marking_gives_both_kinds_similar_rates_at_25_ms() {
    for (scalable, classic) in [(1, 1), (2, 2), (1, 4), (4, 1)] {
        let (ratio, record) = contest(scalable, classic, "", &[]);
        assert!((1.1..2.1).contains(&ratio), "{scalable} and {classic}: {ratio}");
        let total: f64 = (0..scalable).map(|k| rate(&record, &format!("p{k}"))).sum::<f64>()
            + (0..classic).map(|k| rate(&record, &format!("c{k}"))).sum::<f64>();
        assert!(total > 0.98 * RATE, "{total} bit/s");
        let (low, queue) = (queueing_delay(&record, "p0"), queueing_delay(&record, "c0"));
        assert!(low < 0.6 && (10.0..18.0).contains(&queue), "{low} and {queue} ms");
        if classic > 1 {
            let window = rate(&record, "p0") / (1500.0 * 8.0) * number_of(&record, "p0", "rtt_mean_s");
            let marks = marking(&record, "p0") * window;
            assert!((1.9..2.5).contains(&marks), "{marks} in a round-trip time");
            let coupling = marking(&record, "p0") / marking(&record, "c0").sqrt();
            assert!((1.8..2.1).contains(&coupling), "{coupling}");
        }
    }
}

/// On a short path the Classic queue is most of the round-trip time of CUBIC: 25 ms against 10 ms. As a flow
/// of 25 ms, Prague has a rate like CUBIC's.
#[test]
fn rtt_independence_keeps_a_short_path_from_dominating() {
    let changes = [("link.bottleneck.delay", "\"5 ms\"")];
    let (dependent, _) = contest(2, 2, "", &changes);
    let (independent, record) = contest(2, 2, ", virtual_rtt = \"25 ms\"", &changes);
    assert!(dependent > 1.7, "{dependent}");
    assert!((0.65..1.3).contains(&independent), "{independent}");
    assert!(
        rate(&record, "p0") + rate(&record, "p1") + rate(&record, "c0") + rate(&record, "c1") > 0.95 * RATE
    );
}

/// A drop-tail queue does not mark: the law is Reno's.
#[test]
fn without_marks_a_scalable_flow_is_reno() {
    let changes =
        [("link.bottleneck.discipline", "\"droptail\""), ("link.bottleneck.queue", "\"100 packets\"")];
    let reno = |name: &str| flow(name, "transport = \"tcp\"");
    let flows = [prague("p0", ""), prague("p1", ""), reno("r0"), reno("r1")];
    let record = run(&flows, &changes);
    let ratio = (rate(&record, "p0") + rate(&record, "p1")) / (rate(&record, "r0") + rate(&record, "r1"));
    assert!((0.7..1.45).contains(&ratio), "{ratio}");
}

#[test]
fn the_virtual_rtt_belongs_to_prague() {
    let flows = flow("reno", "transport = \"tcp\"\ntcp = { virtual_rtt = \"25 ms\" }");
    let error = document(&format!("{PATH}{flows}"), &[]).plan().expect_err("an error");
    assert_eq!(
        error.to_string(),
        "flow[0].tcp.virtual_rtt = \"25ms\": expected nothing: only `congestion = \"prague\"` has it"
    );
}
