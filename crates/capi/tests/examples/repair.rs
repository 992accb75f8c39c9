//! Repair over paths that lose datagrams, by a program in C with both ends.
#![allow(clippy::disallowed_types, reason = "the path breaks in real time")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{build_program, shared};

/// Packets before the first that is lost: the handshake.
const SPARED: u32 = 30;
/// Every so many packets of both directions one is lost.
const PERIOD: u32 = 13;
/// From this packet of the client on, a path breaks.
const BREAKS_AT: u32 = 60;
/// Duration of the break, longer than the latency of the program.
const OUTAGE: Duration = Duration::from_millis(1500);

/// The losses of a path.
#[derive(Clone, Copy, PartialEq)]
enum Losses {
    /// One in [`PERIOD`] packets.
    Single,
    /// All of the client for a time.
    Outage,
}

/// Starts a path to a server. Returns its address, and the number of packets that it has lost.
fn path_to(server: SocketAddr, losses: Losses) -> (SocketAddr, Arc<AtomicU32>) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let (address, lost) = (socket.local_addr().expect("bound"), Arc::new(AtomicU32::new(0)));
    let count = lost.clone();
    std::thread::spawn(move || {
        let (mut client, mut buffer, mut forth, mut broken_at) = (None, [0; 2048], 0, None);
        for number in 0u32.. {
            let Ok((size, from)) = socket.recv_from(&mut buffer) else { return };
            if from != server {
                client = Some(from);
                forth += 1;
            }
            let is_lost = match losses {
                Losses::Single => number > SPARED && number.is_multiple_of(PERIOD),
                Losses::Outage if from == server || forth < BREAKS_AT => false,
                Losses::Outage => broken_at.get_or_insert_with(std::time::Instant::now).elapsed() < OUTAGE,
            };
            if is_lost {
                count.fetch_add(1, Ordering::Relaxed);
            } else if let Some(to) = if from == server { client } else { Some(server) } {
                let _ = socket.send_to(&buffer[..size], to);
            }
        }
    });
    (address, lost)
}

/// Compiles the program and runs it over such a path, with further arguments. Returns its output and the
/// number of packets that the path has lost.
fn run(losses: Losses, arguments: &[&str]) -> (String, u32) {
    let folder = tempfile::tempdir().expect("a folder");
    let built = build_program(folder.path(), "repair", include_str!("repair.c"), &shared());
    let mut program = Command::new(built)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut output = BufReader::new(program.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("text");
    let (path, lost) = path_to(line.trim().parse().expect(&line), losses);
    writeln!(program.stdin.take().expect("a pipe"), "{path}").expect("it reads");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    let status = program.wait().expect("it ends");
    assert!(status.success(), "{status} {rest}");
    (rest, lost.load(Ordering::Relaxed))
}

#[test]
fn lost_datagrams_are_repaired_and_counted() {
    let (said, lost) = run(Losses::Single, &["single", "1500"]);
    assert!(lost > 20, "{lost} lost; {said}");
}

#[test]
fn what_is_given_up_asks_for_a_new_start() {
    let (said, lost) = run(Losses::Outage, &["outage", "500"]);
    assert!(lost > 0, "{lost} lost; {said}");
}

#[test]
fn coded_paths_without_a_latency_are_refused() {
    run(Losses::Single, &["refused", "0"]);
}
