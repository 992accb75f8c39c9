//! Memory and processor time of a listening relay with many idle connections.
//!
//! `IDLE_CONNECTIONS` sets their number; `scripts/relay_idle.sh` uses 10,000 and a release build.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Stdio};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tempfile::TempDir;
use whimbrel_net::{
    Ccid, Config, Fingerprint, Host, Identity, Security, ServiceCode, Setup, Socket, TimerConfig, Trust,
};
use whimbrel_units::Duration as UnitsDuration;

use crate::processes;
use processes::whimbrel;

/// The DCCP port of relays.
const PORT: u16 = 5004;
/// Connections per source address: a server limits them.
const PER_SOURCE: usize = 1000;
/// The most resident memory for one connection, in bytes. With 500 connections, 33 to 34 kB were measured;
/// with 10,000, which share more of the allocator's slack, 24.6 kB before streams had lanes. DTLS has 10 kB
/// of it, DCCP 7 kB.
const LIMIT: f64 = 36_000.0;
/// The most processor time for an idle connection in a second: three times of what was measured without
/// optimisation, with other programs busy on all processors (33 us).
const CPU_LIMIT: f64 = 100e-6;

/// A listening relay.
struct Relay {
    child: Child,
    at: SocketAddr,
    key: Fingerprint,
}

impl Relay {
    fn start(to: SocketAddr, peers: &str, key: &str, most: usize) -> Self {
        let (to, most) = (to.to_string(), most.to_string());
        let own = [
            "relay",
            "server",
            "--bind",
            "127.0.0.1:0",
            "--max-peers",
            &most,
            "--interval",
            "3600",
            "--json",
        ];
        let keys = ["--to", &to, "--key", key, "--peers", peers];
        let mut child =
            whimbrel(&[&own[..], &keys].concat()).stderr(Stdio::inherit()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        let mut text = || {
            let mut line = String::new();
            lines.read_line(&mut line).expect("text");
            let event: Value = serde_json::from_str(&line).expect("JSON");
            event["text"].as_str().unwrap_or_default().to_owned()
        };
        let first = text();
        let at = first.split("UDP ").nth(1).and_then(|rest| rest.split(';').next()).expect("an address");
        let key = text().split("key is ").nth(1).expect("a key").parse().expect("a fingerprint");
        let at = at.parse().expect("an address");
        // A full pipe would stop it.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self { child, at, key }
    }

    /// Its resident memory in bytes.
    fn memory(&self) -> f64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kilobytes * 1024.0
    }

    /// Its processor time in seconds.
    fn cpu(&self) -> f64 {
        let path = format!("/proc/{}/schedstat", self.child.id());
        let text = std::fs::read_to_string(path).expect("it runs");
        let nanoseconds: f64 = text.split(' ').next().expect("a number").parse().expect("a number");
        nanoseconds * 1e-9
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The configuration of connecting relays.
fn config() -> Config {
    let code = ServiceCode::from_letters("wrls").expect("four letters");
    Config::default()
        .service_code(code)
        .sender_ccids([Ccid::TFRC])
        .receiver_ccids([Ccid::TFRC])
        .timers(TimerConfig::default().idle(Some(UnitsDuration::from_secs(30))))
}

async fn connect(host: &Host, relay: &Relay, identity: Identity) -> Socket {
    let security = Security::new(identity, Trust::Pinned(vec![relay.key]));
    let socket =
        host.connect(relay.at, PORT, Setup::secured(config(), security)).await.expect("it is trusted");
    // The first flow of the first port.
    socket.send(Bytes::from_static(b"\x00\x00data")).await.expect("open");
    socket
}

#[tokio::test]
async fn idle_connections_take_little_memory_and_processor_time() {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let count: usize = number("IDLE_CONNECTIONS", 500);
    let seconds = number("IDLE_SECONDS", 2);
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let identities: Vec<_> = (0..count).map(|_| Identity::generate().expect("a key")).collect();
    let mut peers = std::fs::File::create(path("peers")).expect("a file");
    for identity in &identities {
        writeln!(peers, "{}", identity.fingerprint()).expect("written");
    }
    let made = whimbrel(&["key", "generate", "--file", &path("key.pem")]).status().expect("it runs");
    assert!(made.success());
    let program = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let to = program.local_addr().expect("bound");
    let relay = Relay::start(to, &path("peers"), &path("key.pem"), count);

    let mut hosts = Vec::new();
    for n in 0..=count / PER_SOURCE {
        let source = Ipv4Addr::new(127, 0, 0, 2 + n as u8);
        hosts.push(Host::udp((source, 0).into()).await.expect("loopback"));
    }
    let mut sockets = Vec::with_capacity(count);
    let empty = relay.memory();
    let mut identities = identities.into_iter().enumerate();
    let began = relay.cpu();
    while sockets.len() < count {
        let (n, identity) = identities.next().expect("one for each");
        sockets.push(connect(&hosts[n / PER_SOURCE], &relay, identity).await);
    }
    let opening = (relay.cpu() - began) / count as f64;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (full, before) = (relay.memory(), relay.cpu());
    tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
    let each = (full - empty) / count as f64;
    let cpu = (relay.cpu() - before) / seconds as f64 / count as f64;
    println!(
        "{count} connections: {:.1} MB, {:.1} MB without; {each:.0} bytes each; {:.2} us of processor time a second each; {:.2} ms to open one",
        full / 1e6,
        empty / 1e6,
        cpu * 1e6,
        opening * 1e3,
    );
    for socket in &sockets {
        assert!(socket.snapshot().is_some(), "a connection has ended");
    }
    assert!(each < LIMIT, "{each} bytes for each connection");
    assert!(cpu < CPU_LIMIT, "{cpu} s of processor time for each connection in a second");
}
