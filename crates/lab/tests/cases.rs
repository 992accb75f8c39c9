//! Scenarios that users reported, as they were sent (`data/cases`), with their right values.

use whimbrel_lab::{Document, Plan, Record, run};

use crate::simulation::{in_repository, number, number_of};

/// A case with other values for some keys.
fn plan(name: &str, changes: &[(&str, &str)]) -> Plan {
    let path = in_repository("crates/lab/tests/data/cases").join(name);
    let mut document = Document::from_file(path).unwrap();
    for (key, value) in changes {
        document.set(key, value).unwrap();
    }
    document.plan().unwrap_or_else(|error| panic!("{error}"))
}

/// The record of its run with seed 1.
fn case(name: &str, changes: &[(&str, &str)]) -> Record {
    run(&plan(name, changes), 1)
}

/// The texts of its notes.
fn notes(record: &Record) -> String {
    let Some(notes) = record.table("notes") else { return String::new() };
    let text = |row| notes.text("note", row).expect("a text");
    (0..notes.rows()).map(text).collect::<Vec<_>>().join("\n")
}

fn megabits(record: &Record, flow: &str) -> f64 {
    number_of(record, flow, "goodput_bps") / 1e6
}

/// Only 2 of them did, and the requests of the others took 80 % of the air.
#[test]
fn fifty_clients_that_start_together_associate_within_a_second() {
    let record = case("herd.toml", &[]);
    let associations = record.table("associations").unwrap();
    let time = |row| associations.number("time_s", row).expect("a time");
    assert_eq!(associations.rows(), 50);
    assert!((0..50).map(time).all(|time| time < 1.0));
    assert_eq!(number(&record, "delivered_packets"), 50.0);
}

/// 7 beacons in a row collide every 40 s. Clients that left then, although their data was acknowledged, had
/// 1.4 Mbit/s together.
#[test]
fn thirty_saturated_clients_keep_their_access_point() {
    let record = case("beacons.toml", &[("simulation.duration", "100 s")]);
    let all: f64 = (0..30).map(|client| megabits(&record, &format!("f{client}"))).sum();
    assert!((5.0..5.4).contains(&all), "{all} Mbit/s");
}

#[test]
fn stations_out_of_range_are_a_result_with_its_cause() {
    let record = case("s1_range.toml", &[]);
    assert_eq!((number(&record, "sent_packets"), number(&record, "delivered_packets")), (100.0, 0.0));
    let notes = notes(&record);
    assert!(notes.contains("out of range") && notes.contains("300.0 m apart"), "{notes}");
}

#[test]
fn equal_flows_in_a_full_queue_share_it_equally_with_jitter() {
    let shares = |record: &Record| ["u0", "u1"].map(|flow| megabits(record, flow));
    let regular = case("phase.toml", &[]);
    let [more, less] = shares(&regular);
    assert!(more > 9.7 && less < 0.1 && notes(&regular).contains("gives equal chances"), "{more}, {less}");
    for traffic in [
        "{ kind = \"cbr\", rate = \"10 Mbit/s\", jitter = 0.5 }",
        "{ kind = \"poisson\", rate = \"10 Mbit/s\" }",
    ] {
        let record = case("phase.toml", &[("flow.u{i}.traffic", traffic)]);
        assert!(shares(&record).iter().all(|rate| (4.7..5.1).contains(rate)), "{:?}", shares(&record));
    }
}

/// The first packets have a round-trip time of 300 ms, all others one of 40 ms. The first second had 112
/// kbit/s.
#[test]
fn a_slow_first_round_trip_does_not_slow_the_first_second() {
    let record = case("first_rtt.toml", &[]);
    let intervals = record.table("intervals").unwrap();
    let first = intervals.number("goodput_bps", 0).expect("a rate") / 1e6;
    assert!((1.2..1.3).contains(&first), "{first} Mbit/s");
}

/// A report that was lost kept its packets in flight for ever.
#[test]
fn every_hundredth_lost_report_costs_a_law_some_percent() {
    for (law, expected) in [("bbr", 5.42), ("copa", 5.61), ("scream", 5.49), ("gcc", 5.27), ("nada", 5.33)] {
        let name = ("variables.law", law);
        let with = megabits(&case("report_loss.toml", &[name]), "video");
        let without = megabits(&case("report_loss.toml", &[name, ("link.back.loss.rate", "0")]), "video");
        assert!((without / expected - 1.0).abs() < 0.03, "{law}: {without} Mbit/s");
        assert!(with > 0.97 * without, "{law}: {with} of {without} Mbit/s");
    }
}

/// 6.2 Mbit/s without Prague's RTT independence.
#[test]
fn scream_beside_prague_has_its_share_with_a_virtual_round_trip_time() {
    let with = megabits(&case("scream_prague_5ms.toml", &[]), "video");
    let without =
        megabits(&case("scream_prague_5ms.toml", &[("flow.download.tcp.virtual_rtt", "0 s")]), "video");
    assert!((23.8..25.8).contains(&with) && (5.2..7.2).contains(&without), "{with} and {without} Mbit/s");
}

/// ns-2.35 has 8.61 packets per second with RTS/CTS and 16.8 without in the middle, and 429 and 605 outside.
/// These are means of 8 runs of 300 s of `benches/peers/middle.tcl`, with standard deviations of 3 %.
#[test]
fn a_starved_middle_flow_has_as_little_as_in_ns2() {
    for (threshold, middle, outer) in [("0 B", 8.61, 429.0), ("3000 B", 16.8, 605.0)] {
        let rates = [1, 2, 3, 4].map(|seed| {
            let record = run(&plan("starved_middle.toml", &[("wifi.air.rts_threshold", threshold)]), seed);
            ["f0", "f1", "f2"].map(|flow| number_of(&record, flow, "delivered_packets") / 150.0)
        });
        let mean = |flow: usize| rates.iter().map(|rates| rates[flow]).sum::<f64>() / rates.len() as f64;
        assert!((mean(1) / middle - 1.0).abs() < 0.08, "{threshold}: {} packets/s", mean(1));
        assert!([0, 2].iter().all(|flow| (mean(*flow) / outer - 1.0).abs() < 0.005), "{rates:?}");
    }
}
