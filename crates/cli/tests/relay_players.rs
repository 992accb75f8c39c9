//! `whimbrel relay`, the built program, between unmodified GStreamer programs, with the commands of
//! docs/relay.md.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::processes;
use crate::relays;
use processes::signal;
use relays::{Relay, listening, secret, socket};

/// Frames of the video.
const FRAMES: usize = 100;

/// The pipelines of GStreamer in docs/relay.md: at the camera, and at the viewer.
fn recipes() -> [String; 2] {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/relay.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let mut found = page
        .lines()
        .filter_map(|line| line.strip_prefix("| GStreamer | `gst-launch-1.0 ")?.strip_suffix("` |"));
    let mut next = || found.next().expect("a line for GStreamer").to_owned();
    [next(), next()]
}

/// The pipeline with other elements; each must be there.
fn adapted(mut pipeline: String, changes: &[(&str, String)]) -> String {
    for (old, new) in changes {
        assert!(pipeline.contains(old), "no {old:?} in {pipeline:?}");
        pipeline = pipeline.replace(old, new);
    }
    pipeline
}

/// `gst-launch-1.0` with that pipeline.
fn gstreamer(pipeline: &str) -> Command {
    let mut command = Command::new("gst-launch-1.0");
    // The shell's quotes.
    command.arg("-e").args(pipeline.split_whitespace().map(|word| word.replace('"', "")));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// `true` if all elements are installed. Otherwise prints the reason, or, with `REQUIRE_ALL=1`, fails.
pub(crate) fn has_elements() -> bool {
    let has_all =
        ["x264enc", "rtph264pay", "rtpjitterbuffer", "avdec_h264", "y4menc"].iter().all(|element| {
            let inspected = Command::new("gst-inspect-1.0").arg("--exists").arg(element).output();
            inspected.is_ok_and(|output| output.status.success())
        });
    if !has_all {
        let reason = "no GStreamer with x264enc and avdec_h264";
        assert_ne!(std::env::var("REQUIRE_ALL").as_deref(), Ok("1"), "{reason}");
        eprintln!("left out: {reason}");
    }
    has_all
}

#[test]
fn an_unmodified_gstreamer_sends_a_video_through_it() {
    if !has_elements() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    // A port that is free now.
    let port = socket().local_addr().expect("bound").port();
    let to = format!("127.0.0.1:{port}");
    let (_far, at) = listening(&to, &secret);
    let at = at.to_string();
    let connect =
        ["relay", "client", &at, "--from", "127.0.0.1:0", "--video", "h264", "--secret-file", &secret];
    let mut near = Relay::start(&connect);
    let from = near.address("at UDP ").port();
    near.event("connected");
    let recorded = folder.path().join("recorded.y4m");
    let [camera, viewer] = recipes();
    let file = format!("videoconvert ! y4menc ! filesink location={}", recorded.display());
    let viewer = adapted(viewer, &[("port=5004", format!("port={port}")), ("autovideosink", file)]);
    let source = format!(
        "videotestsrc is-live=true num-buffers={FRAMES} ! video/x-raw,width=320,height=240,framerate=25/1"
    );
    let camera = adapted(camera, &[("v4l2src", source), ("port=5004", format!("port={from}"))]);
    let mut viewer = gstreamer(&viewer).spawn().expect("it starts");
    thread::sleep(Duration::from_millis(1500));
    assert!(gstreamer(&camera).status().expect("it runs").success());
    thread::sleep(Duration::from_millis(1000));
    // With -e the viewer completes its file.
    signal(&viewer, Signal::INT);
    let _ = viewer.wait();
    let recorded = std::fs::read(&recorded).expect("a file");
    // Each frame of YUV4MPEG2 has a header and 12 bits for a pixel.
    let seen = recorded.len() / ("FRAME\n".len() + 320 * 240 * 3 / 2);
    println!("{seen} of {FRAMES} frames arrived and were decoded");
    assert!((FRAMES * 9 / 10..=FRAMES).contains(&seen), "{seen} of {FRAMES} frames");
}
