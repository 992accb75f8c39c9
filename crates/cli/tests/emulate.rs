//! `whimbrel emulate`: real programs across simulated networks. Where the system allows no namespaces, these
//! tests are skipped, or fail if everything is required.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Command, Output};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::processes;
use processes::{finish, signal, stderr, stdout, wait_until, whimbrel};

/// Two ends and a router; the second link marks.
const SCENARIO: &str = r#"
    title = "Two links"
    [simulation]
    duration = "60 s"
    [[node]]
    name = "client"
    [[node]]
    name = "router"
    [[node]]
    name = "server"
    [[link]]
    name = "access"
    between = ["client", "router"]
    rate = "100 Mbit/s"
    delay = "5 ms"
    [[link]]
    name = "radio"
    between = ["router", "server"]
    rate = "10 Mbit/s"
    delay = "20 ms"
    [[flow]]
    name = "download"
    from = "client"
    to = "server"
    transport = "tcp"
"#;

/// A Python program that sends `COUNT` datagrams of `SIZE` bytes to the address and port in its arguments,
/// and prints the answers' numbers and round-trip times in milliseconds.
const PINGER: &str = r#"
import socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as s:
    s.settimeout(15)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 0xb9)
    else:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0xb9)
    for number in range(int(sys.argv[2])):
        sent = time.monotonic()
        s.sendto(bytes([number]) * 100, (sys.argv[1], 9000))
        answer, _ = s.recvfrom(2000)
        print(answer[0], answer[1], (time.monotonic() - sent) * 1e3)
"#;

/// A Python program that answers each datagram with its first byte and the TOS byte (or traffic class) of it.
const ECHO: &str = r#"
import socket
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
    s.bind(("::", 9000))
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    while True:
        data, control, _, sender = s.recvmsg(2000, 200)
        tos = control[0][2][0] if control else 0
        s.sendto(bytes([data[0], tos]) + data, sender)
"#;

/// A directory with the scenario and the programs; `None` where namespaces are not allowed.
pub(crate) fn directory() -> Option<TempDir> {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in [("two.toml", SCENARIO), ("pinger.py", PINGER), ("echo.py", ECHO)] {
        fs::write(directory.path().join(name), text).expect("it is written");
    }
    let output = emulate(&directory, &["two.toml", "--", "true"]);
    if output.status.success() {
        return Some(directory);
    }
    let reason = stderr(&output);
    assert!(std::env::var("REQUIRE_ALL").map_or(true, |value| value != "1"), "{reason}");
    assert!(reason.contains("namespace") || reason.contains("TUN"), "{reason}");
    eprintln!("skipped: {reason}");
    None
}

fn command(directory: &TempDir, arguments: &[&str]) -> Command {
    let mut command = whimbrel(&["emulate"]);
    command.args(arguments).current_dir(directory.path());
    command
}

fn emulate(directory: &TempDir, arguments: &[&str]) -> Output {
    finish(command(directory, arguments).spawn().expect("it starts"))
}

/// Everything in the host's configuration that an emulation might change.
fn host() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let ip = |arguments: &[&str]| {
        Command::new("ip").args(arguments).output().map(|output| stdout(&output)).unwrap_or_default()
    };
    // Without the lifetimes and counters that change by themselves.
    let devices: Vec<String> =
        read("/proc/net/dev").lines().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect();
    [
        devices.join(" "),
        ip(&["-brief", "address"]),
        ip(&["route", "show", "table", "all"]),
        ip(&["-6", "route"]),
        ip(&["rule"]),
        ip(&["netns"]),
        read("/proc/self/mountinfo"),
        read("/etc/hosts"),
        read("/proc/sys/net/ipv4/ip_forward"),
        read("/proc/sys/net/ipv6/conf/all/forwarding"),
        read("/proc/sys/net/ipv6/conf/default/addr_gen_mode"),
        read("/proc/sys/net/ipv4/ping_group_range"),
    ]
    .join("\n")
}

/// Precedence over the rest of a busy machine, where permitted: the tests of times then wait for no
/// processor.
pub(crate) fn precedence() -> &'static str {
    if rustix::process::geteuid().is_root() { "--realtime" } else { "-q" }
}

/// Round-trip times in milliseconds, and the first answer's TOS byte.
fn round_trips(directory: &TempDir, server: &str, more: &[&str]) -> (Vec<f64>, u8) {
    let arguments = [
        &["two.toml", precedence(), "--end", "server=exec python3 echo.py"],
        more,
        &["--", "python3", "pinger.py", server, "20"],
    ];
    let output = emulate(directory, &arguments.concat());
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    let lines: Vec<Vec<f64>> = text
        .lines()
        .map(|line| line.split(' ').map(|word| word.parse().expect("a number")).collect())
        .collect();
    let numbers: Vec<f64> = lines.iter().map(|line| line[0]).collect();
    assert_eq!(numbers, (0..20).map(f64::from).collect::<Vec<_>>());
    let mut times: Vec<f64> = lines.iter().map(|line| line[2]).collect();
    times.sort_by(f64::total_cmp);
    (times, lines[0][1] as u8)
}

#[test]
fn datagrams_of_both_families_take_the_delay_of_the_path_and_keep_their_dscp() {
    let Some(directory) = directory() else { return };
    // 25 ms each way, 128 bytes at 100 and 10 Mbit/s, and 2 more in the answer (20 more with IPv6).
    for (server, least) in [("10.0.0.3", 50.22), ("fd57:4942:524c::3", 50.26), ("server", 50.22)] {
        let (times, tos) = round_trips(&directory, server, &[]);
        assert!(times[0] >= least && times[0] < least + 5.0, "{server}: {times:?}");
        assert_eq!(tos, 0xb9, "{server}");
    }
}

#[test]
fn a_queue_that_marks_writes_the_ecn_field() {
    let Some(directory) = directory() else { return };
    let scenario = SCENARIO.replace("delay = \"20 ms\"", "delay = \"20 ms\"\nmark_at = 0");
    fs::write(directory.path().join("two.toml"), scenario).expect("it is written");
    for server in ["10.0.0.3", "fd57:4942:524c::3"] {
        let (_, tos) = round_trips(&directory, server, &[]);
        assert_eq!(tos, 0xbb, "{server}: DSCP as sent, ECT(1) marked");
    }
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let Some(directory) = directory() else { return };
    let code =
        |arguments: &[&str]| emulate(&directory, &[&["two.toml", "-q"], arguments].concat()).status.code();
    assert_eq!(code(&["--", "sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&["--", "sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(code(&["--for", "0.3s", "--", "sleep", "100"]), Some(0));
    let output = emulate(&directory, &["two.toml", "--", "no-such-program", "x"]);
    assert_eq!(output.status.code(), Some(1));
    let expected =
        "whimbrel: `no-such-program x` at node \"client\": No such file or directory (os error 2)\n";
    assert_eq!(stderr(&output), expected);
}

/// A program of an emulation that reads and writes what the system shows of devices.
#[test]
fn programs_see_and_change_no_device_of_the_host() {
    let Some(directory) = directory() else { return };
    let output = emulate(&directory, &["two.toml", "-q", "--", "ls", "/sys/class/net"]);
    let seen = stdout(&output);
    // Some kernels give each namespace devices of tunnels, which /proc shows as well.
    let devices = emulate(&directory, &["two.toml", "-q", "--", "cat", "/proc/net/dev"]);
    let devices = stdout(&devices);
    let own: Vec<&str> = devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    assert!(own.contains(&"emu0"), "{devices}");
    assert!(
        seen.split_whitespace().all(|device| own.contains(&device) || device == "bonding_masters"),
        "{seen}"
    );
    let length = || fs::read_to_string("/sys/class/net/lo/tx_queue_len").unwrap_or_default();
    let before = length();
    let change = "echo 1234 > /sys/class/net/lo/tx_queue_len";
    emulate(&directory, &["two.toml", "-q", "--", "sh", "-c", change]);
    let after = length();
    let _ = fs::write("/sys/class/net/lo/tx_queue_len", &before);
    assert_eq!(after, before, "the host's device was changed");
}

/// A program that may change the name of the host it sees.
#[test]
fn programs_do_not_change_the_name_of_the_host() {
    let Some(directory) = directory() else { return };
    let name = || fs::read_to_string("/proc/sys/kernel/hostname").expect("Linux has it");
    let before = name();
    let output = emulate(&directory, &["two.toml", "-q", "--", "sh", "-c", "hostname other && hostname"]);
    let after = name();
    if after != before {
        let _ = fs::write("/proc/sys/kernel/hostname", &before);
    }
    assert_eq!(after, before, "the host's name was changed");
    assert_eq!(stdout(&output), "other\n");
}

#[test]
fn a_record_has_the_tables_of_a_run() {
    let Some(directory) = directory() else { return };
    let arguments = [
        "two.toml",
        "--json",
        "--out",
        "tables",
        "--seed",
        "5",
        "--pcap",
        "all.pcapng",
        "--end",
        "server=exec python3 echo.py",
    ];
    let output =
        emulate(&directory, &[&arguments[..], &["--", "python3", "pinger.py", "server", "10"]].concat());
    assert!(output.status.success(), "{output:?}");
    let json: Value =
        serde_json::from_str(&stdout(&output)).expect("the command's own output went elsewhere");
    let tables = &json["tables"];
    assert_eq!(tables["flows"]["flow"], serde_json::json!(["download", "server>client"]));
    assert_eq!(tables["flows"]["delivered_packets"], serde_json::json!([10, 10]));
    // The pinger's datagrams have 100 bytes, the answers two more.
    assert_eq!(tables["flows"]["delivered_bytes"], serde_json::json!([1_000, 1_020]));
    assert_eq!(
        tables["links"]["link"],
        serde_json::json!(["access", "access:reverse", "radio", "radio:reverse"])
    );
    assert_eq!(json["seed"], 5);
    assert!(json["emulation"]["events"]["count"].as_u64() >= Some(40), "{json}");
    let csv = fs::read_to_string(directory.path().join("tables/flows.csv")).expect("the tables");
    assert!(csv.starts_with("flow,scheme,") && csv.contains("\ndownload,emulated,"), "{csv}");
    // Each datagram once at the end of each of the two links; the capture's reader is the project's own.
    let report = finish(
        whimbrel(&["inspect", "--json", "all.pcapng"])
            .current_dir(directory.path())
            .spawn()
            .expect("it starts"),
    );
    let report: Value = serde_json::from_str(&stdout(&report)).expect("JSON");
    assert_eq!(report["capture"]["frames"].as_u64(), Some(40), "{report}");
    // The record has the same tables.
    let inspect = |options: &[&str]| {
        let arguments = [&["inspect", "tables/two/records/emulation-5.record"], options].concat();
        finish(whimbrel(&arguments).current_dir(directory.path()).spawn().expect("it starts"))
    };
    let stored: Value = serde_json::from_str(&stdout(&inspect(&["--json"]))).expect("JSON");
    assert_eq!(&stored["tables"], tables);
    let text = stdout(&inspect(&[]));
    assert!(text.contains("run emulation-5, scenario \"two\", seed 5\n"), "{text}");
    assert!(text.contains("\nserver>client ") && text.contains("\nlateness of events: "), "{text}");
    let refused = inspect(&["--packets"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("is a record, which has no packets"), "{refused:?}");
}

#[test]
fn wrong_nodes_and_ends_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("two.toml"), SCENARIO).expect("it is written");
    let many = SCENARIO
        .replace(
            "[[flow]]\n    name = \"download\"\n    from = \"client\"",
            "[[flow]]\n    name = \"f{i}\"\n    count = 70\n    from = \"c{i}\"",
        )
        .replace("name = \"client\"", "name = \"c{i}\"\n    count = 70")
        .replace(
            "name = \"access\"\n    between = [\"client\", \"router\"]",
            "name = \"a{i}\"\n    count = 70\n    between = [\"c{i}\", \"router\"]",
        );
    fs::write(directory.path().join("many.toml"), many).expect("it is written");
    for (arguments, expected) in [
        (
            vec!["two.toml", "--end", "nobody=true"],
            "--end nobody=true: the scenario has no node \"nobody\"; expected one of: client, router, server",
        ),
        (
            vec!["two.toml", "--end", "server"],
            "--end server: expected NODE=COMMAND, such as --end server='iperf3 -s'",
        ),
        (vec!["two.toml", "--end", "server= "], "--end server= : there is no command after the `=`"),
        (
            vec!["two.toml", "--at", "x"],
            "--at: the scenario has no node \"x\"; expected one of: client, router, server",
        ),
        (vec!["two.toml", "--ends", "client,client"], "--ends: \"client\" is named twice"),
        (
            vec!["two.toml", "--ends", "client"],
            "an emulation needs two ends: flows between two nodes, or --ends A,B",
        ),
        (
            vec!["two.toml", "--pcap", "x.pcapng", "--pcap-link", "y"],
            "--pcap-link y: the scenario has no such link; expected one of: access, access:reverse, radio, radio:reverse",
        ),
        (
            vec!["many.toml"],
            "the scenario's flows have 71 ends, and an emulation at most 64: name those that get a namespace with --ends A,B,...",
        ),
        (
            vec!["two.toml", "--for", "x"],
            "--for x: \"x\" is not a length of time: expected a time above 0, such as 500ms, 2min or seconds such as 10, or `scenario`",
        ),
    ] {
        let output = emulate(&directory, &[&arguments[..], &["--", "true"]].concat());
        assert_eq!(
            (output.status.code(), stderr(&output)),
            (Some(1), format!("whimbrel: {expected}\n")),
            "{arguments:?}"
        );
    }
}

#[test]
fn emulations_nest() {
    let Some(directory) = directory() else { return };
    let inner = SCENARIO
        .replace("\"client\"", "\"app\"")
        .replace("\"server\"", "\"edge\"")
        .replace("delay = \"20 ms\"", "delay = \"10 ms\"");
    fs::write(directory.path().join("inner.toml"), inner).expect("it is written");
    let outer = [
        "two.toml",
        precedence(),
        "--end",
        "server=exec python3 echo.py",
        "--",
        env!("CARGO_BIN_EXE_whimbrel"),
        "emulate",
    ];
    let nested = ["inner.toml", precedence(), "--host", "edge", "--", "python3", "pinger.py", "server", "20"];
    let output = emulate(&directory, &[&outer[..], &nested].concat());
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    let times = text.lines().map(|line| line.rsplit(' ').next().expect("a time").parse().expect("a number"));
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    // 25 ms and 15 ms each way, and the time of four transmissions.
    assert!(times.len() == 20 && times[0] >= 80.4 && times[0] < 86.0, "{times:?}");
    let busy = emulate(
        &directory,
        &[
            "two.toml",
            "-q",
            "--",
            env!("CARGO_BIN_EXE_whimbrel"),
            "emulate",
            "inner.toml",
            "--host",
            "edge",
            "--level",
            "0",
        ],
    );
    let text = stderr(&busy);
    let expected = "whimbrel: the addresses of the emulated network are in use: this host has a route to 10.0.0.0/16 at emu0; \
                    choose others with --level\n";
    assert_eq!((busy.status.code(), text.as_str()), (Some(1), expected));
}

/// The processes whose command lines contain `mark`.
fn processes_with(mark: &str) -> usize {
    let entries = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(mark)).count()
}

#[test]
fn a_command_that_ends_before_the_main_one_is_named() {
    let Some(directory) = directory() else { return };
    let end = "server=sleep 60 & exit 3";
    let child = command(&directory, &["two.toml", "--wait", "0s", "--end", end, "--", "sleep", "2"]).spawn();
    let output = finish(child.expect("it starts"));
    let told = "the command at server has ended with the exit code 3";
    assert_eq!(stderr(&output).matches(told).count(), 1, "{output:?}");
}

#[test]
fn nothing_is_left_after_an_end_an_interruption_and_a_kill() {
    let Some(directory) = directory() else { return };
    let before = host();
    for (round, ending) in
        [None, Some(Signal::INT), Some(Signal::TERM), Some(Signal::KILL)].into_iter().enumerate()
    {
        // Grandchildren, one of which ignores all that can be ignored.
        let mark =
            format!("{}", 987_650_000 + round as u64 * 10 + u64::from(std::process::id()) * 1_000_000_000);
        let stubborn = format!("server=trap '' INT TERM HUP; (sleep {mark} & sleep {mark})");
        let script = format!(
            "sleep {mark} & touch ready{round}; {}",
            if ending.is_some() { format!("exec sleep {mark}") } else { "exit 0".into() }
        );
        let child = command(
            &directory,
            &["two.toml", "-q", "--wait", "0s", "--end", &stubborn, "--", "sh", "-c", &script],
        )
        .spawn()
        .expect("it starts");
        let ready = directory.path().join(format!("ready{round}"));
        wait_until("the program starts", || ready.exists());
        if let Some(ending) = ending {
            signal(&child, ending);
        }
        let status = finish(child).status;
        let expected = if ending.is_none() {
            Some(0)
        } else if ending == Some(Signal::KILL) {
            None
        } else {
            Some(130)
        };
        assert_eq!(status.code(), expected, "{ending:?}");
        wait_until(&format!("{ending:?}: programs are left"), || processes_with(&mark) == 0);
        assert_eq!(host(), before, "{ending:?}");
    }
}

/// The shell of an end is gone with the signal, and its programs have some time for what is left.
#[test]
fn programs_of_an_end_finish_their_work() {
    let Some(directory) = directory() else { return };
    let program = "import signal, sys, time\ndef end(*_):\n    time.sleep(0.5)\n    open('finished', 'w').close()\n    sys.exit()\n\
                   signal.signal(signal.SIGTERM, end)\nsignal.signal(signal.SIGINT, end)\nopen('ready', 'w').close()\ntime.sleep(60)\n";
    fs::write(directory.path().join("recorder.py"), program).expect("it is written");
    let end = "server=python3 recorder.py & sleep 60";
    let until_ready = "until test -e ready; do sleep 0.05; done";
    let finished = directory.path().join("finished");
    let ways: [&[&str]; 2] = [&["--", "sh", "-c", until_ready], &["--for", "3s", "--", "sleep", "60"]];
    for way in ways {
        let output = emulate(&directory, &[&["two.toml", "-q", "--wait", "0s", "--end", end], way].concat());
        assert!(finished.exists(), "{way:?}: {output:?}");
        fs::remove_file(&finished).expect("it is there");
        fs::remove_file(directory.path().join("ready")).expect("it is there");
    }
}

#[test]
fn a_program_that_floods_takes_bounded_memory_and_time() {
    let Some(directory) = directory() else { return };
    let flood = "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nend = time.monotonic() + 1.5\n\
                 while time.monotonic() < end:\n    s.sendto(bytes(1400), ('server', 9))\n";
    fs::write(directory.path().join("flood.py"), flood).expect("it is written");
    // A second and a quarter of the flood is on its way at a time, and the rest has no room.
    let scenario = SCENARIO
        .replace("delay = \"5 ms\"", "delay = \"60 s\"\nqueue = \"1000000 packets\"")
        .replace("100 Mbit/s", "100 Gbit/s");
    fs::write(directory.path().join("two.toml"), scenario).expect("it is written");
    let output = emulate(&directory, &["two.toml", "--mtu", "60000", "--json", "--", "python3", "flood.py"]);
    assert!(output.status.success(), "{output:?}");
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let sent = json["tables"]["flows"]["sent_packets"][0].as_u64().expect("a count");
    // 256 MiB at 60 000 bytes each.
    assert!(sent > 4_000 && sent <= 4_455 + 64, "{sent}");
    assert!(json["emulation"]["paused_turns"].as_u64() > Some(0), "{json}");
    assert!(
        stderr(&output).contains("reading paused as the network held too many packets"),
        "{}",
        stderr(&output)
    );
}
