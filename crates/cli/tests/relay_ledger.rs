//! Each datagram that a program gives a relay is delivered or lost for a reason, which both ends state.
#![allow(clippy::disallowed_types, reason = "it waits for a real time")]

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::hostile_path;
use crate::processes;
use crate::relays;
use hostile_path::HostilePath;
use processes::signal;
use relays::{Relay, get, secret, socket};

/// Time limit for anything that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// An account in the state of a relay: what was sent and delivered, and the reasons that occurred.
fn account(state: SocketAddr, path: &str, pointer: &str) -> (u64, u64, BTreeMap<String, u64>) {
    let all: Value = serde_json::from_str(&get(state, path).1).expect("JSON");
    let account = all.pointer(pointer).unwrap_or(&Value::Null);
    let count = |value: &Value| value.as_u64().unwrap_or_default();
    let lost = account["lost"].as_object().into_iter().flatten();
    let lost = lost.map(|(reason, value)| (reason.clone(), count(value))).filter(|(_, count)| *count > 0);
    (count(&account["sent"]), count(&account["delivered"]), lost.collect())
}

/// Waits until an account has settled at these numbers.
fn settles(state: SocketAddr, path: &str, pointer: &str, expected: (u64, u64, &[(&str, u64)])) {
    let lost = expected.2.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect();
    let expected = (expected.0, expected.1, lost);
    let began = Instant::now();
    loop {
        let seen = account(state, path, pointer);
        if seen == expected {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{path} {pointer}: {seen:?} instead of {expected:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn send(camera: &UdpSocket, port: SocketAddr, count: u32, size: usize) {
    for _ in 0..count {
        camera.send_to(&vec![7; size], port).expect("loopback");
        thread::sleep(Duration::from_millis(3));
    }
}

#[test]
fn the_camera_learns_what_the_path_lost_and_that_nobody_watches() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let viewer = socket();
    let to = viewer.local_addr().expect("bound");
    let listen = ["relay", "server", "--bind", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    let target = to.to_string();
    let rest = ["--to", &target, "--latency", "0", "--secret-file", &secret];
    let mut far = Relay::start(&[&listen[..], &rest].concat());
    let at = far.address("at UDP ");
    assert!(far.event("ready").starts_with("encrypted"));
    let far_state = far.address("http://");
    let path = HostilePath::to(at);
    let peer = path.at.to_string();
    let near = ["relay", "client", &peer, "--from", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    let mut near = Relay::start(&[&near[..], &["--interval", "0.2", "--secret-file", &secret]].concat());
    let (port, state) = (near.address("at UDP "), near.address("http://"));
    near.event("connected");
    let camera = socket();

    send(&camera, port, 50, 300);
    settles(state, "/rate", "/to_peer", (50, 50, &[]));

    // The viewer has ended: the system there says so for each datagram.
    drop(viewer);
    send(&camera, port, 40, 300);
    let refused: &[(&str, u64)] = &[("refused", 40)];
    settles(state, "/rate", "/to_peer", (90, 50, refused));
    settles(far_state, "/", "/connections/0/from_peer", (90, 50, refused));

    // A new one is there; the path takes every third packet with data. Larger ones probe the path.
    let viewer = UdpSocket::bind(to).expect("it is free");
    let (mut count, eaten) = (0_u64, Arc::new(AtomicU64::new(0)));
    let counter = eaten.clone();
    path.obey(move |up, packet| {
        let is_data = up && (600..720).contains(&packet.len());
        count += u64::from(is_data);
        if is_data && count.is_multiple_of(3) {
            counter.fetch_add(1, Ordering::Relaxed);
            return Vec::new();
        }
        vec![packet.to_vec()]
    });
    send(&camera, port, 30, 600);
    // Datagrams that congestion control held back for too long are stale: the sum is what counts.
    let began = Instant::now();
    let (delivered, lost) = loop {
        let (sent, delivered, lost) = account(state, "/rate", "/to_peer");
        if sent == 120 && delivered + lost.values().sum::<u64>() == sent {
            break (delivered, lost);
        }
        assert!(began.elapsed() < PATIENCE, "{sent} {delivered} {lost:?}");
        thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(lost["path"], eaten.load(Ordering::Relaxed), "{lost:?}");
    assert!(lost["path"] > 0 && lost["refused"] == 40, "{lost:?}");
    viewer.set_nonblocking(true).expect("a mode");
    let mut seen = 0;
    while viewer.recv(&mut [0; 2048]).is_ok() {
        seen += 1;
    }
    assert_eq!(delivered, 50 + seen);

    // The same numbers for Prometheus and on the line.
    let metrics = get(state, "/metrics").1;
    let line = format!(
        "whimbrel_relay_lost_datagrams_total{{direction=\"to_peer\",reason=\"path\"}} {}",
        lost["path"]
    );
    assert!(metrics.lines().any(|each| each == line), "{line}: {metrics}");
    let interval = near.next("interval");
    assert!(interval["to_peer"]["lost"]["refused"].is_u64() && interval["delay_s"].is_f64(), "{interval}");

    // While there is no connection, what the camera sends is counted as well.
    signal(&far.child, Signal::TERM);
    near.event("ended");
    let (before, delivered, mut lost) = account(state, "/rate", "/to_peer");
    send(&camera, port, 20, 300);
    // Datagrams wait for a connection while they are of use.
    *lost.entry("unconnected".to_owned()).or_default() += 20;
    let lost: Vec<(&str, u64)> = lost.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    settles(state, "/rate", "/to_peer", (before + 20, delivered, &lost));
}

#[test]
fn both_ends_learn_that_the_program_is_gone_that_was_answered() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let viewer = socket();
    let to = viewer.local_addr().expect("bound").to_string();
    let listen = ["relay", "server", "--bind", "127.0.0.1:0", "--http", "127.0.0.1:0", "--to", &to];
    let mut far = Relay::start(&[&listen[..], &["--secret-file", &secret]].concat());
    let at = far.address("at UDP ").to_string();
    assert!(far.event("ready").starts_with("encrypted"));
    let far_state = far.address("http://");
    let near = ["relay", "client", &at, "--from", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    let mut near = Relay::start(&[&near[..], &["--secret-file", &secret]].concat());
    let (port, state) = (near.address("at UDP "), near.address("http://"));
    near.event("connected");
    let camera = socket();
    camera.send_to(b"frame", port).expect("loopback");
    let (_, source) = relays::receive(&viewer);
    send(&viewer, source, 10, 300);
    settles(state, "/rate", "/from_peer", (10, 10, &[]));
    drop(camera);
    send(&viewer, source, 30, 300);
    let refused: &[(&str, u64)] = &[("refused", 30)];
    settles(state, "/rate", "/from_peer", (40, 10, refused));
    settles(far_state, "/", "/connections/0/to_peer", (40, 10, refused));
}
