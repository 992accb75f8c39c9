//! `whimbrel pipe`, the built program.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use tempfile::TempDir;

use crate::processes;
use processes::{finish, stderr, whimbrel};

/// A listening end, and one that is connected to it; both have a secret in that folder.
fn start(folder: &TempDir, options: &[&str]) -> [Child; 2] {
    let secret = folder.path().join("secret").to_str().expect("text").to_owned();
    assert!(whimbrel(&["key", "secret", "--file", &secret]).status().expect("it runs").success());
    let listen = ["pipe", "server", "--bind", "127.0.0.1:0", "--reorder", "100ms", "--secret-file", &secret];
    let mut listening = whimbrel(&listen).spawn().expect("it starts");
    let mut line = String::new();
    let mut errors = BufReader::new(listening.stderr.take().expect("piped"));
    errors.read_line(&mut line).expect("text");
    // From here on nothing reads its notes: it must not matter.
    drop(errors);
    let at = line.trim().rsplit(' ').next().expect("an address").to_owned();
    let connect = [&["pipe", "client", &at, "--secret-file", &secret][..], options].concat();
    [listening, whimbrel(&connect).stdin(Stdio::piped()).spawn().expect("it starts")]
}

/// Output of the listening end if the connecting end reads `input`.
fn through(options: &[&str], input: &[u8]) -> Vec<u8> {
    let folder = TempDir::new().expect("a folder");
    let [listening, mut connecting] = start(&folder, options);
    // The listening end's output is read meanwhile.
    let reading = std::thread::spawn(move || finish(listening));
    connecting.stdin.take().expect("piped").write_all(input).expect("it reads");
    let sent = finish(connecting);
    assert!(sent.status.success(), "{sent:?}");
    let received = reading.join().expect("no panic");
    assert!(received.status.success(), "{received:?}");
    if options.contains(&"--json") {
        assert!(stderr(&sent).contains("\"sent\":{"), "{sent:?}");
    }
    received.stdout
}

#[test]
fn lines_arrive_as_they_were_written() {
    let lines: String = (0..500).map(|n| format!("line {n} of the log\n")).collect();
    let text = format!("{lines}{}\nwithout an end", "x".repeat(5000));
    assert_eq!(String::from_utf8(through(&["--lines", "--json"], text.as_bytes())).expect("text"), text);
}

#[test]
fn bytes_arrive_as_they_were_written_also_in_large_pieces() {
    let bytes: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    assert!(through(&["--chunk", "16000"], &bytes) == bytes);
    assert!(through(&[], b"").is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn lines_arrive_over_two_paths() {
    let text: String = (0..300).map(|n| format!("line {n} of the log\n")).collect();
    let options = ["--lines", "--path", "127.0.0.1", "--path", "127.0.0.2", "--scheduler", "redundant"];
    assert_eq!(String::from_utf8(through(&options, text.as_bytes())).expect("text"), text);
}

#[test]
fn paths_for_coded_packets_need_repair_which_a_pipe_has_not() {
    for end in [&["server"][..], &["client", "127.0.0.1"]] {
        let mut command = whimbrel(&[&["pipe"][..], end, &["--scheduler", "coded"]].concat());
        let output = command.stdin(Stdio::null()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("invalid value 'coded' for '--scheduler <NAME>'"), "{said}");
        assert!(said.contains("lowest-rtt, weighted, redundant, cheapest-first, handover"), "{said}");
    }
}

#[test]
fn an_end_of_the_data_that_the_other_end_does_not_confirm_is_an_error() {
    let folder = TempDir::new().expect("a folder");
    let [mut listening, mut connecting] = start(&folder, &["--lines"]);
    let mut input = connecting.stdin.take().expect("piped");
    input.write_all(b"first\n").expect("it reads");
    let mut line = String::new();
    let mut output = BufReader::new(listening.stdout.take().expect("piped"));
    output.read_line(&mut line).expect("text");
    assert_eq!(line, "first\n");
    listening.kill().expect("it runs");
    listening.wait().expect("it has ended");
    input.write_all(b"last\n").expect("it reads");
    drop(input);
    // The system reports that the port is closed.
    let sent = finish(connecting);
    assert_eq!(sent.status.code(), Some(1), "{sent:?}");
    assert!(stderr(&sent).contains("the destination cannot be reached"), "{sent:?}");
}
