//! Content of a relay's live page: its connections over time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use whimbrel_live::explain::{Cause, Explainer, Halt, Interval};
use whimbrel_live::{Feed, Panel, Recording, Token, TrackId, server};
use whimbrel_net::Clock;

use super::link::{PathState, PathView};
use super::status::{Connection, FlowFrames, Status};
use crate::edge::frames::FrameCounts;
use crate::edge::ledger::streams::{Direction, StreamFigures};
use crate::edge::ledger::{Account, Reason, Sums};

/// Time between two samples.
const INTERVAL: Duration = Duration::from_millis(500);
/// The other end says once a second what has arrived. If it has not for longer, nothing arrives.
const REPORT_TIME: f64 = 2.0;
/// The most paths of a connection that are shown, and flows with frames.
const MAX_PATHS: usize = 8;
const MAX_FRAMED: usize = 4;
/// The most streams whose delay is drawn.
const MAX_STREAMS: usize = 6;

/// Serves the page and the state from now on. Returns the URL.
pub(super) async fn serve(
    at: SocketAddr,
    token: Option<Token>,
    status: &Status,
    name: &str,
) -> anyhow::Result<String> {
    let mut recording = Recording::new(format!("relay {name}"));
    if status.screen.is_some() {
        recording.has_video();
    }
    let feed = Feed::new(recording);
    let served = server::serve(at, feed.clone(), status.clone(), token).await?;
    tokio::spawn(sample(feed, status.clone(), name.to_owned()));
    Ok(served.to_string())
}

/// Samples the connections without an end.
async fn sample(feed: Feed, status: Status, name: String) {
    let clock = Clock::start();
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut shown: BTreeMap<u64, Shown> = BTreeMap::new();
    let mut last = 0.0;
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let now = clock.now().as_secs_f64();
        let length = now - std::mem::replace(&mut last, now);
        let (connections, only) = status.now();
        feed.update(|recording| {
            let mut row = Vec::new();
            if let Some(sums) = only {
                // One track for all connections, one after the other, of a relay that connects.
                let one = shown.entry(0).or_insert_with(|| Shown::new(recording, &name, &sums));
                let connection = connections.last().map(|(_, connection)| connection);
                one.take(recording, &mut row, now, length, connection, &sums);
            } else {
                shown.retain(|number, one| {
                    let stays = connections.iter().any(|(other, _)| other == number);
                    if !stays {
                        recording.mark(now, one.track, "the connection has ended");
                        recording.end(one.track);
                    }
                    stays
                });
                for (number, connection) in &connections {
                    let one = shown.entry(*number).or_insert_with(|| {
                        Shown::new(recording, &connection.peer.to_string(), &Sums::default())
                    });
                    one.take(recording, &mut row, now, length, Some(connection), &connection.sums);
                }
            }
            recording.push(now, &row);
            let paths = connections.iter().flat_map(|(_, each)| each.paths.iter().map(path_row)).collect();
            let streams =
                connections.iter().flat_map(|(_, each)| each.streams.iter().map(stream_row)).collect();
            recording.table("Streams", &["stream", "datagrams", "delivered", "lost", "delay"], streams);
            recording.table("Paths", &["path", "state", "allowed", "round trip", "packets lost"], paths);
        });
    }
}

/// A connection that is shown.
struct Shown {
    track: TrackId,
    explainer: Explainer,
    before: Sums,
    repaired: u64,
    given_up: u64,
    key_frames: u64,
    paths: Vec<(SocketAddr, SocketAddr, PathState, u64)>,
    frames: Vec<FlowFrames>,
    is_connected: bool,
    is_frozen: bool,
    /// Time of the last report that something arrived.
    reported: f64,
}

impl Shown {
    fn new(recording: &mut Recording, name: &str, sums: &Sums) -> Self {
        Self {
            track: recording.track("connection", name),
            explainer: Explainer::default(),
            before: *sums,
            repaired: 0,
            given_up: 0,
            key_frames: 0,
            paths: Vec::new(),
            frames: Vec::new(),
            is_connected: false,
            is_frozen: false,
            reported: 0.0,
        }
    }

    /// Adds the values of an interval to `row`, and events and the sentence to the recording.
    fn take(
        &mut self,
        recording: &mut Recording,
        row: &mut Vec<(whimbrel_live::SeriesId, f64)>,
        now: f64,
        length: f64,
        connection: Option<&Connection>,
        sums: &Sums,
    ) {
        let track = self.track;
        let before = std::mem::replace(&mut self.before, *sums);
        let mut add = |recording: &mut Recording, panel, name: &str, value: f64| {
            row.push((recording.series(track, panel, name), value));
        };
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / length;
        add(recording, Panel::Rate, "sent", rate(sums.bytes_sent, before.bytes_sent) * 8.0);
        add(recording, Panel::Rate, "received", rate(sums.bytes_received, before.bytes_received) * 8.0);
        // The direction with more datagrams is the one that matters.
        let receives = sums.from_peer.sent > sums.to_peer.sent;
        let (account, old) =
            if receives { (&sums.from_peer, &before.from_peer) } else { (&sums.to_peer, &before.to_peer) };
        let mut lost = causes(account, old);
        let repair = connection.and_then(|connection| connection.repair);
        let mut repaired = 0;
        if let Some(repair) = repair {
            repaired = (repair.repeated + repair.restored).saturating_sub(self.repaired);
            self.repaired = repair.repeated + repair.restored;
            if receives {
                // The path has lost those as well.
                lost[Cause::Path as usize] += repaired as f64;
            }
            let given_up =
                repair.given_up.saturating_sub(std::mem::replace(&mut self.given_up, repair.given_up));
            add(recording, Panel::Loss, "repaired", repaired as f64 / length);
            add(recording, Panel::Loss, "given up", given_up as f64 / length);
        }
        for cause in [Cause::Path, Cause::Queue, Cause::Choice, Cause::Down, Cause::Other] {
            add(recording, Panel::Loss, cause.name(), lost[cause as usize] / length);
        }
        let frames_dropped = rate(sums.dropped_frames, before.dropped_frames);
        if frames_dropped > 0.0 || connection.is_some_and(|each| !each.frames.is_empty()) {
            add(recording, Panel::Frames, "frames dropped", frames_dropped);
        }
        if let Some(connection) = connection {
            let mut known = |recording: &mut Recording, panel, name: &str, value: Option<f64>| {
                if let Some(value) = value {
                    add(recording, panel, name, value);
                }
            };
            known(recording, Panel::Rate, "allowed", connection.allowed_rate_bps);
            known(recording, Panel::Delay, "delay", connection.delay_s);
            known(recording, Panel::Delay, "in this end's queue", Some(connection.queue_age_s));
            known(recording, Panel::Delay, "half the round trip", connection.rtt_s.map(|rtt| rtt / 2.0));
            known(recording, Panel::Queue, "waiting here", Some(connection.queued_datagrams as f64));
            let shown = if receives { Direction::FromPeer } else { Direction::ToPeer };
            let is_shown = |stream: &&StreamFigures| stream.direction == shown;
            let streams: Vec<_> = connection.streams.iter().filter(is_shown).take(MAX_STREAMS).collect();
            for stream in streams.iter().filter(|_| streams.len() > 1) {
                let name = format!("delay, {}", stream_name(stream));
                known(recording, Panel::Delay, &name, stream.delay_s);
            }
            self.follow_frames(recording, row, length, &connection.frames);
            self.follow_paths(recording, row, now, length, &connection.paths);
        }
        let halt = self.follow_events(recording, now, connection);
        let delivered = self.delivered(now, connection, receives, account, old);
        let received = rate(sums.bytes_received, before.bytes_received) * 8.0;
        let size = sums.bytes_sent as f64 / sums.datagrams_sent.max(1) as f64;
        let delivered_bps = if receives { received } else { delivered * size * 8.0 / length };
        row.push((recording.series(track, Panel::Rate, "delivered"), delivered_bps));
        let sentence = self.explainer.push(&Interval {
            at_s: now,
            length_s: length,
            offered: Some(account.sent.saturating_sub(old.sent) as f64),
            delivered,
            lost,
            repaired: if receives { repaired as f64 } else { 0.0 },
            overhead: repair.map(|repair| repair.overhead).filter(|_| !receives),
            delivered_bps: Some(delivered_bps),
            allowed_bps: connection.and_then(|each| each.allowed_rate_bps).filter(|_| !receives),
            capacity_bps: None,
            halt,
        });
        recording.say(now, self.track, &sentence);
    }

    /// Datagrams delivered in the interval. The other end reports its deliveries once a second: until a
    /// report is overdue, each datagram that is not lost counts as delivered.
    fn delivered(
        &mut self,
        now: f64,
        connection: Option<&Connection>,
        receives: bool,
        account: &Account,
        old: &Account,
    ) -> f64 {
        let delivered = account.delivered.saturating_sub(old.delivered);
        // No report is overdue on what was not sent.
        if delivered > 0 || account.sent == old.sent {
            self.reported = now;
        }
        if receives || connection.is_none() || now - self.reported >= REPORT_TIME {
            return delivered as f64;
        }
        let lost = account.lost.sum().saturating_sub(old.lost.sum());
        account.sent.saturating_sub(old.sent).saturating_sub(lost) as f64
    }

    /// Marks what has changed. Returns the reason why nothing is carried.
    fn follow_events(
        &mut self,
        recording: &mut Recording,
        now: f64,
        connection: Option<&Connection>,
    ) -> Option<Halt> {
        let is_connected = connection.is_some();
        if is_connected != std::mem::replace(&mut self.is_connected, is_connected) {
            recording.mark(now, self.track, if is_connected { "connected" } else { "no connection" });
        }
        let is_frozen = connection.is_some_and(|connection| connection.is_frozen);
        if is_frozen != std::mem::replace(&mut self.is_frozen, is_frozen) {
            recording.mark(now, self.track, if is_frozen { "handover: frozen" } else { "handover: resumed" });
        }
        let asked = connection.and_then(|each| each.repair).map_or(0, |repair| repair.key_frames_asked);
        if asked > std::mem::replace(&mut self.key_frames, asked) {
            recording.mark(now, self.track, "key frame requested");
        }
        match (is_connected, is_frozen) {
            (false, _) => Some(Halt::Unconnected),
            (true, true) => Some(Halt::Frozen),
            (true, false) => None,
        }
    }

    /// Adds the frames of the flows of RTP per second, by what became of them.
    fn follow_frames(
        &mut self,
        recording: &mut Recording,
        row: &mut Vec<(whimbrel_live::SeriesId, f64)>,
        length: f64,
        frames: &[FlowFrames],
    ) {
        let old = std::mem::replace(&mut self.frames, frames.to_vec());
        for flow in frames.iter().take(MAX_FRAMED) {
            let before = old.iter().find(|old| (old.port, old.flow) == (flow.port, flow.flow));
            let before = before.map_or_else(FrameCounts::default, |before| before.counts);
            let FrameCounts { sent, whole, repaired, given_up } = flow.counts;
            let sends = [("frames sent", sent, before.sent)];
            let receives = [
                ("whole", whole, before.whole),
                ("repaired", repaired, before.repaired),
                ("given up", given_up, before.given_up),
            ];
            let shown = sends.iter().filter(|_| sent > 0);
            let shown = shown.chain(receives.iter().filter(|_| whole + repaired + given_up > 0));
            for (name, now, before) in shown {
                let name = match (flow.port, flow.flow) {
                    (0, 0) => (*name).to_owned(),
                    (port, 0) => format!("{name}, port {port}"),
                    (port, flow) => format!("{name}, port {port} flow {flow}"),
                };
                let rate = now.saturating_sub(*before) as f64 / length;
                row.push((recording.series(self.track, Panel::Frames, &name), rate));
            }
        }
    }

    /// Adds the rates of the paths of a connection over several, and marks their changes.
    fn follow_paths(
        &mut self,
        recording: &mut Recording,
        row: &mut Vec<(whimbrel_live::SeriesId, f64)>,
        now: f64,
        length: f64,
        paths: &[PathView],
    ) {
        let track = self.track;
        let mut known = Vec::new();
        for path in paths.iter().take(MAX_PATHS) {
            let bytes = path.bytes_sent + path.bytes_received;
            let old = self.paths.iter().find(|old| (old.0, old.1) == (path.local, path.remote));
            let name = path_name(path);
            if old.is_none_or(|old| old.2 != path.state) {
                recording.mark(now, track, format!("path {name} {}", path.state.name()));
            }
            let rate = bytes.saturating_sub(old.map_or(bytes, |old| old.3)) as f64 * 8.0 / length;
            row.push((recording.series(track, Panel::Paths, &name), rate));
            known.push((path.local, path.remote, path.state, bytes));
        }
        self.paths = known;
    }
}

/// A path by the address that differs.
fn path_name(path: &PathView) -> String {
    let local = path.local.ip();
    (if local.is_unspecified() { path.remote.ip() } else { local }).to_string()
}

fn path_row(path: &PathView) -> Vec<String> {
    let allowed = path
        .allowed_rate_bps
        .map_or(String::new(), |rate| whimbrel_units::DataRate::from_bits_per_second(rate).to_string());
    let rtt = path.rtt_s.map_or(String::new(), |rtt| format!("{:.1} ms", rtt * 1e3));
    vec![path_name(path), path.state.name().to_owned(), allowed, rtt, path.lost.to_string()]
}

/// A stream, from this end's programs unless it says otherwise.
fn stream_name(stream: &StreamFigures) -> String {
    let direction = match stream.direction {
        Direction::ToPeer => "",
        Direction::FromPeer => ", received",
    };
    format!("port {}, {}{direction}", stream.port, stream.lane)
}

fn stream_row(stream: &StreamFigures) -> Vec<String> {
    let reasons = stream.lost.occurred().map(|(reason, count)| format!("{count} {}", reason.text()));
    let lost = reasons.collect::<Vec<_>>().join(", ");
    vec![
        stream_name(stream),
        stream.sent.to_string(),
        stream.delivered.map_or("not known".to_owned(), |count| count.to_string()),
        if lost.is_empty() { "0".to_owned() } else { lost },
        stream.delay_s.map_or(String::new(), |delay| format!("{:.1} ms", delay * 1e3)),
    ]
}

/// Datagrams lost since `old`, by the cause that a reader of the page understands.
fn causes(account: &Account, old: &Account) -> [f64; Cause::ALL.len()] {
    let mut lost = [0.0; Cause::ALL.len()];
    for (reason, count) in account.lost.all() {
        let cause = match reason {
            Reason::Unconnected | Reason::Ended => Cause::Down,
            Reason::Kernel | Reason::Overrun | Reason::Overflow | Reason::Unread => Cause::Queue,
            Reason::Stale | Reason::Superseded | Reason::Disposable | Reason::Undecodable => Cause::Choice,
            Reason::Path => Cause::Path,
            Reason::TooLarge | Reason::UnknownFlow | Reason::Refused | Reason::Undeliverable => Cause::Other,
        };
        lost[cause as usize] += count.saturating_sub(old.lost[reason]) as f64;
    }
    lost
}
