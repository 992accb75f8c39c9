//! `whimbrel emulate --interfaces`: a host with two radios, alone and within another emulation. Where the
//! system allows no namespaces, these tests are skipped, or fail if everything is required.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Output;

use tempfile::TempDir;

use crate::processes;
use processes::{finish, stderr, stdout, whimbrel};

/// A phone's radios with different delays, of which the preferred one has a gap.
const RADIOS: &str = r#"
    title = "Two radios"
    [simulation]
    duration = "60 s"
    [[node]]
    name = "wifi"
    [[node]]
    name = "cell"
    [[node]]
    name = "server"
    [[link]]
    name = "near"
    between = ["wifi", "server"]
    rate = "10 Mbit/s"
    delay = "5 ms"
    [[link]]
    name = "far"
    between = ["cell", "server"]
    rate = "10 Mbit/s"
    delay = "40 ms"
    [[flow]]
    name = "up"
    from = "wifi"
    to = "server"
    transport = "udp"
    traffic = { kind = "cbr", rate = "10 kbit/s" }
    [[flow]]
    name = "spare"
    from = "cell"
    to = "server"
    transport = "udp"
    traffic = { kind = "cbr", rate = "10 kbit/s" }
"#;

const GAP: &str = r#"
    [[event]]
    time = "2 s"
    link = "near"
    up = false
    [[event]]
    time = "4 s"
    link = "near"
    up = true
"#;

/// A network around the radios' network.
const OUTER: &str = r#"
    title = "Around"
    [simulation]
    duration = "60 s"
    [[node]]
    name = "client"
    [[node]]
    name = "far"
    [[link]]
    between = ["client", "far"]
    rate = "100 Mbit/s"
    delay = "100 ms"
    [[flow]]
    name = "download"
    from = "client"
    to = "far"
    transport = "tcp"
"#;

/// Sends a datagram to `NAME` every 50 ms for a time, each from a new socket, bound to a device if one is
/// given, and prints for each that is answered: the source address, `True` if the device `wifi` is up, and
/// the round-trip time in milliseconds.
const PROBE: &str = r#"
import fcntl, socket, struct, sys, time
name, seconds, device = sys.argv[1], float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""
print(",".join(sorted(each for _, each in socket.if_nameindex())))
end = time.monotonic() + seconds
while time.monotonic() < end:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        if device:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
        s.settimeout(1)
        flags = fcntl.ioctl(s, 0x8913, struct.pack("16sh14x", b"wifi", 0))
        is_up = bool(struct.unpack("16sh14x", flags)[1] & 1)
        try:
            s.connect((name, 9000))
            sent = time.monotonic()
            s.send(b"x")
            s.recv(100)
        except OSError:
            continue
        print(s.getsockname()[0], is_up, (time.monotonic() - sent) * 1e3)
    time.sleep(0.05)
"#;

const ECHO: &str = r#"
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind(("", 9000))
    while True:
        data, sender = s.recvfrom(100)
        s.sendto(data, sender)
"#;

fn emulate(directory: &TempDir, arguments: &[&str]) -> Output {
    finish(whimbrel(&["emulate"]).args(arguments).current_dir(directory.path()).spawn().expect("it starts"))
}

/// A directory with the scenarios and the programs; `None` where namespaces are not allowed.
fn directory() -> Option<TempDir> {
    let directory = tempfile::tempdir().expect("a directory");
    let gap = format!("{RADIOS}{GAP}");
    for (name, text) in [
        ("radios.toml", RADIOS),
        ("gap.toml", &gap),
        ("outer.toml", OUTER),
        ("probe.py", PROBE),
        ("echo.py", ECHO),
    ] {
        fs::write(directory.path().join(name), text).expect("it is written");
    }
    let output = emulate(&directory, &["outer.toml", "--", "true"]);
    if output.status.success() {
        return Some(directory);
    }
    let reason = stderr(&output);
    assert!(std::env::var("REQUIRE_ALL").map_or(true, |value| value != "1"), "{reason}");
    assert!(reason.contains("namespace") || reason.contains("TUN"), "{reason}");
    eprintln!("skipped: {reason}");
    None
}

/// An answer to the probe: the source address, whether `wifi` was up, and the round-trip time in
/// milliseconds.
struct Answer {
    source: String,
    is_wifi_up: bool,
    round_trip_ms: f64,
}

/// The names of the probe's interfaces, and its answers.
fn answers(output: &Output) -> (String, Vec<Answer>) {
    assert!(output.status.success(), "{output:?}");
    let text = stdout(output);
    let mut lines = text.lines();
    let names = lines.next().expect("the interfaces").to_owned();
    let answers = lines.map(|line| {
        let [source, is_up, time] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        Answer {
            source: source.to_owned(),
            is_wifi_up: is_up == "True",
            round_trip_ms: time.parse().expect("a number"),
        }
    });
    (names, answers.collect())
}

const PHONE: [&str; 5] = ["--interfaces", "phone=wifi,cell", "--at", "wifi", "-q"];
const SERVER: [&str; 2] = ["--end", "server=exec python3 echo.py"];

#[test]
fn a_program_uses_the_first_interface_that_is_up() {
    let Some(directory) = directory() else { return };
    let program = ["--", "python3", "probe.py", "server", "6"];
    let output = emulate(&directory, &[&["gap.toml"], &PHONE[..], &SERVER, &program].concat());
    let (names, answers) = answers(&output);
    assert_eq!(names, "cell,lo,wifi");
    // 10 and 80 ms, and less than 20 ms of a busy machine at the shortest.
    let shortest = |source: &str| {
        answers
            .iter()
            .filter(|answer| answer.source == source)
            .map(|answer| answer.round_trip_ms)
            .fold(f64::INFINITY, f64::min)
    };
    let (near, far) = (shortest("10.0.0.1"), shortest("10.0.0.2"));
    assert!((10.0..30.0).contains(&near) && (80.0..100.0).contains(&far), "{near} {far}");
    let mut sources: Vec<&str> = answers.iter().map(|answer| answer.source.as_str()).collect();
    sources.dedup();
    assert_eq!(sources, ["10.0.0.1", "10.0.0.2", "10.0.0.1"], "wifi, cell in its gap, and wifi again");
    // The interface may change between the program's two looks at it.
    let others = answers.iter().filter(|answer| answer.is_wifi_up != (answer.source == "10.0.0.1")).count();
    assert!(others <= 2, "{others} answers over another interface");
}

#[test]
fn a_program_can_use_each_interface() {
    let Some(directory) = directory() else { return };
    for (device, source, least) in [("wifi", "10.0.0.1", 10.0), ("cell", "10.0.0.2", 80.0)] {
        let program = ["--", "python3", "probe.py", "server", "0.6", device];
        let output = emulate(&directory, &[&["radios.toml"], &PHONE[..], &SERVER, &program].concat());
        let (_, answers) = answers(&output);
        assert!(!answers.is_empty() && answers.iter().all(|answer| answer.source == source), "{device}");
        assert!(answers.iter().all(|answer| answer.round_trip_ms >= least), "{device}");
    }
}

/// The phone is in a network whose server is the present host, and that is an end of another network.
#[test]
fn a_phone_with_two_radios_nests() {
    let Some(directory) = directory() else { return };
    let inner = [
        &["emulate", "radios.toml"],
        &PHONE[..],
        &["--host", "server", "--", "python3", "probe.py", "far", "1.5", "cell"],
    ]
    .concat();
    let outer =
        ["outer.toml", "-q", "--end", "far=exec python3 echo.py", "--", env!("CARGO_BIN_EXE_whimbrel")];
    let (names, answers) = answers(&emulate(&directory, &[&outer[..], &inner].concat()));
    assert_eq!(names, "cell,lo,wifi");
    // 40 and 100 ms each way. The inner network has addresses of its own.
    assert!(!answers.is_empty() && answers.iter().all(|answer| answer.source == "10.1.0.2"));
    assert!(answers.iter().all(|answer| answer.round_trip_ms >= 280.0));
    let shortest = answers.iter().map(|answer| answer.round_trip_ms).fold(f64::INFINITY, f64::min);
    assert!(shortest < 300.0, "{shortest}");
}

#[test]
fn wrong_interfaces_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("radios.toml"), RADIOS).expect("it is written");
    let long = RADIOS.replace("\"cell\"", "\"a_cellular_modem\"");
    fs::write(directory.path().join("long.toml"), long).expect("it is written");
    let expected_form = "expected HOST=NODE,NODE, such as --interfaces phone=wifi,cell";
    for (scenario, given, expected) in [
        ("radios.toml", vec!["phone"], format!("--interfaces phone: {expected_form}")),
        ("radios.toml", vec!["phone="], format!("--interfaces phone=: {expected_form}")),
        ("radios.toml", vec!["=wifi"], format!("--interfaces =wifi: {expected_form}")),
        (
            "radios.toml",
            vec!["phone=wifi,modem"],
            "--interfaces phone=wifi,modem: the scenario has no node \"modem\"; expected one of: wifi, cell, server"
                .to_owned(),
        ),
        (
            "radios.toml",
            vec!["phone=wifi,cell", "other=cell"],
            "\"cell\" is named twice: a node is one interface of one host".to_owned(),
        ),
        (
            "long.toml",
            vec!["phone=wifi,a_cellular_modem"],
            "\"a_cellular_modem\" cannot be the name of an interface: expected at most 15 bytes without blanks, `/`, `:` and `%`"
                .to_owned(),
        ),
    ] {
        let options = given.iter().flat_map(|host| ["--interfaces", host]);
        let arguments: Vec<&str> = std::iter::once(scenario).chain(options).chain(["--", "true"]).collect();
        let output = emulate(&directory, &arguments);
        assert_eq!(output.status.code(), Some(1), "{given:?}");
        assert!(stderr(&output).contains(&expected), "{given:?}: {}", stderr(&output));
    }
}
