//! Receivers that wait for reordered packets, in scenarios.

use crate::simulation;
use simulation::{document, number, simulate};
use whimbrel_lab::run;

/// One packet in twenty arrives 30 to 70 ms late, over 1 Mbit/s and a round-trip time of 100 ms. A loss
/// remains a loss when the packet arrives after all, which RFC 5348 allows to withdraw.
const PATH: &str = concat!(
    over_netem!(
        r#"
delay = "25 ms"
"#,
        r#"
delay = "25 ms"
netem = { delay = "50 ms", jitter = "20 ms", reorder = "95 %" }
reverse = { netem = { delay = "0 ms" } }
"#
    ),
    r#"
[simulation]
duration = "100 s"
warm_up = "10 s"
[[flow]]
name = "flow"
from = "a"
to = "c"
transport = "dccp"
payload = "1000 B"
dccp = { forgive_late = false }
"#
);

const WAITING: (&str, &str) = ("flow.flow.dccp.reorder_delay", r#""80 ms""#);
const RACK: (&str, &str) = ("flow.flow.dccp.loss_detection", r#""rack""#);

fn numbers<const N: usize>(changes: &[(&str, &str)], columns: [&str; N]) -> [f64; N] {
    let record = simulate(PATH, changes);
    columns.map(|column| number(&record, column))
}

#[test]
fn waiting_keeps_late_packets_from_lowering_the_rate() {
    for ccid in ["3", "4"] {
        let ccid = ("flow.flow.ccid", ccid);
        let [harmed, p] = numbers(&[ccid], ["throughput_bps", "loss_event_rate_mean"]);
        assert!(p > 0.02, "CCID {ccid:?}: {p}");
        let columns = ["throughput_bps", "lost_queue", "given_up_packets", "late_packets", "held_packets"];
        let [spared, lost, given_up, late, held] = numbers(&[ccid, WAITING], columns);
        assert!(spared > 1.3 * harmed, "CCID {ccid:?}: {spared} against {harmed} bit/s");
        // Nothing arrives later than 70 ms: the packets given up are those lost.
        assert_eq!((given_up, late), (lost, 0.0), "CCID {ccid:?}");
        assert!(held > 1000.0, "CCID {ccid:?}: {held}");
    }
}

/// CCID 2 learns from Ack Vectors which packets were only late.
#[test]
fn late_packets_do_not_reduce_the_window_of_ccid_2() {
    let ccid = ("flow.flow.ccid", "2");
    let [spared, lost] = numbers(&[ccid], ["throughput_bps", "lost_queue"]);
    let in_order = ("link.netem.netem.reorder", r#""100 %""#);
    let [ordered, _] = numbers(&[ccid, in_order], ["throughput_bps", "lost_queue"]);
    assert!(spared > 0.9 * ordered, "{spared} against {ordered} bit/s, {lost} lost");
}

#[test]
fn the_feedback_measures_the_path_without_the_wait() {
    // The path is hardly used, so that its round-trip time and its rate are known.
    let traffic = ("flow.flow.traffic", r#"{ kind = "cbr", rate = "400 kbit/s" }"#);
    let columns = ["rtt_mean_s", "throughput_bps", "loss_event_rate_mean"];
    let [rtt, rate, p] = numbers(&[traffic, WAITING], columns);
    // 50 ms in each direction, 8.2 ms to send 1028 bytes at 1 Mbit/s, and a fraction of that for the
    // feedback: no wait.
    assert!((0.108..0.111).contains(&rtt), "{rtt}");
    assert_eq!(p, 0.0);
    assert!((rate - 400e3).abs() < 4e3, "{rate}");
}

#[test]
fn the_application_gets_packets_in_order() {
    let document = document(PATH, &[("record.packets", "true"), ("simulation.duration", "30 s"), WAITING]);
    let record = run(&document.plan().unwrap(), 1);
    let rows = record.table("packets").unwrap();
    let received: Vec<usize> =
        (0..rows.rows()).filter(|row| rows.text("fate", *row) == Some("received")).collect();
    assert!(received.len() > 1000);
    let column = |name: &'static str| received.iter().map(move |row| rows.number(name, *row).unwrap());
    assert!(column("tag").is_sorted_by(|one, next| one < next));
    assert!(column("received_s").is_sorted());
}

#[test]
fn a_short_reorder_delay_gives_up_packets_that_arrive_later() {
    let short = ("flow.flow.dccp.reorder_delay", r#""20 ms""#);
    let columns = ["given_up_packets", "late_packets", "lost_queue", "reordered_packets"];
    let [given_up, late, lost, reordered] = numbers(&[short], columns);
    assert_eq!(lost, 0.0);
    // The last one given up may still be in transit when the simulation ends.
    assert!((0.0..=1.0).contains(&(given_up - late)), "{given_up} given up, {late} came");
    // Late is late by 30 to 70 ms. At 416 kbit/s a packet follows in 20 ms, which waits as long: three
    // quarters come later.
    let share = late / reordered;
    assert!((0.6..0.85).contains(&share), "{late} of {reordered}");
}

#[test]
fn a_small_buffer_is_no_better_than_three_packets() {
    // "2 packets": the third behind a missing one has it given up, as NDUPACK does.
    let columns = ["throughput_bps", "loss_event_rate_mean"];
    let [by_packets, p_by_packets] = numbers(&[], columns);
    let two = ("flow.flow.dccp.reorder_size", r#""2 packets""#);
    let [by_size, p_by_size] = numbers(&[WAITING, two], columns);
    assert!((by_size / by_packets - 1.0).abs() < 0.02, "{by_size} {by_packets} bit/s");
    assert!((p_by_size / p_by_packets - 1.0).abs() < 0.03, "{p_by_size} {p_by_packets}");
}

#[test]
fn rack_delays_the_classification_and_not_the_data() {
    let columns = ["throughput_bps", "loss_event_rate_mean", "late_packets", "reordered_packets"];
    let [by_packets, p_by_packets, ..] = numbers(&[], ["throughput_bps", "loss_event_rate_mean"]);
    let [by_rack, p_by_rack, late, reordered] = numbers(&[RACK], columns);
    assert!(by_rack > 1.8 * by_packets, "{by_rack} {by_packets} bit/s");
    assert!(p_by_rack < 0.1 * p_by_packets, "{p_by_rack} {p_by_packets}");
    assert!(late == 0.0 && reordered > 100.0, "the application gets them as they come: {reordered}");
}

#[test]
fn a_flow_without_a_reorder_buffer_is_unchanged() {
    let record = simulate(PATH, &[]);
    assert!(record.table("flows").unwrap().number("held_packets", 0).is_none());
}

#[test]
fn invalid_parameters_are_refused() {
    for (key, value, expected) in [
        ("reorder_delay", r#""0 s""#, "more than 0"),
        ("reorder_delay", r#""2 min""#, "at most a minute"),
        ("reorder_size", r#""0 packets""#, "a number of packets"),
        ("reorder_size", r#""12""#, "a number of packets"),
        ("loss_detection", r#""tlp""#, "rack"),
    ] {
        let mut changed = document(PATH, &[WAITING]);
        let refused = changed
            .set(&format!("flow.flow.dccp.{key}"), value)
            .map_err(|error| error.to_string())
            .and_then(|()| changed.plan().map(|_| ()).map_err(|error| error.to_string()));
        let error = refused.expect_err(key);
        assert!(error.contains(expected) && error.contains(key), "{key}: {error}");
    }
}

#[test]
fn the_record_names_the_delay_that_would_have_been_long_enough() {
    let [p50, p99, max] = numbers(&[WAITING], ["lateness_p50_s", "lateness_p99_s", "lateness_max_s"]);
    // Late by 30 to 70 ms, counted from the packet that overtook, which came up to a packet's spacing after
    // the hole's place.
    assert!((0.02..0.06).contains(&p50) && p50 < p99 && p99 <= max, "{p50} {p99} {max}");
    let [late] = numbers(
        &[WAITING, ("flow.flow.dccp.reorder_delay", &format!("{:?}", format!("{max} s")))],
        ["late_packets"],
    );
    assert_eq!(late, 0.0, "a D_max of the longest late time keeps everything");
}

#[test]
fn an_adaptive_bound_loses_nothing_and_waits_less_for_what_is_lost() {
    let adaptive = [
        ("flow.flow.dccp.reorder_delay", r#""500 ms""#),
        ("flow.flow.dccp.reorder_adapts", "true"),
        ("flow.flow.traffic", r#"{ kind = "cbr", rate = "400 kbit/s" }"#),
        ("link.netem.loss", r#"{ model = "bernoulli", rate = 0.01 }"#),
    ];
    let columns = ["late_packets", "delay_p99_s"];
    let [late, p99] = numbers(&adaptive, columns);
    let mut fixed = adaptive;
    fixed[1].1 = "false";
    let [_, p99_fixed] = numbers(&fixed, columns);
    assert!(late <= 2.0, "{late}");
    assert!(p99 < 0.25 && p99_fixed > 0.4, "{p99} s against {p99_fixed} s");
}

/// 2,000 small packets per second, of which one in twenty overtakes 120 others: the sender measures the
/// round-trip times of the fast ones, and a Sequence Window based on them refuses the others.
#[test]
fn small_packets_that_many_overtake_stay_in_the_sequence_window() {
    let toml = r#"
        [simulation]
        duration = "8 s"
        [[node]]
        name = "camera"
        [[node]]
        name = "viewer"
        [[link]]
        name = "radio"
        between = ["camera", "viewer"]
        rate = "6 Mbit/s"
        delay = "5 ms"
        netem = { delay = "60 ms", reorder = "5 %" }
        queue = "200 packets"
        [[flow]]
        name = "telemetry"
        from = "camera"
        to = "viewer"
        transport = "dccp"
        ccid = 3
        payload = "100 B"
        traffic = { kind = "cbr", rate = "1.6 Mbit/s" }
    "#;
    let [refused, goodput] = ["lost_other", "goodput_bps"].map(|column| number(&simulate(toml, &[]), column));
    assert!(refused < 80.0, "{refused} packets were refused");
    // 1.15 Mbit/s without reordering, and 0.45 with a window for the round-trip time of the fast packets.
    assert!(goodput > 0.9e6, "{goodput} bit/s");
}
