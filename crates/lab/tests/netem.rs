//! NetEm's delay, jitter and reordering in scenarios.

use crate::simulation;
use simulation::{document, number, simulate};

/// NetEm on the last hop, in both directions, as on a router of a test bed.
const PATH: &str = concat!(
    over_netem!(
        r#"
delay = "24 ms"
"#,
        r#"
netem = { delay = "26 ms", jitter = "$jitter", reorder = "$reorder", gap = "$gap" }
reverse = { netem = { delay = "26 ms" } }
"#
    ),
    r#"
[variables]
jitter = "0 s"
reorder = "0 %"
gap = 1
[simulation]
duration = "60 s"
warm_up = "10 s"
[[flow]]
name = "flow"
from = "a"
to = "c"
transport = "dccp"
payload = "1000 B"
traffic = { kind = "cbr", rate = "400 kbit/s" }
dccp = { rtt_estimate = false }
"#
);

#[test]
fn a_constant_delay_adds_to_both_directions() {
    let record = simulate(PATH, &[]);
    // 24 + 26 ms in each direction, 8.2 ms to send 1028 bytes at 1 Mbit/s, a fraction of that for feedback.
    let rtt = number(&record, "rtt_mean_s");
    assert!((0.108..0.110).contains(&rtt), "{rtt}");
    assert_eq!(number(&record, "reordered_packets"), 0.0);
    assert_eq!(number(&record, "loss_event_rate_mean"), 0.0);
}

/// As many packets as the path carries: one every 2 ms.
const BULK: [(&str, &str); 2] =
    [("flow.flow.traffic", r#"{ kind = "bulk" }"#), ("link[0].rate", "\"4 Mbit/s\"")];

#[test]
fn packets_overtake_and_none_is_lost() {
    let [bulk, wide] = BULK;
    // One packet in twenty is spared 26 ms and overtakes thirteen, each of which is then behind the newest.
    let overtaking = simulate(PATH, &[("variables.reorder", "5 %"), bulk, wide]);
    let share = number(&overtaking, "reordered_packets") / number(&overtaking, "received_packets");
    // 1 - 0.95^13 = 0.49, less the packets that overtake themselves.
    assert!((0.4..0.5).contains(&share), "{share}");
    // Delays of 6 to 46 ms. A late packet's loss is forgiven (RFC 5348, Section 5.1), so TFRC gets along.
    let late = simulate(PATH, &[("variables.jitter", "20 ms"), bulk, wide]);
    let share = number(&late, "reordered_packets") / number(&late, "received_packets");
    assert!(share > 0.6, "{share}");
    assert_eq!(number(&late, "lost_queue"), 0.0);
    assert!(number(&late, "throughput_bps") > 3.2e6);
}

#[test]
fn odd_parameters_are_named() {
    let error = |key, value| {
        let document = document(PATH, &[(key, value)]);
        document.plan().expect_err("nonsense").to_string()
    };
    let refusal = error("variables.jitter", "3 s");
    assert!(refusal.contains("link[1].netem") && refusal.contains("2147 ms"), "{refusal}");
    let refusal = document(PATH, &[("variables.gap", "0"), ("variables.reorder", "5 %")]).plan().unwrap_err();
    assert!(refusal.to_string().contains("a gap of 1 or more"), "{refusal}");
}
