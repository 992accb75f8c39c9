//! `whimbrel emulate` around cells: the gaps of handovers as programs see them.
#![cfg(target_os = "linux")]

use std::fs;

use crate::emulate;
use crate::processes;
use processes::{finish, stdout, whimbrel};

/// A phone between two cells that serve it in turns, half a second each.
const SCENARIO: &str = r#"
    title = "A phone between two cells"
    [simulation]
    duration = "60 s"
    [record]
    packets = true
    [[node]]
    name = "server"
    [[node]]
    name = "operator"
    gateway = { shadowing = { deviation = "0 dB" }, handover = { by_level = false, preparation = "50 ms", gap = "100 ms" } }
    [[node]]
    name = "phone"
    cell = "west"
    position = [250, 30]
    cell_changes = [
        { time = "2 s", to = "east" }, { time = "2.5 s", to = "west" }, { time = "3 s", to = "east" },
        { time = "3.5 s", to = "west" }, { time = "4 s", to = "east" }, { time = "4.5 s", to = "west" },
        { time = "5 s", to = "east" },
    ]
    [[cell]]
    name = "west"
    gateway = "operator"
    position = [0, 0]
    bandwidth = "3 MHz"
    idle = { always_on = true }
    radio = { propagation = "macro", fading = "none" }
    [[cell]]
    name = "east"
    gateway = "operator"
    position = [500, 0]
    bandwidth = "3 MHz"
    idle = { always_on = true }
    radio = { propagation = "macro", fading = "none" }
    [[link]]
    between = ["server", "operator"]
    rate = "1 Gbit/s"
    delay = "10 ms"
    [[flow]]
    name = "video"
    from = "server"
    to = "phone"
    transport = "udp"
    traffic = { kind = "cbr", rate = "1 Mbit/s" }
"#;

/// Sends more than the cell carries, so that its queue decides when a datagram arrives.
const SERVER: &str = r#"
import socket, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind(("", 9000))
    _, phone = s.recvfrom(100)
    for _ in range(80):
        for _ in range(200):
            s.sendto(bytes(500), phone)
        time.sleep(0.05)
    time.sleep(60)
"#;

/// Prints the times without a datagram, in milliseconds, by the kernel's timestamps. A program that waits for
/// a processor reads its clock late.
const PHONE: &str = r#"
import socket, struct
SO_TIMESTAMPNS = 35
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
    s.settimeout(3)
    s.sendto(b"begin", ("server", 9000))
    last = None
    while True:
        try:
            _, control, _, _ = s.recvmsg(2000, 200)
        except TimeoutError:
            break
        seconds, nanoseconds = struct.unpack("qq", control[0][2][:16])
        at = seconds * 1e3 + nanoseconds * 1e-6
        if last is not None and at - last > 50:
            print(at - last)
        last = at
"#;

/// Times without a packet in the record of the emulation, in milliseconds of the network.
fn recorded(packets: &str) -> Vec<f64> {
    let mut lines = packets.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = header.iter().position(|name| *name == "received_s").expect("its times");
    let flow = header.iter().position(|name| *name == "flow").expect("its flows");
    let rows = lines.map(|line| line.split(',').collect::<Vec<_>>()).filter(|row| row[flow] == "video");
    let times = rows.filter_map(|row| row[column].parse().ok());
    let mut times: Vec<f64> = times.filter(|at: &f64| at.is_finite()).collect();
    times.sort_by(f64::total_cmp);
    let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]) * 1e3);
    gaps.filter(|gap| *gap > 50.0).collect()
}

#[test]
fn programs_see_the_gaps_of_handovers() {
    let Some(directory) = emulate::directory() else { return };
    for (name, text) in [("cells.toml", SCENARIO), ("server.py", SERVER), ("phone.py", PHONE)] {
        fs::write(directory.path().join(name), text).expect("it is written");
    }
    let mut command = whimbrel(&["emulate", "cells.toml", "--at", "phone", "--out", "tables"]);
    command.args([emulate::precedence(), "--end", "server=exec python3 server.py"]);
    command.args(["--", "python3", "phone.py"]).current_dir(directory.path());
    let output = finish(command.spawn().expect("it starts"));
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    let seen: Vec<f64> = text.lines().map_while(|line| line.parse().ok()).collect();
    let packets = fs::read_to_string(directory.path().join("tables/packets.csv")).expect("the packets");
    let expected = recorded(&packets);
    // The first block of the new cell comes after the gap, or its repetition eight slots later.
    assert!(expected.len() >= 4, "{expected:?}");
    assert!(expected.iter().all(|gap| (100.0..112.0).contains(gap)), "{expected:?}");
    // A busy machine delays single events; most gaps have their length.
    let near = expected.iter().filter(|gap| seen.iter().any(|other| (other - **gap).abs() < 1.0)).count();
    assert!(2 * near > expected.len(), "{near}: {seen:?} {expected:?}");
}
