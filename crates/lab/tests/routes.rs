//! Routes of a scenario: several at once, and a change of route during the run.

use crate::simulation;
use simulation::{document, number, rows_with, simulate};

/// A short and a long path side by side; acknowledgements take the short one.
const PATHS: &str = r#"
[simulation]
duration = "20 s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "short"
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
[[link]]
name = "long"
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "60 ms"
[[route]]
at = "a"
to = "b"
via = ["short", "long"]
[[route]]
at = "b"
to = "a"
via = ["short"]
[[flow]]
name = "flow"
from = "a"
to = "b"
transport = "udp"
packet_size = "500 B"
traffic = { kind = "cbr", rate = "400 kbit/s" }
stop = "19 s"
"#;

fn on(record: &whimbrel_lab::Record, link: &str) -> f64 {
    let links = record.table("links").unwrap();
    let row = rows_with(links, &[("link", link)]).next().expect("a link");
    links.number("delivered_packets", row).expect("a number")
}

#[test]
fn packets_alternating_between_two_paths_overtake_each_other() {
    let record = simulate(PATHS, &[]);
    let received = number(&record, "received_packets");
    assert_eq!(
        (on(&record, "short"), on(&record, "long")),
        ((received / 2.0).ceil(), (received / 2.0).floor())
    );
    // A packet leaves every 10 ms: those on the long path are five behind.
    let reordered = number(&record, "reordered_packets");
    assert!((reordered - received / 2.0).abs() < 5.0, "{reordered} of {received}");
}

#[test]
fn weights_set_the_shares_of_the_routes() {
    let record = simulate(PATHS, &[("route[0].weights", "[1, 3]")]);
    assert!((on(&record, "long") / on(&record, "short") - 3.0).abs() < 0.01);
}

#[test]
fn a_swap_of_a_long_path_for_a_short_one_has_packets_overtake_once() {
    let swap = [
        ("route[0].via", "[\"long\"]"),
        ("route[1].at", "a"),
        ("route[1].to", "b"),
        ("route[1].time", "10 s"),
    ];
    let record = simulate(PATHS, &swap);
    // The packet sent at 10 s overtakes the packets of the last 50 ms: four, and a fifth arrives at the same
    // moment.
    assert_eq!(number(&record, "reordered_packets"), 4.0);
    assert!((on(&record, "long") - 1000.0).abs() <= 1.0, "{}", on(&record, "long"));
}

#[test]
fn an_invalid_route_is_refused_by_its_key() {
    let refusal =
        |key: &str, value: &str| document(PATHS, &[(key, value)]).plan().expect_err("nonsense").to_string();
    for (key, value, named) in [
        ("route[0].at", "c", "route[0].at"),
        ("route[0].via", "[]", "route[0].via"),
        ("route[0].via", "[\"other\"]", "route[0].via[0]"),
        ("route[0].weights", "[1]", "route[0].weights"),
        ("route[0].weights", "[1, 0]", "route[0].weights"),
        ("route[0].time", "30 s", "route[0].time"),
    ] {
        let refusal = refusal(key, value);
        assert!(refusal.contains(named), "{refusal}");
    }
}
