//! `whimbrel fit --cell`: the parameters of a cell from the delays of packets.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::json;
use whimbrel_inspect::cell_fit::{CellFit, Crossing, fit};
use whimbrel_inspect::loss_fit::Estimate;

use crate::bounded_lines::BoundedLines;

/// The fate of packets that met a full queue.
const FULL_QUEUE: &str = "queue";

/// Gaps of a stream that the text lists.
const MOST_GAPS: usize = 20;

/// Streams by name, with their packets and what they show.
pub(super) type Streams = BTreeMap<String, (usize, CellFit)>;

/// Reads a directory of `run --out`, its packets.csv, or the delays.csv of `whimbrel record`.
pub(super) fn read(path: &Path, wanted: Option<&str>) -> anyhow::Result<Streams> {
    let file = if path.is_dir() { path.join("packets.csv") } else { path.to_owned() };
    let mut reader = csv::Reader::from_reader(BoundedLines::new(File::open(file)?));
    let header = reader.headers()?.clone();
    let place = |name: &str| header.iter().position(|column| column == name);
    let sent = place("sent_s").context("expected a column `sent_s`")?;
    let (received, delay) = (place("received_s"), place("delay_s"));
    if received.or(delay).is_none() {
        bail!(
            "expected a column `received_s` or `delay_s`, as in the packets.csv of a run or the delays.csv of a recording"
        );
    }
    let (name, size, fate) = (place("flow").or(place("class")), place("size_bytes"), place("fate"));
    let mut streams: BTreeMap<String, Vec<Crossing>> = BTreeMap::new();
    for row in reader.records() {
        let row = row?;
        let line = row.position().map_or(0, csv::Position::line);
        let word = |column: Option<usize>| column.and_then(|column| row.get(column)).unwrap_or("");
        let number = |column: Option<usize>| word(column).parse::<f64>().ok().filter(|it| it.is_finite());
        let Some(sent_s) = number(Some(sent)) else { bail!("line {line}: expected a number in `sent_s`") };
        let received_s = number(received).or_else(|| Some(sent_s + number(delay)?));
        let met_full_queue = word(fate) == FULL_QUEUE;
        if received_s.is_none() && !met_full_queue {
            continue;
        }
        let size = number(size).unwrap_or(0.0) as u32;
        let packet = Crossing { sent_s, received_s, size, met_full_queue };
        match streams.get_mut(word(name)) {
            Some(packets) => packets.push(packet),
            None => drop(streams.insert(word(name).to_owned(), vec![packet])),
        }
    }
    if let Some(wanted) = wanted {
        let names: Vec<String> = streams.keys().cloned().collect();
        streams.retain(|name, _| name == wanted);
        if streams.is_empty() {
            bail!("--flow {wanted}: expected one of {}", names.join(", "));
        }
    }
    Ok(streams.into_iter().map(|(name, packets)| (name, (packets.len(), fit(&packets)))).collect())
}

/// The estimates as JSON.
pub(super) fn json(streams: &Streams) -> String {
    let stream = |(name, (packets, fit)): (&String, &(usize, CellFit))| json!({ "stream": name, "packets": packets, "cell": fit });
    json!({ "streams": streams.iter().map(stream).collect::<Vec<_>>() }).to_string()
}

/// The estimates as text, each with the key of a scenario.
pub(super) fn text(streams: &Streams) -> String {
    let mut lines = Vec::new();
    for (name, (packets, fit)) in streams {
        lines.push(format!("{name}: {packets} packets").trim_start_matches(": ").to_owned());
        let shown = lines.len();
        if let Some(step) = &fit.step_s {
            lines.push(format!("  blocks are repeated after {}", milliseconds(step)));
        }
        if let Some(period) = &fit.request_period_s {
            lines.push(format!("  requests for grants every {} (sr_period)", milliseconds(period)));
        }
        if let Some(queue) = &fit.queue_bytes {
            lines.push(format!("  the queue holds {} (queue.limit)", with(queue, 1e-3, "kB")));
        }
        for gap in fit.gaps.iter().take(MOST_GAPS) {
            lines.push(format!(
                "  nothing up to {:.3} s for {} (handover.gap)",
                gap.until_s,
                milliseconds(&gap.length_s)
            ));
        }
        if let Some(more) = fit.gaps.len().checked_sub(MOST_GAPS).filter(|more| *more > 0) {
            lines.push(format!("  and {more} more gaps (--json has all)"));
        }
        if lines.len() == shown {
            lines.push("  shows no parameter of a cell".to_owned());
        }
    }
    lines.join("\n")
}

fn milliseconds(estimate: &Estimate) -> String {
    with(estimate, 1e3, "ms")
}

/// A value with its interval, in a unit.
fn with(estimate: &Estimate, scale: f64, unit: &str) -> String {
    let value = format!("{:.1} {unit}", estimate.value * scale);
    match estimate.interval {
        Some((low, high)) => format!("{value} [{:.1}, {:.1}]", low * scale, high * scale),
        None => value,
    }
}
