//! Repair by `whimbrel relay`, the built program, on a path that a test controls.
#![allow(clippy::disallowed_types, reason = "it measures real time")]

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use whimbrel_rtp::{FullIntraRequest, PictureLoss};

use crate::hostile_path::{HostilePath, all};
use crate::processes::{finish, stderr, whimbrel};
use crate::relays::{Relay, get, secret, socket};

/// SSRC of the video, and the time between two frames.
const STREAM: u32 = 9;
const FRAME: Duration = Duration::from_millis(40);
/// Bytes of a frame: few, so that the rate after an outage is enough. Packets with data are longer, and
/// others shorter.
const SIZE: usize = 200;
/// More than a busy machine's delay, and frames that take longer.
const LATENCY: &str = "1s";
const LONGER: usize = 30;

/// A camera: frames of H.264 of one packet each.
struct Camera {
    socket: UdpSocket,
    port: SocketAddr,
    frame: u16,
    /// The next frame is a key frame.
    starts: bool,
    losses: usize,
    requests: Vec<u8>,
}

impl Camera {
    /// Sends a frame, and takes the messages to the encoder; `answers`: a request is answered by a key frame.
    fn frame(&mut self, answers: bool) {
        let [high, low] = self.frame.to_be_bytes();
        // A slice of an IDR picture, or of another one.
        let unit = if std::mem::take(&mut self.starts) { [0x65, 0x88] } else { [0x41, 0x9a] };
        let mut packet = vec![0x80, 0x80 | 96, high, low, 0, high, low, 0, 0, 0, 0, STREAM as u8];
        packet.extend(unit);
        packet.resize(SIZE, 0);
        self.socket.send_to(&packet, self.port).expect("loopback");
        self.frame += 1;
        thread::sleep(FRAME);
        let mut buffer = [0; 2048];
        while let Ok(size) = self.socket.recv(&mut buffer) {
            match (PictureLoss::decode(&buffer[..size]), FullIntraRequest::decode(&buffer[..size])) {
                (Ok(loss), _) => {
                    assert_eq!((loss.media, size), (STREAM, 12));
                    self.losses += 1;
                }
                (_, Ok(request)) => {
                    let [(STREAM, number)] = request.streams[..] else { panic!("{request:?}") };
                    self.requests.push(number);
                }
                _ => panic!("nothing else is sent here: {:?}", &buffer[..size]),
            }
            self.starts = answers;
        }
    }

    fn frames(&mut self, count: usize, answers: bool) {
        (0..count).for_each(|_| self.frame(answers));
    }

    /// Sends frames for longer than the latency, none of which arrives.
    fn outage(&mut self, path: &HostilePath, answers: bool) {
        path.obey(|forth, packet| if forth && packet.len() > SIZE { Vec::new() } else { all(forth, packet) });
        self.frames(LONGER, answers);
        path.obey(all);
    }

    /// Sends frames until some in a row bring no message: an outage makes the allowed rate fall, and a busy
    /// machine loses more.
    fn rest(&mut self, answers: bool) {
        let (mut asked, mut quiet) = (self.asked(), 0);
        for _ in 0..500 {
            self.frame(answers);
            quiet = if self.asked() == asked { quiet + 1 } else { 0 };
            asked = self.asked();
            if quiet == 15 {
                return;
            }
        }
        panic!("no rest: {} losses, {:?}", self.losses, self.requests);
    }

    /// Messages so far.
    fn asked(&self) -> usize {
        self.losses + self.requests.len()
    }

    /// Sends frames until that holds.
    fn until(&mut self, answers: bool, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..300 {
            if holds(self) {
                return;
            }
            self.frame(answers);
        }
        panic!("{what}: {} losses, {:?}", self.losses, self.requests);
    }
}

/// The frames of that kind at an end.
fn frames(http: SocketAddr, kind: &str) -> u64 {
    let state: serde_json::Value = serde_json::from_str(&get(http, "/").1).expect("JSON");
    state["connections"][0]["frames"][0][kind].as_u64().unwrap_or(0)
}

#[test]
fn an_encoder_is_asked_for_a_key_frame_whenever_frames_cannot_be_repaired() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let viewer = socket();
    let to = viewer.local_addr().expect("bound").to_string();
    let options = ["--latency", LATENCY, "--video", "h264", "--secret-file", &secret];
    let listen = ["relay", "server", "--bind", "127.0.0.1:0", "--to", &to];
    let mut far = Relay::start(&[&listen[..], &options, &["--http", "127.0.0.1:0"]].concat());
    let path = HostilePath::to(far.address("at UDP "));
    // Its key.
    far.event("ready");
    let seen = far.address("http://");
    let at = path.at.to_string();
    let connect = ["relay", "client", &at, "--from", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    let mut near = Relay::start(&[&connect[..], &options].concat());
    let port = near.address("at UDP ");
    let http = near.address("http://");
    near.event("connected");
    let socket = socket();
    socket.set_nonblocking(true).expect("a socket");
    let mut camera = Camera { socket, port, frame: 0, starts: true, losses: 0, requests: Vec::new() };
    // Repair restores single losses, so the relay requests no key frame.
    let mut packets = 0;
    path.obey(move |forth, packet| {
        packets += u32::from(forth && packet.len() > SIZE);
        if forth && packet.len() > SIZE && packets % 10 == 0 { Vec::new() } else { all(forth, packet) }
    });
    camera.frames(30, true);
    assert_eq!((camera.losses, camera.requests.len()), (0, 0));
    // The receiving end counts repaired frames; two are still open.
    camera.until(true, "frames", |_| frames(seen, "repaired") >= 2);
    assert_eq!(frames(seen, "given_up"), 0);
    assert!(frames(seen, "whole") > frames(seen, "repaired"));
    // Some frames cannot be repaired. The encoder answers, and is left alone.
    camera.outage(&path, true);
    camera.until(true, "a request", |camera| camera.losses > 0);
    camera.rest(true);
    // An encoder that does not answer is asked by the other message as well, a few times for each loss.
    let (losses, requests) = (camera.losses, camera.requests.len());
    camera.outage(&path, false);
    camera.until(false, "requests", |camera| camera.losses > losses && camera.requests.len() >= requests + 2);
    camera.rest(false);
    let numbers = &camera.requests[requests..];
    let repetitions = |number| numbers.iter().filter(|other| **other == number).count();
    assert!(numbers.iter().all(|number| repetitions(*number) <= 2), "{numbers:?}");
    assert!(numbers.iter().any(|number| repetitions(*number) == 2), "{numbers:?}");
    // Later losses have another reason, though no key frame came.
    let losses = camera.losses;
    camera.outage(&path, false);
    camera.until(true, "a request for the next loss", |camera| camera.losses > losses);
    // The state for programs is updated ten times a second.
    camera.until(true, "the messages are counted", |camera| {
        let rate: serde_json::Value = serde_json::from_str(&get(http, "/rate").1).expect("JSON");
        rate["repair"]["key_frames_asked"] == camera.asked()
    });
    camera.until(true, "frames", |_| frames(seen, "given_up") > 0);
    let all_sent = u64::from(camera.frame);
    camera.until(false, "all frames", |_| frames(http, "sent") >= all_sent);
}

/// Both ends, between which a program sends all the time.
struct Pair {
    near: Relay,
    far: Relay,
    path: Arc<HostilePath>,
    sends: Arc<AtomicBool>,
}

impl Pair {
    /// Ends with these latencies.
    fn start(near: &str, far: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let secret = secret(&folder);
        let keys = ["--secret-file", &secret, "--latency"];
        let listen = ["relay", "server", "--bind", "127.0.0.1:0", "--to", "127.0.0.1:9"];
        let mut far = Relay::start(&[&listen[..], &keys, &[far]].concat());
        let path = Arc::new(HostilePath::to(far.address("at UDP ")));
        let at = path.at.to_string();
        let connect = ["relay", "client", &at, "--from", "127.0.0.1:0", "--http", "127.0.0.1:0"];
        let mut near = Relay::start(&[&connect[..], &keys, &[near]].concat());
        let (port, sends) = (near.address("at UDP "), Arc::new(AtomicBool::new(true)));
        thread::spawn({
            let (socket, sends) = (socket(), sends.clone());
            move || {
                while sends.load(Ordering::Relaxed) {
                    let _ = socket.send_to(&[0; SIZE], port);
                    thread::sleep(FRAME);
                }
            }
        });
        Self { near, far, path, sends }
    }

    /// Packets to the listening end take that time from now on.
    fn delay(&self, time: Duration) {
        let (under_way, arriving) = mpsc::channel::<(Instant, Vec<u8>)>();
        self.path.obey(move |forth, packet| {
            if !forth {
                return all(forth, packet);
            }
            let _ = under_way.send((Instant::now() + time, packet.to_vec()));
            Vec::new()
        });
        let path = Arc::downgrade(&self.path);
        thread::spawn(move || {
            for (at, packet) in arriving {
                thread::sleep(at.saturating_duration_since(Instant::now()));
                let Some(path) = path.upgrade() else { return };
                path.inject(&packet);
            }
        });
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.sends.store(false, Ordering::Relaxed);
    }
}

#[test]
fn a_latency_below_the_round_trip_time_is_told_once_in_a_while() {
    let mut pair = Pair::start("20ms", "20ms");
    pair.delay(Duration::from_millis(60));
    let near = &mut pair.near;
    let http = near.address("http://");
    let text = near.event_within("repair", 15).expect("a notice");
    let told_at = Instant::now();
    let measured = text.strip_prefix("latency 20 ms is below the round-trip time of ");
    let measured = measured.and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    assert!(measured.is_some_and(|measured| measured > 20.0), "{text}");
    assert!(text.ends_with(" ms: no repeat arrives in time, parity alone repairs"), "{text}");
    let counted = || {
        let rate: serde_json::Value = serde_json::from_str(&get(http, "/rate").1).expect("JSON");
        rate["repair"]["without_round"].as_u64().expect("a counter")
    };
    let before = counted();
    // The cause goes on, and the notice does not.
    assert_eq!(near.event_within("repair", 3), None);
    assert!(counted() > before && before > 0);
    let again = near.event_within("repair", 30).expect("another notice");
    assert!(again.starts_with("latency 20 ms is below the round-trip time of "), "{again}");
    assert!(told_at.elapsed() > Duration::from_secs(5), "{:?}", told_at.elapsed());
}

#[test]
fn an_end_whose_peer_does_not_repair_says_so() {
    let text =
        "the other end does not repair (--latency 0 there, or an earlier version): lost datagrams stay lost";
    for client_repairs in [true, false] {
        let [near, far] = if client_repairs { ["150ms", "0"] } else { ["0", "150ms"] };
        let mut pair = Pair::start(near, far);
        let Pair { near, far, .. } = &mut pair;
        let (says, silent) = if client_repairs { (near, far) } else { (far, near) };
        assert_eq!(says.event_within("repair", 15).as_deref(), Some(text));
        // The end without a latency says nothing.
        assert_eq!(says.event_within("repair", 2), None);
        assert_eq!(silent.event_within("repair", 2), None);
    }
}

#[test]
fn paths_for_coded_packets_need_repair() {
    let arguments = ["relay", "client", "127.0.0.1", "--from", "127.0.0.1:0", "--scheduler", "coded"];
    let output =
        finish(whimbrel(&[&arguments[..], &["--latency", "0"]].concat()).spawn().expect("it starts"));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--scheduler coded"), "{}", stderr(&output));
}
