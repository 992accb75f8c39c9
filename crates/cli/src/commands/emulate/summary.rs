//! The results of an emulation, as text and JSON.

use std::fmt::{self, Write as _};

use serde_json::{Value, json};
use whimbrel_emu::lateness::LatenessSummary;
use whimbrel_emu::session::Outcome;
use whimbrel_lab::Plan;
use whimbrel_units::Duration;

use crate::commands::run_scenario::tables;
use crate::table::Table;

/// The totals, and the precision of the emulation.
pub(super) fn text(plan: &Plan, outcome: &Outcome, seed: u64) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let title = tables::title(plan);
    writeln!(out, "\n{title}: seed {seed}, {:.1} s in real time", outcome.elapsed.as_secs_f64())?;
    let flows = outcome.record.table("flows");
    let word = |column: &str, row: usize| flows.and_then(|flows| flows.text(column, row));
    let delivers_packets = |row: usize| {
        let simulated = plan.flows.iter().find(|flow| Some(flow.name.as_str()) == word("flow", row));
        word("scheme", row) == Some("emulated")
            || simulated.is_none_or(|flow| flow.transport.delivers_packets())
    };
    tables::append(&mut out, &outcome.record, delivers_packets)?;
    let mut table = Table::new(&["lateness", "count", "median", "p99", "greatest"], &[0]);
    for (name, lateness) in [("events", outcome.events), ("packets written", outcome.deliveries)] {
        let LatenessSummary { count, median, p99, maximum } = lateness;
        table.row([name.to_owned(), count.to_string(), millis(median), millis(p99), millis(maximum)]);
    }
    write!(out, "\n{}", table.for_stdout())?;
    Ok(out)
}

/// Warnings about the run.
pub(super) fn warnings(plan: &Plan, outcome: &Outcome, late: Duration) -> Vec<String> {
    let mut warnings = Vec::new();
    if outcome.events.p99 > late {
        warnings.push(format!(
            "1 % of the network's events were handled {} too late or more: delays and rates of this emulation are off by \
             such times; use --realtime, a faster or less busy machine, or a scenario with fewer events",
            millis(outcome.events.p99)
        ));
    }
    for (node, packets) in &outcome.overrun {
        warnings.push(format!(
            "{packets} packets of programs at \"{node}\" were discarded before they entered the network, as they were \
             sent faster than they could be read"
        ));
    }
    if outcome.full > 0 {
        warnings
            .push("reading paused as the network held too many packets: its queues have no bound".to_owned());
    }
    let end = plan.end.as_secs_f64();
    if outcome.elapsed.as_secs_f64() > end {
        warnings.push(format!(
            "the scenario ends at {end:.0} s: its network stayed as it was then until the end of the emulation"
        ));
    }
    warnings
}

/// The summary of a record and of the JSON output, in addition to the tables.
pub(super) fn json(outcome: &Outcome) -> Value {
    let lateness = |lateness: LatenessSummary| {
        json!({
            "count": lateness.count,
            "median_s": lateness.median.as_secs_f64(),
            "p99_s": lateness.p99.as_secs_f64(),
            "max_s": lateness.maximum.as_secs_f64(),
        })
    };
    let refused: serde_json::Map<String, Value> =
        outcome.refused.iter().map(|(reason, count)| (reason.to_string(), json!(count))).collect();
    let overrun: serde_json::Map<String, Value> =
        outcome.overrun.iter().map(|(node, count)| (node.clone(), json!(count))).collect();
    json!({
        "exit_code": outcome.exit_code,
        "elapsed_s": outcome.elapsed.as_secs_f64(),
        "events": lateness(outcome.events),
        "deliveries": lateness(outcome.deliveries),
        "refused_packets": refused,
        "overrun_packets": overrun,
        "paused_turns": outcome.full,
    })
}

fn millis(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
