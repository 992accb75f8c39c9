//! Streams without DCCP as text.

use whimbrel_inspect::flows::gaps::GapReport;
use whimbrel_inspect::report::flow::{FlowInterval, FlowReport, RtpReport, TcpReport};
use whimbrel_inspect::segment::Protocol;

use super::tables::table;
use super::text::{Text, bit_rate, copies, millis, plural, share, spread};

/// Streams with fewer packets are counted together.
const LEAST: u64 = 3;
/// The number of gaps that are printed, the longest ones.
const GAPS: usize = 5;

/// Appends the streams.
pub(super) fn append(out: &mut Text, flows: &[FlowReport]) {
    let (small, large): (Vec<_>, Vec<_>) = flows.iter().partition(|flow| flow.packets < LEAST);
    for flow in large {
        out.line("");
        append_flow(out, flow);
    }
    if !small.is_empty() {
        let packets: u64 = small.iter().map(|flow| flow.packets).sum();
        out.line(format_args!(
            "\n{} of fewer than {LEAST} packets: {} (--json lists them)",
            plural(small.len() as u64, "more flow"),
            plural(packets, "packet")
        ));
    }
}

fn append_flow(out: &mut Text, flow: &FlowReport) {
    let (source, destination) = (flow.source, flow.destination);
    out.line(match (&flow.rtp, flow.protocol) {
        (Some(rtp), _) => {
            format!("RTP {source} > {destination}, SSRC {:08x}, payload type {}", rtp.ssrc, rtp.payload_type)
        }
        (None, Protocol::Tcp) => format!("TCP {source} > {destination}"),
        (None, _) => format!("UDP {source} > {destination}"),
    });
    out.line(format_args!(
        "  time      from {:.3} s on, {:.3} s long; first packet {}",
        flow.start_s, flow.duration_s, flow.first_packet
    ));
    let rate = flow.rate_bps.filter(|rate| *rate > 0.0);
    let rate = rate.map(|rate| format!(", {}", bit_rate(rate))).unwrap_or_default();
    out.line(format_args!(
        "  sent      {} with {} bytes{rate}; {} in all",
        plural(flow.datagrams, "datagram"),
        flow.bytes,
        plural(flow.packets, "packet")
    ));
    if flow.packets_elsewhere > 0 {
        out.line(format_args!(
            "  seen at   {}; {} do not count",
            plural(flow.points as u64, "point"),
            copies(flow.packets_elsewhere)
        ));
    }
    match (&flow.rtp, &flow.tcp) {
        (Some(rtp), _) => append_rtp(out, flow, rtp),
        (_, Some(tcp)) if flow.datagrams > 0 || tcp.closed || tcp.reset => append_tcp(out, tcp),
        (_, Some(_)) => {}
        _ => out.line("  missing   unknown: UDP has no numbers"),
    }
    if flow.marked > 0 {
        out.line(format_args!("  ECN       {} CE", flow.marked));
    }
    gaps(out, "  ", &flow.gaps, flow.gaps_total);
    if flow.intervals.len() > 1 && flow.datagrams > 0 {
        append_table(out, &flow.intervals);
    }
}

fn append_rtp(out: &mut Text, flow: &FlowReport, rtp: &RtpReport) {
    let numbers = flow.packets - rtp.repeated.min(flow.packets) + rtp.missing;
    let restarts = match rtp.restarts {
        0 => String::new(),
        count => format!(
            "; numbers began anew {}",
            if count == 1 { "once".to_owned() } else { format!("{count} times") }
        ),
    };
    out.line(format_args!(
        "  missing   {} of {numbers} ({}); {} late, {} repeated{restarts}",
        rtp.missing,
        share(rtp.missing as f64 / numbers.max(1) as f64),
        rtp.late,
        rtp.repeated
    ));
    if let Some(lateness) = &rtp.lateness {
        out.line(format_args!(
            "  lateness  {} (median), {} (95 %), {} at most",
            millis(lateness.median_s),
            millis(lateness.p95_s),
            millis(lateness.maximum_s)
        ));
    }
    out.line(match (rtp.jitter_s, rtp.clock_hz) {
        (Some(jitter), Some(clock)) => {
            format!("  jitter    {} at the end (clock of {} kHz)", millis(jitter), clock / 1000.0)
        }
        _ => "  jitter    unknown: the timestamps do not show their clock".to_owned(),
    });
    let whole = if rtp.whole_frames == rtp.frames { "all".to_owned() } else { rtp.whole_frames.to_string() };
    let rate = flow.duration_s;
    let rate =
        if rate > 0.0 { format!(", {:.1} in a second", rtp.frames as f64 / rate) } else { String::new() };
    out.line(format_args!("  frames    {}, {whole} without a missing packet{rate}", rtp.frames));
}

fn append_tcp(out: &mut Text, tcp: &TcpReport) {
    let end = match (tcp.reset, tcp.closed) {
        (true, _) => "; the sender reset the connection",
        (false, true) => "; the sender closed",
        (false, false) => "",
    };
    out.line(format_args!(
        "  again     {} with {} bytes, {} of them lost before here; {} late{end}",
        plural(tcp.retransmissions, "retransmission"),
        tcp.retransmitted_bytes,
        tcp.lost_before,
        tcp.late
    ));
    if tcp.missing_bytes > 0 {
        out.line(format_args!("  missing   {} bytes were not captured", tcp.missing_bytes));
    }
    if let Some(rtt) = &tcp.rtt {
        out.line(format_args!("  rtt       {} from here to the receiver and back", spread(rtt)));
    }
}

/// The longest gaps, in order of time.
pub(super) fn gaps(out: &mut Text, indent: &str, gaps: &[GapReport], total: u64) {
    let mut longest: Vec<&GapReport> = gaps.iter().collect();
    longest.sort_by(|a, b| b.length_s().total_cmp(&a.length_s()));
    longest.truncate(GAPS);
    longest.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    for (index, gap) in longest.iter().enumerate() {
        let label = if index == 0 { "gaps" } else { "" };
        out.line(format_args!("{indent}{label:<9} {}", gap.sentence()));
    }
    let more = total.saturating_sub(longest.len() as u64);
    if more > 0 {
        out.line(format_args!("{indent}{:<9} and {} that are shorter", "", plural(more, "gap")));
    }
}

fn append_table(out: &mut Text, intervals: &[FlowInterval]) {
    let is_known = |column: fn(&FlowInterval) -> bool| intervals.iter().any(column);
    let missing = is_known(|row| row.missing.is_some());
    let again = is_known(|row| row.retransmissions.is_some());
    let rtt = is_known(|row| row.rtt_s.is_some());
    let shown = [true, true, true, missing, again, rtt];
    let pick = |cells: [String; 6]| {
        let cells = cells.into_iter().zip(shown).filter(|(_, shown)| *shown);
        cells.map(|(cell, _)| cell).collect::<Vec<_>>()
    };
    let known = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
    let row = |row: &FlowInterval| {
        pick([
            format!("{:.2} s", row.start_s),
            bit_rate(row.rate_bps),
            row.packets.to_string(),
            known(row.missing.map(|missing| missing.to_string())),
            known(row.retransmissions.map(|again| again.to_string())),
            known(row.rtt_s.map(millis)),
        ])
    };
    let heads = pick(["time", "rate", "packets", "missing", "again", "rtt"].map(str::to_owned));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let rows: Vec<_> = intervals.iter().map(row).collect();
    out.line("");
    out.line(table("    ", &heads, &rows).trim_end_matches('\n'));
}
