//! The lines that relays print.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use whimbrel_net::{Clock, Fingerprint};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::link::{PathState, PathView, View};
use crate::edge::ledger::Sums;
use crate::print::{self, PrintError};

/// What a line states beside the state of the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub(super) sums: Sums,
    pub(super) delay: Option<f64>,
    /// The other end says what has arrived there.
    pub(super) has_reports: bool,
}

/// Prints lines, or JSON objects, about one connection after the other.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    json: bool,
    /// Lines name the peer: there may be several.
    names_peers: bool,
    peer: Option<SocketAddr>,
    interval: Duration,
    clock: Clock,
    /// Start of the connection, time of its last line, and bytes sent and received until then.
    started: Instant,
    last: Instant,
    sent: u64,
    received: u64,
    /// Lines cannot be written now: the disk is full.
    is_full: Arc<AtomicBool>,
}

impl Lines {
    pub(super) fn new(json: bool, interval: Duration, names_peers: bool) -> Self {
        let clock = Clock::start();
        let now = clock.now();
        Self {
            json,
            names_peers,
            peer: None,
            interval,
            clock,
            started: now,
            last: now,
            sent: 0,
            received: 0,
            is_full: Arc::default(),
        }
    }

    /// Time between two lines without traffic; the largest, if there are none.
    pub(super) fn rest(&self) -> std::time::Duration {
        if self.names_peers { std::time::Duration::MAX } else { self.interval.into() }
    }
    /// Time until the next line.
    pub(super) fn until_due(&self) -> std::time::Duration {
        (self.last + self.interval).saturating_since(self.clock.now()).into()
    }
    /// `true` if there may be several peers. Those without traffic have no lines.
    pub(super) fn names_peers(&self) -> bool {
        self.names_peers
    }

    /// This end is ready.
    pub(super) fn waiting(&self, text: &str) -> Result<(), PrintError> {
        self.event("ready", text)
    }

    /// A connection has begun.
    pub(super) fn connected(
        &mut self,
        peer: SocketAddr,
        key: Option<Fingerprint>,
        sums: &Sums,
    ) -> Result<(), PrintError> {
        self.peer = Some(peer).filter(|_| self.names_peers);
        self.started = self.clock.now();
        self.last = self.started;
        (self.sent, self.received) = (sums.bytes_sent, sums.bytes_received);
        let key = key.map_or("not encrypted".to_owned(), |key| format!("encrypted; its key is {key}"));
        self.event("connected", &format!("connected with {peer}, {key}"))
    }

    /// A connection has ended.
    pub(super) fn ended(&self, reason: &str) -> Result<(), PrintError> {
        self.event("ended", reason)
    }

    /// The program ends.
    pub(super) fn end(&self) -> Result<(), PrintError> {
        self.event("ended", "interrupted")
    }

    /// A path of a multipath connection has changed.
    pub(super) fn path(&self, text: &str) -> Result<(), PrintError> {
        self.event("path", text)
    }

    /// Prints a warning to standard error, if it can be written.
    pub(super) fn warn(&self, text: &str) {
        print::note(text);
    }

    /// Prints a line. One that does not fit the disk is lost: the relay does not end with its log.
    fn print(&self, text: impl std::fmt::Display) -> Result<(), PrintError> {
        match print::line(text) {
            Err(PrintError::Failed(error)) => {
                if !self.is_full.swap(true, Ordering::Relaxed) {
                    self.warn(&format!("standard output cannot be written, its lines are lost: {error}"));
                }
                Ok(())
            }
            Ok(()) => {
                self.is_full.store(false, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn event(&self, kind: &str, text: &str) -> Result<(), PrintError> {
        if self.json {
            return self.print(json!({ "event": kind, "text": text, "peer": self.peer }));
        }
        match self.peer.filter(|_| kind != "connected") {
            Some(peer) => self.print(format_args!("{peer}: {text}")),
            None => self.print(text),
        }
    }

    /// Leaves a line out.
    pub(super) fn skip(&mut self, sums: &Sums) {
        self.last = self.clock.now();
        (self.sent, self.received) = (sums.bytes_sent, sums.bytes_received);
    }

    /// Prints the figures since the last line.
    pub(super) fn interval_of(&mut self, view: &View, figures: &Figures) -> Result<(), PrintError> {
        let now = self.clock.now();
        let length = now - self.last;
        if length.is_zero() {
            return Ok(());
        }
        let Figures { sums, delay, has_reports } = figures;
        let send_rate = ByteCount::new(sums.bytes_sent.saturating_sub(self.sent)) / length;
        let receive_rate = ByteCount::new(sums.bytes_received.saturating_sub(self.received)) / length;
        (self.last, self.sent, self.received) = (now, sums.bytes_sent, sums.bytes_received);
        let at = (now - self.started).as_secs_f64();
        let rtt = view.rtt.map(Duration::as_secs_f64);
        if self.json {
            return self.print(json!({
                "event": "interval",
                "time_s": at,
                "send_rate_bps": send_rate.as_bits_per_second(),
                "receive_rate_bps": receive_rate.as_bits_per_second(),
                "allowed_rate_bps": view.allowed_rate_bps,
                "rtt_s": rtt,
                "delay_s": delay,
                "peer": self.peer,
                "has_reports": has_reports,
                "to_peer": sums.to_peer,
                "from_peer": sums.from_peer,
                "dropped_frames": sums.dropped_frames,
                "forged": sums.forged,
                "lost_wireless": view.lost_wireless,
                "paths": view.paths,
                "repair": view.repair,
            }));
        }
        let allowed = view
            .allowed_rate_bps
            .map_or(String::new(), |rate| format!(" of {} allowed", DataRate::from_bits_per_second(rate)));
        let milliseconds = |what: &str, time: Option<f64>| {
            time.map_or(String::new(), |time| format!(", {what} {:.1} ms", time * 1e3))
        };
        let (rtt, delay) = (milliseconds("RTT", rtt), milliseconds("delay", *delay));
        let peer = self.peer.map_or(String::new(), |peer| format!("{peer} "));
        let paths: String = view.paths.iter().map(path).collect();
        let repair = view.repair.map_or(String::new(), |repair| repair.to_string());
        let [sent, received] = [sums.to_peer, sums.from_peer];
        self.print(format_args!(
            "{peer}{at:6.1} s  sent {send_rate}{allowed}{rtt}{delay}; {sent}; received {receive_rate}; {received}{repair}{paths}"
        ))
    }
}

/// A path in a report line, by the address that differs.
fn path(path: &PathView) -> String {
    let local = path.local.ip();
    let address = if local.is_unspecified() { path.remote.ip() } else { local };
    match (path.state, path.rtt_s) {
        (PathState::Up, Some(rtt)) => format!("; {address} {:.0} ms", rtt * 1e3),
        (state, _) => format!("; {address} {}", state.name()),
    }
}
