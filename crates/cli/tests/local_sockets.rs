//! The sockets of relays: names for addresses, multicast groups, bursts, and a service manager's sockets.
#![allow(clippy::disallowed_types, reason = "it measures real time")]

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::processes;
use crate::relays;
use processes::{finish, signal, stderr, whimbrel};
use relays::{Relay, get, listening, receive, secret, socket};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn addresses_may_be_names_at_both_ends() {
    let folder = TempDir::new().expect("a folder");
    let (secret, program) = (secret(&folder), socket());
    // The program and the listening relay are at 127.0.0.1 alone, and localhost may be ::1 first.
    let to = format!("localhost:{}", program.local_addr().expect("bound").port());
    let (_far, at) = listening(&to, &secret);
    let at = format!("localhost:{}", at.port());
    let mut near = Relay::start(&["relay", "client", &at, "--from", "localhost:0", "--secret-file", &secret]);
    let text = near.event("ready");
    let own = text.split("at UDP ").nth(1).and_then(|text| text.split(" go to").next()).expect("addresses");
    let own: Vec<SocketAddr> = own.split(", ").map(|address| address.parse().expect("an address")).collect();
    assert!(own.iter().any(SocketAddr::is_ipv4), "{text}");
    assert!(near.event("connected").contains("127.0.0.1"));
    for address in own {
        let camera = UdpSocket::bind((address.ip(), 0)).expect("loopback");
        camera.set_read_timeout(Some(PATIENCE)).expect("a time");
        // The first one may be refused at ::1.
        program.set_read_timeout(Some(Duration::from_millis(100))).expect("a time");
        let (mut room, began) = ([0; 16], Instant::now());
        let source = loop {
            camera.send_to(b"frame", address).expect("loopback");
            if let Ok((_, source)) = program.recv_from(&mut room) {
                break source;
            }
            assert!(began.elapsed() < PATIENCE, "nothing arrives from {address}");
        };
        program.send_to(b"answer", source).expect("loopback");
        assert_eq!(receive(&camera), (b"answer".to_vec(), address));
    }
}

#[test]
fn the_sender_of_carry_waits_for_its_receiver() {
    let folder = TempDir::new().expect("a folder");
    let (secret, program) = (secret(&folder), socket());
    let to = program.local_addr().expect("bound").to_string();
    let at = socket().local_addr().expect("bound").to_string();
    let mut near = Relay::start(&["relay", "client", &at, "--from", "127.0.0.1:0", "--secret-file", &secret]);
    let port = near.address("at UDP ");
    let reason = near.event("ended");
    assert!(reason.contains(&at), "{reason}");
    let mut far = Relay::start(&["relay", "server", "--bind", &at, "--to", &to, "--secret-file", &secret]);
    far.event("ready");
    near.event("connected");
    socket().send_to(b"frame", port).expect("loopback");
    assert_eq!(receive(&program).0, b"frame");
    // A name that is unknown as yet is waited for, too.
    let unknown =
        ["relay", "client", "no-such-host.invalid", "--from", "127.0.0.1:0", "--secret-file", &secret];
    let mut near = Relay::start(&unknown);
    for _ in 0..2 {
        let reason = near.event("ended");
        assert!(reason.starts_with("no-such-host.invalid cannot be resolved: "), "{reason}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_multicast_group_is_carried_to_another_one() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let ports = [socket(), socket()].map(|free| free.local_addr().expect("bound").port());
    let groups = ports.map(|port| format!("239.255.77.6:{port}"));
    let [from, to] = groups.each_ref().map(|group| format!("{group},interface=lo"));
    let viewers = [(); 2].map(|()| {
        let viewer =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).expect("a socket");
        viewer.set_reuse_address(true).expect("an option");
        viewer.bind(&groups[1].parse::<SocketAddr>().expect("an address").into()).expect("free");
        viewer.join_multicast_v4(&[239, 255, 77, 6].into(), &[127, 0, 0, 1].into()).expect("loopback");
        let viewer = UdpSocket::from(viewer);
        viewer.set_read_timeout(Some(PATIENCE)).expect("a time");
        viewer
    });
    let (_far, at) = listening(&to, &secret);
    let at = at.to_string();
    // Two relays on one host join the same group.
    let mut nears = [(); 2].map(|()| {
        let mut near = Relay::start(&["relay", "client", &at, "--from", &from, "--secret-file", &secret]);
        near.event("connected");
        near
    });
    let camera = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket2::SockRef::from(&camera).set_multicast_if_v4(&[127, 0, 0, 1].into()).expect("loopback");
    let began = Instant::now();
    // The second relay has replaced the first, which has the same secret and thus the same key, and has
    // connected again or will.
    let mut room = [0; 16];
    viewers[0].set_read_timeout(Some(Duration::from_millis(100))).expect("a time");
    while viewers[0].recv(&mut room).is_err() {
        assert!(began.elapsed() < PATIENCE, "nothing arrives");
        camera.send_to(b"frame", &groups[0]).expect("loopback");
    }
    assert_eq!(receive(&viewers[1]).0, b"frame");
    nears.iter_mut().for_each(|near| drop(near.child.kill()));
}

/// In a network of its own, whose loopback interface has a link-local address.
#[cfg(target_os = "linux")]
const LINK_LOCAL: &str = r#"
trap 'kill $server $pipe 2> /dev/null' EXIT
ip link set lo up && ip -6 addr add fe80::7/64 dev lo nodad || exit 99
"$1" perf server --bind '[fe80::7%lo]:6600' --insecure-plaintext > /dev/null 2>&1 & server=$!
"$1" pipe server --bind '[fe80::7%1]:6601' --insecure-plaintext > "$2/received" 2> /dev/null & pipe=$!
measure() { "$1" perf client '[fe80::7%1]:6600' --time 0.3 --insecure-plaintext $2 > /dev/null; }
until measure "$1" '' 2> /dev/null; do sleep 0.1; done
measure "$1" --udp && measure "$1" --tcp || exit 1
echo frame | "$1" pipe client '[fe80::7%lo]:6601' --path 'fe80::7%1' --insecure-plaintext || exit 2
until grep -q frame "$2/received"; do sleep 0.1; done
"#;

#[cfg(target_os = "linux")]
#[test]
fn link_local_addresses_have_zones() {
    let folder = TempDir::new().expect("a folder");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "sh", "-c", LINK_LOCAL, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_whimbrel")).arg(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().map(finish);
    let is_allowed = output
        .as_ref()
        .is_ok_and(|output| output.status.code() != Some(99) && !stderr(output).contains("unshare failed"));
    if !is_allowed {
        let required = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
        assert!(!required, "no network of its own: {output:?}");
        eprintln!("skipped: needs a network of its own ({output:?})");
        return;
    }
    let output = output.expect("it ran");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn places_that_cannot_work_are_refused_at_the_start() {
    let near = |from: &str| {
        vec!["relay".to_owned(), "connect".into(), "127.0.0.1:9".into(), "--from".into(), from.into()]
    };
    let far = |to: &str| ["relay", "server", "--bind", "127.0.0.1:0", "--to", to].map(str::to_owned).to_vec();
    let server = |host: &str| ["relay", "client", host, "--from", "127.0.0.1:0"].map(str::to_owned).to_vec();
    for (arguments, expected) in [
        (far("127.0.0.1:0"), "port 0"),
        (far("0.0.0.0:5004"), "no program's address"),
        (far("no-such-host.invalid:5004"), "no-such-host.invalid cannot be resolved"),
        (far("239.1.2.3:5004,interface=nowhere0"), "interface=nowhere0"),
        (near("239.1.2.3:0"), "another one than 0"),
        (near("239.1.2.3:5004,interface=nowhere0"), "interface=nowhere0"),
        (near("239.1.2.3:5004,source=239.1.2.4"), "IPv4 address of a host"),
        (near("127.0.0.1:5004,interface=lo"), "multicast groups"),
        (near("192.0.2.1:5004"), "UDP 192.0.2.1:5004"),
        (server("239.1.2.3"), "several hosts"),
        (server("0.0.0.0:6511"), "no host's address"),
        (server("127.0.0.1:0"), "port 0"),
        (
            ["relay", "server", "--bind", "239.1.2.3:6511", "--to", "127.0.0.1:9"]
                .map(str::to_owned)
                .to_vec(),
            "several hosts",
        ),
    ] {
        let texts: Vec<_> = arguments.iter().map(String::as_str).collect();
        let output = finish(whimbrel(&texts).spawn().expect("it starts"));
        assert!(!output.status.success(), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

/// Asserts that no part of an error message is there twice.
fn assert_says_it_once(text: &str) {
    let parts: Vec<_> = text.trim().split(": ").collect();
    for (index, part) in parts.iter().enumerate() {
        assert!(!parts[..index].contains(part), "{part:?} is there twice: {text}");
    }
    assert!(text.matches("os error").count() <= 1, "{text}");
}

#[test]
fn an_error_of_the_system_is_said_once() {
    let udp = socket();
    let tcp = std::net::TcpListener::bind(udp.local_addr().expect("bound")).expect("free");
    let (busy, tcp_busy) =
        (udp.local_addr().expect("bound").to_string(), tcp.local_addr().expect("bound").to_string());
    let near = ["relay", "client", "127.0.0.1:9", "--from"];
    for arguments in [
        &["relay", "server", "--to", "127.0.0.1:9", "--bind", &busy][..],
        &["relay", "server", "--to", "127.0.0.1:9", "--bind", "127.0.0.1:0", "--http", &tcp_busy],
        &[&near[..], &[&busy]].concat(),
        &["relay", "server", "--to", "127.0.0.1:9", "--bind", &busy],
        &["pipe", "server", "--bind", &busy],
        &["perf", "server", "--bind", &busy],
        &["record", "server", "--bind", &busy],
        &["perf", "client", "127.0.0.1:1"],
        &["perf", "client", "no-such-host.invalid"],
        &["record", "127.0.0.1:1", "--out", "/nonexistent/whimbrel"],
        &["pipe", "client", "127.0.0.1:1"],
        &["pipe", "client", "no-such-host.invalid", "--insecure-plaintext"],
        &["run", "/nonexistent/scenario.toml"],
        &["inspect", "/nonexistent/capture.pcap"],
        &["key", "show", "--key", "/nonexistent/key.pem"],
    ] {
        let output = finish(whimbrel(arguments).spawn().expect("it starts"));
        assert!(!output.status.success(), "{arguments:?}");
        stderr(&output).lines().for_each(assert_says_it_once);
    }
    drop((udp, tcp));
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_kernel_drops_is_counted() {
    let folder = TempDir::new().expect("a folder");
    let (secret, program) = (secret(&folder), socket());
    let to = program.local_addr().expect("bound").to_string();
    let (_far, at) = listening(&to, &secret);
    let at = at.to_string();
    let options = ["--http", "127.0.0.1:0", "--secret-file", &secret];
    let mut near = Relay::start(&[&["relay", "client", &at, "--from", "127.0.0.1:0"][..], &options].concat());
    let (port, state) = (near.address("at UDP "), near.address("http://"));
    near.event("connected");
    // Nothing reads while it is suspended: more than any buffer holds.
    const SENT: u64 = 6000;
    signal(&near.child, Signal::STOP);
    let camera = socket();
    for _ in 0..SENT {
        camera.send_to(&[7; 1200], port).expect("loopback");
    }
    signal(&near.child, Signal::CONT);
    let began = Instant::now();
    loop {
        let all: Value = serde_json::from_str(&get(state, "/").1).expect("JSON");
        let connection = &all["connections"][0];
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let account = &connection["to_peer"];
        let lost: u64 =
            account["lost"].as_object().into_iter().flatten().map(|(_, value)| count(value)).sum();
        let counted = count(&account["delivered"]) + lost;
        if counted == SENT {
            assert_eq!(account["sent"], SENT);
            assert!(count(&account["lost"]["kernel"]) > 0, "{connection}");
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{counted} of {SENT}: {connection}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_service_manager_hands_over_the_socket_and_learns_that_the_relay_serves() {
    let folder = TempDir::new().expect("a folder");
    let (secret, program) = (secret(&folder), socket());
    let to = program.local_addr().expect("bound").to_string();
    let manager = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a time");
    let opened = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let at = opened.local_addr().expect("bound").to_string();
    // systemd passes sockets from descriptor 3 on, and names the process.
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"";
    let start = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_whimbrel")]).args(arguments);
        command.stdin(OwnedFd::from(opened.try_clone().expect("a descriptor")));
        command.env("NOTIFY_SOCKET", folder.path().join("notify")).env("WATCHDOG_USEC", "200000");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let listen = ["relay", "server", "--to", &to, "--secret-file", &secret];
    let mut far = start(&listen).spawn().expect("it starts");
    let told = || {
        let mut room = [0; 256];
        let size = manager.recv(&mut room).expect("a message in time");
        String::from_utf8_lossy(&room[..size]).trim().to_owned()
    };
    assert_eq!([told(), told(), told()], ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
    let mut near = Relay::start(&["relay", "client", &at, "--from", "127.0.0.1:0", "--secret-file", &secret]);
    let port = near.address("at UDP ");
    near.event("connected");
    socket().send_to(b"frame", port).expect("loopback");
    assert_eq!(receive(&program).0, b"frame");
    drop(near);
    signal(&far, Signal::TERM);
    assert_eq!(far.wait().expect("it ran").code(), Some(130));
    let both = [&listen[..], &["--bind", "127.0.0.1:0"]].concat();
    let output = finish(start(&both).spawn().expect("it starts"));
    assert!(stderr(&output).contains("has bound a socket already"), "{output:?}");
}
