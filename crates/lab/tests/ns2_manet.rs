//! 50 mobile nodes with DSDV, compared with figures that ns-2.35 itself produced of the same movements and traffic.
//!
//! ns-2 is a realisation, as a run here is: means over several seeds are compared.

#[path = "support/manet.rs"]
mod manet;

use manet::{Figures, Manet};
use whimbrel_lab::routing::Protocol;
use whimbrel_wifi::mobility::setdest;
use whimbrel_wifi::routing::dsdv::DsdvConfig;

/// A figure of a run.
type Figure = fn(&Figures) -> f64;

/// Mean and standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// A column of ns-2's figures in a case.
fn recorded(case: &str, column: &str) -> Vec<f64> {
    let mut lines = include_str!("data/ns2_manet.csv").lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().expect("the names").split(',').collect();
    let column = names.iter().position(|name| *name == column).expect("a column");
    let rows = lines.map(|line| line.split(',').collect::<Vec<&str>>());
    rows.filter(|row| row[0] == case).map(|row| row[column].parse().expect("a number")).collect()
}

/// Two packets of 512 bytes per second and flow. Delivery, hops and overhead agree within 3 %, the delay within the errors of
/// ns-2's mean: some of its seeds have a loop or a break that delays a few packets for seconds.
#[test]
fn delivery_hops_and_overhead_of_dsdv_agree_with_ns2() {
    let paths = setdest::parse(include_str!("../../../benches/peers/mob50.tcl"), None).unwrap();
    let runs: Vec<Figures> = (1..=4)
        .map(|seed| {
            let (paths, protocol) = (paths.clone(), Protocol::Dsdv(DsdvConfig::NS2));
            let manet = Manet {
                paths,
                protocol,
                seed,
                duration: 200.0,
                flows: 20,
                interval: 0.5,
                begin: 5.0,
                rts: 0,
            };
            manet.run().unwrap()
        })
        .collect();
    assert!(runs.iter().all(|run| run.sent as f64 == recorded("DSDV", "sent")[0]));
    let columns: [(&str, Figure); 5] = [
        ("received", |run| run.received as f64),
        ("hops", |run| run.hops),
        ("messages", |run| run.messages as f64),
        ("bytes", |run| run.bytes as f64),
        ("delay", |run| run.delay),
    ];
    for (column, value) in columns {
        let (theirs, error) = mean(&recorded("DSDV", column));
        let (ours, own_error) = mean(&runs.iter().map(value).collect::<Vec<f64>>());
        println!("{column}: {ours:.4} +- {own_error:.4}, ns-2 {theirs:.4} +- {error:.4}");
        if column == "delay" {
            assert!((ours - theirs).abs() < 2.5 * error.hypot(own_error), "{column}: {ours} and {theirs}");
        } else {
            assert!((ours / theirs - 1.0).abs() < 0.03, "{column}: {ours} and {theirs}");
        }
    }
}
