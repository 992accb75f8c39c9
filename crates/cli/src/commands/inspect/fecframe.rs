//! FECFRAME: the file that describes its flows, and what was repaired as text.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use whimbrel_inspect::fecframe::{FecReport, sdp};

use super::text::{Text, plural, share};

/// An SDP file has a few hundred bytes.
const LARGEST: u64 = 1 << 20;
/// The number of runs of losses that are printed.
const RUNS: usize = 5;

/// The sources and repair flows of an SDP file.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<sdp::Session>> {
    let name = || format!("--fec: {}", path.display());
    let mut text = String::new();
    let file = std::fs::File::open(path).with_context(name)?;
    file.take(LARGEST).read_to_string(&mut text).with_context(name)?;
    sdp::parse(&text).with_context(name)
}

/// Appends the sources.
pub(super) fn append(out: &mut Text, reports: &[FecReport]) {
    for report in reports {
        append_one(out, report);
    }
}

fn append_one(out: &mut Text, report: &FecReport) {
    let code = if report.encoding_id == 9 { "GF(2)" } else { "GF(2^8)" };
    out.line(format_args!(
        "\nFECFRAME {}, repaired by {}: RLC over {code}, symbols of {} bytes",
        report.sources.join(", "),
        report.repair,
        report.symbol_size
    ));
    let overhead = report.overhead.map(|overhead| format!(", {} more", share(overhead))).unwrap_or_default();
    out.line(format_args!(
        "  sent      {} of the source with {} bytes, {} with {} bytes{overhead}",
        plural(report.source_packets, "packet"),
        report.source_bytes,
        plural(report.repair_packets, "repair packet"),
        report.repair_bytes
    ));
    let overtaken = match report.overtaken {
        0 => String::new(),
        count => format!(", of which {count} came later nevertheless"),
    };
    out.line(format_args!(
        "  lost      {} of {} ({}); {} of these are restored{overtaken}",
        report.lost,
        plural(report.symbols, "symbol"),
        share(report.lost as f64 / report.symbols.max(1) as f64),
        report.restored
    ));
    if !report.runs.is_empty() {
        let runs = report.runs.iter().take(RUNS).map(|run| {
            let last = run.first.wrapping_add(run.symbols as u32 - 1);
            let symbols =
                if run.symbols == 1 { run.first.to_string() } else { format!("{}-{last}", run.first) };
            format!("{symbols} ({} of {})", run.restored, run.symbols)
        });
        let runs: Vec<String> = runs.collect();
        let more = if report.runs.len() > RUNS { ", ..." } else { "" };
        out.line(format_args!("  restored  {}{more}", runs.join(", ")));
    }
    let others: Vec<String> = [
        (report.redundant, "repair symbols not needed"),
        (report.stale, "repair symbols for what came before"),
        (report.invalid, "invalid packets"),
        (report.unread, "packets without numbers in the capture, or of another sender"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    if !others.is_empty() {
        out.line(format_args!("  besides   {}", others.join(", ")));
    }
}
