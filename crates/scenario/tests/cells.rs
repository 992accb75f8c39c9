//! Keys of cells and of their terminals.

use serde_json::{Value, json};
use whimbrel_cell::Numerology;
use whimbrel_cell::duplex::Duplex;
use whimbrel_cell::handover::CellIndex;
use whimbrel_lab::record::Record;
use whimbrel_lab::run;

use super::wifi::changed;

const ROAD: &str = r#"
[simulation]
duration = "40 s"
[[node]]
name = "server"
[[node]]
name = "operator"
gateway = { shadowing = { deviation = "0 dB" }, handover = { filter = 0 } }
[[node]]
name = "car"
cell = "west"
mobility = { kind = "waypoints", points = [
    { at = "0 s", position = [0, 30] },
    { at = "60 s", position = [1000, 30] },
] }
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
[[link]]
between = ["server", "operator"]
rate = "1 Gbit/s"
delay = "10 ms"
[[flow]]
name = "down"
from = "server"
to = "car"
transport = "udp"
payload = "1000 B"
traffic = { kind = "cbr", rate = "1 Mbit/s" }
[[flow]]
name = "up"
from = "car"
to = "server"
transport = "udp"
payload = "200 B"
traffic = { kind = "cbr", rate = "64 kbit/s" }
[record]
losses = true
"#;

fn road(changes: &[(&str, Value)]) -> Record {
    run(&changed(ROAD, changes).unwrap(), 1)
}

fn mistake(changes: &[(&str, Value)]) -> String {
    changed(ROAD, changes).expect_err("a mistake").to_string()
}

fn notes(record: &Record) -> Vec<String> {
    let Some(table) = record.table("notes") else { return Vec::new() };
    (0..table.rows()).map(|row| table.text("note", row).unwrap().to_owned()).collect()
}

fn column(record: &Record, table: &str, name: &str) -> Vec<f64> {
    let table = record.table(table).unwrap();
    (0..table.rows()).map(|row| table.number(name, row).unwrap()).collect()
}

#[test]
fn a_drive_is_handed_over_and_a_note_says_so() {
    let record = road(&[]);
    // The report at 16.656 s, 52 ms of preparation, a gap of 34 ms.
    assert_eq!(column(&record, "cell_changes", "time_s"), [16.708]);
    assert_eq!(column(&record, "cell_changes", "until_s"), [16.742]);
    let sentence = "no data from 16.708 s to 16.742 s: handover from west to east";
    assert!(notes(&record).iter().any(|note| note == sentence), "{:?}", notes(&record));
    let [sent, received] = ["sent_packets", "received_packets"].map(|name| column(&record, "flows", name));
    assert!(sent[0] > 4_800.0 && sent[0] - received[0] < 4.0, "{sent:?} {received:?}");
    assert!(sent[1] > 1_400.0 && sent[1] - received[1] < 4.0, "{sent:?} {received:?}");
    let delay = column(&record, "flows", "delay_max_s");
    assert!(delay[0] > 0.044 && delay[0] < 0.080, "{delay:?}");
    assert_eq!(record.table("cells").unwrap().rows(), 2);
    // The same bytes for the same seed.
    assert_eq!(format!("{record:?}"), format!("{:?}", road(&[])));
}

#[test]
fn changes_at_given_times_need_no_levels() {
    let plan = [
        ("node[1].gateway.handover.by_level", json!(false)),
        ("node[2].cell_changes", json!([{ "time": "10 s", "to": "east" }, { "time": "20 s", "to": "east" }])),
    ];
    let record = road(&plan);
    assert_eq!(column(&record, "cell_changes", "time_s"), [10.0]);
    let said = notes(&record);
    assert!(said.iter().any(|note| note.contains("did not take place: east serves already")), "{said:?}");
}

#[test]
fn without_forwarding_packets_are_lost_by_the_handover() {
    let record = road(&[
        ("node[1].gateway.handover.forwarding", json!(false)),
        ("cell[0].load", json!("99 %")),
        ("flow.down.traffic.rate", json!("20 Mbit/s")),
        ("simulation.duration", json!("18 s")),
    ]);
    let losses = record.table("losses").unwrap();
    let causes: Vec<&str> = (0..losses.rows()).map(|row| losses.text("cause", row).unwrap()).collect();
    assert!(causes.contains(&"handover"), "{} losses", causes.len());
}

#[test]
fn a_terminal_beyond_all_cells_runs_and_says_so() {
    let far = json!({ "kind": "waypoints", "points": [{ "at": "0 s", "position": [90_000, 0] }] });
    let record = road(&[("node[2].mobility", far)]);
    let said = notes(&record);
    assert!(said.iter().any(|note| note.contains("to the end: the link to west was lost")), "{said:?}");
    assert_eq!(column(&record, "flows", "received_packets"), [0.0, 0.0]);
}

#[test]
fn presets_have_their_carriers() {
    let plan = |preset: &str| {
        let changes = ["cell[0].preset", "cell[1].preset"].map(|key| (key, json!(preset)));
        changed(ROAD, &changes).unwrap().cellular.remove(0)
    };
    let seen = |preset: &str| {
        let site = plan(preset).config.sites.remove(0);
        (site.cell.numerology, site.cell.groups.blocks.0, site.cell.duplex == Duplex::Frequency)
    };
    assert_eq!(seen("lte"), (Numerology::KHZ_15, 50, true));
    assert_eq!(seen("nr"), (Numerology::KHZ_15, 106, true));
    assert_eq!(seen("nr-fr1-tdd"), (Numerology::KHZ_30, 106, false));
    assert_eq!(plan("nr").terminals[0].config.cell, CellIndex(0));
    for preset in ["nr", "nr-fr1-tdd"] {
        let record = road(&["cell[0].preset", "cell[1].preset"].map(|key| (key, json!(preset))));
        let received = column(&record, "flows", "received_packets");
        assert!(received[0] > 4_855.0 && received[1] > 1_395.0, "{preset}: {received:?}");
    }
}

#[test]
fn each_key_changes_what_a_run_does() {
    let usual = format!("{:?}", road(&[("simulation.duration", json!("18 s"))]));
    for (key, value) in [
        ("cell[0].carrier", json!("1.8 GHz")),
        ("cell[0].bandwidth", json!("1.4 MHz")),
        ("cell[0].scheduler", json!("round-robin")),
        ("cell[0].amc", json!("ns-3")),
        ("cell[0].radio.power", json!("20 dBm")),
        ("cell[0].radio.gain", json!("0 dB")),
        ("cell[0].radio.noise_figure", json!("40 dB")),
        ("cell[0].radio.penetration", json!("60 dB")),
        ("cell[0].radio.propagation", json!("rma")),
        ("cell[0].radio.fading", json!("none")),
        ("cell[0].queue", json!({ "limit": "1500 B" })),
        ("cell[0].queue", json!({ "discard": "3 ms" })),
        ("cell[0].transmissions", json!(1)),
        ("cell[0].sr_period", json!("80 ms")),
        ("cell[0].configured_grant", json!({ "period": "5 ms", "size": "300 B" })),
        ("cell[0].idle", json!({})),
        ("cell[0].idle", json!({ "promotion": "500 ms" })),
        ("cell[0].load", json!("95 %")),
        ("cell[0].background", json!({ "users": 10, "rate": "4 Mbit/s" })),
        ("node[1].gateway.shadowing.deviation", json!("8 dB")),
        ("node[1].gateway.handover.hysteresis", json!("1 dB")),
        ("node[1].gateway.handover.time_to_trigger", json!("640 ms")),
        ("node[1].gateway.handover.period", json!("480 ms")),
        ("node[1].gateway.handover.filter", json!(8)),
        ("node[1].gateway.handover.preparation", json!("130 ms")),
        ("node[1].gateway.handover.gap", json!("300 ms")),
        ("node[1].gateway.least_speed", json!("50 m/s")),
        ("node[1].gateway.reports.delay", json!("40 ms")),
        ("node[1].gateway.reports.error", json!("6 dB")),
    ] {
        let record = road(&[("simulation.duration", json!("18 s")), (key, value.clone())]);
        assert!(format!("{record:?}") != usual, "{key} = {value} changes nothing");
    }
}

/// Keys with an effect only together with others: on blocks that fail for good, users, silence, a lost link.
#[test]
fn each_further_key_changes_what_a_run_does() {
    let once = vec![("cell[0].transmissions", json!(1))];
    let users = vec![("cell[0].background", json!({ "users": 10, "rate": "4 Mbit/s" }))];
    let wide = vec![("cell[0].preset", json!("nr-fr1-tdd")), ("cell[0].bandwidth", json!("20 MHz"))];
    let silent = vec![
        ("cell[0].idle", json!({})),
        ("flow[0].traffic.rate", json!("4 kbit/s")),
        ("flow[1].start", json!("17 s")),
    ];
    let away = vec![(
        "node[2].mobility.points",
        json!([{ "at": "4 s", "position": [0, 30] }, { "at": "6 s", "position": [0, 20000] },
            { "at": "10 s", "position": [0, 20000] }, { "at": "12 s", "position": [0, 30] }]),
    )];
    for (base, keys) in [
        (
            once,
            vec![
                ("cell[0].rlc.mode", json!("um")),
                ("cell[0].rlc.reassembly", json!("10 ms")),
                ("cell[0].rlc.status_prohibit", json!("90 ms")),
                ("cell[0].rlc.poll_retransmit", json!("15 ms")),
            ],
        ),
        (
            users,
            vec![
                ("cell[0].pf_time", json!(10)),
                ("cell[0].background.size", json!("20 kB")),
                ("cell[0].background.radius", json!("1 km")),
            ],
        ),
        (
            wide,
            vec![
                ("cell[0].pattern", json!("DDDDDDDSUU")),
                ("cell[0].layers", json!(1)),
                ("cell[0].subcarrier_spacing", json!("60 kHz")),
            ],
        ),
        (
            silent,
            vec![
                ("cell[0].idle.cycle", json!("1280 ms")),
                ("cell[0].idle.on", json!("100 ms")),
                ("cell[0].idle.sleep_after", json!("4 s")),
                ("cell[0].idle.release_after", json!("1 s")),
                ("cell[0].idle.paging", json!("640 ms")),
            ],
        ),
        (
            away,
            vec![
                ("node[1].gateway.failure.n310", json!(40)),
                ("node[1].gateway.failure.t310", json!("100 ms")),
                ("node[1].gateway.failure.reestablishment", json!("1500 ms")),
            ],
        ),
        (
            vec![("node[1].gateway.shadowing.deviation", json!("8 dB"))],
            vec![("node[1].gateway.shadowing.distance", json!("10 m"))],
        ),
        (
            vec![("cell[0].radio.propagation", json!("uma"))],
            vec![("cell[0].radio.sight", json!("obstructed"))],
        ),
        (vec![], vec![("node[1].gateway.reports.period", json!("80 ms"))]),
    ] {
        let of = |more: &[(&str, Value)]| {
            let all = [&[("simulation.duration", json!("18 s"))], &base[..], more].concat();
            format!("{:?}", road(&all))
        };
        let usual = of(&[]);
        for (key, value) in keys {
            assert!(of(&[(key, value.clone())]) != usual, "{key} = {value} changes nothing");
        }
    }
}

#[test]
fn wrong_values_are_refused_with_what_is_expected() {
    for (changes, expected) in [
        (
            vec![("cell[0].bandwidth", json!("7 MHz"))],
            "cell[0].bandwidth = \"7 MHz\": expected a bandwidth of 1.4, 3, 5, 10, 15, 20 MHz",
        ),
        (
            vec![("cell[0].subcarrier_spacing", json!("30 kHz"))],
            "cell[0].subcarrier_spacing = \"30 kHz\": expected \"15 kHz\" (LTE has no",
        ),
        (
            vec![("cell[0].preset", json!("nr")), ("cell[0].subcarrier_spacing", json!("45 kHz"))],
            "cell[0].subcarrier_spacing = \"45 kHz\": expected \"15 kHz\", \"30 kHz\" or \"60 kHz\"",
        ),
        (
            vec![("cell[0].preset", json!("nr")), ("cell[0].pattern", json!("DDX"))],
            "cell[0].pattern = \"DDX\": expected letters D, S and U such as \"DDDSU\", or \"FDD\" (slot 2",
        ),
        (
            vec![("cell[0].preset", json!("nr")), ("cell[0].pattern", json!("DDD"))],
            "cell[0].pattern = \"DDD\": expected letters D, S and U such as \"DDDSU\", or \"FDD\" (the pattern has no uplink",
        ),
        (vec![("cell[0].pattern", json!("DDDSU"))], "cell[0].pattern = \"DDDSU\": expected \"FDD\""),
        (vec![("cell[0].layers", json!(2))], "cell[0].layers = 2: expected no `layers`"),
        (
            vec![("cell[0].carrier", json!("60 GHz"))],
            "cell[0].carrier = \"60000000000 Hz\": expected \"0.4 GHz\"",
        ),
        (vec![("cell[0].preset", json!("6g"))], "cell[0].preset = \"6g\": expected one of \"lte\", \"nr\""),
        (
            vec![("cell[0].gateway", json!("nobody"))],
            "cell[0].gateway = \"nobody\": expected the name of a node",
        ),
        (vec![("cell[1].name", json!("west"))], "cell[1].name = \"west\": expected a name that nothing else"),
        (
            vec![("node[2].cell", json!("north"))],
            "node[2].cell = \"north\": expected the name of a `[[cell]]`: west, east",
        ),
        (
            vec![("node[2].cell_changes", json!([{ "time": "1 s", "to": "north" }]))],
            "node[2].cell_changes[0].to = \"north\": expected the name of a `[[cell]]`: west, east",
        ),
        (
            vec![
                ("cell[1].gateway", json!("server")),
                ("node[2].cell_changes", json!([{ "time": "1 s", "to": "east" }])),
            ],
            "node[2].cell_changes[0].to = \"east\": expected a cell of the same gateway",
        ),
        (
            vec![(
                "node[2].cell_changes",
                json!([{ "time": "9 s", "to": "east" }, { "time": "3 s", "to": "west" }]),
            )],
            "node[2].cell_changes[1].time",
        ),
        (
            vec![("node[0].gateway", json!({}))],
            "node[0].gateway = {...}: expected a node that a `[[cell]]` names",
        ),
        (vec![("cell[0].queue.limit", json!("100 B"))], "cell[0].queue.limit = \"100 B\": expected at least"),
        (
            vec![("cell[0].queue.marks", json!({ "from": "14 ms", "to": "4 ms" }))],
            "cell[0].queue.marks.to = ",
        ),
        (
            vec![("cell[0].sr_period", json!("2.5 ms"))],
            "cell[0].sr_period = \"2.5ms\": expected a multiple of a slot, 1ms",
        ),
        (
            vec![("cell[0].rlc", json!({ "mode": "um", "status_prohibit": "5 ms" }))],
            "cell[0].rlc.status_prohibit = ",
        ),
        (vec![("cell[0].transmissions", json!(0))], "cell[0].transmissions = 0: expected 1 to 8"),
        (
            vec![("cell[0].scheduler", json!("max-rate")), ("cell[0].pf_time", json!(50))],
            "cell[0].pf_time = 50: expected no `pf_time`",
        ),
        (vec![("cell[0].idle", json!({ "on": "1 s" }))], "cell[0].idle.on = "),
        (
            vec![("cell[0].idle", json!({ "always_on": true, "on": "1 s" }))],
            "cell[0].idle.always_on = true: expected no times",
        ),
        (
            vec![("cell[0].background", json!({ "users": 5000, "rate": "1 Mbit/s" }))],
            "cell[0].background.users = 5000",
        ),
        (vec![("node[1].gateway.handover.filter", json!(40))], "node[1].gateway.handover.filter"),
    ] {
        let said = mistake(&changes);
        assert!(said.starts_with(expected), "{said}\nexpected {expected}");
    }
}

#[test]
fn the_discipline_of_a_bearer_is_checked() {
    let of = |queue: Value| mistake(&[("cell[0].queue", queue)]);
    let both = of(json!({ "discipline": { "kind": "codel" }, "discard": "100 ms" }));
    assert!(both.contains("cell[0].queue.discipline") && both.contains("without `discard`"), "{both}");
    let target = of(json!({ "discipline": { "kind": "codel", "target": "0 s" } }));
    assert!(target.contains("cell[0].queue.discipline.target"), "{target}");
}
