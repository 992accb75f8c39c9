//! Logs of flows in the qlog format, written while the run proceeds.
//!
//! Sources: draft-ietf-quic-qlog-main-schema (version 0.3, JSON-SEQ: RFC 7464) and
//! draft-ietf-quic-qlog-quic-events for the names and fields of events. The schema has no packet types of
//! DCCP and TCP; packets have the type `1RTT`, as tools expect.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use whimbrel_lab::Plan;
use whimbrel_lab::metrics::{PacketEvent, PacketEventKind, PacketOutcome};
use whimbrel_lab::runner::FlowEvent;
use whimbrel_lab::transport::SenderEstimate;

/// The record separator of JSON text sequences (RFC 7464, Section 2.2).
const SEPARATOR: u8 = 0x1e;

/// The logs of all flows.
#[derive(Debug)]
pub(crate) struct Qlogs {
    flows: Vec<Option<FlowLog>>,
}

/// The log of a flow.
#[derive(Debug)]
struct FlowLog {
    path: PathBuf,
    writer: BufWriter<File>,
    /// Bytes sent and neither received nor lost.
    in_flight: u64,
    /// Bytes and number of packets sent.
    sent: (u64, u64),
    /// Least round-trip time in seconds.
    min_rtt: f64,
}

impl Qlogs {
    /// Creates the directory, and a file for each flow that is no background traffic.
    pub(crate) fn start(directory: &Path, plan: &Plan, seed: u64) -> anyhow::Result<Self> {
        let context = || format!("--qlog {}", directory.display());
        fs::create_dir_all(directory).with_context(context)?;
        let mut flows = Vec::new();
        for flow in &plan.flows {
            if flow.background {
                flows.push(None);
                continue;
            }
            let path = directory.join(format!("{}.sqlog", file_name(&flow.name)));
            let file = File::create(&path).with_context(|| format!("--qlog {}", path.display()))?;
            let mut log = FlowLog {
                path,
                writer: BufWriter::new(file),
                in_flight: 0,
                sent: (0, 0),
                min_rtt: f64::INFINITY,
            };
            log.write(&header(plan, &flow.name, &flow.transport.scheme(), seed))?;
            flows.push(Some(log));
        }
        Ok(Self { flows })
    }

    /// Appends events, by flow.
    pub(crate) fn append(&mut self, events: &[Vec<FlowEvent>]) -> anyhow::Result<()> {
        for (log, events) in self.flows.iter_mut().zip(events) {
            let Some(log) = log else { continue };
            for event in events {
                if let Some(value) = log.event(event) {
                    log.write(&value)?;
                }
            }
        }
        Ok(())
    }

    /// Completes the files.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        for mut log in self.flows.into_iter().flatten() {
            log.writer.flush().with_context(|| format!("--qlog {}", log.path.display()))?;
        }
        Ok(())
    }
}

fn header(plan: &Plan, flow: &str, transport: &str, seed: u64) -> Value {
    json!({
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": plan.title,
        "description": format!("flow {flow}, seed {seed}"),
        "trace": {
            "title": flow,
            "vantage_point": { "name": flow, "type": "client" },
            "common_fields": {
                "protocol_type": [transport],
                "time_format": "relative",
                "reference_time": 0,
                "group_id": flow,
            },
        },
    })
}

/// A flow's name as a name of a file.
fn file_name(flow: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String = flow.chars().map(|letter| if allowed(letter) { letter } else { '_' }).collect();
    // Neither hidden nor a directory.
    if name.starts_with('.') { format!("_{name}") } else { name }
}

impl FlowLog {
    fn write(&mut self, value: &Value) -> anyhow::Result<()> {
        let written = self
            .writer
            .write_all(&[SEPARATOR])
            .and_then(|()| serde_json::to_writer(&mut self.writer, value).map_err(Into::into))
            .and_then(|()| self.writer.write_all(b"\n"));
        written.with_context(|| format!("--qlog {}", self.path.display()))
    }

    /// An event of the schema; `None` if there is nothing to say.
    fn event(&mut self, event: &FlowEvent) -> Option<Value> {
        let time = event.at().as_nanos() as f64 / 1e6;
        let (name, data) = match event {
            FlowEvent::Packet(packet) => self.packet(packet),
            FlowEvent::Estimate(_, estimate) => ("recovery:metrics_updated", self.metrics(estimate)),
        };
        // A sender without estimates.
        let is_empty = data.as_object().is_none_or(serde_json::Map::is_empty);
        (!is_empty).then(|| json!({ "time": time, "name": name, "data": data }))
    }

    fn packet(&mut self, packet: &PacketEvent) -> (&'static str, Value) {
        let size = u64::from(packet.size);
        let header = json!({ "packet_type": "1RTT", "packet_number": packet.sequence });
        match packet.kind {
            PacketEventKind::Sent => {
                self.in_flight += size;
                self.sent = (self.sent.0 + size, self.sent.1 + 1);
                ("transport:packet_sent", json!({ "header": header, "raw": { "length": size } }))
            }
            PacketEventKind::Received => {
                self.in_flight = self.in_flight.saturating_sub(size);
                ("transport:packet_received", json!({ "header": header, "raw": { "length": size } }))
            }
            PacketEventKind::Lost(cause) => {
                self.in_flight = self.in_flight.saturating_sub(size);
                let cause = PacketOutcome::Lost(cause).name();
                ("recovery:packet_lost", json!({ "header": header, "trigger": cause }))
            }
        }
    }

    /// Round-trip times in milliseconds, the window in bytes, the rate in bit/s; estimates that the sender
    /// does not have are left out.
    fn metrics(&mut self, estimate: &SenderEstimate) -> Value {
        let mut data = serde_json::Map::new();
        if estimate.rtt.is_finite() {
            self.min_rtt = self.min_rtt.min(estimate.rtt);
            data.insert("smoothed_rtt".into(), (estimate.rtt * 1e3).into());
            data.insert("min_rtt".into(), (self.min_rtt * 1e3).into());
        }
        if estimate.cwnd.is_finite() && self.sent.1 > 0 {
            let packet = self.sent.0 as f64 / self.sent.1 as f64;
            data.insert("congestion_window".into(), ((estimate.cwnd * packet).round() as u64).into());
        }
        if estimate.allowed_rate.is_finite() {
            data.insert("pacing_rate".into(), (estimate.allowed_rate.round() as u64).into());
        }
        if !data.is_empty() {
            data.insert("bytes_in_flight".into(), self.in_flight.into());
        }
        data.into()
    }
}
