//! A TFRC sender at an 802.11 client that moves to a slower cell: freezing with its station, and rt-Winf's
//! estimate as the rate of the restart and as a limit.

use whimbrel_lab::Record;

use crate::simulation;
use simulation::simulate;

/// The client leaves the cell of 11 Mbit/s at 7 s; the next one has 1 Mbit/s.
const WALK: &str = r#"
[variables]
restart = "link-capacity"
cap = false
[simulation]
duration = "14 s"
[[wifi]]
name = "air"
rate = "11 Mbit/s"
mac = "ns-2"
distribution_delay = "1 s"
radio = { range = "400 m", carrier_sense_range = "550 m" }
controller = { law = "xcp-winf" }
[[node]]
name = "host"
[[node]]
name = "fast"
wifi = "air"
position = [0, 0]
access_point = { ssid = "n", channel = 1 }
[[node]]
name = "slow"
wifi = "air"
position = [800, 0]
access_point = { ssid = "n", channel = 6, rate = "1 Mbit/s" }
[[node]]
name = "mobile"
wifi = "air"
client = { ssid = "n" }
mobility = { kind = "waypoints", points = [{ at = "3 s", position = [0, 0] }, { at = "11 s", position = [800, 0] }] }
[[link]]
between = ["host", "fast"]
rate = "1 Gbit/s"
delay = "20 ms"
queue = "unlimited"
[[link]]
between = ["host", "slow"]
rate = "1 Gbit/s"
delay = "20 ms"
queue = "unlimited"
[[flow]]
name = "f"
from = "mobile"
to = "host"
transport = "dccp"
payload = "1464 B"
dccp = { ecn = false, sequence_window = 10000, link_cap = "$cap", freeze = { restart = "$restart", follows_station = true } }
[record]
interval = "100 ms"
"#;

/// End of an interval in seconds, rate allowed and goodput in Mbit/s, freeze state.
struct Interval {
    time: f64,
    allowed: f64,
    goodput: f64,
    freeze: String,
}

fn intervals(record: &Record) -> Vec<Interval> {
    let table = record.table("intervals").unwrap();
    let number = |column: &str, row| table.number(column, row).unwrap();
    let one = |row| Interval {
        time: number("time_s", row),
        allowed: number("allowed_rate_bps", row) / 1e6,
        goodput: number("goodput_bps", row) / 1e6,
        freeze: table.text("freeze", row).unwrap().to_owned(),
    };
    (0..table.rows()).map(one).collect()
}

/// Time at which packets for the station go to the slow cell.
fn complete(record: &Record) -> f64 {
    let table = record.table("associations").unwrap();
    let row = (0..table.rows()).find(|row| table.text("to", *row) == Some("slow")).expect("a handover");
    table.number("time_s", row).unwrap() + 1.0
}

/// Highest rate allowed in the half second after the handover.
fn restored(restart: &str) -> f64 {
    let record = simulate(WALK, &[("variables.restart", restart)]);
    let complete = complete(&record);
    let after = intervals(&record);
    let first = after.iter().filter(|it| it.time > complete + 0.1 && it.time < complete + 0.5);
    first.map(|it| it.allowed).fold(0.0, f64::max)
}

#[test]
fn a_sender_that_follows_its_station_is_frozen_until_its_path_is_complete() {
    let record = simulate(WALK, &[]);
    let complete = complete(&record);
    let all = intervals(&record);
    let frozen: Vec<f64> = all.iter().filter(|it| it.freeze == "frozen").map(|it| it.time).collect();
    let (first, last) = (frozen[0], frozen[frozen.len() - 1]);
    assert!((7.0..8.0).contains(&first), "it leaves at 7 s: {first}");
    assert!((complete - 0.11..=complete + 0.01).contains(&last), "{last} {complete}");
    assert!(last - first > 0.8 && frozen.len() as f64 > (last - first) * 9.0, "one freeze");
    // Rates of data frames: 11 Mbit/s in the first cell, 1 Mbit/s in the second one.
    let mean = |from: f64, to: f64| {
        let rates: Vec<f64> =
            all.iter().filter(|it| it.time > from && it.time <= to).map(|it| it.goodput).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    assert!(mean(4.0, 7.0) > 2.5 && mean(complete + 1.0, 14.0) > 0.7 && mean(complete + 1.0, 14.0) < 0.9);
}

#[test]
fn a_restart_at_the_rate_of_the_link_uses_the_estimate_of_the_new_cell() {
    // rt-Winf's capacity of 1500 bytes at 1 Mbit/s, of which 1464 are data: 12,000 bits in 12,464 + 304 us.
    let capacity = 1464.0 * 8.0 / 12_768.0;
    // The sender's own packets, which waited for the association, occupied most of the second before.
    for (restart, least) in [("link-capacity", 0.9), ("link-available", 0.1)] {
        let rate = restored(restart);
        assert!(rate <= capacity * 1.01 && rate > least * capacity, "{restart}: {rate} of {capacity}");
    }
    assert!(restored("loss-rate") > 3.0 * capacity, "the old rate");
}

#[test]
fn the_capacity_of_the_station_limits_the_rate_at_all_times() {
    let record = simulate(WALK, &[("variables.restart", "loss-rate"), ("variables.cap", "true")]);
    let complete = complete(&record);
    let most = |from: f64, to: f64| {
        let all = intervals(&record);
        let inside = all.iter().filter(|it| it.time > from && it.time <= to);
        inside.map(|it| it.allowed).fold(0.0, f64::max)
    };
    // 1464 of 1500 bytes at 7.45 Mbit/s, and at 0.94 Mbit/s.
    assert!(most(1.0, 6.9) <= 7.28 && most(complete + 0.1, 14.0) <= 0.93, "{}", most(complete + 0.1, 14.0));
}
