//! Handovers between cells, and what a modem's notice of them does for a transport.

use whimbrel_lab::Record;

use crate::simulation;
use simulation::simulate;

/// Two cells of an operator.
const CELLS: &str = r#"
[[cell]]
name = "west"
gateway = "operator"
position = [0, 0]
idle = { always_on = true }
radio = { propagation = "macro" }
[[cell]]
name = "east"
gateway = "operator"
position = [500, 0]
idle = { always_on = true }
radio = { propagation = "macro" }
"#;

/// A car that two cells serve, in turns at the given times. Without forwarding, the old cell loses what it
/// holds.
const DRIVE: &str = r#"
[variables]
follows = false
notice = "preparation"
restart = "following"
[simulation]
duration = "20 s"
[[node]]
name = "server"
[[node]]
name = "operator"
gateway = { shadowing = { deviation = "0 dB" }, handover = { by_level = false, forwarding = false, preparation = "60 ms", gap = "100 ms" } }
[[node]]
name = "car"
cell = "west"
mobility = { kind = "waypoints", points = [{ at = "0 s", position = [250, 30] }] }
cell_changes = [{ time = "8 s", to = "east" }, { time = "12 s", to = "west" }, { time = "16 s", to = "east" }]
[[link]]
between = ["server", "operator"]
rate = "1 Gbit/s"
delay = "10 ms"
[[flow]]
name = "f"
from = "server"
to = "car"
transport = "dccp"
payload = "1000 B"
traffic = { kind = "cbr", rate = "3 Mbit/s" }
dccp = { freeze = { restart = "$restart", follows_station = "$follows", cell_notice = "$notice" } }
[record]
interval = "20 ms"
losses = true
"#;

/// The ends of the intervals in which the sender is frozen.
fn frozen(record: &Record) -> Vec<f64> {
    let table = record.table("intervals").unwrap();
    let is_frozen = |row: &usize| table.text("freeze", *row) == Some("frozen");
    (0..table.rows()).filter(is_frozen).map(|row| table.number("time_s", row).unwrap()).collect()
}

/// Data packets that handovers lost, and the longest delay in seconds.
fn cost(record: &Record) -> (usize, f64) {
    let losses = record.table("losses").unwrap();
    let lost = (0..losses.rows()).filter(|row| losses.text("cause", *row) == Some("handover")).count();
    (lost, record.table("flows").unwrap().number("delay_max_s", 0).unwrap())
}

fn drive(from: &str, to: &str, changes: &[(&str, &str)]) -> Record {
    let ends = [("flow.f.from", from), ("flow.f.to", to)];
    simulate(&format!("{DRIVE}{CELLS}"), &[&ends, changes].concat())
}

#[test]
fn a_busy_bearer_goes_on_at_the_end_of_the_gap() {
    let saturated = [
        ("flow.f.transport", "udp"),
        ("flow.f.traffic", r#"{ kind = "cbr", rate = "60 Mbit/s" }"#),
        ("node.operator.gateway.handover.forwarding", "true"),
        ("cell.west.radio.fading", "none"),
        ("cell.east.radio.fading", "none"),
        ("record.packets", "true"),
    ];
    // Without the keys of DCCP.
    let is_own = |line: &&str| {
        !["dccp =", "follows =", "notice =", "restart ="].iter().any(|key| line.starts_with(key))
    };
    let text = DRIVE.lines().filter(is_own).collect::<Vec<_>>().join("\n");
    let record = simulate(&format!("{text}{CELLS}"), &saturated);
    let packets = record.table("packets").unwrap();
    let received = (0..packets.rows()).filter_map(|row| packets.number("received_s", row));
    let mut arrivals: Vec<f64> = received.filter(|at| at.is_finite()).collect();
    arrivals.sort_by(f64::total_cmp);
    let gaps = arrivals.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.05);
    let gaps: Vec<f64> = gaps.collect();
    // The first block of the new cell comes after the gap, or its repetition eight slots later.
    assert_eq!(gaps.len(), 3, "{gaps:?}");
    assert!(gaps.iter().all(|gap| (0.1..0.112).contains(gap)), "{gaps:?}");
}

#[test]
fn a_sender_that_is_frozen_by_its_modem_loses_nothing_in_a_handover() {
    for (from, to) in [("server", "car"), ("car", "server")] {
        let without = drive(from, to, &[]);
        let with = drive(from, to, &[("variables.follows", "true")]);
        assert!(frozen(&without).is_empty());
        let (lost, longest) = cost(&without);
        assert!(lost > 0 && longest > 0.1, "{from}: {lost} {longest}");
        let (lost, longest) = cost(&with);
        assert!(lost == 0 && longest < 0.06, "{from}: {lost} {longest}");
        // From the report until a cell serves, each step later by the way of the notice to the other end.
        let frozen = frozen(&with);
        for command in [8.0, 12.0, 16.0] {
            let own: Vec<f64> = frozen
                .iter()
                .copied()
                .filter(|at| (at - command).abs() < 0.5)
                .map(|at| at - command)
                .collect();
            let (first, last) = (own[0], own[own.len() - 1]);
            let late = if from == "car" { 0.0 } else { 0.04 };
            assert!((-0.061..=-0.02 + late).contains(&first), "{from}: {own:?}");
            assert!((0.079..=0.101 + late).contains(&last), "{from}: {own:?}");
        }
    }
}

#[test]
fn a_notice_of_the_interruption_reaches_the_other_end_after_it() {
    let late = [("variables.follows", "true"), ("variables.notice", "interruption")];
    let down = drive("server", "car", &late);
    assert_eq!(cost(&down), cost(&drive("server", "car", &[])), "nothing is gained");
    assert!(frozen(&down).iter().all(|at| (at % 4.0) > 0.09), "{:?}", frozen(&down));
    let up = drive("car", "server", &late);
    assert!(frozen(&up).iter().all(|at| (at % 4.0) < 0.101), "{:?}", frozen(&up));
}

#[test]
fn careful_resume_begins_anew_after_a_handover() {
    let greedy = ("flow.f.traffic", "{ kind = \"bulk\" }");
    // The least rate allowed in the 0.1 s after the first handover, and before it.
    let rates = |restart: &str| {
        let changes = [("variables.follows", "true"), ("variables.restart", restart), greedy];
        let record = drive("car", "server", &changes);
        let table = record.table("intervals").unwrap();
        let within = |from: f64, to: f64| {
            let rows = (0..table.rows()).filter(|row| {
                let at = table.number("time_s", *row).unwrap();
                at > from && at < to
            });
            rows.map(|row| table.number("allowed_rate_bps", row).unwrap()).fold(f64::MAX, f64::min)
        };
        [within(7.8, 7.9), within(8.101, 8.2)]
    };
    let [before, after] = rates("following");
    assert!(after > 0.9 * before, "{before} {after}");
    let [before, after] = rates("careful-resume");
    assert!(after < 0.6 * before, "{before} {after}");
}

#[test]
fn a_lost_cell_freezes_until_another_serves() {
    let away = r#"{ kind = "waypoints", points = [{ at = "5 s", position = [250, 30] }, { at = "6 s", position = [250, 20000] },
        { at = "10 s", position = [250, 20000] }, { at = "11 s", position = [250, 30] }] }"#;
    let changes =
        [("variables.follows", "true"), ("node.car.mobility", away), ("node.car.cell_changes", "[]")];
    let record = drive("car", "server", &changes);
    let changes = record.table("cell_changes").unwrap();
    assert_eq!((changes.rows(), changes.text("kind", 0)), (1, Some("failure")));
    let [start, end] = ["time_s", "until_s"].map(|name| changes.number(name, 0).unwrap());
    let frozen = frozen(&record);
    let (first, last) = (frozen[0], frozen[frozen.len() - 1]);
    assert!((start..start + 0.021).contains(&first), "{start} {first}");
    assert!((end - 0.021..end + 0.001).contains(&last), "{end} {last}");
}

/// A phone with a modem and a fixed line sends over both; the modem's cell changes at 8 s.
const TWO_PATHS: &str = r#"
[variables]
follows = false
[simulation]
duration = "14 s"
[record]
packets = true
[[node]]
name = "phone"
[[node]]
name = "modem"
cell = "west"
position = [250, 30]
cell_changes = [{ time = "8 s", to = "east" }]
[[node]]
name = "operator"
gateway = { shadowing = { deviation = "0 dB" }, handover = { by_level = false, forwarding = false, preparation = "60 ms", gap = "1 s" } }
[[node]]
name = "server"
[[link]]
name = "usb"
between = ["phone", "modem"]
rate = "480 Mbit/s"
[[link]]
name = "core"
between = ["server", "operator"]
rate = "1 Gbit/s"
delay = "5 ms"
[[node]]
name = "exchange"
[[link]]
name = "line"
between = ["phone", "exchange"]
rate = "10 Mbit/s"
delay = "60 ms"
[[link]]
name = "fibre"
between = ["exchange", "server"]
rate = "1 Gbit/s"
[[route]]
at = "phone"
to = "server"
via = ["usb", "line"]
by = "sender"
[[route]]
at = "server"
to = "phone"
via = ["core", "fibre"]
by = "sender"
[[flow]]
name = "f"
from = "server"
to = "phone"
transport = "mp-dccp"
payload = "1000 B"
traffic = { kind = "cbr", rate = "400 kbit/s" }
multipath = { follows_station = "$follows" }
"#;

/// Datagrams that never arrived, and the longest time without one.
fn missing(follows: &str, from: &str, to: &str) -> (usize, f64) {
    let changes = [("variables.follows", follows), ("flow.f.from", from), ("flow.f.to", to)];
    let record = simulate(&format!("{TWO_PATHS}{CELLS}"), &changes);
    let packets = record.table("packets").unwrap();
    let of =
        |fate: &'static str| (0..packets.rows()).filter(move |row| packets.text("fate", *row) == Some(fate));
    let mut arrivals: Vec<f64> =
        of("received").map(|row| packets.number("received_s", row).unwrap()).collect();
    arrivals.sort_by(f64::total_cmp);
    let longest = arrivals.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    let tags = of("received").map(|row| packets.number("tag", row).unwrap() as u64);
    let tags: std::collections::BTreeSet<u64> = tags.collect();
    let span = tags.last().unwrap() - tags.first().unwrap() + 1;
    (span as usize - tags.len(), longest)
}

#[test]
fn a_path_without_a_cell_carries_nothing_until_one_serves() {
    for (from, to) in [("server", "phone"), ("phone", "server")] {
        // Datagrams of a path that has timed out go over the other one.
        let (lost, longest) = missing("false", from, to);
        assert!(lost == 0 && longest > 0.2, "{from}: {lost} {longest}");
        // The line is longer by 50 ms, and its sender is in slow start.
        let (lost, longest) = missing("true", from, to);
        assert!(lost == 0 && longest < 0.12, "{from}: {lost} {longest}");
    }
}

/// A download, and with ECN marks, behind a bearer's queue.
const BEARER: &str = r#"
[variables]
discipline = { kind = "droptail" }
[simulation]
duration = "12 s"
warm_up = "4 s"
[record]
losses = true
[[node]]
name = "server"
[[node]]
name = "operator"
gateway = { shadowing = { deviation = "0 dB" } }
[[node]]
name = "phone"
cell = "west"
position = [250, 30]
[[cell]]
name = "west"
gateway = "operator"
position = [0, 0]
bandwidth = "3 MHz"
idle = { always_on = true }
radio = { propagation = "macro", fading = "none" }
queue = { discipline = "$discipline" }
[[link]]
between = ["server", "operator"]
rate = "1 Gbit/s"
delay = "10 ms"
[[flow]]
name = "bulk"
from = "server"
to = "phone"
transport = "tcp"
tcp = { preset = "linux", ecn = true }
[[flow]]
name = "call"
from = "server"
to = "phone"
transport = "udp"
payload = "160 B"
traffic = { kind = "cbr", rate = "64 kbit/s" }
"#;

#[test]
fn a_bearer_has_the_disciplines_of_links() {
    let value = |record: &Record, column: &str, row: usize| {
        record.table("flows").unwrap().number(column, row).unwrap_or(f64::NAN)
    };
    let of = |discipline: &str| simulate(BEARER, &[("variables.discipline", discipline)]);
    let droptail = of(r#"{ kind = "droptail" }"#);
    let full = value(&droptail, "goodput_bps", 0);
    let queued = value(&droptail, "delay_p50_s", 1);
    assert!(queued > 0.15, "{queued}");
    // A bearer is served in blocks of a millisecond, and their repetitions come 8 ms later.
    for (discipline, marks, most) in [
        (r#"{ kind = "codel" }"#, false, 0.08),
        (r#"{ kind = "codel", ecn = true }"#, true, 0.08),
        (r#"{ kind = "pie", ecn = true }"#, true, 0.08),
        (r#"{ kind = "fq-codel" }"#, true, 0.03),
    ] {
        let record = of(discipline);
        let (goodput, delay) = (value(&record, "goodput_bps", 0), value(&record, "delay_p50_s", 1));
        assert!(goodput > 0.7 * full && delay < most, "{discipline}: {goodput} of {full}, {delay}");
        let marked = value(&record, "marked_packets", 0);
        assert_eq!(marked > 0.0, marks, "{discipline}: {marked}");
    }
}
