//! Queue disciplines under the traffic that they are designed for.

use crate::simulation;
use simulation::{document, number_of, simulate};
use whimbrel_lab::Record;

/// Four TCP flows and a voice stream through 10 Mbit/s with 50 ms of round-trip time and a buffer of 600 ms.
const DUMBBELL: &str = concat!(
    pair!(
        r#"
name = "bottleneck"
rate = "10 Mbit/s"
delay = "25 ms"
queue = "500 packets"
reverse = { rate = "100 Mbit/s" }
"#
    ),
    r#"
[simulation]
duration = "60 s"
warm_up = "10 s"
[[flow]]
name = "bulk-{i}"
count = 4
from = "a"
to = "b"
transport = "tcp"
traffic = { kind = "bulk" }
start = "100 ms"
start_jitter = "500 ms"
[[flow]]
name = "voice"
from = "a"
to = "b"
transport = "udp"
payload = "160 B"
traffic = { kind = "cbr", rate = "64 kbit/s" }
"#
);

fn with(discipline: &str) -> Record {
    simulate(DUMBBELL, &[("link[0].discipline", discipline)])
}

/// The voice stream's mean delay beyond the path's, in milliseconds.
fn queueing_delay(record: &Record) -> f64 {
    1e3 * (number_of(record, "voice", "delay_mean_s") - 0.025)
}

fn goodput(record: &Record) -> f64 {
    (0..4).map(|k| number_of(record, &format!("bulk-{k}"), "goodput_bps")).sum()
}

#[test]
fn drop_tail_fills_its_buffer() {
    let record = with("\"droptail\"");
    assert!(queueing_delay(&record) > 200.0, "{}", queueing_delay(&record));
}

/// Each holds the standing queue near its target, and the link stays busy.
#[test]
fn active_queue_management_keeps_the_queue_short_and_the_link_busy() {
    // RED's average lies between its thresholds of 5 and 15 packets of 1.2 ms; CoDel's target is 5 ms, PIE's
    // 15 ms.
    for (discipline, delays) in
        [("\"red\"", 4.0..18.0), ("\"codel\"", 2.0..15.0), ("\"pie\"", 8.0..22.0), ("\"dualpi2\"", 8.0..22.0)]
    {
        let record = with(discipline);
        let (delay, goodput) = (queueing_delay(&record), goodput(&record));
        assert!(delays.contains(&delay), "{discipline}: {delay} ms");
        assert!(goodput > 8.2e6, "{discipline}: {goodput} bit/s");
        assert_eq!(number_of(&record, "voice", "lost_wireless"), 0.0);
    }
}

#[test]
fn flow_queueing_keeps_a_sparse_flow_out_of_the_queue_of_bulk_flows() {
    let record = with("\"fq-codel\"");
    let delay = queueing_delay(&record);
    // A packet of 1.2 ms may be in transmission; the voice packet itself takes 0.15 ms.
    assert!(delay < 1.6, "{delay} ms");
    assert_eq!(number_of(&record, "voice", "lost_queue"), 0.0);
    let shares: Vec<f64> = (0..4).map(|k| number_of(&record, &format!("bulk-{k}"), "goodput_bps")).collect();
    let (least, most) = shares.iter().fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
    assert!(least > 0.9 * most, "{shares:?}");
}

/// Two DCCP flows behind CoDel: with ECN the law marks what it would otherwise drop.
#[test]
fn ecn_replaces_losses_of_dccp() {
    let lost = |ecn: &str| {
        let discipline = format!("{{ kind = \"codel\", ecn = {ecn} }}");
        let changes = [
            ("link[0].discipline", discipline.as_str()),
            ("flow[0].transport", "\"dccp\""),
            ("flow[0].count", "2"),
            ("flow[0].payload", "\"1000 B\""),
        ];
        let record = simulate(DUMBBELL, &changes);
        let delay = queueing_delay(&record);
        assert!((1.0..20.0).contains(&delay), "{delay} ms");
        number_of(&record, "bulk-0", "lost_queue") + number_of(&record, "bulk-1", "lost_queue")
    };
    assert_eq!(lost("true"), 0.0);
    assert!(lost("false") > 10.0);
}

#[test]
fn a_wrong_parameter_is_named() {
    let error = |changes: &[(&str, &str)]| document(DUMBBELL, changes).plan().unwrap_err().to_string();
    let target = error(&[("link[0].discipline", r#"{ kind = "codel", target = "200 ms" }"#)]);
    assert!(target.contains("link[0].discipline.interval"), "{target}");
    assert!(target.contains("more than target"), "{target}");
    let unknown = error(&[("link[0].discipline", "\"blue\"")]);
    assert!(unknown.contains("fq-codel"), "{unknown}");
    let both = error(&[("link[0].discipline", "\"pie\""), ("link[0].mark_at", "20")]);
    assert!(both.contains("link[0].mark_at"), "{both}");
}
