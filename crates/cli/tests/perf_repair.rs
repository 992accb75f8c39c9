//! `whimbrel perf --latency` on a path that loses packets, and with a server that does not repair.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::hostile_path::{HostilePath, all};
use crate::processes::{Server, finish, number, stderr, whimbrel};

/// Passes lines from one connection to the other, changed by `edit`.
fn pass(from: TcpStream, mut to: TcpStream, edit: impl Fn(String) -> String + Send + 'static) {
    thread::spawn(move || {
        let mut lines = BufReader::new(from);
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|size| size > 0) {
            if to.write_all(edit(std::mem::take(&mut line)).as_bytes()).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
}

/// A path to a server for data and control. `edit` changes what the client says on the control connection.
fn path_to(server: SocketAddr, edit: fn(String) -> String) -> HostilePath {
    let (path, control) = loop {
        let path = HostilePath::to(server);
        // Another program may have the port for TCP.
        if let Ok(control) = TcpListener::bind(path.at) {
            break (path, control);
        }
    };
    thread::spawn(move || {
        for client in control.incoming().flatten() {
            let far = TcpStream::connect(server).expect("it listens");
            let clone = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
            pass(clone(&client), clone(&far), edit);
            pass(far, client, |line| line);
        }
    });
    path
}

fn client(at: SocketAddr, options: &[&str]) -> std::process::Output {
    let at = at.to_string();
    let arguments = ["perf", "client", &at, "--rate", "1M", "--time", "2"];
    finish(whimbrel(&[&arguments[..], options].concat()).spawn().expect("it starts"))
}

/// A schedule of frames of eight datagrams, of which the path loses one in twelve.
#[test]
fn frames_of_a_schedule_are_whole_repaired_or_given_up() {
    let server = Server::start(&[]);
    let path = path_to(([127, 0, 0, 1], server.port).into(), |line| line);
    let mut packets = 0;
    path.obey(move |forth, packet| {
        packets += u64::from(forth && packet.len() > 1000);
        if forth && packet.len() > 1000 && packets % 12 == 0 { Vec::new() } else { all(forth, packet) }
    });
    let folder = tempfile::TempDir::new().expect("a folder");
    let schedule = folder.path().join("frames.csv");
    let lines = (0..25 * 8).map(|n| format!("{:.2},1200\n", f64::from(n / 8) * 0.04));
    std::fs::write(&schedule, format!("time_s,size_bytes\n{}", lines.collect::<String>())).expect("a file");
    let (at, schedule) = (path.at.to_string(), schedule.to_str().expect("a plain path"));
    let run = |options: &[&str]| {
        let arguments = ["perf", "client", &at, "--schedule", schedule, "--time", "2", "--json"];
        let output = finish(whimbrel(&[&arguments[..], options].concat()).spawn().expect("it starts"));
        assert!(output.status.success(), "{}", stderr(&output));
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let up = &record["summary"]["up"];
        ["frames_whole", "frames_repaired", "frames_given_up"]
            .map(|name| number(up, &format!("received.{name}")))
    };
    let [whole, repaired, given_up] = run(&["--latency", "250ms"]);
    // 50 frames in two seconds, of which most lose a datagram; a busy machine sends fewer.
    assert!(whole + repaired + given_up > 25.0, "{whole} {repaired} {given_up}");
    assert!(repaired > 5.0 && repaired > 2.0 * given_up, "{whole} {repaired} {given_up}");
    let [whole, repaired, given_up] = run(&[]);
    assert!(repaired == 0.0 && given_up > 5.0, "{whole} {repaired} {given_up}");
}

#[test]
fn lost_datagrams_are_repaired_if_the_client_requests_it() {
    let server = Server::start(&[]);
    let path = path_to(([127, 0, 0, 1], server.port).into(), |line| line);
    let dropped = Arc::new(AtomicU64::new(0));
    let (count, mut packets) = (dropped.clone(), 0);
    path.obey(move |forth, packet| {
        packets += u64::from(forth && packet.len() > 1000);
        if forth && packet.len() > 1000 && packets % 12 == 0 {
            count.fetch_add(1, Ordering::Relaxed);
            return Vec::new();
        }
        all(forth, packet)
    });
    let output = client(path.at, &["--latency", "250ms", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(record["plan"]["latency_s"], 0.25);
    let up = &record["summary"]["up"];
    let lost_on_path = dropped.load(Ordering::Relaxed) as f64;
    let [repeated, restored, in_time, datagrams] =
        ["repeated", "restored", "in_time", "datagrams"].map(|name| number(up, &format!("received.{name}")));
    // The path loses one packet in twelve. Repairs of the last datagrams may arrive after the test.
    assert!(lost_on_path >= 10.0 && repeated + restored >= lost_on_path * 0.8 - 2.0, "{lost_on_path} {up}");
    assert!(number(up, "lost") < lost_on_path / 4.0, "{up}");
    assert!(in_time > 0.0 && in_time <= datagrams, "{up}");
    assert!(number(up, "sent.repeats") + number(up, "sent.coded") >= repeated + restored, "{up}");
    // Each is counted once, without headers.
    let sent = number(up, "sent.datagrams");
    assert!((datagrams..=datagrams + lost_on_path).contains(&sent), "{up}");
    assert_eq!(number(up, "sent.bytes"), sent * 1200.0);
    assert!(number(up, "sent.repair_bytes") >= 1200.0 * number(up, "sent.repeats"), "{up}");
    // The other direction, as text.
    let output = client(path.at, &["--latency", "300ms", "--reverse"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("arrived within 300.0 ms of the fastest;"), "{text}");
}

#[test]
fn a_server_that_does_not_repair_is_told_apart() {
    let server = Server::start(&[]);
    // An earlier version does not know the key.
    let path =
        path_to(([127, 0, 0, 1], server.port).into(), |line| line.replace("\"latency_s\"", "\"other\""));
    let output = client(path.at, &["--latency", "300ms"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("the server does not repair lost datagrams"), "{}", stderr(&output));
    let output = client(path.at, &["--latency", "150ms", "--udp"]);
    assert_eq!(output.status.code(), Some(2));
}
