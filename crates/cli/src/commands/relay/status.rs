//! The state of a relay, for programs: JSON, and metrics for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Serialize, Serializer};
use whimbrel_net::Fingerprint;

use super::link::{PathState, PathView};
use super::queue::Drops;

/// The state of a relay, shared by its connections and its HTTP server.
#[derive(Clone, Debug, Default)]
pub(super) struct Status(Arc<Mutex<Parts>>);

#[derive(Debug, Default)]
struct Parts {
    /// Connections by number.
    connections: BTreeMap<u64, Box<Connection>>,
    /// Connections so far.
    established: u64,
    /// Sums of the connections that are over.
    past: Totals,
}

/// Sums over connections.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Totals {
    pub(super) datagrams_sent: u64,
    pub(super) bytes_sent: u64,
    pub(super) datagrams_received: u64,
    pub(super) bytes_received: u64,
    pub(super) lost: u64,
    /// Datagrams for which there was no flow or port.
    pub(super) unknown: u64,
    /// Datagrams that do not fit the path.
    pub(super) too_large: u64,
    /// Datagrams of local programs that came faster than the relay took them.
    pub(super) overrun: u64,
    /// Datagrams of the peer that were not authentic.
    pub(super) forged: u64,
    pub(super) dropped: Drops,
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
    /// The rate for an encoder: what remains of that without the headers of RTP packets as large as those of late.
    pub(super) encoder_rate_bps: Option<f64>,
    pub(super) rtt_s: Option<f64>,
    pub(super) is_frozen: bool,
    pub(super) queued_datagrams: usize,
    pub(super) queued_bytes: usize,
    /// Age of the oldest datagram that waits.
    pub(super) queue_age_s: f64,
    pub(super) flows: usize,
    /// The paths of a multipath connection.
    pub(super) paths: Vec<PathView>,
    #[serde(flatten)]
    pub(super) totals: Totals,
}

fn as_text<S: Serializer>(key: &Option<Fingerprint>, serializer: S) -> Result<S::Ok, S::Error> {
    key.map(|key| key.to_string()).serialize(serializer)
}

/// The number of a connection in the status, which is removed at its end.
#[derive(Debug)]
pub(super) struct Entry {
    status: Status,
    number: u64,
}

impl Status {
    fn lock(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// A connection is established.
    pub(super) fn add(&self) -> Entry {
        let mut parts = self.lock();
        parts.established += 1;
        Entry { status: self.clone(), number: parts.established }
    }
    /// Everything, as JSON.
    pub(super) fn json(&self) -> serde_json::Value {
        let parts = self.lock();
        let connections: Vec<_> = parts.connections.values().collect();
        serde_json::json!({ "established": parts.established, "connections": connections, "past": parts.past })
    }
    /// The allowed rate and the state of the newest connection for an encoder, as JSON.
    pub(super) fn rate(&self) -> serde_json::Value {
        let parts = self.lock();
        match parts.connections.values().next_back() {
            Some(connection) => serde_json::json!({
                "connected": true,
                "allowed_rate_bps": connection.allowed_rate_bps,
                "encoder_rate_bps": connection.encoder_rate_bps,
                "rtt_s": connection.rtt_s,
                "queue_age_s": connection.queue_age_s,
                "frozen": connection.is_frozen,
                "paths": connection.paths,
            }),
            None => serde_json::json!({ "connected": false }),
        }
    }
    /// Metrics in the text format of Prometheus.
    pub(super) fn metrics(&self) -> String {
        let parts = self.lock();
        let mut text = String::new();
        let all = parts.connections.values().fold(parts.past, |sum, connection| sum.plus(connection.totals));
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
        one("lost_packets_total", "counter", "Packets of peers that were lost on the path.", &sum(all.lost));
        one(
            "forged_datagrams_total",
            "counter",
            "Datagrams that were not authentic, or came twice.",
            &sum(all.forged),
        );
        let reasons = [
            ("stale", all.dropped.stale),
            ("disposable", all.dropped.disposable),
            ("overflow", all.dropped.overflow),
            ("too_large", all.too_large),
            ("overrun", all.overrun),
            ("unknown_flow", all.unknown),
        ];
        let reasons = reasons.map(|(reason, value)| (format!("{{reason=\"{reason}\"}}"), value as f64));
        one(
            "dropped_datagrams_total",
            "counter",
            "Datagrams of local programs or peers that were dropped here.",
            &reasons,
        );
        one(
            "dropped_frames_total",
            "counter",
            "Frames of which a datagram was dropped.",
            &sum(all.dropped.frames),
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

impl Totals {
    fn plus(self, other: Self) -> Self {
        Self {
            datagrams_sent: self.datagrams_sent + other.datagrams_sent,
            bytes_sent: self.bytes_sent + other.bytes_sent,
            datagrams_received: self.datagrams_received + other.datagrams_received,
            bytes_received: self.bytes_received + other.bytes_received,
            lost: self.lost + other.lost,
            unknown: self.unknown + other.unknown,
            too_large: self.too_large + other.too_large,
            overrun: self.overrun + other.overrun,
            forged: self.forged + other.forged,
            dropped: Drops {
                stale: self.dropped.stale + other.dropped.stale,
                disposable: self.dropped.disposable + other.dropped.disposable,
                overflow: self.dropped.overflow + other.dropped.overflow,
                frames: self.dropped.frames + other.dropped.frames,
            },
        }
    }
}

impl Entry {
    /// The connection's state now.
    pub(super) fn set(&self, connection: Connection) {
        self.status.lock().connections.insert(self.number, Box::new(connection));
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut parts = self.status.lock();
        if let Some(connection) = parts.connections.remove(&self.number) {
            parts.past = parts.past.plus(connection.totals);
        }
    }
}
