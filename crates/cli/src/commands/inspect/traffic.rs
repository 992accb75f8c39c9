//! Traffic identifiers and A-MPDUs of 802.11 as text.

use whimbrel_inspect::traffic::{StreamReport, TrafficReport};

use super::tables::table;
use super::text::{Text, plural};

const HEADS: [&str; 8] = ["from", "to", "TID", "frames", "again", "A-MPDUs", "per s", "frames each"];

/// Appends the streams.
pub(super) fn append(out: &mut Text, report: &TrafficReport) {
    if report.streams.is_empty() {
        return;
    }
    out.line("\n802.11, QoS data frames by traffic identifier (TID):");
    let rows: Vec<Vec<String>> = report.streams.iter().map(row).collect();
    out.line(table("  ", &HEADS, &rows).trim_end_matches('\n'));
    if report.beyond_limit > 0 {
        let frames = plural(report.beyond_limit, "frame");
        out.line(format_args!("  {frames} of further stations or identifiers"));
    }
}

fn row(stream: &StreamReport) -> Vec<String> {
    let one_place = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.1}"));
    vec![
        stream.transmitter.clone(),
        stream.receiver.clone(),
        stream.identifier.to_string(),
        stream.frames.to_string(),
        stream.retries.to_string(),
        stream.ampdus.to_string(),
        one_place(stream.ampdus_per_s),
        one_place(stream.frames_per_ampdu),
    ]
}
