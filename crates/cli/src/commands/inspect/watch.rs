//! The page of a capture (`--watch`): its streams over time.

use std::path::Path;

use anyhow::Context;
use whimbrel_inspect::explain::{Cause, Explainer, Interval};
use whimbrel_inspect::flows::gaps::GapReport;
use whimbrel_inspect::report::flow::FlowReport;
use whimbrel_inspect::report::{HalfReport, Report};
use whimbrel_live::{Panel, Recording, TrackId, document};

use super::text::endpoint;

/// Directions that are shown: those with the most data.
const MAX_SHOWN: usize = 24;

/// A direction of a connection, or a flow.
struct Direction<'a> {
    name: String,
    kind: &'static str,
    bytes: u64,
    gaps: &'a [GapReport],
    rows: Vec<Row>,
    marks: Vec<(f64, String)>,
}

/// An interval.
struct Row {
    end: f64,
    length: f64,
    packets: f64,
    rate: f64,
    goodput: Option<f64>,
    lost: Option<f64>,
    rtt: Option<f64>,
}

/// Writes the page.
pub(super) fn write(path: &Path, name: &str, report: &Report) -> anyhow::Result<()> {
    let mut directions = Vec::new();
    for connection in &report.connections {
        let ends = [endpoint(&connection.client), endpoint(&connection.server)];
        for (index, half) in connection.halves.iter().enumerate() {
            let marks = connection.handovers.iter().filter(|step| step.by == half.sender);
            let marks = marks.map(|step| (step.at_s, step.kind.description().to_owned()));
            let name = format!("{}: {} to {}", connection.number, ends[index], ends[1 - index]);
            directions.push(of_half(name, half, marks.collect()));
        }
    }
    directions.extend(report.flows.iter().map(of_flow));
    directions.retain(|direction| direction.bytes > 0);
    // Stable: equal ones stay in the order of the report.
    directions.sort_by_key(|direction| std::cmp::Reverse(direction.bytes));
    directions.truncate(MAX_SHOWN);
    let mut recording = Recording::new(name);
    recording.fact(format!("{:.1} s", report.capture.duration_s));
    fill(&mut recording, &directions);
    std::fs::write(path, document(&recording))
        .with_context(|| format!("--watch {}: the page was not written", path.display()))
}

fn of_half(name: String, half: &HalfReport, marks: Vec<(f64, String)>) -> Direction<'_> {
    let rows = half.intervals.iter().map(|row| Row {
        end: row.start_s + row.length_s,
        length: row.length_s,
        packets: row.datagrams as f64,
        rate: row.send_rate_bps,
        goodput: row.goodput_bps,
        lost: row.lost.or(row.holes).map(|lost| lost.max(0) as f64),
        rtt: row.rtt_s,
    });
    let rows = rows.collect();
    Direction { name, kind: "connection", bytes: half.seen.bytes, gaps: &half.gaps, rows, marks }
}

fn of_flow(flow: &FlowReport) -> Direction<'_> {
    let rows = flow.intervals.iter().map(|row| Row {
        end: row.start_s + row.length_s,
        length: row.length_s,
        packets: row.packets as f64,
        rate: row.rate_bps,
        goodput: None,
        lost: row.missing.map(|lost| lost.max(0) as f64),
        rtt: row.rtt_s,
    });
    let rows = rows.collect();
    let name = flow.flow().to_string();
    Direction { name, kind: "flow", bytes: flow.bytes, gaps: &flow.gaps, rows, marks: Vec::new() }
}

fn fill(recording: &mut Recording, directions: &[Direction<'_>]) {
    let mut samples: Vec<(f64, usize, usize)> = Vec::new();
    let mut tracks = Vec::new();
    for (number, direction) in directions.iter().enumerate() {
        let track = recording.track(direction.kind, direction.name.clone());
        tracks.push((track, Explainer::default()));
        for (at, text) in &direction.marks {
            recording.mark(*at, track, text.clone());
        }
        for gap in direction.gaps {
            recording.mark(gap.from_s, track, format!("gap of {:.2} s", gap.length_s()));
        }
        samples.extend(direction.rows.iter().enumerate().map(|(row, one)| (one.end, number, row)));
    }
    samples.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Ends of the same interval differ by rounding.
    for same in samples.chunk_by(|one, other| other.0 - one.0 < 1e-3) {
        let mut values = Vec::new();
        for &(at, number, row) in same {
            let (track, explainer) = &mut tracks[number];
            let direction = &directions[number];
            let row = &direction.rows[row];
            let mut add = |recording: &mut Recording, panel, name: &str, value: Option<f64>| {
                if let Some(value) = value {
                    values.push((recording.series(*track, panel, name), value));
                }
            };
            add(recording, Panel::Rate, "passed here", Some(row.rate));
            add(recording, Panel::Rate, "delivered", row.goodput);
            add(recording, Panel::Loss, "path", row.lost.map(|lost| lost / row.length));
            add(recording, Panel::Delay, "round trip", row.rtt);
            say(recording, *track, explainer, at, row, direction.gaps);
        }
        recording.push(same[0].0, &values);
    }
}

/// The sentence of an interval: a gap as the report states it, or what the interval's counts explain.
fn say(
    recording: &mut Recording,
    track: TrackId,
    explainer: &mut Explainer,
    at: f64,
    row: &Row,
    gaps: &[GapReport],
) {
    let mut lost = [0.0; Cause::ALL.len()];
    lost[Cause::Path as usize] = row.lost.unwrap_or(0.0);
    let text = explainer.push(&Interval {
        at_s: at,
        length_s: row.length,
        delivered: row.packets,
        lost,
        delivered_bps: Some(row.goodput.unwrap_or(row.rate)),
        ..Interval::default()
    });
    let begin = at - row.length;
    let gap =
        gaps.iter().rev().find(|gap| gap.from_s < at && begin < gap.full_rate_s.unwrap_or(gap.to_s) + 5.0);
    recording.say(at, track, &gap.map_or(text, GapReport::sentence));
}
