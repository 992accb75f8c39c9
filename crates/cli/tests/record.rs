//! `whimbrel record`, the built program, over the loopback interface and a relay that is a path with known
//! properties.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path as FilePath;
use std::process::{Child, Output};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

#[cfg(target_os = "linux")]
use crate::own_network;
use crate::processes;
use crate::relays::get;
use crate::support_relay as relay;
use processes::{finish, signal, stderr, stdout, whimbrel};
use relay::{Carried, Path, Relay};
use rustix::process::Signal;

/// A server on a free port, killed when dropped.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let arguments = [&["record", "server", "--bind", "127.0.0.1:0", "--json"], options].concat();
        let mut child = whimbrel(&arguments).spawn().expect("it starts");
        let mut line = String::new();
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        lines.read_line(&mut line).expect("a line");
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let ready: Value = serde_json::from_str(&line).expect("JSON");
        let address = ready["address"].as_str().expect("an address");
        let port = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        Self { child, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(arguments: &[&str]) -> Output {
    finish(whimbrel(arguments).spawn().expect("it starts"))
}

#[track_caller]
fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_str(&stdout(output)).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Records the path to `port` into `out`.
#[track_caller]
fn record(port: u16, out: &FilePath, options: &[&str]) -> Value {
    let host = format!("127.0.0.1:{port}");
    let out = out.to_str().expect("a plain path");
    json(&run(&[&["record", "client", &host, "--out", out, "--json"], options].concat()))
}

/// Runs the recorded scenario with another flow, and returns the columns of its only flow.
#[track_caller]
fn replay(out: &FilePath, settings: &[&str]) -> Value {
    let scenario = out.join("scenario.toml");
    let mut arguments = vec!["run", scenario.to_str().expect("a plain path"), "--quiet", "--json"];
    for setting in settings {
        arguments.extend(["--set", setting]);
    }
    let record = json(&run(&arguments));
    let mut flow = record["tables"]["flows"].clone();
    for column in flow.as_object_mut().expect("columns").values_mut() {
        *column = column[0].clone();
    }
    flow
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[track_caller]
fn assert_within(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() <= share, "{value} is not {expected} within {share}");
}

/// `up_bps` up and twice as much down, 30 ms and 20 ms, with queues of 300 ms.
fn paths(up_bps: f64, lose_each: u64) -> [Path; 2] {
    let path = |rate_bps: f64, delay| Path {
        rate_bps,
        queue: rate_bps / 8.0 * 0.3,
        delay: Duration::from_millis(delay),
        lose_each,
    };
    [path(up_bps, 30), path(2.0 * up_bps, 20)]
}

/// The classes of probes that load a path, as their headers have them.
const LOAD: u8 = 1;
const TRAIN: u8 = 2;

/// A probe's bits with the headers of UDP and IP.
fn bits(probe: &Carried) -> f64 {
    8.0 * (probe.length + 28) as f64
}

/// The probes of a class among what a relay carried: "WhRc", a one for a probe, the class.
fn probes(carried: &[Carried], class: u8) -> Vec<Carried> {
    let start = [b"WhRc".as_slice(), &[1, class]].concat();
    carried.iter().filter(|datagram| datagram.head.starts_with(&start)).copied().collect()
}

/// The rate at which a path really carried the load in `seconds`, in bit/s.
fn rate_of_load(carried: &[Carried], seconds: f64) -> f64 {
    let load = probes(carried, LOAD);
    let end = load.first().expect("a load").left + seconds;
    load.iter().filter(|probe| probe.left < end).map(bits).sum::<f64>() / seconds
}

/// The rate of the trains of 16 packets behind a path, the median, in bit/s, by times in seconds.
fn rate_of_trains(carried: &[Carried], time: impl Fn(&Carried) -> f64) -> f64 {
    let number = |probe: &Carried| u64::from_be_bytes(*probe.head[16..].first_chunk().expect("eight bytes"));
    let mut rates: Vec<f64> = probes(carried, TRAIN)
        .chunk_by(|a, b| number(a) / 16 == number(b) / 16)
        .filter(|train| train.len() >= 8)
        .map(|train| {
            train[1..].iter().map(bits).sum::<f64>() / (time(&train[train.len() - 1]) - time(&train[0]))
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// The least time that a datagram really took through a path, in seconds.
fn least_delay(carried: &[Carried]) -> f64 {
    carried.iter().map(|datagram| datagram.left - datagram.came).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_saturated_path_is_recorded_and_replayed() {
    let directory = TempDir::new().expect("a directory");
    let server = Server::start(&[]);
    let [up, down] = paths(6e6, 0);
    let relay = Relay::start(server.port, up, down);
    let found = record(relay.port, directory.path(), &["--time", "3s", "--rate", "30M"]);
    let carried = relay.carried();
    // Equal halves of 50 ms and the transmissions of pings.
    let least = carried.iter().map(|carried| least_delay(carried)).sum::<f64>() / 2.0;
    for ((name, rate), carried) in [("up", 6e6), ("down", 12e6)].into_iter().zip(&carried) {
        let real = rate_of_load(carried, 3.0);
        let (rate_bps, delay) = (number(&found[name]["rate_bps"]), number(&found[name]["delay_min_s"]));
        println!("{name}: {rate_bps:.0} bit/s, really {real:.0}; {delay:.6} s, really {least:.6}");
        assert_within(rate_bps, real, 0.02);
        // The window opens first; a relay that is late does not leave a full path idle.
        assert!((0.85..1.03).contains(&(real / rate)), "{name}: {real}");
        assert_eq!(found[name]["is_rate_limited"], false);
        assert_within(delay, least, 0.08);
        // A standing queue, but no longer than the buffer.
        let median = number(&found[name]["delay_p50_s"]);
        assert!((0.05..0.35).contains(&median), "{name}: {found}");
    }
    // One clock. A millisecond by which the relay is late at one end of seven seconds is as much as 1.4e-4; a
    // queue that counts as skew is 0.05.
    assert!(number(&found["clock_skew"]).abs() < 2e-3, "{found}");
    let lines = fs::read_to_string(directory.path().join("up.mahimahi")).expect("a trace");
    let carried = 8.0 * 1500.0 * lines.lines().count() as f64 / 3.0;
    assert_within(carried, number(&found["up"]["rate_bps"]), 0.02);
    // A flow of 10 Mbit/s gets what the path carried: its datagrams have 28 bytes of headers, too.
    let flow = replay(
        directory.path(),
        &[
            "flow.stream.transport=udp",
            "flow.stream.packet_size=1400 B",
            "flow.stream.traffic={ kind = \"cbr\", rate = \"10 Mbit/s\" }",
        ],
    );
    let bits = 8.0 * number(&flow["received_bytes"]) / 3.0;
    assert_within(bits, number(&found["up"]["rate_bps"]), 0.05);
}

#[test]
fn a_gentle_recording_has_capacity_delay_and_losses() {
    let directory = TempDir::new().expect("a directory");
    let server = Server::start(&[]);
    let [up, down] = paths(2e6, 50);
    let relay = Relay::start(server.port, up, down);
    let found = record(relay.port, directory.path(), &["--mode", "gentle", "--time", "5s", "--rate", "300k"]);
    for ((name, rate), carried) in
        [("up", up.rate_bps), ("down", down.rate_bps)].into_iter().zip(relay.carried())
    {
        let rate_bps = number(&found[name]["rate_bps"]);
        let [due, left] = [|probe: &Carried| probe.due, |probe: &Carried| probe.left]
            .map(|time| rate_of_trains(&carried, time));
        println!("{name}: {rate_bps:.0} bit/s, really {left:.0}, of a relay in time {due:.0}");
        // The trains come at once, so that the path determines their dispersion.
        assert_within(due, rate, 0.05);
        assert_within(rate_bps, left, 0.05);
        // Two of fifty datagrams of all classes.
        let share = number(&found[name]["lost"]) / number(&found[name]["sent"]);
        assert!((0.025..0.055).contains(&share), "{name}: {share}");
    }
    let marks = fs::read_to_string(directory.path().join("up.losses.txt")).expect("marks");
    let lost = marks.matches('1').count() as f64;
    assert!(lost <= number(&found["up"]["lost"]) && lost >= number(&found["up"]["lost"]) - 2.0);
    let name = directory.path().join("up.losses.txt");
    assert!(stdout(&run(&["fit", name.to_str().expect("a plain path"), "--toml"])).starts_with("loss = {"));
    // A stream with the spacing of the probes loses as many.
    let flow = replay(
        directory.path(),
        &[
            "flow.stream.transport=udp",
            "flow.stream.packet_size=228 B",
            "flow.stream.traffic={ kind = \"cbr\", rate = \"300 kbit/s\" }",
        ],
    );
    let replayed = number(&flow["lost_wireless"]) / number(&flow["sent_packets"]);
    let recorded = number(&found["up"]["lost"]) / number(&found["up"]["sent"]);
    assert!((replayed - recorded).abs() < 0.015, "{replayed}, not {recorded}");
}

#[test]
fn the_rate_limit_is_kept_and_reported() {
    let directory = TempDir::new().expect("a directory");
    let server = Server::start(&["--max-rate", "20M"]);
    let found = record(server.port, directory.path(), &["--time", "1s", "--rate", "4M"]);
    for name in ["up", "down"] {
        let rate = number(&found[name]["rate_bps"]);
        assert!((3.2e6..4.2e6).contains(&rate), "{name}: {rate}");
    }
    let out = directory.path().to_str().expect("a plain path");
    let host = format!("127.0.0.1:{}", server.port);
    let refused = run(&["record", &host, "--rate", "21M", "--out", out]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("refuses: --rate must be above 0 and at most 20 Mbit/s there"),
        "{refused:?}"
    );
}

#[test]
fn what_is_missing_is_named() {
    let directory = TempDir::new().expect("a directory");
    let out = directory.path().to_str().expect("a plain path");
    let silent = run(&["record", "127.0.0.1:1", "--out", out]);
    assert!(stderr(&silent).contains("is `whimbrel record server` running there?"), "{silent:?}");
    assert_eq!(run(&["record", "127.0.0.1:1", "--time", "0"]).status.code(), Some(2));
    assert_eq!(run(&["record"]).status.code(), Some(2));
    // Another program's TCP.
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        use std::io::Write;
        let (mut stream, _) = other.accept().expect("a client");
        let _ = stream.write_all(b"SSH-2.0-x\r\n");
        std::thread::sleep(Duration::from_secs(1));
    });
    let wrong = run(&["record", &format!("127.0.0.1:{port}"), "--out", out]);
    assert!(stderr(&wrong).contains("does not speak this version of whimbrel record"), "{wrong:?}");
    // A server that sees no datagrams.
    let server = Server::start(&[]);
    let deaf = Relay::start(
        server.port,
        Path { rate_bps: 1.0, queue: -1.0, delay: Duration::ZERO, lose_each: 0 },
        paths(6e6, 0)[1],
    );
    let blocked = run(&["record", &format!("127.0.0.1:{}", deaf.port), "--out", out]);
    assert_eq!(blocked.status.code(), Some(1));
    assert!(stderr(&blocked).contains("received no datagram of this end: UDP may be blocked"), "{blocked:?}");
}

#[test]
fn a_gentle_recording_that_is_stopped_is_written() {
    let directory = TempDir::new().expect("a directory");
    let server = Server::start(&[]);
    let (host, out) =
        (format!("127.0.0.1:{}", server.port), directory.path().to_str().expect("a plain path"));
    let options =
        ["record", &host, "--mode", "gentle", "--rate", "1M", "--time", "60s", "--out", out, "--json"];
    let mut recording =
        whimbrel(&[&options[..], &["--http", "127.0.0.1:0"]].concat()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(recording.stderr.take().expect("piped")).read_line(&mut line).expect("text");
    let page = line.trim().strip_prefix("whimbrel: live at http://").and_then(|at| at.strip_suffix('/'));
    let page = page.unwrap_or_else(|| panic!("{line}")).parse().expect("an address");
    // A second without load, and two with.
    std::thread::sleep(Duration::from_secs(3));
    // Traffic of both directions is on the page meanwhile: 1 Mbit/s of probes, and twenty pings a second.
    let shown: Value = serde_json::from_str(&get(page, "/").1).expect("JSON");
    for name in ["sent", "received"] {
        let series = shown["series"].as_array().expect("a list").iter().find(|series| series["name"] == name);
        let values = series.expect("a series")["values"].as_array().expect("a list");
        let most = values.iter().filter_map(Value::as_f64).fold(0.0, f64::max);
        assert!((0.9e6..1.5e6).contains(&most), "{name}: {values:?}");
    }
    signal(&recording, Signal::INT);
    let found = json(&finish(recording));
    let length = number(&found["load_s"]);
    assert!((2.0..5.0).contains(&length), "{found}");
    for name in ["up", "down"] {
        assert_eq!(found[name]["lost"], 0, "{found}");
        // Probes of 200 bytes and 28 of headers. After a pause, a process sends at most eight of those due.
        let spacing = 228.0 * 8.0 / 1e6;
        let delays = fs::read_to_string(directory.path().join(format!("{name}.delays.csv"))).expect("delays");
        let times: Vec<f64> = delays
            .lines()
            .filter(|line| line.ends_with(",load"))
            .map(|line| line.split(',').next().and_then(|time| time.parse().ok()).expect("a time"))
            .collect();
        let omitted: f64 = times.windows(2).map(|pair| (pair[1] - pair[0] - 9.0 * spacing).max(0.0)).sum();
        println!("{name}: {omitted} s of {length} omitted");
        assert_within(number(&found[name]["sent"]) * spacing, length - omitted, 0.03);
    }
    // The server is ready for another one.
    record(server.port, directory.path(), &["--time", "200ms", "--rate", "1M"]);
}

#[cfg(target_os = "linux")]
#[test]
fn one_client_does_not_keep_the_server_from_others() {
    use std::io::Write;
    let directory = TempDir::new().expect("a directory");
    let server = Server::start(&[]);
    let connect = || processes::connect_from([127, 0, 0, 9], server.port);
    let own = || record(server.port, directory.path(), &["--time", "100ms", "--rate", "1M"]);
    // Connections without a plan.
    let idle: Vec<_> = (0..100).map(|_| connect()).collect();
    own();
    drop(idle);
    // Recordings without probes, one after the other without a pause.
    let ask = || {
        let mut stream = connect();
        let plan = serde_json::json!({ "is": "plan", "version": 2, "mode": "gentle", "load_ms": 600_000, "rate_bps": 1e5 });
        writeln!(stream, "{plan}").expect("it reads");
        let mut line = String::new();
        BufReader::new(stream.try_clone().expect("a descriptor")).read_line(&mut line).expect("an answer");
        (stream, line)
    };
    let (held, answer) = ask();
    assert!(answer.contains("accepted"), "{answer}");
    let host = format!("127.0.0.1:{}", server.port);
    let busy = run(&["record", &host, "--out", directory.path().to_str().expect("a plain path")]);
    assert!(stderr(&busy).contains("busy with another recording"), "{busy:?}");
    drop(held);
    loop {
        let (held, answer) = ask();
        if answer.contains("others could not record while it served your address") {
            break;
        }
        assert!(answer.contains("busy"), "it is served again: {answer}");
        drop(held);
        std::thread::sleep(Duration::from_millis(50));
    }
    own();
}

#[cfg(target_os = "linux")]
#[test]
fn an_outage_of_this_host_is_recorded_as_losses() {
    if !own_network::own_network() {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let server = Server::start(&[]);
    let (host, out) =
        (format!("127.0.0.1:{}", server.port), directory.path().to_str().expect("a plain path"));
    let options =
        ["record", &host, "--mode", "gentle", "--rate", "500k", "--time", "4s", "--out", out, "--json"];
    let recording = whimbrel(&options).spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(2));
    assert!(own_network::run("ip link set lo down"));
    std::thread::sleep(Duration::from_secs(1));
    assert!(own_network::run("ip link set lo up"));
    let found = json(&finish(recording));
    for name in ["up", "down"] {
        // A second of four, in one burst.
        let (lost, sent) = (number(&found[name]["lost"]), number(&found[name]["sent"]));
        assert_within(lost / sent, 0.25, 0.3);
        assert!(number(&found[name]["mean_burst"]) > 0.5 * lost, "{name}: {found}");
    }
}
