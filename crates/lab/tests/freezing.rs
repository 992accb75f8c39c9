//! Handovers, simulated: losses avoided, rates restored and capacity found by freezing (`papers/freeze`,
//! Section 4).

use whimbrel_lab::Record;
use whimbrel_lab::record::Table;

use crate::simulation;
use simulation::{document, number, simulate};

/// A greedy stream over a link that becomes another network after a minute.
const HANDOVER: &str = r#"
[variables]
rate = "6 Mbit/s"
[simulation]
duration = "80 s"
[[node]]
name = "server"
[[node]]
name = "phone"
[[link]]
name = "access"
between = ["server", "phone"]
rate = "2 Mbit/s"
delay = "25 ms"
queue = "25 packets"
[[flow]]
name = "stream"
from = "server"
to = "phone"
transport = "dccp"
payload = "1000 B"
# The handovers are at phases of the loss events, which another start would move.
dccp = { initial_window = "rfc3390", freeze = {} }
[[handover]]
time = "60 s"
link = "access"
duration = "3 s"
rate = "$rate"
freeze = { flows = ["stream"], lead = "200 ms", lag = "0.1 ms" }
[record]
interval = "50 ms"
"#;

/// Without a warning, and without the freeze feature.
const UNAWARE: &[(&str, &str)] =
    &[("handover[0].freeze.flows", "[]"), ("flow[0].dccp", "{ initial_window = 'rfc3390' }")];

fn intervals(record: &Record) -> &Table {
    record.table("intervals").expect("intervals")
}

/// The mean of a column from one time to another.
fn mean(record: &Record, column: &str, from: f64, to: f64) -> f64 {
    let table = intervals(record);
    let rows: Vec<f64> = (0..table.rows())
        .filter(|row| table.number("time_s", *row).is_some_and(|at| at > from && at <= to))
        .map(|row| table.number(column, row).unwrap())
        .collect();
    rows.iter().sum::<f64>() / rows.len() as f64
}

fn states(record: &Record) -> Vec<&str> {
    let table = intervals(record);
    let mut states: Vec<&str> = (0..table.rows()).filter_map(|row| table.text("freeze", row)).collect();
    states.dedup();
    states
}

/// Mbit/s from one time to another.
fn goodput(record: &Record, from: f64, to: f64) -> f64 {
    mean(record, "goodput_bps", from, to) / 1e6
}

#[test]
fn a_frozen_stream_loses_nothing_and_is_back_within_two_round_trip_times() {
    let same = ("variables.rate", "2 Mbit/s");
    let frozen = simulate(HANDOVER, &[same]);
    let unaware = simulate(HANDOVER, &[UNAWARE, &[same]].concat());
    assert_eq!(number(&frozen, "lost_down"), 0.0);
    assert!(number(&unaware, "lost_down") > 100.0);
    let before = goodput(&frozen, 50.0, 59.5);
    // R is about 0.1 s with a queue, half of that without.
    assert!(goodput(&frozen, 63.2, 63.5) > 0.9 * before);
    assert!(goodput(&unaware, 63.2, 63.5) < 0.1 * before, "the sender has not detected it yet");
    assert_eq!(states(&frozen), ["", "normal", "frozen", "restoring", "probing", "normal"]);
    // A freeze changes nothing in the long run.
    assert!(goodput(&frozen, 70.0, 80.0) > 0.97 * before);
}

#[test]
fn probing_by_the_receive_rate_finds_a_larger_capacity_within_a_second() {
    let following = simulate(HANDOVER, &[("flow[0].dccp.freeze.restart", "following")]);
    let unaware = simulate(HANDOVER, UNAWARE);
    assert!(goodput(&following, 64.0, 65.0) > 0.9 * 6.0, "{}", goodput(&following, 64.0, 65.0));
    // The loss of the outage leaves it with the old path's rate, from which it grows with congestion
    // avoidance.
    assert!(goodput(&unaware, 64.0, 65.0) < 0.6 * 6.0, "{}", goodput(&unaware, 64.0, 65.0));
    assert_eq!(states(&following), ["", "normal", "frozen", "restoring", "probing", "settling", "normal"]);
    // The history fits the rate found: what follows is no slow start.
    assert!(goodput(&following, 65.0, 80.0) > 0.9 * 6.0);
}

/// A greedy stream with a warning of a handover between two measured networks, without round-trip times on
/// the wire (RFC 6323).
const NETWORKS: &str = r#"
[variables]
old = "802.16"
new = "802.11g"
[simulation]
duration = "138 s"
[[node]]
name = "server"
[[node]]
name = "phone"
[[link]]
name = "access"
between = ["server", "phone"]
network = "$old"
[[flow]]
name = "stream"
from = "server"
to = "phone"
transport = "dccp"
payload = "500 B"
dccp = { rtt_estimate = false, sequence_window = 100000, freeze = { restart = "following" } }
[[handover]]
time = "120 s"
link = "access"
duration = "3 s"
to = "$new"
freeze = { flows = ["stream"], lead = "200 ms", lag = "0.1 ms" }
[record]
interval = "100 ms"
"#;

#[test]
fn the_receive_rate_finds_the_capacity_whatever_the_round_trip_time_was_before() {
    // From 170 to 40 ms the receiver would measure over too long a time, and from 40 to 170 ms synthesise a
    // history for too short a one. 500 of 536 bytes are data.
    for (old, new, capacity) in [("802.16", "802.11g", 54.0), ("802.11g", "802.16", 9.5)] {
        let [from, to] = [old, new].map(|name| format!("\"{name}\""));
        let record = simulate(NETWORKS, &[("variables.old", &from), ("variables.new", &to)]);
        let found = goodput(&record, 126.0, 138.0);
        assert!(found > 0.85 * capacity * 500.0 / 536.0, "{old} to {new}: {found} Mbit/s");
    }
}

#[test]
fn probing_by_p_works_where_p_is_falling_and_ends_at_once_where_a_recent_loss_holds_it_still() {
    let handover_at = |at: f64| simulate(HANDOVER, &[("handover[0].time", &format!("{at} s"))]);
    let p = |record: &Record, at: f64| mean(record, "loss_event_rate", at, at + 0.06);
    // A loss event takes about two seconds of this stream; S0 < S1 (equation 8) for about the first of them.
    let still = handover_at(60.4);
    assert_eq!(p(&still, 60.0), p(&still, 60.1));
    assert!(goodput(&still, 64.4, 65.4) < 0.7 * 6.0, "{}", goodput(&still, 64.4, 65.4));
    let falling = handover_at(57.0);
    assert!(p(&falling, 56.7) < p(&falling, 56.5));
    assert!(goodput(&falling, 61.0, 62.0) > 0.9 * 6.0, "{}", goodput(&falling, 61.0, 62.0));
    assert!(states(&falling).contains(&"probing") && !states(&falling).contains(&"settling"));
}

#[test]
fn a_narrower_network_gets_its_capacity() {
    let narrow = ("variables.rate", "500 kbit/s");
    for restart in ["loss-rate", "following", "careful-resume"] {
        let record = simulate(HANDOVER, &[narrow, ("flow[0].dccp.freeze.restart", restart)]);
        assert_eq!(number(&record, "lost_down"), 0.0);
        assert!(goodput(&record, 63.2, 63.7) > 0.8 * 0.5, "{restart}");
        assert!(goodput(&record, 70.0, 80.0) > 0.9 * 0.5, "{restart}");
    }
    // A cap on the restored rate avoids the losses of the first second.
    let lost = |changes: &[(&str, &str)]| {
        let record = simulate(HANDOVER, &[&[narrow], changes].concat());
        mean(&record, "lost_queue", 63.0, 64.0) * 20.0
    };
    let (free, capped) = (lost(&[]), lost(&[("flow[0].dccp.freeze.restore_share", "0.25")]));
    assert!(free > 50.0 && capped < 0.5 * free, "{free} {capped}");
}

#[test]
fn an_outage_without_warning_is_undone_by_the_first_answer_of_the_receiver() {
    let same = ("variables.rate", "2 Mbit/s");
    let no_warning = ("handover[0].freeze.flows", "[]");
    let silence = simulate(HANDOVER, &[same, no_warning, ("flow[0].dccp.freeze.silence_in_rtt", "5")]);
    let unaware = simulate(HANDOVER, &[UNAWARE, &[same]].concat());
    // Packets sent into the gap are lost. Its end is detected by a Sync, at most 3 s/32 and a round-trip time
    // later, and then the rate is what it was.
    assert!(number(&silence, "lost_down") > 100.0);
    assert!(goodput(&silence, 63.2, 63.7) > 0.8 * 1.9, "{}", goodput(&silence, 63.2, 63.7));
    // Without that, the outage is one loss event, and the first report of the receiver after it counts, for
    // which a packet must be answered: they leave as seldom as half the length of the outage.
    assert!(goodput(&unaware, 63.0, 63.5) < 0.1);
    assert!(goodput(&unaware, 64.5, 65.0) > 0.8 * 1.9, "{}", goodput(&unaware, 64.5, 65.0));
}

#[test]
fn the_receiver_can_freeze_the_sender() {
    let changes = [
        ("variables.rate", "2 Mbit/s"),
        ("handover[0].freeze.at", "receiver"),
        ("handover[0].freeze.scope", "both"),
        ("handover[0].freeze.lead", "300 ms"),
    ];
    let record = simulate(HANDOVER, &changes);
    assert_eq!(number(&record, "lost_down"), 0.0);
    assert!(goodput(&record, 63.3, 63.6) > 0.9 * 1.9);
    // A sender that never agreed is not frozen.
    let deaf = simulate(HANDOVER, &[&changes[..], &[("flow[0].dccp.freeze.agreed", "false")]].concat());
    assert!(number(&deaf, "lost_down") > 100.0);
}

#[test]
fn events_for_flows_act_like_a_handover() {
    let events = r#"[
        { time = "10 s", flow = "stream", do = "freeze" },
        { time = "12 s", flow = "stream", do = "unfreeze" },
        { time = "20 s", flow = "stream", do = "probe" },
    ]"#;
    let toml = document(HANDOVER, &[("handover", "[]"), ("event", &events.replace('\n', " "))]);
    let record = whimbrel_lab::run(&toml.plan().unwrap_or_else(|error| panic!("{error}")), 1);
    assert_eq!(goodput(&record, 10.2, 12.0), 0.0);
    assert!(goodput(&record, 12.3, 13.0) > 1.7);
    assert_eq!(number(&record, "lost_down"), 0.0);
    assert!(states(&record).starts_with(&["", "normal", "frozen", "restoring"]), "{:?}", states(&record));
}

#[test]
fn mistakes_are_named() {
    for (key, value, expected) in [
        (
            "handover[0].freeze.flows",
            "[\"video\"]",
            "handover[0].freeze.flows[0] = \"video\": expected the name of a flow",
        ),
        ("event", "[{ time = \"1 s\", flow = \"stream\" }]", "event[0].do"),
        ("event", "[{ time = \"1 s\", do = \"freeze\" }]", "event[0].flow"),
        ("event", "[{ time = \"1 s\", flow = \"stream\", do = \"probe\", up = true }]", "event[0].up"),
        ("event", "[{ time = \"1 s\", up = true }]", "event[0].link"),
        ("flow[0].dccp.freeze.restart", "later", "flow[0].dccp.freeze.restart"),
        ("flow[0].dccp.freeze.remote_limit", "0 s", "flow[0].dccp.freeze.remote_limit"),
        ("flow[0].dccp.freeze", "{ silence = \"1 s\", silence_in_rtt = 4 }", "flow[0].dccp.freeze.silence"),
    ] {
        let error = document(HANDOVER, &[(key, value)]).plan().expect_err(key).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
