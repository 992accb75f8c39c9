//! 50 mobile nodes with DSDV and AODV, compared with figures that ns-2.35 itself produced of the same movements and traffic.
//!
//! ns-2 is a realisation, as a run here is: means over several seeds are compared.

#[path = "support/manet.rs"]
mod manet;

use manet::{Figures, Manet};
use whimbrel_lab::routing::Protocol;
use whimbrel_wifi::mobility::setdest;
use whimbrel_wifi::routing::aodv::AodvConfig;
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

/// Figures of runs with four seeds: two packets of 512 bytes per second and flow.
fn runs(protocol: Protocol, duration: f64) -> Vec<Figures> {
    let paths = setdest::parse(include_str!("../../../benches/peers/mob50.tcl"), None).unwrap();
    let run = |seed| {
        let paths = paths.clone();
        let manet = Manet { paths, protocol, seed, duration, flows: 20, interval: 0.5, begin: 5.0, rts: 0 };
        manet.run().unwrap()
    };
    (1..=4).map(run).collect()
}

/// Mean and standard error of our runs over the mean of ns-2's, minus one, and the error of the quotient.
fn deviation(case: &str, column: &str, runs: &[Figures], value: Figure) -> (f64, f64) {
    let (theirs, error) = mean(&recorded(case, column));
    let (ours, own_error) = mean(&runs.iter().map(value).collect::<Vec<f64>>());
    println!("{case} {column}: {ours:.4} +- {own_error:.4}, ns-2 {theirs:.4} +- {error:.4}");
    (ours / theirs - 1.0, (error / theirs).hypot(own_error / ours))
}

/// Delivery, hops and overhead agree within 3 %. The delay agrees within 1.5 standard errors, which are those of ns-2: some of its
/// seeds have a loop or a break that delays a few packets for seconds. That is a weak check: 0.040 to 0.059 s pass.
#[test]
fn delivery_hops_and_overhead_of_dsdv_agree_with_ns2() {
    let runs = runs(Protocol::Dsdv(DsdvConfig::NS2), 200.0);
    assert!(runs.iter().all(|run| run.sent as f64 == recorded("DSDV", "sent")[0]));
    let columns: [(&str, Figure); 4] = [
        ("received", |run| run.received as f64),
        ("hops", |run| run.hops),
        ("messages", |run| run.messages as f64),
        ("bytes", |run| run.bytes as f64),
    ];
    for (column, value) in columns {
        let (deviation, _) = deviation("DSDV", column, &runs, value);
        assert!(deviation.abs() < 0.03, "{column}: {deviation}");
    }
    let (delay, error) = deviation("DSDV", "delay", &runs, |run| run.delay);
    assert!(delay.abs() < 1.5 * error, "delay: {delay} +- {error}");
}

/// Delivery agrees within 1 %, hops within 3 %. Messages do not agree: ns-2 starts 299 searches where this simulator starts
/// 245 (seed 1). In its trace address resolution drops 39 of the 1,481 replies sent; stations here know the addresses, and no
/// reply is lost so. With one unicast message in 38 taken away here, messages are 4 +- 5 % fewer instead of 17 %, hops 1.5 %
/// instead of 2.5 %, and as many packets are delivered as in ns-2: losses of replies explain the difference, and that address
/// resolution causes them in ns-2 is likely, not shown.
#[test]
fn delivery_and_hops_of_aodv_agree_with_ns2_and_messages_are_a_sixth_fewer() {
    let runs = runs(Protocol::Aodv(AodvConfig::NS2), 100.0);
    assert!(runs.iter().all(|run| run.sent as f64 == recorded("AODV", "sent")[0]));
    let columns: [(&str, Figure, f64, f64); 4] = [
        ("received", |run| run.received as f64, 0.0, 0.01),
        ("hops", |run| run.hops, 0.0, 0.03),
        ("messages", |run| run.messages as f64, -0.168, 0.03),
        ("bytes", |run| run.bytes as f64, -0.168, 0.03),
    ];
    for (column, value, expected, tolerance) in columns {
        let (deviation, _) = deviation("AODV", column, &runs, value);
        assert!((deviation - expected).abs() < tolerance, "{column}: {deviation}");
    }
}
