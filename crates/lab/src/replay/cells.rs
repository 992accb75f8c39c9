//! Base stations and terminals in a replay.

use serde_json::{Value, json};
use whimbrel_cell::handover::{CellIndex, HandoverEvent};
use whimbrel_cell::network::Change;
use whimbrel_netsim::Simulator;
use whimbrel_netsim::medium::CellularMedium;
use whimbrel_units::Instant;

use super::points;
use crate::metrics::seconds;
use crate::runner::Parts;
use crate::scenario::Plan;
use crate::transport::FlowAgent;

/// Adds the base stations after the nodes, and the paths of the terminals. Returns which base station serves
/// each terminal from which time on.
pub(super) fn add(
    nodes: &mut Vec<Value>,
    plan: &Plan,
    simulator: &Simulator<FlowAgent>,
    parts: &Parts,
) -> Value {
    let mut rows: Vec<(Instant, usize, Option<usize>, &'static str)> = Vec::new();
    for (cellular, ids) in plan.cellular.iter().zip(&parts.cellular) {
        let medium = ids.first().and_then(|id| simulator.medium::<CellularMedium>(id.medium()));
        let Some(medium) = medium else { continue };
        let first = nodes.len();
        for (name, site) in cellular.cells.iter().zip(&cellular.config.sites) {
            let position = [0.0, site.place.x, site.place.y];
            nodes.push(json!({
                "name": name, "medium": null, "role": "base station", "gateway": cellular.gateway,
                "points": [position], "off": [],
            }));
        }
        let station = |cell: CellIndex| first + cell.0 as usize;
        for (terminal, path) in cellular.terminals.iter().zip(medium.paths()) {
            let node = &mut nodes[terminal.node];
            if node["medium"].is_null() {
                node["role"] = json!("terminal");
                node["points"] = json!(points(path, plan.end));
            }
            rows.push((Instant::ZERO, terminal.node, Some(station(terminal.config.cell)), "served"));
        }
        for event in medium.events() {
            let Change::Handover(change) = event.change else { continue };
            let node = cellular.terminals[event.terminal.0 as usize].node;
            match change {
                HandoverEvent::Commanded { .. } => rows.push((event.at, node, None, "handover")),
                HandoverEvent::Failed { .. } => rows.push((event.at, node, None, "no cell")),
                HandoverEvent::Completed { cell } | HandoverEvent::Reestablished { cell } => {
                    rows.push((event.at, node, Some(station(cell)), "served"));
                }
                _ => {}
            }
        }
    }
    rows.sort_by_key(|&(at, ..)| at);
    rows.iter()
        .map(|&(at, node, station, state)| json!({ "t": seconds(at - Instant::ZERO), "node": node, "station": station, "state": state }))
        .collect()
}
