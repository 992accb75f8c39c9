//! A report as text.

use std::fmt::Write;

use super::tables::table;
use super::{fecframe, flows, traffic};

use whimbrel_inspect::follow::features::Feature;
use whimbrel_inspect::follow::handover::HandoverKind;
use whimbrel_inspect::follow::table::Interval;
use whimbrel_inspect::follow::{Endpoint, Roles, experiment};
use whimbrel_inspect::report::{
    CaptureSummary, ConnectionReport, HalfReport, HandshakeReport, Report, RttReport,
};
use whimbrel_units::DataRate;

use crate::lines::wrapped;
use crate::table::width;

/// The whole report of the capture called `name`.
pub(super) fn report(name: &str, report: &Report) -> String {
    let mut out = Text(String::new());
    out.summary(name, &report.capture);
    if report.connections.is_empty() && report.flows.is_empty() {
        out.line("no DCCP, UDP or TCP");
    }
    for connection in &report.connections {
        out.line("");
        out.connection(connection, &report.capture);
    }
    flows::append(&mut out, &report.flows);
    fecframe::append(&mut out, &report.fecframe);
    traffic::append(&mut out, &report.wireless);
    out.0
}

pub(super) struct Text(String);

impl Text {
    /// A line, which is continued below its text if it is wider than the terminal.
    pub(super) fn line(&mut self, line: impl std::fmt::Display) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.0, "{}", wrapped(&line.to_string(), width()));
    }

    fn summary(&mut self, name: &str, capture: &CaptureSummary) {
        self.line(format_args!(
            "{name}: {}, {:.3} s; packets: {} of DCCP, {} of UDP, {} of TCP",
            plural(capture.frames, "frame"),
            capture.duration_s,
            capture.dccp_packets,
            capture.udp_packets,
            capture.tcp_packets,
        ));
        if capture.copies > 0 {
            self.line(format_args!(
                "  {} of packets at other points of the capture do not count",
                copies(capture.copies)
            ));
        }
        self.not_read(capture);
        if capture.malformed > 0 {
            self.line(format_args!("  {}:", plural(capture.malformed, "malformed packet")));
            for one in &capture.malformed_first {
                self.line(format_args!(
                    "    packet {} (at byte {} of the file): {} header, byte {}: {}",
                    one.packet, one.record_offset, one.layer, one.offset, one.reason
                ));
            }
        }
        if capture.fragments > 0 {
            let numbers: Vec<String> = capture.fragments_first.iter().map(u64::to_string).collect();
            let more = if capture.fragments > numbers.len() as u64 { ", ..." } else { "" };
            self.line(format_args!(
                "  {} without the others of their datagrams: packets {}{more}",
                plural(capture.fragments, "IP fragment"),
                numbers.join(", ")
            ));
        }
        for (link, frames) in &capture.unknown_links {
            self.line(format_args!("  {} of the unknown link type {link}", plural(*frames, "frame")));
        }
        if capture.beyond_limit > 0 {
            self.line(format_args!(
                "  {} of connections and flows beyond --max-connections",
                plural(capture.beyond_limit, "packet")
            ));
        }
        if let Some(error) = &capture.error {
            self.line(format_args!("  the file ends badly: {error}"));
        }
    }

    /// Writes a line for each kind of frame that was not read.
    fn not_read(&mut self, capture: &CaptureSummary) {
        if capture.cut_frames > 0 {
            let options = match capture.cut_options {
                0 => String::new(),
                count => {
                    format!("; options of {} are unknown, and what they report", plural(count, "DCCP packet"))
                }
            };
            self.line(format_args!(
                "  {} were captured in part{options}",
                plural(capture.cut_frames, "frame")
            ));
        }
        let not_read = &capture.not_read;
        let mut parts = Vec::new();
        for (count, what) in [
            (not_read.not_ip, "without IP"),
            (not_read.cut, "cut off before their numbers"),
            (not_read.encrypted, "encrypted"),
            (not_read.damaged, "damaged"),
            (not_read.wireless_fragments, "802.11 fragments"),
            (not_read.invalid, "with an invalid header"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        for (protocol, count) in &not_read.protocols {
            parts.push(match protocol {
                1 | 58 => format!("{count} of ICMP"),
                2 => format!("{count} of IGMP"),
                protocol => format!("{count} of IP protocol {protocol}"),
            });
        }
        if !parts.is_empty() {
            self.line(format_args!("  not read: {}", parts.join(", ")));
        }
    }

    fn connection(&mut self, connection: &ConnectionReport, capture: &CaptureSummary) {
        let guessed = match connection.roles {
            Roles::Seen => "",
            Roles::Guessed => ", roles guessed from the ports",
        };
        let carrier = if connection.in_udp { "DCCP in UDP" } else { "DCCP over IP" };
        self.line(format_args!(
            "Connection {}: client {}, server {}, {carrier}{guessed}",
            connection.number,
            endpoint(&connection.client),
            endpoint(&connection.server)
        ));
        self.line(format_args!(
            "  time        from {:.3} s on, {:.3} s long; first packet {}",
            connection.start_s, connection.duration_s, connection.first_packet
        ));
        self.line(format_args!("  handshake   {}", handshake(&connection.handshake)));
        for (index, step) in connection.handovers.iter().enumerate() {
            let label = if index == 0 { "handovers" } else { "" };
            let place = match (step.kind, step.client) {
                (_, Some(client)) => format!(", and sends from {}", endpoint(&client)),
                (HandoverKind::Move, None) => ", and sends from the same as before".to_owned(),
                _ => String::new(),
            };
            self.line(format_args!(
                "  {label:<11} at {:.3} s the {} {}{place} (packet {})",
                step.at_s,
                step.by.name(),
                step.kind.description(),
                step.packet
            ));
        }
        let packet = connection.end.packet.map(|packet| format!(" (packet {packet})")).unwrap_or_default();
        self.line(format_args!("  end         {}{packet}", connection.end.reason));
        for anomaly in &connection.anomalies {
            self.line(format_args!(
                "  anomaly     {} x {}; first packet {}: {}",
                anomaly.count, anomaly.meaning, anomaly.first_packet, anomaly.detail
            ));
        }
        let [one, other] = &connection.halves;
        self.half(one, capture, other.cut_options > 0);
        self.half(other, capture, one.cut_options > 0);
    }

    fn half(&mut self, half: &HalfReport, capture: &CaptureSummary, is_cut: bool) {
        let ccid = match (half.ccid, half.ccid_is_known) {
            (Some(ccid), true) => match experiment(ccid) {
                Some(name) => format!("CCID {ccid} (experimental; Whimbrel's {name})"),
                None => format!("CCID {ccid}"),
            },
            (Some(ccid), false) => format!("CCID {ccid}, by its options"),
            (None, _) => "CCID unknown".into(),
        };
        self.line(format_args!("\n  {} > {}: {ccid}", half.sender.name(), half.sender.other().name()));
        let seen = &half.seen;
        let rate = seen.send_rate_bps.map(|rate| format!(", {}", bit_rate(rate))).unwrap_or_default();
        self.line(format_args!(
            "    sent      {} with {} bytes{rate}; {} in all",
            plural(seen.datagrams, "datagram"),
            seen.bytes,
            plural(seen.packets, "packet")
        ));
        if half.packets_elsewhere > 0 {
            let interface = half.interface.unwrap_or(0);
            let name = capture.interfaces.get(&interface).and_then(|interface| interface.name.as_deref());
            self.line(format_args!(
                "    seen at   interface {}; {} at other points (--interface chooses)",
                name.map_or_else(|| interface.to_string(), str::to_owned),
                copies(half.packets_elsewhere)
            ));
        }
        flows::gaps(self, "    ", &half.gaps, half.gaps_total);
        match seen.holes {
            Some(holes) => self.line(format_args!(
                "    missing   {} in the sequence numbers here; {} late, {} repeated",
                plural(holes, "hole"),
                seen.late,
                seen.repeated
            )),
            None => self.line("    missing   unknown: the capture has no packets of this direction"),
        }
        if let Some(lateness) = &seen.lateness {
            self.line(format_args!(
                "    lateness  {} (median), {} (95 %), {} (99 %), {} at most",
                millis(lateness.median_s),
                millis(lateness.p95_s),
                millis(lateness.p99_s),
                millis(lateness.maximum_s),
            ));
        }
        self.reported(half, is_cut);
        self.repair(half);
        self.list("ECN", seen.ecn.iter().filter(|_| seen.ecn.keys().any(|name| *name != "not-ECT")));
        let covered = seen.checksum_coverage.keys().any(|coverage| *coverage != 0);
        self.list(
            "CsCov",
            seen.checksum_coverage
                .iter()
                .map(|(coverage, count)| (format!("with {coverage}"), count))
                .filter(|_| covered),
        );
        self.list("packets", seen.types.iter());
        self.list("options", seen.options.iter());
        for (index, one) in half.features.iter().enumerate() {
            let label = if index == 0 { "features" } else { "" };
            self.line(format_args!("    {label:<9} {}", feature(one)));
        }
        if seen.datagrams > 0 {
            self.table(&half.intervals);
        }
    }

    /// `is_cut`: options of the receiver were not captured.
    fn reported(&mut self, half: &HalfReport, is_cut: bool) {
        let reported = &half.reported;
        let mut parts = Vec::new();
        if let (Some(bytes), Some(lost), Some(marked)) =
            (reported.acknowledged_bytes, reported.lost, reported.marked)
        {
            parts.push(format!("{bytes} bytes received, {lost} lost, {marked} marked (Ack Vector)"));
        }
        if let (Some(rate), Some(greatest)) = (reported.loss_event_rate, reported.loss_event_rate_max) {
            parts.push(format!("loss event rate {} at the end, {} at most", share(rate), share(greatest)));
        }
        if let (Some(rate), None) = (reported.loss_event_rate, reported.loss_event_rate_max) {
            parts.push(format!(
                "loss event rate {} at the end, at most unknown (options were cut off)",
                share(rate)
            ));
        }
        if is_cut && reported.loss_event_rate.is_none() && matches!(half.ccid, Some(3 | 4)) {
            parts.push("loss event rate unknown (options were cut off)".to_owned());
        }
        if let Some(rate) = reported.receive_rate_bps {
            parts.push(format!("last Receive Rate {}", bit_rate(rate)));
        }
        if reported.lost.is_none() && half.seen.datagrams > 0 {
            let reason = if is_cut { "options were cut off" } else { "no Ack Vectors" };
            parts.push(format!("packets lost unknown ({reason})"));
        }
        if let Some(dropped) = reported.dropped_packets {
            parts.push(format!("Dropped Packets {dropped}"));
        }
        if !parts.is_empty() {
            self.line(format_args!("    reported  {}", parts.join("; ")));
        }
        if let Some(rtt) = &reported.rtt {
            self.line(format_args!(
                "    rtt       {} from here to the {} and back",
                spread(rtt),
                half.sender.other().name()
            ));
        }
        if let Some(rtt) = &reported.sender_rtt {
            self.line(format_args!("    rtt       {} as the sender says", spread(rtt)));
        }
    }

    fn repair(&mut self, half: &HalfReport) {
        let Some(repair) = &half.repair else { return };
        if repair.unread > 0 {
            self.line(format_args!(
                "    repair    {} could not be read: encrypted, or captured in part",
                plural(repair.unread, "datagram")
            ));
        }
        if repair.sources == 0 {
            return;
        }
        self.line(format_args!(
            "    repair    of {}: {} lost, {} by repeats, {} by the code, {} given up with {}, {} pending",
            plural(repair.sources, "datagram"),
            repair.lost,
            repair.by_repeats,
            repair.by_code,
            repair.given_up,
            plural(repair.frames_given_up, "frame"),
            repair.pending,
        ));
        self.line(format_args!(
            "              {} ({} too late), {} with frames and {} in answers, {} bytes; {} of {} ask for something",
            plural(repair.repeats, "repeat"),
            repair.too_late,
            plural(repair.parity, "coded packet"),
            repair.surplus,
            repair.repair_bytes,
            repair.requests,
            plural(repair.reports, "report"),
        ));
    }

    fn list<'a, K: std::fmt::Display>(&mut self, label: &str, counts: impl Iterator<Item = (K, &'a u64)>) {
        let parts: Vec<String> = counts.map(|(name, count)| format!("{count} {name}")).collect();
        if !parts.is_empty() {
            self.line(format_args!("    {label:<9} {}", parts.join(", ")));
        }
    }

    fn table(&mut self, intervals: &[Interval]) {
        if intervals.is_empty() {
            return;
        }
        let heads = ["time", "send rate", "goodput", "sent", "lost", "holes", "p", "rtt", "CE", "syncs"];
        let row = |row: &Interval| {
            vec![
                format!("{:.2} s", row.start_s),
                bit_rate(row.send_rate_bps),
                row.goodput_bps.map_or("-".into(), bit_rate),
                row.datagrams.to_string(),
                known(row.lost),
                known(row.holes),
                row.loss_event_rate.map_or("-".into(), share),
                row.rtt_s.map_or("-".into(), millis),
                row.marked.unwrap_or(0).max(row.marked_here).to_string(),
                row.syncs.to_string(),
            ]
        };
        let rows: Vec<_> = intervals.iter().map(row).collect();
        self.line("");
        self.line(table("    ", &heads, &rows).trim_end_matches('\n'));
    }
}

fn handshake(handshake: &HandshakeReport) -> String {
    if handshake.requests + handshake.responses == 0 {
        return "not captured".into();
    }
    let mut parts = vec![format!(
        "{}, {}",
        plural(handshake.requests, "Request"),
        plural(handshake.responses, "Response")
    )];
    parts.push(if handshake.completed { "completed".into() } else { "not completed".into() });
    if let Some(code) = &handshake.service_code_text {
        parts.push(format!("service code {code}"));
    }
    match (handshake.rtt_s, handshake.to_server_s, handshake.to_client_s) {
        (Some(whole), Some(server), Some(client)) => parts.push(format!(
            "round trip {} ({} between here and the server, {} between here and the client)",
            millis(whole),
            millis(server),
            millis(client)
        )),
        (_, Some(server), _) => parts.push(format!("{} from here to the server and back", millis(server))),
        (_, _, Some(client)) => parts.push(format!("{} from here to the client and back", millis(client))),
        _ => {}
    }
    if handshake.request_data_bytes > 0 {
        parts.push(format!("{} bytes of data on the Request", handshake.request_data_bytes));
    }
    parts.join("; ")
}

/// `CCID 3: client Change L 3 2 (packet 1), server Confirm R 3 (packet 2)`.
fn feature(feature: &Feature) -> String {
    let value = match (feature.value, feature.refused) {
        (_, true) => "refused".into(),
        (Some(value), false) => value.to_string(),
        (None, false) => "unknown".into(),
    };
    let step = |step: &whimbrel_inspect::follow::features::FeatureStep| {
        let mandatory = if step.mandatory { "Mandatory " } else { "" };
        let times = if step.times > 1 { format!(", {} times", step.times) } else { String::new() };
        let (by, action, values, packet) = (step.by.name(), step.action, &step.values, step.packet);
        format!("{by} {mandatory}{action} {values} (packet {packet}{times})")
    };
    let mut steps: Vec<String> = feature.steps.iter().map(step).collect();
    let more = feature.steps_total - steps.len() as u64;
    if more > 0 {
        steps.push(format!("{more} more"));
    }
    format!("{} = {value}: {}", feature.name, steps.join(", "))
}

/// A number, or a dash if it is unknown.
fn known(number: Option<i64>) -> String {
    number.map_or("-".into(), |number| number.to_string())
}

pub(super) fn endpoint(endpoint: &Endpoint) -> String {
    let address = match endpoint.address {
        std::net::IpAddr::V4(address) => address.to_string(),
        std::net::IpAddr::V6(address) => format!("[{address}]"),
    };
    match endpoint.udp_port {
        Some(udp) => format!("{address}:{} (UDP {udp})", endpoint.port),
        None => format!("{address}:{}", endpoint.port),
    }
}

pub(super) fn plural(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// `1 copy`, `2 copies`.
pub(super) fn copies(count: u64) -> String {
    if count == 1 { "1 copy".into() } else { format!("{count} copies") }
}

pub(super) fn bit_rate(bps: f64) -> String {
    DataRate::from_bits_per_second(bps).to_string()
}

pub(super) fn share(value: f64) -> String {
    format!("{:.3} %", value * 100.0)
}

pub(super) fn millis(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

pub(super) fn spread(rtt: &RttReport) -> String {
    format!(
        "{} to {}, mean {} of {}",
        millis(rtt.min_s),
        millis(rtt.max_s),
        millis(rtt.mean_s),
        plural(rtt.samples, "sample")
    )
}
