//! The built program, as a server in the background and as a client.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Time limit for the clients of these tests.
const PATIENCE: Duration = Duration::from_secs(25);

/// The program with these arguments, its output piped.
pub(crate) fn whimbrel(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whimbrel"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Sends a signal to a child.
pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a process");
    kill_process(pid, signal).expect("the process is there");
}

/// Waits for a child and returns its output; kills it if it takes too long.
pub(crate) fn finish(child: Child) -> Output {
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a process");
    let (done, waiting) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let output = child.wait_with_output();
        let _ = done.send(());
        output
    });
    let late = waiting.recv_timeout(PATIENCE).is_err();
    if late {
        let _ = kill_process(pid, Signal::KILL);
    }
    let output = waiter.join().expect("no panic").expect("it ran");
    assert!(!late, "no end within {PATIENCE:?}: {output:?}");
    output
}

/// The standard output of a finished program.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// The standard error of a finished program.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// A perf server on a free port of the loopback interface, killed when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
    lines: BufReader<ChildStdout>,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut child = whimbrel(&["perf", "server", "--bind", "127.0.0.1:0"])
            .args(options)
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        let mut first = String::new();
        lines.read_line(&mut first).expect("text");
        let Some(after) = first.split("127.0.0.1:").nth(1) else {
            panic!("no port in {first:?}: {:?}", finish(child));
        };
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        Self { child, port: digits.parse().expect("a port"), lines }
    }

    /// The next line that it prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("text");
        line
    }

    /// A client of this server that has started.
    pub(crate) fn client(&self, options: &[&str]) -> Child {
        let port = self.port.to_string();
        whimbrel(&["perf", "client", "127.0.0.1", "--port", &port])
            .args(options)
            .spawn()
            .expect("the program starts")
    }

    /// The `--json` output of a client, which must succeed.
    pub(crate) fn measure(&self, options: &[&str]) -> Value {
        let output = finish(self.client(&[&["--json"], options].concat()));
        assert!(output.status.success(), "{options:?}: {output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Its standard error, after its end.
    pub(crate) fn errors(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut text).expect("text");
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A number in a record, by its keys with dots between.
pub(crate) fn number(value: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(value, |value, key| &value[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} = {found} in {value}"))
}

/// A TCP connection to a server of this host from that address of it.
#[cfg(target_os = "linux")]
pub(crate) fn connect_from(source: [u8; 4], port: u16) -> std::net::TcpStream {
    use std::net::SocketAddr;
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((source, 0)).into()).expect("loopback");
    socket.connect(&SocketAddr::from(([127, 0, 0, 1], port)).into()).expect("it listens");
    socket.into()
}

/// Waits until something holds, for 20 s.
#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}");
}
