//! Events of the link and of the connections over it. The field names are the same as in `--json`.

use std::net::SocketAddr;

use serde::Serialize;
use whimbrel_control::freeze::SenderState;
use whimbrel_net::{Clock, Instant, Socket};

use super::super::link::Link;

/// The share of the old rate that counts as all of it.
const FULL: f64 = 0.99;
/// The most entries kept of each list.
const MOST: usize = 1000;

/// The events of a client's link.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct HandoverReport {
    /// The freeze state of the sender: `normal`, `frozen`, `restoring`, `probing` or `settling`.
    state: Option<&'static str>,
    freezes: Vec<Freeze>,
    moves: Vec<Move>,
    link: Vec<LinkChange>,
}

/// A freeze.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Freeze {
    /// The cause: `signal`, `link`, `peer`, or `silence` for an unannounced outage that was detected
    /// afterwards.
    cause: &'static str,
    /// Its start, in seconds since the start of the test; unknown after a silence.
    start_s: Option<f64>,
    /// Its length.
    length_s: Option<f64>,
    /// The rate that congestion control allowed at its start, in bit/s.
    rate_before_bps: Option<f64>,
    /// Seconds from its end until that rate was allowed again.
    full_rate_s: Option<f64>,
    /// Seconds from its end until the sender was back to normal, having restored its rate and probed.
    normal_s: Option<f64>,
    #[serde(skip)]
    ended: Option<Instant>,
}

/// Another address of this end.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Move {
    at_s: f64,
    from: SocketAddr,
    to: SocketAddr,
}

/// A link event of the system.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct LinkChange {
    at_s: f64,
    /// `down`, `up` or `moved`.
    what: &'static str,
}

/// Keeps the report of a client's sockets.
#[derive(Debug)]
pub(super) struct Log {
    clock: Clock,
    started: Instant,
    local: Option<SocketAddr>,
    /// The freeze state of the sender at the last sample.
    state: SenderState,
    frozen_by_peer: bool,
    report: HandoverReport,
}

impl Log {
    pub(super) fn new(clock: Clock, links: &[Link]) -> Self {
        let local = links.first().and_then(Link::local);
        let (state, report) = (SenderState::Normal, HandoverReport::default());
        Self { clock, started: clock.now(), local, state, frozen_by_peer: false, report }
    }

    fn seconds(&self) -> f64 {
        (self.clock.now() - self.started).as_secs_f64()
    }

    pub(super) fn on_link(&mut self, what: &'static str) {
        let at_s = self.seconds();
        push(&mut self.report.link, LinkChange { at_s, what });
    }

    pub(super) fn on_freeze(&mut self, cause: &'static str, links: &[Link]) {
        let start_s = Some(self.seconds());
        self.begin(Freeze { start_s, rate_before_bps: allowed(links), ..Freeze::by(cause) });
    }

    fn begin(&mut self, freeze: Freeze) {
        push(&mut self.report.freezes, freeze);
    }

    pub(super) fn on_unfreeze(&mut self) {
        let (now, at_s) = (self.clock.now(), self.seconds());
        if let Some(freeze) = self.report.freezes.last_mut().filter(|freeze| freeze.ended.is_none()) {
            freeze.ended = Some(now);
            freeze.length_s = freeze.start_s.map(|start_s| at_s - start_s);
        }
    }

    /// Samples the states of the connections.
    pub(super) fn sample(&mut self, links: &[Link]) {
        let Some(socket) = links.iter().find_map(socket) else { return };
        let local = socket.local();
        if let Some(from) = self.local.replace(local).filter(|from| *from != local) {
            let at_s = self.seconds();
            push(&mut self.report.moves, Move { at_s, from, to: local });
        }
        let Some(snapshot) = socket.snapshot() else { return };
        let by_peer = snapshot.freeze.by_peer;
        if by_peer != std::mem::replace(&mut self.frozen_by_peer, by_peer) {
            if by_peer { self.on_freeze("peer", links) } else { self.on_unfreeze() }
        }
        let Some(state) = snapshot.sender.freeze else { return };
        let before = std::mem::replace(&mut self.state, state);
        let is_own = self.report.freezes.last().is_some_and(|freeze| freeze.normal_s.is_none());
        if before == SenderState::Normal && state == SenderState::Restoring && !is_own {
            self.begin(Freeze { ended: Some(self.clock.now()), ..Freeze::by("silence") });
        }
        self.follow_restart(state, allowed(links));
    }

    /// Follows the sender's return to the normal state.
    fn follow_restart(&mut self, state: SenderState, rate: Option<f64>) {
        let now = self.clock.now();
        let Some(freeze) = self.report.freezes.last_mut() else { return };
        let Some(since) = freeze.ended.map(|ended| (now - ended).as_secs_f64()) else { return };
        if state != SenderState::Frozen
            && let (Some(rate), Some(before)) = (rate, freeze.rate_before_bps)
            && rate >= FULL * before
        {
            freeze.full_rate_s.get_or_insert(since);
        }
        if state == SenderState::Normal {
            freeze.normal_s.get_or_insert(since);
        }
    }

    pub(super) fn report(&self) -> HandoverReport {
        let state = match self.state {
            SenderState::Normal => "normal",
            SenderState::Frozen => "frozen",
            SenderState::Restoring => "restoring",
            SenderState::Probing => "probing",
            SenderState::Settling => "settling",
        };
        HandoverReport { state: Some(state), ..self.report.clone() }
    }
}

impl Freeze {
    fn by(cause: &'static str) -> Self {
        Self {
            cause,
            start_s: None,
            length_s: None,
            rate_before_bps: None,
            full_rate_s: None,
            normal_s: None,
            ended: None,
        }
    }
}

impl HandoverReport {
    /// As text: a line for each freeze and each move.
    pub fn lines(&self) -> Vec<String> {
        let unless_known = |value: Option<f64>, known: &dyn Fn(f64) -> String, unknown: &str| {
            value.map_or_else(|| unknown.to_owned(), known)
        };
        let freezes = self.freezes.iter().map(|freeze| {
            let start = unless_known(freeze.start_s, &|s| format!("at {s:.2} s "), "");
            let length = unless_known(freeze.length_s, &|s| format!("for {s:.2} s "), "");
            let full = unless_known(
                freeze.full_rate_s,
                &|s| format!("; the old rate was allowed again {s:.3} s after it"),
                "",
            );
            format!("frozen {start}{length}({}){full}", freeze.cause)
        });
        let moves = self.moves.iter().map(|moved| format!("moved at {:.2} s to {}", moved.at_s, moved.to));
        freezes.chain(moves).collect()
    }
}

/// The rate that the congestion control of all streams together allows, in bit/s.
fn allowed(links: &[Link]) -> Option<f64> {
    links
        .iter()
        .filter_map(|link| socket(link)?.snapshot()?.sender.allowed_rate)
        .map(|rate| rate.as_bits_per_second())
        .reduce(|sum, rate| sum + rate)
}

fn socket(link: &Link) -> Option<&Socket> {
    match link {
        Link::Dccp(socket) => Some(socket),
        Link::Udp(_) | Link::Tcp(_) => None,
    }
}

/// Keeps the latest.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == MOST {
        list.remove(0);
    }
    list.push(item);
}
