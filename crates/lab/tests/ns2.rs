//! Comparison with ns-2: one flow over each topology of paper `lda`, simulated by both.
//!
//! `benches/peers/lda.tcl` is the network of `examples/scenarios/{wb,wlh}.toml` for ns-2. TCP moves as much
//! in both; TFRC does where ns-2 is given the retransmission timeout of RFC 5348; where it is not, the
//! throughput equation with ns-2's own timeout explains the difference. `papers/lda/README.md` has the
//! details.
//!
//! Without `ns` nothing is compared, unless REQUIRE_ALL=1 requires it.

use std::num::NonZero;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use serde_json::{Value, json};
use whimbrel_control::tfrc::{LossEventRate, packets_per_round_trip};
use whimbrel_lab::runner::Control;
use whimbrel_lab::{Document, Record, run_many};

use crate::simulation::{example, in_repository};

/// A mean of both sides has a standard error of about one point.
const SEEDS: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// Largest difference of two means, in points of the bottleneck's rate.
const TOLERANCE: f64 = 5.0;

/// s in ns-2, which counts no headers.
const PACKET: f64 = 762.0;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Topology {
    /// The wireless backbone: 800 kbit/s, no queue to speak of.
    Wb,
    /// The wireless last hop: 150 kbit/s, with a queue.
    Wlh,
}

use Topology::{Wb, Wlh};

impl Topology {
    /// As `lda.tcl` calls it.
    fn in_ns2(self) -> &'static str {
        match self {
            Wb => "WB",
            Wlh => "WLH",
        }
    }

    fn document(self) -> Document {
        let name = match self {
            Wb => "wb",
            Wlh => "wlh",
        };
        example(&format!("scenarios/{name}.toml"), &[])
    }

    /// Percent of the bottleneck's rate that left for the radio.
    fn throughput(self, record: &Record) -> f64 {
        let bottleneck = match self {
            Wb => "backbone",
            Wlh => "radio0",
        };
        let links = record.table("links").unwrap();
        let row = (0..links.rows()).find(|&row| links.text("link", row) == Some(bottleneck)).unwrap();
        let number = |column| links.number(column, row).unwrap();
        100.0 * number("throughput_bps") / number("capacity_bps")
    }
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// `true` if ns-2 is installed.
fn ns2_is_there() -> bool {
    // ns-2 has no option that prints its version.
    let there = Command::new("ns").arg("/dev/null").output().is_ok();
    let required = env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
    assert!(there || !required, "ns-2 is required but not installed (Debian: apt-get install ns2)");
    if !there {
        eprintln!("skipped: ns-2 is not installed (Debian: apt-get install ns2)");
    }
    there
}

/// The output of `lda.tcl` for one flow and a seed, after `settings` of ns-2's own.
fn ns2(topology: Topology, protocol: &str, seed: u64, settings: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("run.tcl");
    let experiment = in_repository("benches/peers/lda.tcl");
    std::fs::write(&script, format!("{settings}\nsource {{{}}}\n", experiment.display())).unwrap();
    let arguments = [topology.in_ns2(), protocol, "1", &seed.to_string()];
    let output = Command::new("ns").arg(&script).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The mean throughput in ns-2, in percent.
fn ns2_throughput(topology: Topology, protocol: &str, settings: &str) -> f64 {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut results = Vec::new();
        while let Some(&seed) = SEEDS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result: Value = serde_json::from_str(&ns2(topology, protocol, seed, settings)).unwrap();
            results.push(result["throughput"].as_f64().unwrap());
        }
        results
    };
    let results: Vec<f64> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads()).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(results.len(), SEEDS.len());
    mean(&results)
}

/// Our runs.
struct Ours {
    topology: Topology,
    records: Vec<Record>,
}

impl Ours {
    fn run(topology: Topology, document: &Document) -> Self {
        let plan = document.plan().unwrap_or_else(|error| panic!("{error}"));
        let records = run_many(&plan, &SEEDS, threads(), &Control::default(), |_| ()).unwrap();
        Self { topology, records }
    }

    /// With the flow's TCP as ns-2's script sets it up.
    fn tcp(topology: Topology, variant: &str) -> Self {
        let mut document = topology.document();
        let mut flow = document.as_json()["flow"][0].clone();
        let keys = flow.as_object_mut().unwrap();
        for key in ["ccid", "classifier", "dccp"] {
            keys.remove(key).unwrap();
        }
        keys.insert("transport".to_owned(), json!("tcp"));
        let tcp = json!({ "preset": "ns2", "variant": variant, "window_limit": 1000.0 });
        keys.insert("tcp".to_owned(), tcp);
        document.set_value("flow[0]", flow).unwrap();
        Self::run(topology, &document)
    }

    /// As the example has it.
    fn tfrc(topology: Topology) -> Self {
        Self::run(topology, &topology.document())
    }

    /// With the round-trip time signalled, the receiver separates loss events by it, as ns-2's does (RFC
    /// 5348, Section 5.2).
    fn tfrc_with_rtt_signalled(topology: Topology) -> Self {
        let mut document = topology.document();
        document.set("flow[0].dccp.rtt_estimate", "true").unwrap();
        Self::run(topology, &document)
    }

    /// With TFRC as ns-2 has it, as far as there are switches: damped (RFC 5348, Section 4.5), t_RTO on a
    /// clock of 100 ms, loss events by the round-trip time, and the initial window of RFC 3390
    /// (`rate_init_option_`).
    fn tfrc_like_ns2(topology: Topology, damped: bool) -> Self {
        let mut document = topology.document();
        let settings = [
            ("oscillation_damping", damped.to_string()),
            ("timeout_tick", "100 ms".into()),
            ("initial_window", "rfc3390".into()),
        ];
        for (key, value) in settings {
            document.set(&format!("flow[0].dccp.{key}"), &value).unwrap();
        }
        document.set("flow[0].dccp.rtt_estimate", "true").unwrap();
        Self::run(topology, &document)
    }

    fn throughput(&self) -> f64 {
        let of = |record| self.topology.throughput(record);
        mean(&self.records.iter().map(of).collect::<Vec<_>>())
    }

    /// The mean over runs of a column of the flow.
    fn flow(&self, column: &str) -> f64 {
        let of = |record: &Record| record.table("flows").unwrap().number(column, 0).unwrap();
        mean(&self.records.iter().map(of).collect::<Vec<_>>())
    }
}

/// Compares in points, and prints the comparison.
fn assert_within(points: f64, what: &str, ours: f64, ns2: f64) {
    eprintln!("{what}: ours {ours:.2} %, ns-2 {ns2:.2} %");
    assert!((ours - ns2).abs() <= points, "{what}: ours {ours:.2} %, ns-2 {ns2:.2} %");
}

fn compare_tcp(variant: &str, agent: &str) {
    if !ns2_is_there() {
        return;
    }
    for topology in [Wb, Wlh] {
        let ours = Ours::tcp(topology, variant).throughput();
        assert_within(TOLERANCE, &format!("{agent} {topology:?}"), ours, ns2_throughput(topology, agent, ""));
    }
}

#[test]
fn reno_moves_as_much_as_ns_2_s() {
    compare_tcp("reno", "Reno");
}

#[test]
fn new_reno_moves_as_much_as_ns_2_s() {
    compare_tcp("new-reno", "Newreno");
}

#[test]
fn sack_moves_as_much_as_ns_2_s() {
    compare_tcp("sack", "Sack1");
}

/// Settings that give ns-2's TFRC a clock of 10 ms and a timeout of at least this, which then is the timeout.
fn with_timeout(seconds: f64) -> String {
    format!("Agent/TFRC set tcp_tick_ 0.01; Agent/TFRC set minrto_ {seconds}")
}

#[test]
fn tfrc_moves_as_much_as_ns_2_s_with_the_timeout_of_the_rfc() {
    if !ns2_is_there() {
        return;
    }
    for topology in [Wb, Wlh] {
        let ours = Ours::tfrc(topology);
        // RFC 5348, Section 3.1: t_RTO = 4R.
        let settings = with_timeout(4.0 * ours.flow("rtt_mean_s"));
        let ns2 = ns2_throughput(topology, "TFRC", &settings);
        assert_within(TOLERANCE, &format!("TFRC {topology:?}, t_RTO = 4R"), ours.throughput(), ns2);
    }
}

/// The remaining difference on the backbone is which losses form one event.
#[test]
fn tfrc_moves_as_much_with_the_same_rule_for_loss_events() {
    if !ns2_is_there() {
        return;
    }
    let by_counter = Ours::tfrc(Wb);
    let by_time = Ours::tfrc_with_rtt_signalled(Wb);
    let ns2 = ns2_throughput(Wb, "TFRC", &with_timeout(4.0 * by_time.flow("rtt_mean_s")));
    assert_within(2.0, "TFRC Wb, t_RTO = 4R, events by time", by_time.throughput(), ns2);
    // The window counter must advance by five quarters of an RTT: fewer events (RFC 4342, Section 10.2).
    let p = |ours: &Ours| ours.flow("loss_event_rate_mean");
    let ratio = p(&by_counter) / p(&by_time);
    assert!((0.85..0.97).contains(&ratio), "p is {ratio} times as high by the window counter");
}

/// The t_RTO of ns-2's TFRC, and its ratio to R, each time the equation set its rate.
fn timeouts_of_ns2(topology: Topology) -> Vec<(f64, f64)> {
    let printing = "Agent/TFRC set printStatus_ 1; Agent/TFRCSink set printLoss_ 1";
    // The least one-way delay of a feedback packet.
    let one_way = 0.018;
    let mut timeouts = Vec::new();
    for seed in [1, 2] {
        let mut reports: Vec<(f64, f64)> = Vec::new();
        let (mut rate, mut rtt, mut by_equation) = (0.0, 0.0, false);
        for line in ns2(topology, "TFRC", seed, printing).lines() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["Decrease:", ..] => by_equation = true,
                ["Increase:", ..] => by_equation = false,
                ["time:", at, "loss_rate:", p] => {
                    reports.push((at.parse().unwrap(), p.parse().unwrap()));
                }
                ["time:", _, "rate:", bytes_per_second] => rate = bytes_per_second.parse().unwrap(),
                ["time:", _, "packetrate:", per_round_trip] => {
                    rtt = per_round_trip.parse::<f64>().unwrap() * PACKET / rate;
                }
                ["time:", at, "maxrate:", most] => {
                    let (at, most): (f64, f64) = (at.parse().unwrap(), most.parse().unwrap());
                    let limited = most <= rate * rtt / PACKET + 0.02;
                    let latest = reports.iter().rev().find(|(sent, _)| *sent < at - one_way);
                    if let (true, false, Some((_, p))) = (by_equation && at > 25.0, limited, latest) {
                        let timeout = timeout_in_equation(rate, rtt, *p);
                        timeouts.push((timeout, timeout / rtt));
                    }
                }
                _ => {}
            }
        }
    }
    timeouts
}

/// The t_RTO with which the throughput equation gives `rate` (RFC 5348, Section 3.1).
fn timeout_in_equation(rate: f64, rtt: f64, p: f64) -> f64 {
    (PACKET / rate - rtt * (2.0 * p / 3.0).sqrt()) / (3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
}

/// By itself ns-2 estimates t_RTO as a TCP with a clock of 100 ms does, where RFC 5348 has 4R. On the short
/// path that is longer, on the long one shorter; the equation with its timeout turns our throughput into its.
#[test]
fn tfrc_differs_from_ns_2_s_by_the_timeout_in_the_equation() {
    if !ns2_is_there() {
        return;
    }
    for (topology, round_trips) in [(Wb, 5.0..6.0), (Wlh, 2.0..3.5)] {
        let timeouts = timeouts_of_ns2(topology);
        assert!(timeouts.len() > 500, "{}", timeouts.len());
        let timeout = median(timeouts.iter().map(|(seconds, _)| *seconds).collect());
        let ticks = timeout / 0.1;
        assert!((ticks - ticks.round()).abs() < 0.05, "{topology:?}: {timeout} s are no whole ticks");
        let relative = median(timeouts.iter().map(|(_, relative)| *relative).collect());
        assert!(round_trips.contains(&relative), "{topology:?}: t_RTO is {relative} R in ns-2");

        let ours = Ours::tfrc(topology);
        let p = LossEventRate::new(ours.flow("loss_event_rate_mean"));
        let in_ours = packets_per_round_trip(p, 4.0);
        let in_ns2 = packets_per_round_trip(p, timeout / ours.flow("rtt_mean_s"));
        let expected = ours.throughput() * in_ns2 / in_ours;
        let what = format!("TFRC {topology:?}, ours at ns-2's t_RTO of {timeout:.2} s = {relative:.1} R");
        assert_within(TOLERANCE, &what, expected, ns2_throughput(topology, "TFRC", ""));
    }
}

/// ns-2 damps, unless `ca_` is 0. With the same switch at both, and its t_RTO at both, each of the two moves
/// as much as the other.
#[test]
fn damped_tfrc_moves_as_much_as_ns_2_s_damped_one() {
    if !ns2_is_there() {
        return;
    }
    for topology in [Wb, Wlh] {
        for damped in [true, false] {
            let ours = Ours::tfrc_like_ns2(topology, damped).throughput();
            let settings = format!("Agent/TFRC set ca_ {}", u8::from(damped));
            let ns2 = ns2_throughput(topology, "TFRC", &settings);
            assert_within(2.5, &format!("TFRC {topology:?}, damped: {damped}"), ours, ns2);
        }
    }
}
