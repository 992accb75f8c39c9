//! Routes of packets, resolved.

use whimbrel_netsim::SpreadBy;
use whimbrel_units::Instant;

use super::links::{LinkPlan, REVERSE, unknown_link};
use super::{Names, quoted};
use crate::Scenario;
use crate::error::ScenarioError;
use crate::route::{Route, SpreadBy as By};

/// The route of packets for a node, from a given time on.
#[derive(Clone, PartialEq, Debug)]
pub struct RoutePlan {
    /// Start time.
    pub at: Instant,
    /// The position of the node that they leave.
    pub node: usize,
    /// The position of the destination node.
    pub destination: usize,
    /// The positions of the links that they take, with their weights.
    pub links: Vec<(usize, f64)>,
    /// Choice of a packet's link.
    pub by: SpreadBy,
}

/// The routes of a scenario.
pub(super) fn plan(
    scenario: &Scenario,
    nodes: &Names,
    links: &[LinkPlan],
) -> Result<Vec<RoutePlan>, ScenarioError> {
    let plan = |(position, route): (usize, &Route)| {
        one(scenario, nodes, links, &format!("route[{position}]"), route)
    };
    scenario.route.iter().enumerate().map(plan).collect()
}

fn one(
    scenario: &Scenario,
    nodes: &Names,
    links: &[LinkPlan],
    key: &str,
    route: &Route,
) -> Result<RoutePlan, ScenarioError> {
    if route.time.0 > scenario.simulation.duration.0 {
        let expected = format!("a time within the simulation's {}", scenario.simulation.duration.0);
        return Err(ScenarioError::invalid(format!("{key}.time"), route.time.0, expected));
    }
    let node = nodes.find(&format!("{key}.at"), &route.at, "a node")?;
    let destination = nodes.find(&format!("{key}.to"), &route.to, "a node")?;
    if route.via.is_empty() {
        return Err(ScenarioError::invalid(format!("{key}.via"), "[]", "the name of at least one link"));
    }
    let weights = route.weights.clone().unwrap_or_else(|| vec![1.0; route.via.len()]);
    if weights.len() != route.via.len() || !weights.iter().all(|weight| weight.is_finite() && *weight > 0.0) {
        let expected = format!("{} numbers above zero, one for each link in `via`", route.via.len());
        return Err(ScenarioError::invalid(format!("{key}.weights"), format!("{weights:?}"), expected));
    }
    let mut taken = Vec::new();
    for (position, (name, weight)) in route.via.iter().zip(weights).enumerate() {
        taken.push((link_from(&format!("{key}.via[{position}]"), name, node, &route.at, links)?, weight));
    }
    let by = match route.by {
        By::Turns => SpreadBy::Turns,
        By::Chance => SpreadBy::Chance,
        By::Sender => SpreadBy::Sender,
    };
    Ok(RoutePlan { at: Instant::ZERO + route.time.0, node, destination, links: taken, by })
}

/// The direction of the named link that leaves `node`.
fn link_from(
    key: &str,
    name: &str,
    node: usize,
    node_name: &str,
    links: &[LinkPlan],
) -> Result<usize, ScenarioError> {
    let mut directions = (0..links.len())
        .filter(|&link| {
            let own = links[link].name.as_str();
            own == name || own.strip_suffix(REVERSE) == Some(name)
        })
        .peekable();
    if directions.peek().is_none() {
        return Err(unknown_link(key, name, links));
    }
    directions.find(|&link| links[link].from == node).ok_or_else(|| {
        ScenarioError::invalid(key, quoted(name), format!("a link that packets can take from {node_name}"))
    })
}
