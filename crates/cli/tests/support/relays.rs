//! Relays in the background, and the programs between which they are.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::Child;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::processes::whimbrel;

/// A relay's end in the background, killed when dropped.
pub(crate) struct Relay {
    pub(crate) child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Relay {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = whimbrel(arguments).arg("--json").spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, lines }
    }

    /// The next event.
    fn any(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.lines.read_line(&mut line).expect("text") > 0, "it has ended");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The next event of that kind.
    pub(crate) fn next(&mut self, kind: &str) -> Value {
        loop {
            let event = self.any();
            if event["event"] == kind {
                return event;
            }
        }
    }

    /// The text of the next event of that kind, if there is one before so many report lines.
    pub(crate) fn event_within(&mut self, kind: &str, mut lines: usize) -> Option<String> {
        while lines > 0 {
            let event = self.any();
            if event["event"] == kind {
                return Some(event["text"].as_str().unwrap_or_default().to_owned());
            }
            lines -= usize::from(event["event"] == "interval");
        }
        None
    }

    /// The text of the next event of that kind.
    pub(crate) fn event(&mut self, kind: &str) -> String {
        self.next(kind)["text"].as_str().unwrap_or_default().to_owned()
    }

    /// The address after `word` in the next line about being ready that has it.
    pub(crate) fn address(&mut self, word: &str) -> SocketAddr {
        let text = loop {
            let text = self.event("ready");
            if text.contains(word) {
                break text;
            }
        };
        let after = text.split(word).nth(1).unwrap_or_default();
        let end = after.find([';', ',', ' ', '/']).unwrap_or(after.len());
        after[..end].parse().unwrap_or_else(|_| panic!("no address in {text:?}"))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A listening end for one program, and its address.
pub(crate) fn listening(to: &str, secret: &str) -> (Relay, SocketAddr) {
    let mut far =
        Relay::start(&["relay", "server", "--bind", "127.0.0.1:0", "--to", to, "--secret-file", secret]);
    let at = far.address("at UDP ");
    (far, at)
}

pub(crate) fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    socket
}

pub(crate) fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 2048];
    let (size, source) = socket.recv_from(&mut buffer).expect("a datagram in time");
    buffer.truncate(size);
    (buffer, source)
}

/// A file with a new secret.
pub(crate) fn secret(folder: &TempDir) -> String {
    let path = folder.path().join("secret").to_str().expect("text").to_owned();
    let made = whimbrel(&["key", "secret", "--file", &path]).status().expect("it runs");
    assert!(made.success());
    path
}

/// The body of an HTTP response.
pub(crate) fn get(at: SocketAddr, path: &str) -> (String, String) {
    request(at, "GET", path, &at.to_string())
}

/// The head and the body of an answer to a request.
pub(crate) fn request(at: SocketAddr, method: &str, path: &str, host: &str) -> (String, String) {
    let mut stream = TcpStream::connect(at).expect("it listens");
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_owned(), body.to_owned())
}
