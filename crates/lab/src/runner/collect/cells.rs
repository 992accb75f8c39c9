//! Cells and their terminals in a record.

use whimbrel_cell::amc::lte::Direction;
use whimbrel_cell::handover::{CellIndex, HandoverEvent, InvalidHandover};
use whimbrel_cell::network::{Change, NetworkEvent};
use whimbrel_netsim::medium::CellularMedium;
use whimbrel_units::Instant;

use super::super::Run;
use crate::metrics::seconds;
use crate::record::Table;
use crate::scenario::{CellularPlan, Note};
use crate::watch::CellGap;

/// Changes of cells that notes list, in each network.
const TOLD: usize = 12;

/// A time without a cell.
#[derive(Clone, Debug)]
struct Silence {
    terminal: usize,
    from: CellIndex,
    to: Option<CellIndex>,
    kind: &'static str,
    start: Instant,
    end: Option<Instant>,
}

/// The networks of a run with their plans.
fn media<'a>(run: &'a Run<'_>) -> impl Iterator<Item = (&'a CellularPlan, &'a CellularMedium)> {
    run.plan.cellular.iter().zip(&run.parts.cellular).filter_map(|(plan, ids)| {
        let medium = run.simulator.medium::<CellularMedium>(ids.first()?.medium())?;
        Some((plan, medium))
    })
}

/// The times in which terminals had no cell, in the order of their beginnings.
fn silences(events: &[NetworkEvent]) -> Vec<Silence> {
    let mut all: Vec<Silence> = Vec::new();
    for event in events {
        let Change::Handover(change) = event.change else { continue };
        let terminal = event.terminal.0 as usize;
        let open = all.iter_mut().rev().find(|silence| silence.terminal == terminal && silence.end.is_none());
        let begin = |from, to, kind| Silence { terminal, from, to, kind, start: event.at, end: None };
        match (change, open) {
            (HandoverEvent::Commanded { from, to }, _) => all.push(begin(from, Some(to), "handover")),
            (HandoverEvent::Failed { .. }, Some(open)) => (open.kind, open.to) = ("failed-handover", None),
            (HandoverEvent::Failed { cell }, None) => all.push(begin(cell, None, "failure")),
            (HandoverEvent::Completed { cell } | HandoverEvent::Reestablished { cell }, Some(open)) => {
                (open.to, open.end) = (Some(cell), Some(event.at));
            }
            _ => {}
        }
    }
    all
}

/// A row for each cell: its transport blocks, and the share of its resource blocks in use.
pub(super) fn cells(run: &Run<'_>) -> Table {
    let time = run.plan.end - Instant::ZERO;
    let (mut names, mut gateways, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    let mut uses = [Vec::new(), Vec::new()];
    for (plan, medium) in media(run) {
        names.extend(plan.cells.iter().map(String::as_str));
        gateways.extend(plan.cells.iter().map(|_| run.plan.nodes[plan.gateway].as_str()));
        blocks.extend(medium.blocks());
        for (direction, uses) in [Direction::Down, Direction::Up].into_iter().zip(&mut uses) {
            uses.extend(medium.used(direction).zip(&plan.config.sites).map(|(used, site)| {
                let slots = time / site.cell.numerology.slot();
                let share = site.cell.duplex.slot_shares()[direction as usize];
                used as f64 / (slots * share * f64::from(site.cell.groups.count()))
            }));
        }
    }
    let [down, up] = uses;
    let mut table = Table::new("cells");
    table.words("cell", names.into_iter());
    table.words("gateway", gateways.into_iter());
    table.integers("blocks", blocks.into_iter());
    table.floats("downlink_use", down.into_iter());
    table.floats("uplink_use", up.into_iter());
    table
}

/// A row for each time in which a terminal had no cell.
pub(super) fn changes(run: &Run<'_>) -> Table {
    let mut rows: Vec<(&CellularPlan, Silence)> = Vec::new();
    for (plan, medium) in media(run) {
        rows.extend(silences(medium.events()).into_iter().map(|silence| (plan, silence)));
    }
    rows.sort_by_key(|(_, silence)| silence.start);
    let at = |time: Option<Instant>| time.map_or(f64::NAN, |time| seconds(time - Instant::ZERO));
    let mut table = Table::new("cell_changes");
    table.floats("time_s", rows.iter().map(|(_, row)| at(Some(row.start))));
    let node = |(plan, row): &(&CellularPlan, Silence)| plan.terminals[row.terminal].node;
    table.words("terminal", rows.iter().map(|row| run.plan.nodes[node(row)].as_str()));
    table.words("from", rows.iter().map(|(plan, row)| plan.cells[row.from.0 as usize].as_str()));
    let target = |row: &Silence| row.to.map(|to| to.0 as usize);
    table.words("to", rows.iter().map(|(plan, row)| target(row).map_or("", |to| plan.cells[to].as_str())));
    table.words("kind", rows.iter().map(|(_, row)| row.kind));
    table.floats("until_s", rows.iter().map(|(_, row)| at(row.end)));
    table.floats("gap_s", rows.iter().map(|(_, row)| at(row.end) - at(Some(row.start))));
    table
}

/// The times without a cell, in the order of their beginnings.
pub(crate) fn gaps(run: &Run<'_>) -> Vec<CellGap> {
    let mut gaps: Vec<CellGap> = Vec::new();
    for (plan, medium) in media(run) {
        gaps.extend(silences(medium.events()).iter().map(|silence| CellGap {
            node: plan.terminals[silence.terminal].node,
            start: silence.start,
            end: silence.end,
            cause: cause(plan, silence),
        }));
    }
    gaps.sort_by_key(|gap| gap.start);
    gaps
}

/// The reason for a time without a cell, in words.
fn cause(plan: &CellularPlan, silence: &Silence) -> String {
    let name = |cell: CellIndex| plan.cells[cell.0 as usize].as_str();
    let from = name(silence.from);
    match (silence.kind, silence.to) {
        ("handover", Some(to)) => format!("handover from {from} to {}", name(to)),
        ("failed-handover", Some(to)) => format!("a handover from {from} failed; then {} served", name(to)),
        (_, Some(to)) => format!("the link to {from} was lost; then {} served", name(to)),
        _ => format!("the link to {from} was lost, and no cell is in reach"),
    }
}

/// Sentences about the times without a cell, and about changes that were refused.
pub(super) fn notes(run: &Run<'_>) -> Vec<Note> {
    media(run).flat_map(|(plan, medium)| notes_of(run, plan, medium.events())).collect()
}

fn notes_of(run: &Run<'_>, plan: &CellularPlan, events: &[NetworkEvent]) -> Vec<Note> {
    let name = |cell: CellIndex| plan.cells[cell.0 as usize].as_str();
    let node = |terminal: usize| run.plan.nodes[plan.terminals[terminal].node].as_str();
    let time = |at: Instant| format!("{:.3} s", seconds(at - Instant::ZERO));
    let silences = silences(events);
    let told = silences.iter().take(TOLD).map(|silence| {
        let until = silence.end.map_or_else(|| "the end".to_owned(), time);
        let cause = cause(plan, silence);
        let text = format!("no data from {} to {until}: {cause}", time(silence.start));
        Note::since(silence.start, node(silence.terminal), text)
    });
    let mut notes: Vec<Note> = told.collect();
    if silences.len() > TOLD {
        let more = silences.len() - TOLD;
        let text = format!("{more} more times without a cell are in the table cell_changes");
        notes.push(Note::of_plan(&run.plan.nodes[plan.gateway], text));
    }
    notes.extend(events.iter().filter_map(|event| {
        let Change::Refused(reason) = event.change else { return None };
        let reason = match reason {
            InvalidHandover::Serving { target } => format!("{} serves already", name(target)),
            other => other.to_string(),
        };
        let text = format!("a planned handover did not take place: {reason}");
        Some(Note::since(event.at, node(event.terminal.0 as usize), text))
    }));
    notes
}
