//! Messages of an end on itself and its connections while it runs.

use std::net::SocketAddr;
use std::sync::Arc;

use whimbrel_net::{Clock, Fingerprint, HostPort};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::link::{PathView, View};
use super::pace::UPDATE_TIME;
use super::repair::RepairView;
use crate::edge::address::ProgramAddress;
use crate::edge::ledger::Sums;
use crate::edge::ledger::streams::StreamFigures;

/// Message of an end on itself, or on a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// The near end takes datagrams at these addresses of this host, for the far end.
    Taking {
        /// The addresses.
        at: &'a [SocketAddr],
        /// The far end.
        host: &'a HostPort,
    },
    /// The far end listens.
    Listening {
        /// Its UDP address.
        at: SocketAddr,
        /// Addresses of programs.
        to: &'a [ProgramAddress],
        /// This end's key; `None` without encryption.
        key: Option<Fingerprint>,
        /// Only relays of this host are served.
        local_only: bool,
    },
    /// The state is served by HTTP at this URL, which has the token if other hosts can reach it.
    Http(&'a str),
    /// The end is ready.
    Serving,
    /// A connection has begun.
    Connected {
        /// The other end's address.
        peer: SocketAddr,
        /// Its key; `None` without encryption.
        key: Option<Fingerprint>,
    },
    /// A path of a multipath connection has changed.
    Path(&'a str),
    /// Repair of a connection cannot do what the latency promises.
    Repair(&'a str),
    /// The figures of a connection since the last ones.
    Figures(&'a Figures),
    /// A connection has ended, or an attempt to connect, for this reason.
    Ended(&'a str),
    /// Text for the user.
    Warning(&'a str),
}

/// Takes an end's notices, with the address of the other end where there may be several. An error ends the
/// relay.
pub type Observer = Arc<dyn Fn(Option<SocketAddr>, &Notice<'_>) -> anyhow::Result<()> + Send + Sync>;

/// Figures of a connection.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Age of the connection in seconds.
    pub time_s: f64,
    /// The rates since the last figures.
    pub send_rate: DataRate,
    /// The rate in the other direction.
    pub receive_rate: DataRate,
    /// The rate that congestion control allows, in bit/s; `None` if it is unlimited or unknown.
    pub allowed_rate_bps: Option<f64>,
    /// Part of that for the bits of an encoder.
    pub encoder_rate_bps: Option<f64>,
    /// Round-trip time.
    pub rtt_s: Option<f64>,
    /// The time that datagrams take to the other end.
    pub delay_s: Option<f64>,
    /// The other end says what has arrived there; otherwise it is an estimate of congestion control.
    pub has_reports: bool,
    /// Losses of the peer's packets that were not due to congestion.
    pub lost_wireless: u64,
    /// The datagrams of both directions.
    pub sums: Sums,
    /// The datagrams of each stream.
    pub streams: Vec<StreamFigures>,
    /// The paths of a multipath connection.
    pub paths: Vec<PathView>,
    /// Counters of repair; `None` if the ends have not agreed on it.
    pub repair: Option<RepairView>,
}

/// The engine's part of a connection's state.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) sums: Sums,
    pub(super) streams: Vec<StreamFigures>,
    pub(super) delay: Option<f64>,
    pub(super) has_reports: bool,
    pub(super) encoder_rate_bps: Option<f64>,
}

/// Notices about one connection after the other.
#[derive(Clone)]
pub(super) struct Lines {
    observer: Observer,
    /// Notices name the peer: there may be several.
    names_peers: bool,
    peer: Option<SocketAddr>,
    interval: Duration,
    clock: Clock,
    /// Start of the connection, time of its last figures, and bytes sent and received until then.
    started: Instant,
    last: Instant,
    sent: u64,
    received: u64,
}

impl Lines {
    pub(super) fn new(observer: Observer, interval: Duration, names_peers: bool) -> Self {
        let clock = Clock::start();
        let now = clock.now();
        Self {
            observer,
            names_peers,
            peer: None,
            interval,
            clock,
            started: now,
            last: now,
            sent: 0,
            received: 0,
        }
    }

    /// Time between two figures without traffic; the largest, if there are none.
    pub(super) fn rest(&self) -> std::time::Duration {
        if self.names_peers { std::time::Duration::MAX } else { self.interval.into() }
    }

    /// Time until the next figures.
    pub(super) fn until_due(&self) -> std::time::Duration {
        (self.last + self.interval).saturating_since(self.clock.now()).into()
    }

    /// `true` if a program sets its encoder by the figures: it is not to wait for a rate that has fallen.
    pub(super) fn are_for_programs(&self) -> bool {
        self.interval <= UPDATE_TIME.into()
    }

    /// `true` if there may be several peers. Those without traffic have no figures.
    pub(super) fn names_peers(&self) -> bool {
        self.names_peers
    }

    /// Passes a notice on.
    pub(super) fn notify(&self, notice: &Notice<'_>) -> anyhow::Result<()> {
        (self.observer)(self.peer, notice)
    }

    /// A connection has begun.
    pub(super) fn connected(
        &mut self,
        peer: SocketAddr,
        key: Option<Fingerprint>,
        sums: &Sums,
    ) -> anyhow::Result<()> {
        self.peer = Some(peer).filter(|_| self.names_peers);
        self.started = self.clock.now();
        self.last = self.started;
        (self.sent, self.received) = (sums.bytes_sent, sums.bytes_received);
        self.notify(&Notice::Connected { peer, key })
    }

    /// Leaves figures out.
    pub(super) fn skip(&mut self, sums: &Sums) {
        self.last = self.clock.now();
        (self.sent, self.received) = (sums.bytes_sent, sums.bytes_received);
    }

    /// Passes the figures since the last ones on.
    pub(super) fn interval_of(&mut self, view: &View, measured: Measured) -> anyhow::Result<()> {
        let now = self.clock.now();
        let length = now - self.last;
        if length.is_zero() {
            return Ok(());
        }
        let Measured { sums, streams, delay, has_reports, encoder_rate_bps } = measured;
        let send_rate = ByteCount::new(sums.bytes_sent.saturating_sub(self.sent)) / length;
        let receive_rate = ByteCount::new(sums.bytes_received.saturating_sub(self.received)) / length;
        (self.last, self.sent, self.received) = (now, sums.bytes_sent, sums.bytes_received);
        self.notify(&Notice::Figures(&Figures {
            time_s: (now - self.started).as_secs_f64(),
            send_rate,
            receive_rate,
            allowed_rate_bps: view.allowed_rate_bps,
            encoder_rate_bps,
            rtt_s: view.rtt.map(Duration::as_secs_f64),
            delay_s: delay,
            has_reports,
            lost_wireless: view.lost_wireless,
            sums,
            streams,
            paths: view.paths.clone(),
            repair: view.repair,
        }))
    }
}
