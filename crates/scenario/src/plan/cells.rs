//! Cells and their terminals, resolved.

mod layers;
mod radio;

use whimbrel_cell::handover::{A3Config, CellIndex, HandoverConfig, RadioLinkConfig};
use whimbrel_cell::level::Decibels;
use whimbrel_cell::network::{NetworkConfig, ReportConfig, ShadowingConfig, SiteConfig, TerminalConfig};
use whimbrel_cell::radio::{Metres, Place};
use whimbrel_cell::scheduler::UserIndex;
use whimbrel_netsim::medium::CellularMedium;
use whimbrel_netsim::queue::Discipline;
use whimbrel_netsim::random::RandomStreams;
use whimbrel_netsim::{LinkRate, QueueLimit, Topology};
use whimbrel_units::{DataRate, Duration, Instant};

use super::discipline::discipline;
use super::stations::{self, Movement};
use super::{Names, Note, copies, quoted};
use crate::cell::{Cell, Gateway, Preset};
use crate::discipline::Discipline as Keys;
use crate::error::ScenarioError;
use crate::files::Files;
use crate::quantity::Time;
use crate::{Node, Scenario};

/// The base stations behind one gateway, resolved.
#[derive(Clone, Debug)]
pub struct CellularPlan {
    /// The gateway.
    pub gateway: usize,
    /// The names of the base stations.
    pub cells: Vec<String>,
    /// The terminals, in the order of their nodes.
    pub terminals: Vec<TerminalPlan>,
    /// The disciplines of the bearers of each base station's terminals.
    pub disciplines: Vec<Discipline>,
    /// Base stations and rules, without a seed.
    pub config: NetworkConfig,
}

/// A terminal.
#[derive(Clone, Debug)]
pub struct TerminalPlan {
    /// The position of its node.
    pub node: usize,
    /// Its movement.
    pub movement: Movement,
    /// The first cell, and changes at given times.
    pub config: TerminalConfig,
}

impl CellularPlan {
    /// The medium of a run.
    pub(crate) fn medium(&self, nodes: &[String], streams: RandomStreams, end: Instant) -> CellularMedium {
        let seed = streams.stream(&nodes[self.gateway], "cells").next_u64();
        let config = NetworkConfig { seed, ..self.config.clone() };
        let own: Vec<TerminalConfig> =
            self.terminals.iter().map(|terminal| terminal.config.clone()).collect();
        let path = |terminal: &TerminalPlan| terminal.movement.path(&nodes[terminal.node], streams, end);
        let paths = self.terminals.iter().map(path).collect();
        let mut medium =
            CellularMedium::new(config, &own, paths).expect("the cells were checked with the scenario");
        for (user, terminal) in (0..).map(UserIndex).zip(&own) {
            let first = terminal.cell.0 as usize;
            let limit = self.config.sites[first].cell.bearer.queue.limit;
            let managed =
                medium.manage(user, &self.disciplines[first], QueueLimit::Bytes(limit.as_u64()), streams);
            managed.expect("the discipline was checked with the scenario");
        }
        medium
    }

    /// Adds the hops between gateway and terminals.
    pub(super) fn add_hops(&self, topology: &mut Topology) {
        for terminal in &self.terminals {
            topology.add_link(self.gateway, terminal.node);
            topology.add_link(terminal.node, self.gateway);
        }
    }
}

pub(super) fn plan(
    scenario: &Scenario,
    nodes: &Names,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<Vec<CellularPlan>, ScenarioError> {
    let names = Names::collect("cell", scenario.cell.iter().map(|cell| (cell.name.as_str(), None)))?;
    check_nodes(scenario, &names)?;
    let mut plans: Vec<CellularPlan> = Vec::new();
    // The place of each cell: its plan and its number there.
    let mut places: Vec<(usize, u32)> = Vec::new();
    for (position, cell) in scenario.cell.iter().enumerate() {
        let key = format!("cell[{position}]");
        let gateway = nodes.find(&format!("{key}.gateway"), &cell.gateway, "a node")?;
        let found = plans.iter().position(|plan| plan.gateway == gateway);
        let plan = match found {
            Some(plan) => plan,
            None => {
                plans.push(network(scenario, gateway, cell.preset)?);
                plans.len() - 1
            }
        };
        places.push((plan, plans[plan].cells.len() as u32));
        plans[plan].cells.push(cell.name.clone());
        plans[plan].config.sites.push(site(&key, cell)?);
        let key = format!("{key}.queue.discipline");
        let own = cell.queue.discipline.clone().unwrap_or_default();
        let rate = LinkRate::Constant(DataRate::ZERO);
        plans[plan].disciplines.push(discipline(&key, &own, &rate)?);
        if own != Keys::default() && (cell.queue.discard.is_some() || cell.queue.marks.is_some()) {
            let expected = "a queue without `discard` and `marks`, which are rules of their own";
            return Err(ScenarioError::invalid(key, "{...}", expected));
        }
    }
    plans.iter_mut().for_each(|plan| plan.config.handover.cells = plan.cells.len() as u32);
    let mut first = 0;
    for (position, node) in scenario.node.iter().enumerate() {
        let count = copies(node.count).len();
        if let Some(name) = &node.cell {
            let key = format!("node[{position}]");
            let (plan, cell) = places[names.find(&format!("{key}.cell"), name, "a `[[cell]]`")?];
            let config = TerminalConfig {
                cell: CellIndex(cell),
                planned: planned(&key, node, &names, &places, plan)?,
            };
            let movements = stations::movements(&key, node, count, None, files, notes)?;
            for (copy, movement) in movements.into_iter().enumerate() {
                if first + copy == plans[plan].gateway {
                    let expected = "a node that is not the gateway of the cell";
                    return Err(ScenarioError::invalid(format!("{key}.cell"), quoted(name), expected));
                }
                let terminal = TerminalPlan { node: first + copy, movement, config: config.clone() };
                plans[plan].terminals.push(terminal);
            }
        }
        first += count;
    }
    Ok(plans)
}

/// Refuses keys of terminals and gateways at other nodes.
fn check_nodes(scenario: &Scenario, names: &Names) -> Result<(), ScenarioError> {
    for (position, node) in scenario.node.iter().enumerate() {
        let key = format!("node[{position}]");
        if node.cell.is_none() && !node.cell_changes.is_empty() {
            let expected = "the name of a `[[cell]]`: `cell_changes` are those of a terminal";
            return Err(ScenarioError::missing(format!("{key}.cell"), expected));
        }
        if node.cell.is_some() && names.list.is_empty() {
            let found = quoted(node.cell.as_deref().unwrap_or_default());
            let expected = "the name of a `[[cell]]`; the scenario has none";
            return Err(ScenarioError::invalid(format!("{key}.cell"), found, expected));
        }
        let is_gateway = copies(node.count).any(|copy| {
            let name = super::fill(&node.name, copy);
            scenario.cell.iter().any(|cell| cell.gateway == name)
        });
        if node.gateway.is_some() && !is_gateway {
            let expected = "a node that a `[[cell]]` names as its gateway";
            return Err(ScenarioError::invalid(format!("{key}.gateway"), "{...}", expected));
        }
    }
    Ok(())
}

/// The changes of a terminal at given times.
fn planned(
    key: &str,
    node: &Node,
    names: &Names,
    places: &[(usize, u32)],
    plan: usize,
) -> Result<Vec<(Instant, CellIndex)>, ScenarioError> {
    let mut last = Instant::ZERO;
    let mut planned = Vec::new();
    for (number, change) in node.cell_changes.iter().enumerate() {
        let key = format!("{key}.cell_changes[{number}]");
        let (other, cell) = places[names.find(&format!("{key}.to"), &change.to, "a `[[cell]]`")?];
        if other != plan {
            let expected = "a cell of the same gateway: handovers between gateways do not exist";
            return Err(ScenarioError::invalid(format!("{key}.to"), quoted(&change.to), expected));
        }
        let at = change.time.after_start();
        if at < last {
            let expected = "times in their order";
            return Err(ScenarioError::invalid(format!("{key}.time"), change.time.0, expected));
        }
        last = at;
        planned.push((at, CellIndex(cell)));
    }
    Ok(planned)
}

fn site(key: &str, cell: &Cell) -> Result<SiteConfig, ScenarioError> {
    let place = stations::finite(&format!("{key}.position"), cell.position)?;
    let (link_layer, carrier) = layers::plan(key, cell)?;
    let radio = radio::plan(key, cell, carrier, link_layer.groups.blocks)?;
    let background = radio::background(key, cell)?;
    Ok(SiteConfig { place: Place { x: place.x, y: place.y }, cell: link_layer, radio, background })
}

/// A time above zero, or the default.
pub(super) fn above_zero(
    key: &str,
    time: Option<Time>,
    default: Duration,
) -> Result<Duration, ScenarioError> {
    match time {
        Some(Time(time)) if time.is_zero() => {
            Err(ScenarioError::invalid(key, quoted(&time.to_string()), "a time above zero"))
        }
        time => Ok(time.map_or(default, |time| time.0)),
    }
}

/// The rules of a network, without base stations. `preset` is the first cell's.
fn network(scenario: &Scenario, gateway: usize, preset: Preset) -> Result<CellularPlan, ScenarioError> {
    let mut first = 0;
    let mut keys = (String::new(), Gateway::default());
    for (position, node) in scenario.node.iter().enumerate() {
        let count = copies(node.count).len();
        if (first..first + count).contains(&gateway) {
            keys = (format!("node[{position}].gateway"), node.gateway.clone().unwrap_or_default());
        }
        first += count;
    }
    let (key, Gateway { shadowing, handover, failure, reports, least_speed }) = keys;
    let deviation = shadowing.deviation.map_or(6.0, |deviation| deviation.0);
    let distance = shadowing.distance.map_or(50.0, |length| length.0);
    let checks = [
        ("shadowing.deviation", deviation < 0.0, "at least 0 dB"),
        ("shadowing.distance", distance <= 0.0, "a length above 0 m"),
        ("handover.hysteresis", handover.hysteresis.is_some_and(|margin| margin.0 < 0.0), "at least 0 dB"),
        ("handover.filter", handover.filter.is_some_and(|filter| filter > 19), "a coefficient from 0 to 19"),
        ("reports.error", reports.error.is_some_and(|error| error.0 < 0.0), "at least 0 dB"),
        ("failure.n310", failure.n310 == Some(0), "at least 1"),
    ];
    if let Some((name, _, expected)) = checks.into_iter().find(|(_, is_wrong, _)| *is_wrong) {
        return Err(ScenarioError::invalid(format!("{key}.{name}"), "\"...\"", expected));
    }
    let usual = if preset == Preset::Lte { HandoverConfig::lte(0) } else { HandoverConfig::nr(0) };
    let time = |time: Option<Time>, default| time.map_or(default, |time| time.0);
    let period = above_zero(&format!("{key}.handover.period"), handover.period, Duration::from_millis(200))?;
    let a3 = A3Config {
        margin: Decibels(handover.hysteresis.map_or(3.0, |margin| margin.0)),
        time_to_trigger: time(handover.time_to_trigger, Duration::from_millis(256)),
        period,
        filter: handover.filter.unwrap_or(4),
    };
    let link = RadioLinkConfig::DEFAULT;
    let config = NetworkConfig {
        sites: Vec::new(),
        shadowing: ShadowingConfig { deviation: Decibels(deviation), distance: Metres(distance) },
        least_speed: least_speed.map_or(1.0 / 3.6, |speed| speed.0),
        reports: ReportConfig {
            period: above_zero(&format!("{key}.reports.period"), reports.period, Duration::from_millis(5))?,
            delay: time(reports.delay, Duration::from_millis(6)),
            error: Decibels(reports.error.map_or(1.0, |error| error.0)),
        },
        a3: handover.by_level.unwrap_or(true).then_some(a3),
        handover: HandoverConfig {
            preparation: time(handover.preparation, usual.preparation),
            gap: time(handover.gap, usual.gap),
            reestablishment: above_zero(
                &format!("{key}.failure.reestablishment"),
                failure.reestablishment,
                usual.reestablishment,
            )?,
            ..usual
        },
        forwards: handover.forwarding.unwrap_or(true),
        radio_link: RadioLinkConfig {
            indications: failure.n310.unwrap_or(link.indications),
            wait: time(failure.t310, link.wait),
            ..link
        },
        seed: 0,
    };
    let (cells, terminals, disciplines) = (Vec::new(), Vec::new(), Vec::new());
    Ok(CellularPlan { gateway, cells, terminals, disciplines, config })
}
