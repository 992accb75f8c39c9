//! DCCP with DTLS in simulated networks: the handshake on bad paths, the cost of records, repeatable runs.

use std::ops::ControlFlow;

use crate::simulation::number;
use whimbrel_lab::record::csv;
use whimbrel_lab::{Document, Record, Run, run};

/// A flow from a to b over a link.
fn text(link: &str, flow: &str, rest: &str) -> String {
    format!(
        r#"
[simulation]
duration = "30 s"
[record]
packets = true
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
name = "radio"
between = ["a", "b"]
rate = "2 Mbit/s"
delay = "20 ms"
{link}
[[flow]]
name = "video"
from = "a"
to = "b"
transport = "dccp"
{flow}
{rest}
"#
    )
}

fn record(text: &str, seed: u64) -> Record {
    let document = Document::from_toml(text).expect("a scenario");
    run(&document.plan().unwrap_or_else(|error| panic!("{error}\n{text}")), seed)
}

/// Times of arrival of the datagrams that were delivered.
fn arrivals(record: &Record) -> Vec<f64> {
    let packets = record.table("packets").expect("packets");
    let mut times: Vec<f64> = (0..packets.rows())
        .filter(|row| packets.text("fate", *row) == Some("received"))
        .map(|row| packets.number("received_s", row).expect("a time"))
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

#[test]
fn records_take_their_share_of_a_full_link() {
    let goodput = |encryption: &str| {
        let flow = format!("packet_size = \"600 B\"\ndccp = {{ {encryption} }}");
        number(&record(&text("", &flow, ""), 1), "goodput_bps")
    };
    let (plain, secured) = (goodput(""), goodput("encryption = \"dtls\""));
    // Headers: 20 of IPv4, 16 of DCCP, and 22 of the record; the handshake takes some of 30 s.
    let expected = f64::from(600 - 36 - 22) / f64::from(600 - 36);
    let ratio = secured / plain;
    assert!((expected - 0.02..expected + 0.002).contains(&ratio), "{ratio} instead of {expected}");
}

#[test]
fn data_wait_for_the_second_handshake() {
    let flow = |encryption: &str| {
        format!("traffic = {{ kind = \"cbr\", rate = \"400 kbit/s\" }}\ndccp = {{ {encryption} }}")
    };
    let first = |encryption: &str| arrivals(&record(&text("", &flow(encryption), ""), 1))[0];
    let (plain, secured) = (first(""), first("encryption = \"dtls\""));
    // Two round trips of 40 ms more, and the time to send 2.5 kB of certificates at 2 Mbit/s and as
    // congestion control permits.
    let more = secured - plain;
    assert!((0.08..0.25).contains(&more), "{more} s: {plain} and {secured}");
}

#[test]
fn a_handshake_succeeds_on_paths_that_lose_and_reorder() {
    let flow = "traffic = { kind = \"cbr\", rate = \"200 kbit/s\" }\ndccp = { encryption = \"dtls\" }";
    let mut slowest = 0.0_f64;
    for link in
        [r#"loss = { model = "bernoulli", rate = 0.2 }"#, r#"netem = { delay = "60 ms", jitter = "50 ms" }"#]
    {
        for seed in 1..=8 {
            let record = record(&text(link, flow, ""), seed);
            let times = arrivals(&record);
            let first = times.first().copied().unwrap_or(f64::INFINITY);
            slowest = slowest.max(first);
            assert!(first < 15.0, "{link}, seed {seed}: the first datagram arrives at {first} s");
            assert!(times.len() > 100, "{link}, seed {seed}: {} datagrams", times.len());
        }
    }
    println!("the slowest handshake took {slowest} s");
}

#[test]
fn a_frozen_connection_goes_on_with_its_keys() {
    let flow = "traffic = { kind = \"cbr\", rate = \"400 kbit/s\" }\n\
                dccp = { encryption = \"dtls\", freeze = {} }";
    let outage = r#"
[[handover]]
link = "radio"
time = "10 s"
duration = "2 s"
freeze = { flows = ["video"], lead = "200 ms", lag = "0.1 ms" }
"#;
    let times = arrivals(&record(&text("", flow, outage), 1));
    let before = times.iter().filter(|time| **time < 9.8).count();
    let during = times.iter().filter(|time| (10.1..12.0).contains(*time)).count();
    let after = times.iter().filter(|time| **time > 13.0).count();
    assert!(before > 300 && after > 500, "{before} before, {after} after");
    assert_eq!(during, 0);
}

#[test]
fn the_same_seed_gives_the_same_record_and_the_same_bytes() {
    let link = r#"loss = { model = "bernoulli", rate = 0.05 }"#;
    let text = text(link, "dccp = { encryption = \"dtls\" }\nstop = \"5 s\"", "");
    let outcome = |seed: u64| {
        let document = Document::from_toml(&text).expect("a scenario");
        let plan = document.plan().expect("a plan");
        let mut run = Run::new(&plan, seed);
        run.capture(|_| true);
        run.execute(|_| ControlFlow::Continue(()));
        let capture = run.take_capture();
        let tables: Vec<String> = run.into_record().tables().iter().map(csv).collect();
        (tables, capture)
    };
    let first = outcome(1);
    assert!(first.1.len() > 100_000);
    assert!(first == outcome(1), "a second run differs");
    assert!(first.1 != outcome(2).1);
}

#[test]
fn partial_checksums_are_refused() {
    let text = text("", "dccp = { encryption = \"dtls\", checksum_coverage = 1 }", "");
    let error = Document::from_toml(&text).and_then(|document| document.plan().map(|_| ()));
    let error = error.expect_err("a damaged record is of no use").to_string();
    assert!(error.contains("dccp.checksum_coverage") && error.contains("encryption"), "{error}");
}
