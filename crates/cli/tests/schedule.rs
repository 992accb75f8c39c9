//! `whimbrel schedule`, the built program on captures and on what stands for a video.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::processes;
use processes::{finish, stderr, stdout, whimbrel};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/data").join(name)
}

fn schedule(file: &Path, arguments: &[&str]) -> Output {
    let file = file.to_str().expect("a plain path");
    finish(whimbrel(&[&["schedule", file], arguments].concat()).spawn().expect("it starts"))
}

#[track_caller]
fn fails(file: &Path, arguments: &[&str], expected: &str) {
    let output = schedule(file, arguments);
    let text = stderr(&output);
    assert!(output.status.code() == Some(1) && text.contains(expected), "{output:?}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn the_data_of_a_captured_connection_become_a_schedule() {
    let file = capture("ccid3-loss3.pcap");
    let output = schedule(&file, &[]);
    assert!(output.status.success(), "{output:?}");
    let text = stdout(&output);
    let mut lines = text.lines();
    assert_eq!([lines.next(), lines.next()], [Some("time_s,size_bytes"), Some("0.000000000,1000")]);
    // As many as `whimbrel inspect` counts.
    assert_eq!(text.lines().count(), 1 + 484);

    let listed = schedule(&file, &["--list", "--json"]);
    let flow: Value = serde_json::from_str(stdout(&listed).lines().next().expect("a flow")).expect("JSON");
    assert_eq!(flow["flow"], "10.44.0.2:42260>10.44.0.1:5001");
    assert_eq!(flow["datagrams"], 484);
    let named = schedule(&file, &["--flow", "10.44.0.2:42260 > 10.44.0.1:5001"]);
    assert_eq!(stdout(&named), text);
    fails(&file, &["--flow", "10.44.0.2:1>10.44.0.1:5001"], "--list prints all");
}

#[test]
fn a_capture_that_ends_early_gives_its_beginning_and_an_error() {
    let directory = TempDir::new().expect("a directory");
    let whole = fs::read(capture("ccid3-loss3.pcap")).expect("a capture");
    for length in [0, 3, 10, 24, 30, 100, whole.len() / 2, whole.len() - 1] {
        let cut = directory.path().join("cut.pcap");
        fs::write(&cut, &whole[..length]).expect("room");
        let output = schedule(&cut, &["--ffmpeg", "/nonexistent/ffmpeg"]);
        assert_eq!(output.status.code(), Some(1), "{length}: {output:?}");
        // Captures of at least the first half contain a datagram of the connection.
        let is_long = length >= whole.len() / 2;
        assert_eq!(stdout(&output).starts_with("time_s,size_bytes\n0.0"), is_long, "{length}: {output:?}");
        let expected = match length {
            // Not enough for a capture.
            0..4 => "/nonexistent/ffmpeg",
            // Whole, but empty.
            24 => "no UDP datagrams",
            _ => "the file ends inside",
        };
        assert!(stderr(&output).contains(expected), "{length}: {output:?}");
    }
}

#[test]
fn what_is_written_is_summarized_and_measured_with() {
    let directory = TempDir::new().expect("a directory");
    let out = directory.path().join("schedule.csv");
    let arguments = ["-o", out.to_str().expect("a plain path"), "--datagram", "600", "--json"];
    let output = schedule(&capture("ccid3-loss3.pcap"), &arguments);
    let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!((&summary["datagrams"], &summary["bytes"]), (&968.into(), &484_000.into()));
    let server = processes::Server::start(&[]);
    let record = server.measure(&["--time", "0.5", "--schedule", out.to_str().expect("a plain path")]);
    assert!(processes::number(&record["summary"]["up"], "received.datagrams") > 10.0, "{record}");
}

#[cfg(unix)]
#[test]
fn frames_of_a_video_are_read_by_the_named_program_and_its_errors_are_reported() {
    use std::os::unix::fs::PermissionsExt;

    let directory = TempDir::new().expect("a directory");
    let video = directory.path().join("camera.mp4");
    fs::write(&video, b"\0\0\0\x20ftypisom").expect("room");
    let program = |name: &str, script: &str| {
        let path = directory.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("room");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an owner");
        path.to_str().expect("a plain path").to_owned()
    };
    let head = "printf '#tb 0: 1/1000\\n0, 0, 0, 40, 3000, 0x1\\n0, 40, 40, 40, 100, 0x1, F=0x0\\n'";
    let good = schedule(&video, &["--ffmpeg", &program("good", head)]);
    let expected = "time_s,size_bytes,frame,type\n0.000000000,1000,0,I\n0.000000000,1000,0,I\n0.000000000,1000,0,I\n0.040000000,100,1,P\n";
    assert_eq!((stdout(&good).as_str(), good.status.code()), (expected, Some(0)));

    let damaged =
        schedule(&video, &["--ffmpeg", &program("damaged", &format!("{head}\necho truncated >&2"))]);
    assert_eq!((stdout(&damaged).as_str(), damaged.status.code()), (expected, Some(1)));
    assert!(stderr(&damaged).contains("camera.mp4: ffmpeg: truncated"), "{damaged:?}");

    fails(
        &video,
        &["--ffmpeg", &program("bad", "echo moov atom not found >&2; exit 1")],
        "moov atom not found",
    );
    fails(&video, &["--ffmpeg", &program("empty", "exit 0")], "no video frames");
    fails(&video, &["--ffmpeg", &program("odd", "echo 0, 1")], "unexpected line");
    // More messages than a pipe holds.
    let noisy = "head -c 300000 /dev/zero | tr '\\0' x >&2; exit 1";
    fails(&video, &["--ffmpeg", &program("noisy", noisy)], "ffmpeg: xxx");
    fails(&video, &["--ffmpeg", "/nonexistent/ffmpeg"], "name the program by --ffmpeg");
    fails(&video, &["--list"], "--list: ");
    fails(&directory.path().join("missing.mp4"), &[], "missing.mp4");
}
