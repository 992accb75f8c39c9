//! `whimbrel relay` and `whimbrel pipe` over several paths, the built program, on addresses of the loopback
//! interface.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use whimbrel_net::Clock;

use crate::processes;
use crate::relays;
use processes::{finish, stderr, whimbrel};
use relays::{Relay, get, receive, secret, socket};

const PATHS: [Ipv4Addr; 2] = [Ipv4Addr::new(127, 0, 0, 1), Ipv4Addr::new(127, 0, 0, 2)];

/// Datagrams between several paths of a client and a server, each of which can be cut.
struct Crossing {
    at: SocketAddr,
    is_cut: Arc<[AtomicBool; 2]>,
    is_over: Arc<AtomicBool>,
}

impl Crossing {
    fn start(server: SocketAddr) -> Self {
        let front = socket();
        front.set_read_timeout(Some(Duration::from_millis(100))).expect("a time");
        let (at, is_cut, is_over) = (
            front.local_addr().expect("bound"),
            Arc::<[AtomicBool; 2]>::default(),
            Arc::<AtomicBool>::default(),
        );
        let (cut, over) = (is_cut.clone(), is_over.clone());
        thread::spawn(move || {
            let mut backs: BTreeMap<SocketAddr, UdpSocket> = BTreeMap::new();
            let mut buffer = vec![0; 2048];
            while !over.load(Ordering::Relaxed) {
                let Ok((size, source)) = front.recv_from(&mut buffer) else { continue };
                let path = PATHS.iter().position(|path| IpAddr::V4(*path) == source.ip()).expect("a path");
                let back = backs.entry(source).or_insert_with(|| {
                    let back = socket();
                    back.connect(server).expect("loopback");
                    let (reader, front) =
                        (back.try_clone().expect("a descriptor"), front.try_clone().expect("a descriptor"));
                    let (cut, over) = (cut.clone(), over.clone());
                    thread::spawn(move || {
                        let mut buffer = vec![0; 2048];
                        while !over.load(Ordering::Relaxed) {
                            if let Ok(size) = reader.recv(&mut buffer)
                                && !cut[path].load(Ordering::Relaxed)
                            {
                                let _ = front.send_to(&buffer[..size], source);
                            }
                        }
                    });
                    back
                });
                if !cut[path].load(Ordering::Relaxed) {
                    let _ = back.send(&buffer[..size]);
                }
            }
        });
        Self { at, is_cut, is_over }
    }

    fn set_cut(&self, path: usize, is_cut: bool) {
        self.is_cut[path].store(is_cut, Ordering::Relaxed);
    }
}

impl Drop for Crossing {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Both ends, which also have these options, with two paths between them. Returns them, the near port, the
/// crossing, and the address of the near end's state.
fn pair(
    target: &UdpSocket,
    scheduler: &str,
    options: &[&str],
) -> (Relay, Relay, SocketAddr, Crossing, SocketAddr) {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let to = target.local_addr().expect("bound").to_string();
    let far = ["relay", "server", "--bind", "127.0.0.1:0", "--to", &to, "--secret-file", &secret];
    let mut far = Relay::start(&[&far[..], options].concat());
    let crossing = Crossing::start(far.address("at UDP "));
    let at = crossing.at.to_string();
    let [first, second] = PATHS.map(|path| path.to_string());
    let near = ["relay", "client", &at, "--from", "127.0.0.1:0", "--path", &first, "--path", &second];
    // The test reads no lines for 10 s: at this interval they fit into the pipe's buffer.
    let rest =
        ["--scheduler", scheduler, "--http", "127.0.0.1:0", "--interval", "0.5", "--secret-file", &secret];
    let mut near = Relay::start(&[&near[..], &rest, options].concat());
    let port = near.address("at UDP ");
    let state = near.address("http://");
    assert!(near.event("connected").contains("encrypted; its key is SHA256:"));
    // On a busy machine the first may not answer for a while.
    while near.event("path") != "path 127.0.0.2 (127.0.0.2) is in use" {}
    while !far.event("path").contains("is in use") {}
    (near, far, port, crossing, state)
}

/// Sends `count` numbered datagrams, one every 10 ms. Returns the next number.
fn stream(program: &UdpSocket, to: SocketAddr, first: u32, count: u32) -> u32 {
    for number in first..first + count {
        let mut data = number.to_be_bytes().to_vec();
        data.resize(500, 7);
        program.send_to(&data, to).expect("loopback");
        thread::sleep(Duration::from_millis(10));
    }
    first + count
}

fn metric(text: &str, name: &str, path: Ipv4Addr) -> f64 {
    let line = text.lines().find(|line| {
        line.starts_with(&format!("whimbrel_relay_{name}{{")) && line.contains(&format!("local=\"{path}:"))
    });
    let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
    value.unwrap_or_else(|| panic!("no {name} of {path} in {text}"))
}

#[test]
fn an_encrypted_stream_takes_both_paths_and_each_has_its_figures() {
    let viewer = socket();
    // A busy machine's delay is not late.
    let (mut near, _far, port, _crossing, state) = pair(&viewer, "weighted", &["--latency", "3s"]);
    let program = socket();
    let sent = stream(&program, port, 0, 150);
    let mut source = port;
    for number in 0..sent {
        let (data, from) = receive(&viewer);
        assert_eq!((&data[..4], data.len()), (&number.to_be_bytes()[..], 500));
        source = from;
    }
    // Answers find their way.
    viewer.send_to(b"answer", source).expect("loopback");
    assert_eq!(receive(&program).0, b"answer");
    // A path that did not answer for a while is up again soon.
    let both_up = (0..100).find_map(|_| {
        thread::sleep(Duration::from_millis(100));
        let text = get(state, "/metrics").1;
        let rate: Value = serde_json::from_str(&get(state, "/rate").1).expect("JSON");
        let paths = rate["paths"].as_array().expect("paths");
        let is_up = PATHS.iter().all(|path| metric(&text, "path_up", *path) == 1.0)
            && paths.iter().all(|path| path["state"] == "up");
        is_up.then_some((text, rate))
    });
    let (text, rate) = both_up.expect("both paths are up");
    let bytes = PATHS.map(|path| metric(&text, "path_sent_bytes_total", path));
    let all: f64 = bytes.iter().sum();
    let least = f64::from(sent) * 502.0;
    // Late datagrams are asked for, and repeated.
    let most = 1.2 * least * (1.0 + rate["repair"]["overhead"].as_f64().expect("a share"));
    println!("{bytes:?} of {least} to {most}; {}", rate["repair"]);
    assert!(
        bytes.iter().all(|bytes| *bytes > 0.25 * all) && (least..most).contains(&all),
        "{bytes:?} of {least} to {most}"
    );
    assert!(PATHS.iter().all(|path| metric(&text, "path_rtt_seconds", *path) > 0.0));
    let paths = rate["paths"].as_array().expect("paths");
    let allowed = |value: &Value| value["allowed_rate_bps"].as_f64().expect("a rate");
    let sum: f64 = paths.iter().map(allowed).sum();
    assert!((allowed(&rate) / sum - 1.0).abs() < 1e-9, "{rate}");
    let interval = near.next("interval");
    assert_eq!(interval["paths"].as_array().expect("paths").len(), 2);
}

#[test]
fn a_path_that_dies_loses_a_part_of_a_second_and_is_used_again() {
    let viewer = socket();
    let (mut near, _far, port, crossing, _state) = pair(&viewer, "lowest-rtt", &[]);
    let reader = thread::spawn(move || {
        viewer.set_read_timeout(Some(Duration::from_secs(2))).expect("a time");
        let mut buffer = vec![0; 2048];
        let (clock, mut arrived) = (Clock::start(), Vec::new());
        while let Ok(size) = viewer.recv(&mut buffer) {
            assert_eq!(size, 500);
            let number = u32::from_be_bytes(buffer[..4].try_into().expect("four bytes"));
            arrived.push((clock.now(), number));
        }
        arrived
    });
    let program = socket();
    let mut next = 0;
    for path in [0, 1] {
        next = stream(&program, port, next, 100);
        crossing.set_cut(path, true);
        next = stream(&program, port, next, 150);
        crossing.set_cut(path, false);
    }
    next = stream(&program, port, next, 300);
    let arrived = reader.join().expect("no panic");
    let lost = next as usize - arrived.len();
    // A retransmission timeout is 200 ms here, in which 20 datagrams leave; repair restores some of them over
    // the other path.
    assert!(lost <= 70, "{lost} of {next} lost");
    let gap = arrived.windows(2).map(|pair| pair[1].0 - pair[0].0).max().expect("datagrams");
    assert!(gap.as_millis() < 900, "{gap:?}");
    assert!(arrived.windows(2).all(|pair| pair[0].1 < pair[1].1), "in order");
    assert_eq!(arrived.last().map(|(_, number)| *number), Some(next - 1));
    let mut seen = Vec::new();
    while !seen.iter().any(|line: &String| line.contains("answers again")) {
        seen.push(near.event("path"));
    }
    assert!(seen.iter().any(|line| line.contains("does not answer")), "{seen:?}");
}

#[test]
fn a_path_that_cannot_be_is_refused_with_the_reason() {
    let refusal = |paths: &[&str]| {
        let mut arguments = vec!["relay", "client", "127.0.0.1:9", "--from", "127.0.0.1:0"];
        paths.iter().for_each(|path| arguments.extend(["--path", path]));
        let output = finish(whimbrel(&arguments).spawn().expect("it starts"));
        assert!(!output.status.success());
        stderr(&output)
    };
    let text = refusal(&["nowhere0"]);
    assert!(text.contains("--path nowhere0: there is no such network interface; there are "), "{text}");
    assert!(text.contains(" lo"), "{text}");
    let text = refusal(&["192.0.2.77"]);
    assert!(text.contains("no network interface has this address"), "{text}");
    let text = refusal(&["127.0.0.1", "lo"]);
    assert!(text.contains("--path 127.0.0.1 and --path lo have one address, 127.0.0.1"), "{text}");
    let text = refusal(&["lo,speed=1"]);
    assert!(text.contains("expected priority=, weight= or cost="), "{text}");
}
