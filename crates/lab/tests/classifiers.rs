//! Receivers that classify losses, in the simulator, where the true causes are known.

use whimbrel_lab::Record;
use whimbrel_lab::record::Table;

use crate::simulation;
use simulation::{document, number, rows_with, simulate};

/// A wireless last hop behind a LAN, as in Cen, Cosman and Voelker, Section 5.
const PATH: &str = r#"
[simulation]
duration = "60 s"
[[node]]
name = "sender"
[[node]]
name = "base"
[[node]]
name = "receiver"
[[link]]
name = "shared"
between = ["sender", "base"]
rate = "260 kbit/s"
delay = "20 ms"
queue = "6 packets"
[[link]]
name = "radio"
between = ["base", "receiver"]
rate = "150 kbit/s"
delay = "10 ms"
queue = "6 packets"
loss = { model = "run-length", rate = 0.078, runs = [0.7, 0.25, 0.05] }
[[flow]]
name = "flow"
from = "sender"
to = "receiver"
transport = "dccp"
packet_size = "762 B"
# As the paper of the first seven has it. Ten segments at once lose dozens of packets before there is any evidence.
dccp = { initial_window = "rfc3390", rtt_estimate = false, guard = false }
[record]
packets = true
losses = true
"#;

fn count(record: &Record, column: &str) -> usize {
    number(record, column) as usize
}

/// Number of rows of `table` with these words.
fn rows(table: &Table, words: &[(&str, &str)]) -> usize {
    rows_with(table, words).count()
}

const SCHEMES: [(&str, &[&str]); 9] = [
    ("biaz", &["biaz"]),
    ("mbiaz", &["biaz"]),
    ("spike", &["spike"]),
    ("zigzag", &["zigzag"]),
    ("zbs", &["biaz", "spike", "zigzag"]),
    ("zbs2", &["biaz", "spike", "zigzag"]),
    ("zbs3", &["biaz", "spike", "zigzag"]),
    ("inherent", &["inherent"]),
    ("standing", &["standing"]),
];

#[test]
fn every_scheme_classifies_every_loss_and_names_its_evidence() {
    for ccid in ["3", "4"] {
        for (scheme, bases) in SCHEMES {
            let record = simulate(PATH, &[("flow.flow.classifier", scheme), ("flow.flow.ccid", ccid)]);
            let losses = record.table("losses").unwrap();
            let all = losses.rows();
            assert!(all > 50, "{scheme}: {all} losses");
            let by_base: usize = bases.iter().map(|base| rows(losses, &[("evidence", base)])).sum();
            // There is no evidence at first, and the last losses may be too recent for a verdict: inherent
            // needs two complete windows.
            let young = if scheme == "inherent" { 40 } else { 10 };
            let first_without = rows_with(losses, &[("verdict", "none")]).next();
            assert!(
                first_without.is_none_or(|row| row + young >= all),
                "{scheme}: {first_without:?} of {all}"
            );
            assert!(by_base + young >= all, "{scheme}: {by_base} of {all} by {bases:?}");

            let lost = |cause, verdict| rows(losses, &[("cause", cause), ("verdict", verdict)]);
            let queue = [lost("queue", "congestion"), lost("queue", "wireless")];
            let radio = [lost("wireless", "wireless"), lost("wireless", "congestion")];
            for (name, [right, wrong]) in [("congestion", queue), ("wireless", radio)] {
                assert_eq!(count(&record, &format!("{name}_judged")), right + wrong, "{scheme}");
                assert_eq!(count(&record, &format!("{name}_misclassified")), wrong, "{scheme}");
            }
            // A queue stands on this path nearly all the time. No other scheme is always right or wrong.
            if scheme == "standing" {
                assert!(queue[1] == 0 && radio[0] < radio[1], "{queue:?}, {radio:?}");
            } else {
                assert!(radio[0] > 0 && queue[1] + radio[1] > 0, "{scheme}: {queue:?}, {radio:?}");
            }
        }
    }
}

#[test]
fn send_times_fit_into_packets_of_the_size_asked_for() {
    for scheme in ["none", "mbiaz", "zigzag"] {
        let record = simulate(PATH, &[("flow.flow.classifier", scheme), ("simulation.duration", "10 s")]);
        let packets = record.table("packets").unwrap();
        let sizes = (0..packets.rows()).map(|row| packets.number("size_bytes", row).unwrap());
        let (all, exact) = (packets.rows(), sizes.clone().filter(|size| *size == 762.0).count());
        // The others carry what comes and goes: of the handshake, and the echo of a Timestamp.
        assert!(exact as f64 > 0.8 * all as f64, "{scheme}: {exact} of {all}");
        assert!(sizes.clone().all(|size| size >= 762.0), "{scheme}");
    }
}

#[test]
fn a_guard_bounds_what_is_discounted() {
    let on_a_poor_radio = |guard| {
        let loss = r#"{ model = "bernoulli", rate = 0.25 }"#;
        let changes = [
            ("flow.flow.classifier", "omniscient"),
            ("flow.flow.dccp.guard", guard),
            ("link.radio.loss", loss),
            ("simulation.duration", "120 s"),
        ];
        simulate(PATH, &changes)
    };
    let free = on_a_poor_radio("false");
    let losses = free.table("losses").unwrap();
    assert_eq!(rows(losses, &[("cause", "wireless"), ("verdict", "congestion")]), 0);
    assert_eq!(rows(losses, &[("overruled", "")]), losses.rows());

    let guarded = on_a_poor_radio("true");
    let losses = guarded.table("losses").unwrap();
    assert!(rows(losses, &[("overruled", "young")]) > 0);
    assert!(rows(losses, &[("overruled", "loss")]) > 0);
    // 15 % of the packets at most, over any two periods of 256.
    let discounted = rows(losses, &[("verdict", "wireless")]);
    let packets = count(&guarded, "sent_packets");
    assert!(discounted as f64 <= 0.15 * packets as f64 + 1.0, "{discounted} of {packets}");
    let sent = [&guarded, &free].map(|record| count(record, "sent_packets") as f64);
    assert!(sent[0] < 0.8 * sent[1], "{sent:?}");
}

#[test]
fn names_that_no_scheme_has_are_refused() {
    let error = |changes: &[_]| document(PATH, changes).plan().unwrap_err().to_string();
    let unknown = error(&[("flow.flow.classifier", "oracle")]);
    assert!(unknown.contains("flow[0].classifier") && unknown.contains("zbs3"), "{unknown}");
    let without = error(&[("flow.flow.classifier", "zbs"), ("flow.flow.ccid", "2")]);
    assert!(
        without.contains("ccid = 3 (TFRC), 4 (TFRC-SP), 250 (an experiment) or 252 (delay-aware)"),
        "{without}"
    );
}

/// Trip times by the two clocks grow or fall by 12 ms a minute. Left alone, a queue seems to fill, or to have
/// emptied; corrected by the reverse path of the acknowledgements, `spike` errs about as often as with clocks
/// that agree.
#[test]
fn a_sender_s_clock_that_drifts_is_corrected_though_its_queue_is_never_empty() {
    let errors = |drift: &str, corrected: &str| {
        let changes = [
            ("flow.flow.classifier", "spike"),
            ("flow.flow.dccp.clock_drift_ppm", drift),
            ("flow.flow.dccp.clock_correction", corrected),
            ("link.radio.rate", "800 kbit/s"),
            ("link.radio.queue", "13 packets"),
            ("link.shared.rate", "10 Mbit/s"),
            ("link.shared.queue", "166 packets"),
            ("simulation.duration", "200 s"),
            ("simulation.warm_up", "30 s"),
        ];
        let record = simulate(PATH, &changes);
        number(&record, "wireless_misclassified") / number(&record, "wireless_judged")
    };
    let (same, left, corrected) = (errors("0", "false"), errors("-200", "false"), errors("-200", "true"));
    println!("M_w {same:.3} with clocks that agree, {left:.3} with a drift, {corrected:.3} corrected");
    assert!(left > same + 0.08, "{left} against {same}");
    assert!((corrected - same).abs() < 0.06, "{corrected} against {same}");
}
