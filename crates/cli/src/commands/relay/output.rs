//! The lines that relays print.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use whimbrel_net::{Clock, Fingerprint};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::link::{PathState, PathView, View};
use super::queue::Drops;
use crate::print::{self, PrintError};

/// Datagrams counted by this end, beside those that the connection counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Dropped while they waited for congestion control.
    pub(super) drops: Drops,
    /// Of local programs, faster than the relay took them.
    pub(super) overrun: u64,
    /// Datagrams that do not fit a packet on this path.
    pub(super) too_large: u64,
    /// Datagrams of the peer that were not authentic, or came twice.
    pub(super) forged: u64,
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
    pub(super) fn connected(&mut self, peer: SocketAddr, key: Option<Fingerprint>) -> Result<(), PrintError> {
        self.peer = Some(peer).filter(|_| self.names_peers);
        self.started = self.clock.now();
        self.last = self.started;
        (self.sent, self.received) = (0, 0);
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
    pub(super) fn skip(&mut self, view: &View) {
        self.last = self.clock.now();
        (self.sent, self.received) = (view.bytes_sent, view.bytes_received);
    }

    /// Prints the figures since the last line.
    pub(super) fn interval_of(&mut self, view: &View, counts: Counts) -> Result<(), PrintError> {
        let now = self.clock.now();
        let length = now - self.last;
        if length.is_zero() {
            return Ok(());
        }
        let send_rate = ByteCount::new(view.bytes_sent - self.sent) / length;
        let receive_rate = ByteCount::new(view.bytes_received - self.received) / length;
        (self.last, self.sent, self.received) = (now, view.bytes_sent, view.bytes_received);
        let at = (now - self.started).as_secs_f64();
        let (rtt, late) = (view.rtt, view.datagrams_dropped);
        if self.json {
            return self.print(json!({
                "event": "interval",
                "time_s": at,
                "send_rate_bps": send_rate.as_bits_per_second(),
                "receive_rate_bps": receive_rate.as_bits_per_second(),
                "allowed_rate_bps": view.allowed_rate_bps,
                "rtt_s": rtt.map(Duration::as_secs_f64),
                "sent": view.datagrams_sent,
                "peer": self.peer,
                "stale": late + counts.drops.stale,
                "disposable": counts.drops.disposable,
                "refused": counts.drops.overflow + counts.overrun,
                "too_large": counts.too_large,
                "dropped_frames": counts.drops.frames,
                "forged": counts.forged,
                "received": view.datagrams_received,
                "lost": view.lost,
                "lost_wireless": view.lost_wireless,
                "paths": view.paths,
            }));
        }
        let allowed = view
            .allowed_rate_bps
            .map_or(String::new(), |rate| format!(" of {} allowed", DataRate::from_bits_per_second(rate)));
        let rtt = rtt.map_or(String::new(), |rtt| format!(", RTT {:.1} ms", rtt.as_secs_f64() * 1e3));
        let peer = self.peer.map_or(String::new(), |peer| format!("{peer} "));
        let paths: String = view.paths.iter().map(path).collect();
        self.print(format_args!(
            "{peer}{at:6.1} s  sent {send_rate}{allowed}{rtt}; {} datagrams, {} not sent; received {receive_rate}; {} datagrams, {} lost{paths}",
            view.datagrams_sent,
            late + counts.drops.datagrams() + counts.overrun + counts.too_large,
            view.datagrams_received,
            view.lost,
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
