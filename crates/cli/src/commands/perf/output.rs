//! Output of perf: text lines, or one JSON object.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::Serialize;
use whimbrel_measure::perf::{
    Direction, HandoverReport, Outcome, Plan, Progress, ReceiverFigures, Row, SenderFigures, Served,
    ServerNotice, ServerObserver, Span, Transport,
};
use whimbrel_net::{Ccid, Fingerprint, ServiceCode};
use whimbrel_relay::address::is_loopback;
use whimbrel_relay::mechanisms;

use crate::print::{self, PrintError};

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Record<'a> {
    version: &'static str,
    plan: &'a Plan,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<&'a [Row]>,
    streams: &'a [Row],
    summary: &'a Row,
    handover: &'a HandoverReport,
    interrupted: bool,
    error: Option<&'a str>,
}

/// A line of `--json-stream`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
enum StreamLine<'a> {
    /// The test begins.
    Start { version: &'static str, server: SocketAddr, local: Option<SocketAddr>, plan: &'a Plan },
    /// The figures of an interval.
    Interval(&'a Row),
    /// The test has ended: all that `--json` prints, without the intervals.
    End(Record<'a>),
}

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Text,
    /// One object at the end.
    Json,
    /// One object per line, as the test goes on.
    JsonStream,
}

/// Prints a client's test.
#[derive(Debug)]
pub(crate) struct Printer {
    format: Format,
    plan: Plan,
}

impl Printer {
    /// `json`: one object at the end, or one per line.
    pub(crate) fn new(json: (bool, bool), plan: &Plan) -> Self {
        let format = match json {
            (true, _) => Format::Json,
            (_, true) => Format::JsonStream,
            _ => Format::Text,
        };
        Self { format, plan: plan.clone() }
    }

    /// Prints what a test says as it goes on.
    pub(crate) fn show(&self, progress: Progress<'_>) -> Result<(), PrintError> {
        match progress {
            Progress::Started { server, local } => self.started(server, local),
            Progress::Interval(row) => self.row(row),
            _ => Ok(()),
        }
    }

    /// The test begins.
    fn started(&self, server: SocketAddr, local: Option<SocketAddr>) -> Result<(), PrintError> {
        let plan = &self.plan;
        match self.format {
            Format::Text => {}
            Format::Json => return Ok(()),
            Format::JsonStream => {
                return json_line(&StreamLine::Start { version: VERSION, server, local, plan });
            }
        }
        let carrier = match plan.transport {
            Transport::Dccp => {
                let below = if plan.dccp.native { "IP" } else { "UDP" };
                let above = if plan.dccp.secured { "DTLS over " } else { "" };
                format!("{above}DCCP CCID {} over {below}", plan.dccp.ccid)
            }
            _ => carrier(plan),
        };
        let local = local.map_or("this host".into(), |local| local.to_string());
        let path = match plan.direction {
            Direction::Up => format!("{local} to {server}"),
            Direction::Down => format!("{server} to {local}"),
            Direction::Both => format!("{local} to {server} and back"),
        };
        let unit = if plan.transport == Transport::Tcp { "writes" } else { "datagrams" };
        let (streams, each) = match plan.streams {
            1 => (String::new(), ""),
            n => (format!("{n} streams, "), " each"),
        };
        let rate =
            plan.load.rate_bps.map_or("as fast as allowed".into(), |bps| format!("at {}{each}", rate(bps)));
        print::line(format_args!("{carrier}, {path}:"))?;
        let length = match plan.load.bytes {
            Some(bytes) => format!("until {bytes} bytes{each} were sent"),
            None if plan.times.omit_s > 0.0 => {
                format!("for {} s after {} s", plan.times.time_s, plan.times.omit_s)
            }
            None => format!("for {} s", plan.times.time_s),
        };
        print::line(format_args!("{streams}{} B {unit} {rate}, {length}\n", plan.load.size))?;
        let (head, units) = self.header();
        print::line(format_args!("{head}\n{units}"))
    }

    fn header(&self) -> (String, String) {
        let mut head = format!("{:4} {:>11} {:>7} {:>7}", "", "interval", "goodput", "sending");
        let mut units = format!("{:4} {:>11} {:>7} {:>7}", "", "s", "Mbit/s", "Mbit/s");
        if self.plan.transport == Transport::Tcp {
            head += &format!(" {:>7} {:>8} {:>8}", "RTT", "cwnd", "resent");
            units += &format!(" {:>7} {:>8} {:>8}", "ms", "segments", "segments");
        } else {
            let has_window = mechanisms()
                .mechanism(Ccid(self.plan.dccp.ccid))
                .is_some_and(|mechanism| mechanism.profile().uses_ack_ratio);
            let congestion = match (self.plan.transport, has_window) {
                (Transport::Dccp, true) => ("cwnd", "pkts"),
                (Transport::Dccp, false) => ("p", "%"),
                _ => ("", ""),
            };
            head += &format!(
                " {:>5} {:>5} {:>5} {:>4} {:>5} {:>6} {:>5} {:>5}",
                "sent", "lost", "lost", "late", "RTT", "jitter", "delay", congestion.0
            );
            units += &format!(
                " {:>5} {:>5} {:>5} {:>4} {:>5} {:>6} {:>5} {:>5}",
                "", "", "%", "", "ms", "ms", "p99", congestion.1
            );
        }
        (head.trim_end().into(), units.trim_end().into())
    }

    /// One line per direction.
    fn row(&self, row: &Row) -> Result<(), PrintError> {
        match self.format {
            Format::Text => self.lines(row, &format!("{:.2}-{:.2}", row.start_s, row.end_s)),
            Format::Json => Ok(()),
            Format::JsonStream => json_line(&StreamLine::Interval(row)),
        }
    }

    fn lines(&self, row: &Row, label: &str) -> Result<(), PrintError> {
        for (name, span) in row.spans() {
            let note = if row.omitted { "  (omitted)" } else { "" };
            print::line(format!("{name:>4} {label:>11}{}{note}", self.cells(&span)).trim_end())?;
        }
        Ok(())
    }

    fn cells(&self, span: &Span) -> String {
        let mut cells = format!(" {:>7} {:>7}", megabits(span.goodput_bps), megabits(span.send_rate_bps));
        let rtt = span.sent.rtt_s.map_or("-".into(), milliseconds);
        if self.plan.transport == Transport::Tcp {
            let count = |value: Option<u64>| value.map_or("-".into(), |value| value.to_string());
            let cwnd = count(span.sent.cwnd.map(u64::from));
            cells += &format!(" {rtt:>7} {cwnd:>8} {:>8}", count(span.sent.retransmits));
        } else {
            let congestion = match (span.sent.cwnd, span.sent.loss_event_rate) {
                (Some(cwnd), _) => cwnd.to_string(),
                (None, Some(p)) => percent(p),
                (None, None) => String::new(),
            };
            cells += &format!(
                " {:>5} {:>5} {:>5} {:>4} {rtt:>5} {:>6} {:>5} {congestion:>5}",
                span.sent.datagrams,
                span.lost,
                percent(span.loss),
                span.received.out_of_order,
                milliseconds(span.received.jitter_s),
                milliseconds(span.received.delay_variation_p99_s),
            );
        }
        cells
    }

    /// The end of the test, for any reason.
    pub(crate) fn summary(&self, outcome: &Outcome) -> Result<(), PrintError> {
        let (streams, summary) = outcome.totals(&self.plan);
        let record = |intervals| Record {
            version: VERSION,
            plan: &self.plan,
            intervals,
            streams: &streams,
            summary: &summary,
            handover: &outcome.handover,
            interrupted: outcome.interrupted,
            error: outcome.error.as_deref(),
        };
        match self.format {
            Format::Text => {}
            Format::Json => {
                let record = record(Some(&outcome.intervals));
                return print::line(serde_json::to_string_pretty(&record).unwrap_or_else(|e| e.to_string()));
            }
            // Its reader has had the intervals.
            Format::JsonStream => return json_line(&StreamLine::End(record(None))),
        }
        if !outcome.has_figures() {
            return Ok(());
        }
        let title = match (&outcome.error, outcome.interrupted) {
            (Some(_), _) => "summary of what there was before the failure",
            (None, true) => "summary (interrupted)",
            (None, false) => "summary",
        };
        print::line(format_args!(
            "--- {title} {}",
            "-".repeat(self.header().0.len().saturating_sub(title.len() + 5))
        ))?;
        if streams.len() > 1 {
            for (index, row) in streams.iter().enumerate() {
                self.lines(row, &format!("stream {index}"))?;
            }
        }
        self.lines(&summary, &format!("{:.2}-{:.2}", summary.start_s, summary.end_s))?;
        for (name, span) in summary.spans().filter(|_| outcome.error.is_none()) {
            for note in notes(&self.plan, &span) {
                print::line(format_args!("{name:>4} {note}"))?;
            }
        }
        for line in outcome.handover.lines() {
            print::line(format_args!("     {line}"))?;
        }
        Ok(())
    }
}

fn json_line(line: &StreamLine<'_>) -> Result<(), PrintError> {
    print::line(serde_json::to_string(line).unwrap_or_else(|error| error.to_string()))
}

/// Notes on figures without a column.
fn notes(plan: &Plan, span: &Span) -> Vec<String> {
    let mut notes = Vec::new();
    let plural = |n: u64| if n == 1 { "datagram was" } else { "datagrams were" };
    if span.sent.dropped > 0 {
        notes.push(format!(
            "{} {} dropped before sending: the congestion control allowed less than the rate asked for",
            span.sent.dropped,
            plural(span.sent.dropped)
        ));
    }
    if span.received.ecn_marked > 0 {
        let marked = span.received.ecn_marked;
        notes.push(format!(
            "{marked} {} marked by the network as having met congestion (ECN)",
            plural(marked)
        ));
    }
    if let Some(scheme) = &plan.reception.lda {
        let (lost, wireless) = (span.received.packets_lost, span.received.packets_lost_wireless);
        notes.push(format!("{scheme} classified {wireless} of {lost} lost packets as losses on a radio"));
    }
    let received = &span.received;
    if plan.reception.reorder_s.is_some() {
        let late = received.datagrams_too_late;
        let fate = if plan.reception.deliver_late { "delivered out of order" } else { "discarded" };
        notes.push(format!(
            "{} packets waited for earlier ones; {} were given up; {late} {} later than that and {fate}",
            received.packets_held,
            received.packets_given_up,
            if late == 1 { "datagram arrived" } else { "datagrams arrived" },
        ));
    }
    if let Some(latency) = plan.reception.latency() {
        let sent = &span.sent;
        let expected = received.datagrams + span.lost;
        let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        notes.push(format!(
            "{} % arrived within {} ms of the fastest; {} came by repeats, {} by the code, {} were not repaired",
            percent(share(received.in_time, expected)),
            milliseconds(latency.as_secs_f64()),
            received.repeated,
            received.restored,
            received.unrepaired,
        ));
        notes.push(format!(
            "{} repeats and {} coded packets were sent: {} % more bytes with the headers",
            sent.repeats,
            sent.coded,
            percent(share(sent.repair_bytes, sent.bytes)),
        ));
    }
    let ReceiverFigures { frames_whole, frames_repaired, frames_given_up, .. } = *received;
    if frames_whole + frames_repaired + frames_given_up > 0 {
        notes.push(format!(
            "{frames_whole} frames arrived whole, {frames_repaired} by repair, {frames_given_up} were given up"
        ));
    }
    if received.lateness_max_s > 0.0 {
        notes.push(format!(
            "packets that were overtaken arrived {} ms late (median), {} ms (95 %), {} ms (99 %), {} ms at most: \
             --reorder with that delay puts them into order",
            milliseconds(received.lateness_p50_s),
            milliseconds(received.lateness_p95_s),
            milliseconds(received.lateness_p99_s),
            milliseconds(received.lateness_max_s),
        ));
    }
    if span.received.duplicates > 0 {
        let duplicates = span.received.duplicates;
        notes.push(format!("{duplicates} {} delivered more than once", plural(duplicates)));
    }
    notes
}

/// Prints what a server says.
pub(crate) fn server(json: bool, service_code: ServiceCode, is_plaintext_allowed: bool) -> ServerObserver {
    Arc::new(move |notice| {
        match notice {
            ServerNotice::Ready { at, key } => {
                ready(at, key, json.then_some(service_code), is_plaintext_allowed)?
            }
            ServerNotice::Served(served) => summary(&served, json)?,
            ServerNotice::Failed { peer, reason } => print::note(format_args!("{peer}: {reason}")),
            _ => {}
        }
        Ok(())
    })
}

/// The server can be reached: in JSON with its Service Code.
fn ready(
    bind: SocketAddr,
    key: Option<Fingerprint>,
    service_code: Option<ServiceCode>,
    is_plaintext_allowed: bool,
) -> Result<(), PrintError> {
    if let Some(service_code) = service_code {
        return print::line(serde_json::json!({
            "listening": bind.to_string(), "service_code": service_code.0,
            "fingerprint": key.map(|key| key.to_string()),
        }));
    }
    print::line(format_args!("whimbrel perf server on {bind} (UDP: DCCP; TCP: control). Ctrl-C ends it."))?;
    match key {
        Some(key) => print::line(format_args!("DCCP data is encrypted. This server's key: {key}")),
        None if is_plaintext_allowed => print::line("DCCP data is not encrypted."),
        None if is_loopback(bind.ip()) => Ok(()),
        None => print::line(
            "Without a key it serves DCCP to this host only: --secret-file, --peer-fingerprint or --insecure-plaintext \
             admit others.",
        ),
    }
}

/// Prints the server's summary of a test that has ended.
fn summary(served: &Served<'_>, json: bool) -> Result<(), PrintError> {
    let Served { peer, plan, received, sent, vanished } = *served;
    if json {
        return print::line(serde_json::json!({
            "peer": peer.to_string(), "plan": plan, "received": received, "sent": sent, "vanished": vanished,
        }));
    }
    let mut all_received = ReceiverFigures::default();
    received.iter().for_each(|figures| all_received.add(figures));
    let mut all_sent = SenderFigures::default();
    sent.iter().for_each(|figures| all_sent.add(figures));
    let is_tcp = plan.transport == Transport::Tcp;
    let mut parts = Vec::new();
    if plan.direction.client_sends() {
        let counts = format!(" ({} datagrams, {} missing)", all_received.datagrams, all_received.lost);
        let counts = if is_tcp { String::new() } else { counts };
        parts.push(format!("received {}{counts}", rate(all_received.goodput())));
    }
    if plan.direction.server_sends() {
        let counts = if is_tcp { String::new() } else { format!(" ({} datagrams)", all_sent.datagrams) };
        parts.push(format!("sent {}{counts}", rate(all_sent.send_rate())));
    }
    if vanished {
        parts.push("the client vanished".into());
    }
    let seconds = all_received.seconds.max(all_sent.seconds);
    print::line(format_args!("{peer}: {} for {seconds:.1} s: {}", carrier(plan), parts.join(", ")))
}

fn carrier(plan: &Plan) -> String {
    match plan.transport {
        Transport::Dccp => format!("DCCP CCID {}", plan.dccp.ccid),
        Transport::Udp => "UDP".into(),
        Transport::Tcp => "TCP".into(),
    }
}

fn rate(bits_per_second: f64) -> String {
    match bits_per_second {
        rate if rate >= 1e9 => format!("{:.2} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.2} Mbit/s", rate / 1e6),
        rate => format!("{:.1} kbit/s", rate / 1e3),
    }
}

/// A number with four significant digits or so, for columns.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn megabits(bits_per_second: f64) -> String {
    short(bits_per_second * 1e-6)
}

fn milliseconds(seconds: f64) -> String {
    short(seconds * 1e3)
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".into(),
        percent if percent < 0.001 => format!("{percent:.0e}"),
        percent => short(percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_short_and_keep_significant_digits() {
        assert_eq!(
            [0.0, 0.1234, 1.0, 94.516, 476.51, 11_086.4].map(|m| megabits(m * 1e6)),
            ["0.000", "0.123", "1.000", "94.52", "476.5", "11086"]
        );
        assert_eq!(
            [0.0, 2.3e-7, 0.000_153, 0.0359, 1.0].map(percent),
            ["0", "2e-5", "0.015", "3.590", "100.0"]
        );
    }
}
