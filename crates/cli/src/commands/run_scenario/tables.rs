//! A run's record, printed.

use std::fmt::{self, Write as _};

use whimbrel_lab::record::Table as Columns;
use whimbrel_lab::{Plan, Record};
use whimbrel_units::DataRate;

use super::account;
use crate::lines::wrapped;
use crate::table::{Table, width};

/// The totals of flows, links and stations, as text.
pub(crate) fn text(record: &Record, plan: &Plan, seed: u64) -> Result<String, fmt::Error> {
    let title = title(plan);
    let mut out = String::new();
    writeln!(out, "{title}: seed {seed}, {:.0} s measured", plan.measured().as_secs_f64())?;
    append(&mut out, record, |row| plan.flows[row].transport.delivers_packets())?;
    Ok(out)
}

/// Appends the frames in time of the flows that watch them.
fn append_frames(out: &mut String, flows: &Columns) -> fmt::Result {
    let watched = |row: &usize| flows.number("frames", *row).is_some_and(f64::is_finite);
    let rows: Vec<usize> = (0..flows.rows()).filter(watched).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let heads =
        ["flow", "frames", "in time", "decodable", "freezes", "frozen", "longest", "repaired", "overhead"];
    let mut table = Table::new(&heads, &[0]);
    for row in rows {
        let number = |name: &str| flows.number(name, row).unwrap_or(f64::NAN);
        table.row([
            flows.text("flow", row).unwrap_or_default().to_owned(),
            count(number("frames")),
            share(number("frames_in_time") / number("frames")),
            share(number("frames_decodable") / number("frames")),
            count(number("freezes")),
            time(number("frozen_s")),
            time(number("freeze_max_s")),
            count(number("repaired_datagrams")),
            share(number("repair_overhead")),
        ]);
    }
    write!(out, "\n{}", table.for_stdout())
}

/// The title of a scenario.
pub(crate) fn title(plan: &Plan) -> &str {
    if plan.title.is_empty() { "scenario" } else { &plan.title }
}

/// Appends the totals. `delivers_packets` is `false` for flows, by row, that deliver a stream of bytes.
pub(crate) fn append(
    out: &mut String,
    record: &Record,
    delivers_packets: impl Fn(usize) -> bool,
) -> fmt::Result {
    if let Some(flows) = record.table("flows") {
        let heads = ["flow", "goodput", "throughput", "sent", "delivered", "delay", "jitter", "p"];
        let mut table = Table::new(&heads, &[0]);
        for row in 0..flows.rows() {
            let number = |name: &str| flows.number(name, row).unwrap_or(f64::NAN);
            table.row([
                flows.text("flow", row).unwrap_or_default().to_owned(),
                rate(number("goodput_bps")),
                rate(number("throughput_bps")),
                count(number("sent_packets")),
                if delivers_packets(row) { count(number("delivered_packets")) } else { "-".into() },
                time(number("delay_mean_s")),
                time(number("jitter_s")),
                share(number("loss_event_rate_mean")),
            ]);
        }
        write!(out, "\n{}", table.for_stdout())?;
        append_frames(out, flows)?;
        let accounts: Vec<String> =
            (0..flows.rows()).flat_map(|row| account::lines(flows, row, delivers_packets(row))).collect();
        if !accounts.is_empty() {
            writeln!(out, "\nnot delivered")?;
            for line in accounts {
                writeln!(out, "{}", wrapped(&format!("  {line}"), width()))?;
            }
        }
    }
    if let Some(links) = record.table("links").filter(|links| links.rows() > 0) {
        append_links(out, links)?;
    }
    if let Some(stations) = record.table("stations") {
        append_stations(out, stations)?;
    }
    if let Some(associations) = record.table("associations").filter(|table| table.rows() > 0) {
        append_associations(out, associations)?;
    }
    if let Some(notes) = record.table("notes") {
        append_notes(out, notes)?;
    }
    Ok(())
}

fn append_links(out: &mut String, links: &Columns) -> fmt::Result {
    let heads = ["link", "throughput", "utilisation", "packets", "dropped", "radio lost", "while down"];
    let mut table = Table::new(&heads, &[0]);
    for row in 0..links.rows() {
        let number = |name: &str| links.number(name, row).unwrap_or(f64::NAN);
        table.row([
            links.text("link", row).unwrap_or_default().to_owned(),
            rate(number("throughput_bps")),
            share(number("utilisation")),
            count(number("departed_packets")),
            count(number("dropped_packets")),
            count(number("wireless_lost_packets")),
            count(number("down_lost_packets")),
        ]);
    }
    write!(out, "\n{}", table.for_stdout())
}

/// The stations; if there are many, those with the most air time.
fn append_stations(out: &mut String, stations: &Columns) -> fmt::Result {
    const SHOWN: usize = 30;
    let number = |name: &str, row: usize| stations.number(name, row).unwrap_or(f64::NAN);
    let mut rows: Vec<usize> = (0..stations.rows()).collect();
    if rows.len() > SHOWN {
        rows.sort_by(|&a, &b| number("air_time", b).total_cmp(&number("air_time", a)));
        rows.truncate(SHOWN);
        rows.sort_unstable();
    }
    let heads = ["station", "air time", "packets", "dropped", "retry lim.", "attempts", "failed", "queue"];
    let mut table = Table::new(&heads, &[0]);
    for &row in &rows {
        table.row([
            stations.text("station", row).unwrap_or_default().to_owned(),
            share(number("air_time", row)),
            count(number("taken_packets", row)),
            count(number("dropped_packets", row)),
            count(number("retry_limit_packets", row)),
            count(number("attempts", row)),
            share(number("failed_attempts", row) / number("attempts", row)),
            format!("{:.2}", number("queue_mean_packets", row)),
        ]);
    }
    write!(out, "\n{}", table.for_stdout())?;
    if rows.len() < stations.rows() {
        writeln!(out, "  and {} stations with less air time", stations.rows() - rows.len())?;
    }
    Ok(())
}

fn append_associations(out: &mut String, associations: &Columns) -> fmt::Result {
    const SHOWN: usize = 20;
    let heads = ["association", "time", "from", "to", "detection", "search", "outage"];
    let mut table = Table::new(&heads, &[0, 2, 3]);
    for row in 0..associations.rows().min(SHOWN) {
        let number = |name: &str| associations.number(name, row).unwrap_or(f64::NAN);
        let text = |name: &str| match associations.text(name, row).unwrap_or_default() {
            "" => "-".to_owned(),
            name => name.to_owned(),
        };
        table.row([
            text("client"),
            format!("{:.3} s", number("time_s")),
            text("from"),
            text("to"),
            time(number("detection_s")),
            time(number("search_s")),
            time(number("outage_s")),
        ]);
    }
    write!(out, "\n{}", table.for_stdout())?;
    if associations.rows() > SHOWN {
        writeln!(out, "  and {} more", associations.rows() - SHOWN)?;
    }
    Ok(())
}

fn append_notes(out: &mut String, notes: &Columns) -> fmt::Result {
    writeln!(out, "\nnotes")?;
    for row in 0..notes.rows() {
        let text = |name: &str| notes.text(name, row).unwrap_or_default();
        let since = match notes.number("time_s", row).filter(|time| !time.is_nan()) {
            Some(time) => format!(" from {time:.3} s on"),
            None => String::new(),
        };
        let line = format!("  {}{since}: {}", text("subject"), text("note"));
        writeln!(out, "{}", wrapped(&line, width()))?;
    }
    Ok(())
}

fn rate(value: f64) -> String {
    if value.is_nan() { "-".into() } else { DataRate::from_bits_per_second(value).to_string() }
}

fn count(value: f64) -> String {
    if value.is_nan() { "-".into() } else { format!("{value:.0}") }
}

fn time(value: f64) -> String {
    if value.is_nan() { "-".into() } else { format!("{:.2} ms", value * 1e3) }
}

fn share(value: f64) -> String {
    if value.is_nan() { "-".into() } else { format!("{:.2} %", value * 100.0) }
}
