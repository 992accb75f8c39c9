//! Corruption that is reported on the wire: Data Checksum and Data Dropped (RFC 4340, Sections 9.3 and 11.7),
//! with CCID 3 as required there, with the experimental CCID 250, and with classifiers on trial.

use whimbrel_lab::record::{Table, csv};
use whimbrel_lab::{Document, Record, run};

use crate::simulation;
use simulation::{document, equation, number, rows_with, simulate};

/// The radio is the last link, so that damaged packets pass no queue.
const PATH: &str = concat!(
    pair!(
        r#"
name = "radio"
rate = "10 Mbit/s"
delay = "25 ms"
queue = "20 packets"
loss = { model = "bernoulli", rate = "$loss" }
damaged = "$damaged"
"#
    ),
    r#"
[variables]
loss = 0.05
damaged = 1
[simulation]
duration = "120 s"
[[flow]]
name = "flow"
from = "a"
to = "b"
transport = "dccp"
payload = "1000 B"
stop = "110 s"
dccp = { rtt_estimate = false, guard = false, checksum_coverage = 1, data_checksum = true }
[record]
losses = true
packets = true
"#
);

fn on_radio(record: &Record, column: &str) -> f64 {
    record.table("links").and_then(|links| links.number(column, 0)).expect("a column of numbers")
}

/// Number of rows of `table` with these words, and number of them with these numbers.
fn rows(table: &Table, words: &[(&str, &str)], numbers: &[(&str, f64)]) -> f64 {
    let matches =
        |row: &usize| numbers.iter().all(|(column, number)| table.number(column, *row) == Some(*number));
    rows_with(table, words).filter(matches).count() as f64
}

/// A fifth of the path's rate: no packet is ever queued.
const VIDEO: (&str, &str) = ("flow.flow.traffic", r#"{ kind = "cbr", rate = "2 Mbit/s" }"#);

#[test]
fn ccid_3_slows_down_for_corruption_as_rfc_4340_demands() {
    let record = simulate(PATH, &[VIDEO]);
    let (p, rtt) = (number(&record, "loss_event_rate_mean"), number(&record, "rtt_mean_s"));
    let sent = number(&record, "sent_packets") * 1000.0 / 110.0;
    let ratio = sent / equation(1000.0, rtt, p);
    assert!((ratio - 1.0).abs() < 0.1, "{ratio} of the equation at p = {p}");
    // Packets damaged within a round-trip time are one event.
    assert!(p < 0.05 && p > 0.6 * 0.05, "{p}");
    assert_eq!((number(&record, "lost_queue"), number(&record, "lost_wireless")), (0.0, 0.0));
}

#[test]
fn ccid_250_does_not() {
    let record = simulate(PATH, &[VIDEO, ("flow.flow.ccid", "250")]);
    assert_eq!(number(&record, "loss_event_rate_mean"), 0.0);
    // 2 Mbit/s in packets of 1000 bytes and 44 of headers, but for the beginning.
    let offered = 2e6 / 8.0 / 1044.0 * 110.0;
    let sent = number(&record, "sent_packets");
    assert!(sent > 0.99 * offered && sent <= offered + 1.0, "{sent} of {offered}");
}

/// With nothing damaged, the two are one and the same: every drop and every mark counts.
#[test]
fn ccid_250_reacts_to_queues_and_marks_like_ccid_3() {
    let narrow = [("variables.loss", "0"), ("link.radio.rate", "1 Mbit/s")];
    for (mark_at, signal) in [("1000", "lost_queue"), ("8", "marked_packets")] {
        let with = |ccid| {
            let record = simulate(
                PATH,
                &[narrow[0], narrow[1], ("link.radio.mark_at", mark_at), ("flow.flow.ccid", ccid)],
            );
            let columns =
                ["sent_packets", "lost_queue", "marked_packets", "loss_event_rate_mean", "rtt_mean_s"];
            (columns.map(|column| number(&record, column)), number(&record, signal))
        };
        let (standard, experimental) = (with("3"), with("250"));
        assert_eq!(standard, experimental);
        assert!(standard.1 > 20.0, "{signal}: {}", standard.1);
    }
}

/// With queues that overflow *and* damaged packets, its p counts only the queue losses, and the path is used.
#[test]
fn ccid_250_tells_congestion_from_corruption() {
    let with = |ccid| simulate(PATH, &[("link.radio.rate", "1 Mbit/s"), ("flow.flow.ccid", ccid)]);
    let (standard, experimental) = (with("3"), with("250"));
    assert!(number(&experimental, "lost_queue") > 20.0);
    let p = number(&experimental, "loss_event_rate_mean");
    let dropped = number(&experimental, "lost_queue") / number(&experimental, "sent_packets");
    assert!(p > 0.3 * dropped && p < 0.02, "p is {p} with {dropped} dropped");
    let used =
        [&standard, &experimental].map(|record| number(record, "throughput_bps") / 1e6 * 120.0 / 110.0);
    assert!(used[1] > 0.95 && used[0] < 0.85 * used[1], "{used:?}");
}

#[test]
fn reports_to_the_sender_are_true() {
    for (deliver, code) in [("false", 3), ("true", 7)] {
        for damaged in ["1", "0.6"] {
            let record = simulate(
                PATH,
                &[
                    VIDEO,
                    ("flow.flow.ccid", "250"),
                    ("variables.damaged", damaged),
                    ("flow.flow.dccp.deliver_corrupt", deliver),
                ],
            );
            let arrived = number(&record, "damaged_packets");
            assert!(arrived > 100.0, "code {code}");
            assert_eq!(number(&record, "reported_corrupt"), arrived, "code {code}");
            assert_eq!(on_radio(&record, "damaged_packets"), arrived);
            assert_eq!(on_radio(&record, "wireless_lost_packets"), number(&record, "lost_wireless"));
            let received = number(&record, "received_packets");
            assert_eq!(number(&record, "sent_packets"), received + number(&record, "lost_wireless"));
            let delivered = if deliver == "true" { received } else { received - arrived };
            let bytes = number(&record, "goodput_bps") / 8.0 * number(&record, "measured_s");
            assert!((bytes / 1000.0 - delivered).abs() < 0.01, "{bytes} bytes of {delivered} packets");
            let losses = record.table("losses").unwrap();
            assert_eq!(
                rows(losses, &[("cause", "wireless"), ("verdict", "wireless")], &[("damaged", 1.0)]),
                arrived
            );
            assert_eq!(rows(record.table("packets").unwrap(), &[("fate", "damaged")], &[]), arrived);
            // Without a classifier, packets lost whole are classified as congestion.
            assert_eq!(number(&record, "wireless_misclassified"), number(&record, "lost_wireless"));
            assert_eq!(number(&record, "wireless_judged"), arrived + number(&record, "lost_wireless"));
        }
    }
}

/// The corruption is not detected: there is no Data Checksum, and the packet's checksum does not cover the
/// data.
#[test]
fn corruption_without_a_data_checksum_is_not_reported() {
    let record = simulate(PATH, &[VIDEO, ("flow.flow.dccp.data_checksum", "false")]);
    assert!(number(&record, "damaged_packets") > 100.0);
    assert_eq!((number(&record, "reported_corrupt"), number(&record, "loss_event_rate_mean")), (0.0, 0.0));
}

/// With a checksum that covers the data, damage is loss: every number is the same.
#[test]
fn damage_is_loss_where_the_checksum_covers_the_data() {
    let transports: [&[(&str, &str)]; 4] = [
        &[("flow.flow.dccp.checksum_coverage", "0")],
        &[("flow.flow.dccp", "{ udp_encapsulation = true }")],
        &[("flow.flow.transport", "tcp"), ("flow.flow.dccp", "none")],
        &[("flow.flow.transport", "udp"), ("flow.flow.dccp", "none"), VIDEO],
    ];
    for changes in transports {
        let with = |damaged: &str| {
            let text = match changes.iter().any(|change| change.1 == "none") {
                true => PATH.lines().filter(|line| !line.starts_with("dccp")).collect::<Vec<_>>().join("\n"),
                false => PATH.to_owned(),
            };
            let mut document = Document::from_toml(&text).unwrap();
            document.set("variables.damaged", damaged).unwrap();
            document.set("simulation.duration", "20 s").unwrap();
            document.set("flow.flow.stop", "20 s").unwrap();
            for (key, value) in changes.iter().filter(|change| change.1 != "none") {
                document.set(key, value).unwrap();
            }
            run(&document.plan().unwrap_or_else(|error| panic!("{error}")), 1)
        };
        let (lost, damaged) = (with("0"), with("1"));
        for table in ["flows", "losses", "packets"] {
            assert!(lost.table(table).map(csv) == damaged.table(table).map(csv), "{table}");
        }
        assert!(number(&lost, "lost_wireless") > 20.0);
        assert!(on_radio(&damaged, "damaged_packets") >= number(&lost, "lost_wireless"));
        assert_eq!(on_radio(&damaged, "wireless_lost_packets"), 0.0);
    }
}

#[test]
fn classifiers_on_trial_classify_packets_reported_as_corrupt() {
    let with = |classifier| {
        simulate(
            PATH,
            &[
                ("flow.flow.ccid", "250"),
                ("flow.flow.classifier", classifier),
                ("flow.flow.dccp.trial", "true"),
                ("link.radio.rate", "1 Mbit/s"),
                ("variables.damaged", "0.9"),
            ],
        )
    };
    for group in [
        &["biaz", "mbiaz", "omniscient"][..],
        &["spike", "zigzag", "zbs", "zbs2", "zbs3", "inherent", "standing"],
    ] {
        let mut sent = Vec::new();
        for scheme in group {
            let record = with(scheme);
            sent.push(number(&record, "sent_packets"));
            let losses = record.table("losses").unwrap();
            let classified = |damaged, cause, verdict| {
                rows(losses, &[("cause", cause), ("verdict", verdict)], &[("damaged", damaged)])
            };
            for (damaged, cause) in [(1.0, "wireless"), (0.0, "wireless"), (0.0, "queue")] {
                assert!(classified(damaged, cause, "none") <= 3.0, "{scheme}");
                assert!(
                    classified(damaged, cause, "wireless") + classified(damaged, cause, "congestion") > 20.0,
                    "{scheme}"
                );
            }
            let wrong = classified(1.0, "wireless", "congestion") + classified(0.0, "wireless", "congestion");
            assert_eq!(number(&record, "wireless_misclassified"), wrong, "{scheme}");
            assert_eq!(
                number(&record, "congestion_misclassified"),
                classified(0.0, "queue", "wireless"),
                "{scheme}"
            );
            // Damage and loss are drawn alike, so a classifier is as often right about either.
            let share = |damaged| {
                let [right, wrong] =
                    ["wireless", "congestion"].map(|verdict| classified(damaged, "wireless", verdict));
                (wrong / (right + wrong), right + wrong)
            };
            let ((of_damaged, many), (of_lost, few)) = (share(1.0), share(0.0));
            assert!((of_damaged - of_lost).abs() < 5.0 * (0.25 / many + 0.25 / few).sqrt(), "{scheme}");
            if *scheme == "omniscient" {
                assert_eq!((wrong, number(&record, "congestion_misclassified")), (0.0, 0.0));
            }
        }
        // Verdicts have no effect: packets are the same with any classifier.
        assert!(sent.windows(2).all(|pair| pair[0] == pair[1]), "{group:?}: {sent:?}");
    }
}

/// The radio of the paper's wireless backbone with 7.8 % loss: with reports from the packets themselves, the
/// experiment uses the path as well as with the true cause of each loss; CCID 3 uses half of it, with or
/// without reports.
#[test]
fn evidence_on_the_wire_is_worth_as_much_as_the_truth() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let with = |changes: &[(&str, &str)]| {
        let runs = (1..=3).map(|seed| {
            let mut document =
                Document::from_file(root.join("../../examples/scenarios/wb_explicit.toml")).unwrap();
            for (key, value) in changes {
                document.set(key, value).unwrap();
            }
            let record = run(&document.plan().unwrap_or_else(|error| panic!("{error}")), seed);
            let wrong =
                number(&record, "wireless_misclassified") + number(&record, "congestion_misclassified");
            (number(&record, "throughput_bps") / 8e5, wrong)
        });
        runs.fold((0.0, 0.0), |sum, run| (sum.0 + run.0 / 3.0, sum.1 + run.1))
    };
    let lost = [("variables.coverage", "0"), ("variables.ccid", "3"), ("variables.classifier", "omniscient")];
    let (plain, named) = (with(&lost[..2]), with(&lost[1..2]));
    let (explicit, omniscient) = (with(&[]), with(&lost));
    assert!((explicit.0 - omniscient.0).abs() < 0.005, "{explicit:?} {omniscient:?}");
    assert_eq!((explicit.1, omniscient.1), (0.0, 0.0));
    assert!(plain.0 < 0.55 && named.0 < plain.0, "{plain:?} {named:?}");
    // The reaction of the sender differs from the report.
    assert!(plain.1 > 1000.0 && named.1 == 0.0, "{plain:?} {named:?}");
}

#[test]
fn invalid_parameters_are_refused() {
    for (key, value, expected) in [
        (
            "flow.flow.dccp",
            "{ udp_encapsulation = true, checksum_coverage = 1 }",
            "flow[0].dccp.checksum_coverage",
        ),
        ("flow.flow.dccp", "{ checksum_coverage = 16 }", "flow[0].dccp.checksum_coverage"),
        ("flow.flow.dccp", "{ trial = true }", "flow[0].dccp.trial"),
        ("variables.damaged", "1.5", "damaged"),
        ("flow.flow.ccid", "251", "flow[0].ccid"),
    ] {
        let mut document = document(PATH, &[]);
        let error =
            document.set(key, value).and_then(|()| document.plan().map(drop)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
