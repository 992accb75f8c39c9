//! What perf prints: lines for people, one JSON object for programs.

use std::net::SocketAddr;

use serde::Serialize;
use whimbrel_units::DataRate;

use super::link::Link;
use super::meter::ReceiverFigures;
use super::plan::{Direction, Plan, Transport};
use super::sender::SenderFigures;
use super::{ClientArgs, ServerArgs};

/// One direction of the path over one span: who received what, and who sent it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Span {
    received: ReceiverFigures,
    sent: SenderFigures,
    goodput: f64,
    send_rate: f64,
}

impl Span {
    fn new(received: ReceiverFigures, sent: SenderFigures) -> Self {
        Self { received, sent, goodput: received.goodput(), send_rate: sent.send_rate() }
    }

    /// Lost datagrams as a share of those that should have come.
    fn loss(&self) -> f64 {
        let lost = self.received.lost.max(0) as f64;
        let expected = self.received.datagrams as f64 + lost;
        if expected > 0.0 { lost / expected } else { 0.0 }
    }
}

/// One interval of a test, or its whole.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Row {
    start_s: f64,
    end_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    up: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    down: Option<Span>,
}

/// How a test went, as the client knows it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) interrupted: bool,
    pub(crate) error: Option<String>,
    pub(crate) received_here: Vec<ReceiverFigures>,
    pub(crate) sent_here: Vec<SenderFigures>,
    pub(crate) received_there: Vec<ReceiverFigures>,
    pub(crate) sent_there: Vec<SenderFigures>,
    intervals: Vec<Row>,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Record<'a> {
    version: &'static str,
    plan: &'a Plan,
    intervals: &'a [Row],
    streams: Vec<Row>,
    summary: Row,
    interrupted: bool,
    error: Option<&'a str>,
}

impl Outcome {
    /// An interval is over: `here` and `there` are (received, sent) at the two ends.
    pub(crate) fn push_interval(
        &mut self,
        printer: &mut Printer,
        plan: &Plan,
        here: (ReceiverFigures, SenderFigures),
        there: (ReceiverFigures, SenderFigures),
    ) {
        let start_s = self.intervals.last().map_or(0.0, |row| row.end_s);
        let row = row(plan, start_s, start_s + here.1.seconds.max(here.0.seconds), here, there);
        self.intervals.push(row);
        printer.row(&row, "");
    }

    /// The whole test: each stream, and all together.
    fn totals(&self, plan: &Plan) -> (Vec<Row>, Row) {
        let at = |list: &[ReceiverFigures], i: usize| list.get(i).copied().unwrap_or_default();
        let sent_at = |list: &[SenderFigures], i: usize| list.get(i).copied().unwrap_or_default();
        let mut sum = [(ReceiverFigures::default(), SenderFigures::default()); 2];
        let mut rows = Vec::new();
        for stream in 0..usize::from(plan.streams) {
            let here = (at(&self.received_here, stream), sent_at(&self.sent_here, stream));
            let there = (at(&self.received_there, stream), sent_at(&self.sent_there, stream));
            for (sum, figures) in sum.iter_mut().zip([here, there]) {
                sum.0.add(&figures.0);
                sum.1.add(&figures.1);
            }
            rows.push(row(plan, 0.0, here.1.seconds.max(here.0.seconds), here, there));
        }
        let [here, there] = sum;
        (rows, row(plan, 0.0, here.1.seconds.max(here.0.seconds), here, there))
    }
}

fn row(
    plan: &Plan,
    start_s: f64,
    end_s: f64,
    here: (ReceiverFigures, SenderFigures),
    there: (ReceiverFigures, SenderFigures),
) -> Row {
    Row {
        start_s,
        end_s,
        up: plan.direction.client_sends().then(|| Span::new(there.0, here.1)),
        down: plan.direction.server_sends().then(|| Span::new(here.0, there.1)),
    }
}

/// Prints a client's test.
#[derive(Debug)]
pub(crate) struct Printer {
    json: bool,
    plan: Plan,
}

impl Printer {
    pub(crate) fn new(args: &ClientArgs, plan: &Plan) -> Self {
        Self { json: args.json, plan: plan.clone() }
    }

    /// The test begins.
    pub(crate) fn started(&self, host: &str, links: &[Link]) {
        if self.json {
            return;
        }
        let local = links.first().and_then(|link| match link {
            Link::Dccp(socket) => Some(socket.local()),
            Link::Udp(socket) => socket.local_addr().ok(),
            Link::Tcp(stream) => stream.local_addr().ok(),
        });
        let plan = &self.plan;
        let what = match plan.transport {
            Transport::Dccp => format!("DCCP CCID {} over UDP", plan.ccid),
            Transport::Udp => "UDP".into(),
            Transport::Tcp => "TCP".into(),
        };
        let direction = match plan.direction {
            Direction::Up => "sending",
            Direction::Down => "receiving",
            Direction::Both => "both ways",
        };
        let rate =
            plan.rate.map_or("as fast as allowed".into(), |r| DataRate::from_bits_per_second(r).to_string());
        let local = local.map_or(String::new(), |local| format!(" from {local}"));
        println!(
            "{what} to {host}{local}: {direction}, {} stream(s) of {} B datagrams, {rate}, {} s",
            plan.streams, plan.size, plan.time_s
        );
        println!(
            "{:>4} {:>13} {:>12} {:>12} {:>9} {:>7} {:>7} {:>6} {:>9} {:>9} {:>9} {:>9}",
            "",
            "interval s",
            "goodput",
            "send rate",
            "sent",
            "lost",
            "lost %",
            "late",
            "rtt",
            "jitter",
            "delay p99",
            "p / cwnd"
        );
    }

    /// One line per direction.
    pub(crate) fn row(&self, row: &Row, label: &str) {
        if self.json {
            return;
        }
        for (name, span) in [("up", row.up), ("down", row.down)] {
            let Some(span) = span else { continue };
            let is_tcp = self.plan.transport == Transport::Tcp;
            let or_dash = |text: String| if is_tcp { "-".into() } else { text };
            let congestion = match (span.sent.loss_event_rate, span.sent.cwnd) {
                (_, Some(cwnd)) => cwnd.to_string(),
                (Some(p), None) => format!("{:.3} %", p * 100.0),
                (None, None) => "-".into(),
            };
            println!(
                "{name:>4} {:>6.2}-{:<6.2} {:>12} {:>12} {:>9} {:>7} {:>7} {:>6} {:>9} {:>9} {:>9} {congestion:>9}{label}",
                row.start_s,
                row.end_s,
                short_rate(span.goodput),
                short_rate(span.send_rate),
                span.sent.datagrams,
                or_dash(span.received.lost.to_string()),
                or_dash(format!("{:.2}", span.loss() * 100.0)),
                or_dash(span.received.out_of_order.to_string()),
                span.sent.rtt_s.map_or("-".into(), short_time),
                or_dash(short_time(span.received.jitter_s)),
                or_dash(short_time(span.received.delay_variation_p99_s)),
            );
        }
    }

    /// The end of the test, however it came.
    pub(crate) fn summary(&self, outcome: &Outcome) {
        let (streams, summary) = outcome.totals(&self.plan);
        if self.json {
            let record = Record {
                version: env!("CARGO_PKG_VERSION"),
                plan: &self.plan,
                intervals: &outcome.intervals,
                streams,
                summary,
                interrupted: outcome.interrupted,
                error: outcome.error.as_deref(),
            };
            match serde_json::to_string_pretty(&record) {
                Ok(text) => println!("{text}"),
                Err(error) => eprintln!("whimbrel: cannot write the record: {error}"),
            }
            return;
        }
        if outcome.sent_here.is_empty() && outcome.received_here.is_empty() {
            return;
        }
        println!("{}", "-".repeat(118));
        if streams.len() > 1 {
            for (index, row) in streams.iter().enumerate() {
                self.row(row, &format!("  stream {index}"));
            }
        }
        self.row(&summary, if outcome.interrupted { "  summary (interrupted)" } else { "  summary" });
        let dropped = [summary.up, summary.down].iter().flatten().map(|span| span.sent.dropped).sum::<u64>();
        if dropped > 0 {
            println!(
                "     {dropped} datagram(s) were dropped at the sender: the congestion control allowed less than the rate asked for"
            );
        }
    }
}

/// The server can be reached.
pub(crate) fn server_ready(bind: SocketAddr, args: &ServerArgs) {
    if args.json {
        println!(
            "{}",
            serde_json::json!({ "listening": bind.to_string(), "service_code": args.service_code })
        );
    } else {
        println!("whimbrel perf server on {bind} (UDP: DCCP; TCP: control). Ctrl-C ends it.");
    }
}

/// A test is over, as the server saw it.
pub(crate) fn server_summary(
    peer: SocketAddr,
    plan: &Plan,
    received: &[ReceiverFigures],
    sent: &[SenderFigures],
    vanished: bool,
    json: bool,
) {
    if json {
        let record = serde_json::json!({
            "peer": peer.to_string(), "plan": plan, "received": received, "sent": sent, "vanished": vanished,
        });
        println!("{record}");
        return;
    }
    let mut all_received = ReceiverFigures::default();
    received.iter().for_each(|figures| all_received.add(figures));
    let mut all_sent = SenderFigures::default();
    sent.iter().for_each(|figures| all_sent.add(figures));
    println!(
        "{peer}: {:.1} s, received {} ({} datagrams, {} lost), sent {} ({} datagrams){}",
        all_received.seconds.max(all_sent.seconds),
        short_rate(all_received.goodput()),
        all_received.datagrams,
        all_received.lost,
        short_rate(all_sent.send_rate()),
        all_sent.datagrams,
        if vanished { "; the client vanished" } else { "" },
    );
}

fn short_rate(bits_per_second: f64) -> String {
    match bits_per_second {
        rate if rate >= 1e9 => format!("{:.2} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.2} Mbit/s", rate / 1e6),
        rate => format!("{:.1} kbit/s", rate / 1e3),
    }
}

fn short_time(seconds: f64) -> String {
    if seconds >= 1.0 { format!("{seconds:.2} s") } else { format!("{:.2} ms", seconds * 1e3) }
}
