//! The state of a relay, for programs: JSON, and metrics for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Serialize, Serializer};
use whimbrel_live::server::{Asked, Changed, Pages, StatusCode};
use whimbrel_net::Fingerprint;

use super::Options;
use super::link::{PathState, PathView};
use super::repair::RepairView;
use crate::edge::flow::Flow;
use crate::edge::frames::FrameCounts;
use crate::edge::ledger::streams::StreamFigures;
use crate::edge::ledger::{Account, Ledger, Sums};
use crate::whep::{self, Screen};

/// The state of a relay, shared by its connections and its HTTP server.
#[derive(Clone, Debug, Default)]
pub(super) struct Status {
    parts: Arc<Mutex<Parts>>,
    /// The browsers that watch the video; `None` without a page.
    pub(super) screen: Option<Screen>,
}

#[derive(Debug, Default)]
struct Parts {
    /// Connections by number.
    connections: BTreeMap<u64, Box<Connection>>,
    /// Connections so far.
    established: u64,
    /// Sums of the connections that have ended, for a relay whose connections have a ledger each.
    past: Sums,
    /// The only ledger of a relay that connects: programs send to it also while it has no connection.
    only: Option<Ledger>,
}

impl Parts {
    /// Sums over all connections so far.
    fn totals(&self) -> Sums {
        if let Some(ledger) = &self.only {
            return ledger.sums();
        }
        let mut totals = self.past;
        self.connections.values().for_each(|connection| totals += connection.sums);
        totals
    }
}

/// The state of a connection.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Connection {
    pub(super) peer: SocketAddr,
    /// The peer's key, if the connection is encrypted.
    #[serde(serialize_with = "as_text")]
    pub(super) key: Option<Fingerprint>,
    /// The rate that congestion control allows, in bit/s; `None` if it is unlimited.
    pub(super) allowed_rate_bps: Option<f64>,
    /// The rate for an encoder: the allowed rate without the headers of RTP packets as large as the recent
    /// ones.
    pub(super) encoder_rate_bps: Option<f64>,
    pub(super) rtt_s: Option<f64>,
    /// The time that datagrams take to the other end: that in this end's queue, and half of the round trip.
    pub(super) delay_s: Option<f64>,
    /// The other end says what has arrived there; otherwise it is an estimate of congestion control.
    pub(super) has_reports: bool,
    pub(super) is_frozen: bool,
    pub(super) queued_datagrams: usize,
    pub(super) queued_bytes: usize,
    /// Age of the oldest datagram that waits.
    pub(super) queue_age_s: f64,
    pub(super) flows: usize,
    /// The frames of the flows of RTP.
    pub(super) frames: Vec<FlowFrames>,
    /// The paths of a multipath connection.
    pub(super) paths: Vec<PathView>,
    /// Counters of repair; `None` if the ends have not agreed on it.
    pub(super) repair: Option<RepairView>,
    #[serde(flatten)]
    pub(super) sums: Sums,
    /// Fate of the datagrams of each stream.
    pub(super) streams: Vec<StreamFigures>,
}

/// The frames of a flow.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct FlowFrames {
    /// Number of the port, and of the flow there.
    pub(super) port: u8,
    pub(super) flow: u8,
    #[serde(flatten)]
    pub(super) counts: FrameCounts,
}

impl From<(Flow, FrameCounts)> for FlowFrames {
    fn from((Flow { port, number }, counts): (Flow, FrameCounts)) -> Self {
        Self { port, flow: number, counts }
    }
}

fn as_text<S: Serializer>(key: &Option<Fingerprint>, serializer: S) -> Result<S::Ok, S::Error> {
    key.map(|key| key.to_string()).serialize(serializer)
}

/// The number of a connection in the status, which is removed at its end.
#[derive(Debug)]
pub(super) struct Entry {
    status: Status,
    number: u64,
    ledger: Ledger,
}

impl Status {
    fn lock(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a relay that connects, whose connections have that ledger.
    pub(super) fn of_one(ledger: Ledger) -> Self {
        let status = Self::default();
        status.lock().only = Some(ledger);
        status
    }

    /// With the videos of its connections, for browsers, where there is a page.
    pub(super) fn showing(self, options: &Options) -> Self {
        Self { screen: Screen::of(options), ..self }
    }

    /// A connection is established, which has that ledger.
    pub(super) fn add(&self, ledger: Ledger) -> Entry {
        let mut parts = self.lock();
        parts.established += 1;
        Entry { status: self.clone(), number: parts.established, ledger }
    }

    /// The connections by number, and the sums of a relay that connects.
    pub(super) fn now(&self) -> (Vec<(u64, Connection)>, Option<Sums>) {
        let parts = self.lock();
        let connections = parts.connections.iter().map(|(number, each)| (*number, (**each).clone()));
        (connections.collect(), parts.only.as_ref().map(Ledger::sums))
    }

    /// Everything, as JSON.
    fn json(&self) -> serde_json::Value {
        let parts = self.lock();
        let connections: Vec<_> = parts.connections.values().collect();
        serde_json::json!({ "established": parts.established, "connections": connections, "totals": parts.totals() })
    }

    /// The allowed rate and the state of the newest connection for an encoder, as JSON.
    fn rate(&self) -> serde_json::Value {
        let parts = self.lock();
        match parts.connections.values().next_back() {
            Some(connection) => serde_json::json!({
                "connected": true,
                "allowed_rate_bps": connection.allowed_rate_bps,
                "encoder_rate_bps": connection.encoder_rate_bps,
                "rtt_s": connection.rtt_s,
                "delay_s": connection.delay_s,
                "queue_age_s": connection.queue_age_s,
                "frozen": connection.is_frozen,
                "to_peer": connection.sums.to_peer,
                "from_peer": connection.sums.from_peer,
                "streams": connection.streams,
                "paths": connection.paths,
                "repair": connection.repair,
            }),
            None => {
                let Sums { to_peer, from_peer, .. } = parts.totals();
                let streams = parts.only.as_ref().map_or(Vec::new(), |ledger| ledger.streams(None));
                serde_json::json!({
                    "connected": false, "to_peer": to_peer, "from_peer": from_peer, "streams": streams
                })
            }
        }
    }

    /// Metrics in the text format of Prometheus.
    fn metrics(&self) -> String {
        let parts = self.lock();
        let mut text = String::new();
        let all = parts.totals();
        let mut one = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
            let _ =
                writeln!(text, "# HELP whimbrel_relay_{name} {help}\n# TYPE whimbrel_relay_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "whimbrel_relay_{name}{labels} {value}");
            }
        };
        let sum = |value: u64| [(String::new(), value as f64)];
        one("connections_total", "counter", "Connections established.", &sum(parts.established));
        one("connections", "gauge", "Connections.", &sum(parts.connections.len() as u64));
        one("sent_datagrams_total", "counter", "Datagrams sent to peers.", &sum(all.datagrams_sent));
        one("sent_bytes_total", "counter", "Bytes of these.", &sum(all.bytes_sent));
        one(
            "received_datagrams_total",
            "counter",
            "Datagrams received from peers.",
            &sum(all.datagrams_received),
        );
        one("received_bytes_total", "counter", "Bytes of these.", &sum(all.bytes_received));
        one(
            "forged_datagrams_total",
            "counter",
            "Datagrams that were not authentic, or came twice.",
            &sum(all.forged),
        );
        let directions = [("to_peer", all.to_peer), ("from_peer", all.from_peer)];
        let of_directions = |value: fn(&Account) -> u64| {
            let value = |(name, account): &(&str, Account)| {
                (format!("{{direction=\"{name}\"}}"), value(account) as f64)
            };
            directions.iter().map(value).collect::<Vec<_>>()
        };
        one(
            "program_datagrams_total",
            "counter",
            "Datagrams that programs have sent: delivered, lost or under way.",
            &of_directions(|account| account.sent),
        );
        one(
            "delivered_datagrams_total",
            "counter",
            "Datagrams passed to the other end's programs.",
            &of_directions(|account| account.delivered),
        );
        let of_reasons = |(direction, account): &(&str, Account)| {
            let each = account.lost.all().map(|(reason, count)| {
                let labels = format!("{{direction=\"{direction}\",reason=\"{}\"}}", reason.name());
                (labels, count as f64)
            });
            each.collect::<Vec<_>>()
        };
        one(
            "lost_datagrams_total",
            "counter",
            "Datagrams that did not reach a program, by reason.",
            &directions.iter().flat_map(of_reasons).collect::<Vec<_>>(),
        );
        one(
            "dropped_frames_total",
            "counter",
            "Frames of which a datagram was dropped.",
            &sum(all.dropped_frames),
        );
        let of_each = |value: &dyn Fn(&Connection) -> Option<f64>| -> Vec<_> {
            let connections = parts.connections.values();
            let values =
                connections.filter_map(|each| Some((format!("{{peer=\"{}\"}}", each.peer), value(each)?)));
            values.collect()
        };
        one(
            "allowed_rate_bps",
            "gauge",
            "Rate allowed by congestion control.",
            &of_each(&|each| each.allowed_rate_bps),
        );
        one("rtt_seconds", "gauge", "Round-trip time.", &of_each(&|each| each.rtt_s));
        one(
            "delay_seconds",
            "gauge",
            "Time in the queue of this end, and half of the round trip.",
            &of_each(&|each| each.delay_s),
        );
        one(
            "queue_age_seconds",
            "gauge",
            "Age of the oldest datagram that waits.",
            &of_each(&|each| Some(each.queue_age_s)),
        );
        one("queued_bytes", "gauge", "Bytes that wait.", &of_each(&|each| Some(each.queued_bytes as f64)));
        one("flows", "gauge", "Flows.", &of_each(&|each| Some(each.flows as f64)));
        one(
            "frozen",
            "gauge",
            "1 while a handover stops the sender.",
            &of_each(&|each| Some(f64::from(u8::from(each.is_frozen)))),
        );
        let of_frames = |(peer, of): (SocketAddr, &FlowFrames)| {
            let FrameCounts { sent, whole, repaired, given_up } = of.counts;
            let each = [("sent", sent), ("whole", whole), ("repaired", repaired), ("given_up", given_up)];
            each.map(|(kind, count)| {
                let labels =
                    format!("{{peer=\"{peer}\",port=\"{}\",flow=\"{}\",kind=\"{kind}\"}}", of.port, of.flow);
                (labels, count as f64)
            })
        };
        let frames = parts.connections.values();
        let frames = frames.flat_map(|each| each.frames.iter().map(move |frames| (each.peer, frames)));
        one(
            "frames_total",
            "counter",
            "Frames of RTP: sent by local programs; of the peer's whole, repaired and given up.",
            &frames.flat_map(of_frames).collect::<Vec<_>>(),
        );
        let of_streams = |value: &dyn Fn(&StreamFigures) -> Vec<(&'static str, f64)>| -> Vec<_> {
            let connections = parts.connections.values();
            let streams =
                connections.flat_map(|each| each.streams.iter().map(move |stream| (each.peer, stream)));
            let values = streams.flat_map(|(peer, stream)| {
                let StreamFigures { direction, port, lane, .. } = stream;
                let of = format!(
                    "peer=\"{peer}\",direction=\"{}\",port=\"{port}\",lane=\"{lane}\"",
                    direction.name()
                );
                let reason = |name: &str| match name {
                    "" => String::new(),
                    name => format!(",reason=\"{name}\""),
                };
                let values = value(stream).into_iter();
                values.map(move |(name, value)| (format!("{{{of}{}}}", reason(name)), value))
            });
            values.collect()
        };
        let count = |value: u64| vec![("", value as f64)];
        one(
            "stream_datagrams_total",
            "counter",
            "Datagrams of a stream, from where the relay has classified them.",
            &of_streams(&|stream| count(stream.sent)),
        );
        one(
            "stream_delivered_datagrams_total",
            "counter",
            "Datagrams of a stream passed to the other end's programs.",
            &of_streams(&|stream| stream.delivered.map_or(Vec::new(), count)),
        );
        let occurred = |stream: &StreamFigures| {
            stream.lost.occurred().map(|(reason, count)| (reason.name(), count as f64)).collect()
        };
        one(
            "stream_lost_datagrams_total",
            "counter",
            "Datagrams of a stream that did not reach a program, by the reasons that occurred.",
            &of_streams(&occurred),
        );
        one(
            "stream_delay_seconds",
            "gauge",
            "Time of a stream in the sending end's queue, and half of the round trip.",
            &of_streams(&|stream| stream.delay_s.map_or(Vec::new(), |delay| vec![("", delay)])),
        );
        let of_paths = |value: &dyn Fn(&PathView) -> Option<f64>| -> Vec<_> {
            let paths = parts
                .connections
                .values()
                .flat_map(|each| each.paths.iter().map(move |path| (each.peer, path)));
            let values = paths.filter_map(|(peer, path)| {
                let PathView { local, remote, .. } = path;
                let labels = format!("{{peer=\"{peer}\",local=\"{local}\",remote=\"{remote}\"}}");
                Some((labels, value(path)?))
            });
            values.collect()
        };
        let is_up = |path: &PathView| Some(f64::from(u8::from(path.state == PathState::Up)));
        one("path_up", "gauge", "1 while a path carries data.", &of_paths(&is_up));
        one("path_rtt_seconds", "gauge", "Round-trip time of a path.", &of_paths(&|path| path.rtt_s));
        one(
            "path_allowed_rate_bps",
            "gauge",
            "Rate allowed by congestion control on a path.",
            &of_paths(&|path| path.allowed_rate_bps),
        );
        one(
            "path_sent_bytes_total",
            "counter",
            "Bytes sent on a path, copies and encryption included.",
            &of_paths(&|path| Some(path.bytes_sent as f64)),
        );
        one(
            "path_received_bytes_total",
            "counter",
            "Bytes received on a path, copies and encryption included.",
            &of_paths(&|path| Some(path.bytes_received as f64)),
        );
        one(
            "path_lost_packets_total",
            "counter",
            "Packets of the peer that were lost on a path.",
            &of_paths(&|path| Some(path.lost as f64)),
        );
        text
    }
}

impl Pages for Status {
    fn state(&self) -> serde_json::Value {
        self.json()
    }

    fn page(&self, path: &str) -> Option<(&'static str, String)> {
        match path {
            "/rate" => Some(("application/json", self.rate().to_string())),
            "/metrics" => Some(("text/plain; version=0.0.4", self.metrics())),
            _ => None,
        }
    }

    fn paths(&self) -> &'static [&'static str] {
        &["/rate", "/metrics"]
    }

    fn takes(&self) -> Option<&'static str> {
        self.screen.as_ref().map(|_| whep::PATH)
    }

    fn change(&self, asked: &Asked) -> Changed {
        match &self.screen {
            Some(screen) => screen.change(asked),
            None => Changed::Refused(StatusCode::NOT_FOUND, "there is no video here\n".into()),
        }
    }
}

impl Entry {
    /// Its number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The connection's state now.
    pub(super) fn set(&self, connection: Connection) {
        self.status.lock().connections.insert(self.number, Box::new(connection));
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut parts = self.status.lock();
        parts.connections.remove(&self.number);
        parts.past += self.ledger.sums();
    }
}
