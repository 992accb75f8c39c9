//! Both ends of an encrypted relay of one flow, between a camera and a viewer.
#![allow(clippy::disallowed_types, reason = "it measures real time")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::processes::whimbrel;

/// Time limit for anything that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A relay's end in the background, killed when dropped.
pub(crate) struct End {
    pub(crate) child: Child,
    events: Receiver<Value>,
}

impl End {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child =
            whimbrel(arguments).arg("--json").stderr(Stdio::inherit()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, events) = mpsc::channel();
        // A full pipe would stop the end.
        thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).expect("JSON"));
            }
        });
        Self { child, events }
    }

    /// The text of the next event of that kind.
    pub(crate) fn event(&self, kind: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left).unwrap_or_else(|_| panic!("no event {kind:?}"));
            if event["event"] == kind {
                return event["text"].as_str().unwrap_or_default().to_owned();
            }
        }
    }

    /// The result of its next attempt to connect: `connected` or `ended`, and the text.
    pub(crate) fn outcome(&self) -> (String, String) {
        loop {
            let event = self.events.recv_timeout(PATIENCE).expect("an event in time");
            let [kind, text] =
                ["event", "text"].map(|key| event[key].as_str().unwrap_or_default().to_owned());
            if kind == "connected" || kind == "ended" {
                return (kind, text);
            }
        }
    }

    /// The address after `word` in the next line about being ready that has it.
    pub(crate) fn address(&self, word: &str) -> SocketAddr {
        loop {
            let text = self.event("ready");
            let Some(after) = text.split(word).nth(1) else { continue };
            let end = after.find([';', ',', ' ', '/']).unwrap_or(after.len());
            return after[..end].parse().unwrap_or_else(|_| panic!("no address in {text:?}"));
        }
    }

    /// Its resident memory in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
    }

    /// Its processor time.
    pub(crate) fn cpu(&self) -> Duration {
        let path = format!("/proc/{}/schedstat", self.child.id());
        let text = std::fs::read_to_string(path).expect("it runs");
        Duration::from_nanos(text.split(' ').next().expect("a number").parse().expect("a number"))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time");
    socket
}

/// The relay, its camera and its viewer.
pub(crate) struct Carried {
    folder: TempDir,
    pub(crate) camera: UdpSocket,
    pub(crate) viewer: UdpSocket,
    pub(crate) far: End,
    /// The address of the listening end, and of its state.
    pub(crate) at: SocketAddr,
    pub(crate) state: SocketAddr,
}

impl Carried {
    /// The listening end.
    pub(crate) fn listen() -> Self {
        Self::listen_with(&[])
    }

    /// The listening end with further options.
    pub(crate) fn listen_with(options: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("secret").to_str().expect("text").to_owned();
        assert!(whimbrel(&["key", "secret", "--file", &path]).status().expect("it runs").success());
        let viewer = socket();
        let to = viewer.local_addr().expect("bound").to_string();
        let own = ["relay", "server", "--bind", "127.0.0.1:0", "--http", "127.0.0.1:0"];
        let far = End::start(&[&own[..], &["--to", &to, "--secret-file", &path], options].concat());
        let (at, state) = (far.address("at UDP "), far.address("http://"));
        Self { folder, camera: socket(), viewer, far, at, state }
    }

    pub(crate) fn secret(&self) -> String {
        self.folder.path().join("secret").to_str().expect("text").to_owned()
    }

    /// A connecting end, through the path at `at`.
    pub(crate) fn near(&self, at: SocketAddr) -> End {
        let (at, secret) = (at.to_string(), self.secret());
        End::start(&["relay", "client", &at, "--from", "127.0.0.1:0", "--secret-file", &secret])
    }

    /// Like [`Carried::near`], once it is connected, and its port for the camera.
    pub(crate) fn connect(&self, at: SocketAddr) -> (End, SocketAddr) {
        let near = self.near(at);
        let port = near.address("at UDP ");
        near.event("connected");
        (near, port)
    }

    /// Sends numbered datagrams of that size every 5 ms until one of these arrives. Returns that time.
    pub(crate) fn until_seen(&self, port: SocketAddr, size: usize) -> Duration {
        let began = Instant::now();
        self.drain();
        let mut buffer = [0; 2048];
        loop {
            assert!(began.elapsed() < PATIENCE, "nothing of {size} bytes arrives");
            let _ = self.camera.send_to(&vec![0x55; size], port);
            thread::sleep(Duration::from_millis(5));
            self.viewer.set_nonblocking(true).expect("a mode");
            while let Ok(seen) = self.viewer.recv(&mut buffer) {
                if seen == size && began.elapsed() > Duration::from_millis(1) {
                    self.viewer.set_nonblocking(false).expect("a mode");
                    return began.elapsed();
                }
            }
            self.viewer.set_nonblocking(false).expect("a mode");
        }
    }

    /// Discards what has arrived at the viewer.
    pub(crate) fn drain(&self) {
        let mut buffer = [0; 2048];
        while self.viewer.recv(&mut buffer).is_ok() {}
    }

    /// The state of the listening end.
    pub(crate) fn status(&self) -> Value {
        let mut stream = TcpStream::connect(self.state).expect("it listens");
        write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("text");
        serde_json::from_str(text.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
    }

    /// Number of connections so far.
    pub(crate) fn established(&self) -> u64 {
        self.status()["established"].as_u64().expect("a number")
    }
}
