//! The ends of a flow's copies: named, or drawn.

use whimbrel_netsim::random::RandomStreams;

use super::{Names, copies, fill, quoted};
use crate::Scenario;
use crate::error::ScenarioError;
use crate::flow::{Flow, Pairs};

/// The nodes from which and to which each copy of a flow sends.
pub(super) fn ends(
    scenario: &Scenario,
    key: &str,
    flow: &Flow,
    nodes: &Names,
) -> Result<Vec<(usize, usize)>, ScenarioError> {
    let missing = |name: &str| ScenarioError::missing(format!("{key}.{name}"), "`from` and `to`, or `pairs`");
    match (&flow.pairs, &flow.from, &flow.to) {
        (Some(pairs), None, None) => drawn(scenario, &format!("{key}.pairs"), flow, pairs),
        (Some(_), ..) => {
            let name = if flow.from.is_some() { "from" } else { "to" };
            let found = quoted(flow.from.as_ref().or(flow.to.as_ref()).map_or("", String::as_str));
            Err(ScenarioError::invalid(format!("{key}.{name}"), found, "either `from` and `to`, or `pairs`"))
        }
        (None, None, _) => Err(missing("from")),
        (None, _, None) => Err(missing("to")),
        (None, Some(from), Some(to)) => {
            let find = |name: &str, pattern: &str, copy| {
                nodes.find(&format!("{key}.{name}"), &fill(pattern, copy), "a node")
            };
            let pair = |copy| Ok((find("from", from, copy)?, find("to", to, copy)?));
            copies(flow.count).map(pair).collect()
        }
    }
}

/// Draws a pair for each copy.
fn drawn(
    scenario: &Scenario,
    key: &str,
    flow: &Flow,
    pairs: &Pairs,
) -> Result<Vec<(usize, usize)>, ScenarioError> {
    let mut first = 0;
    let mut found = None;
    for node in &scenario.node {
        let count = copies(node.count).len();
        if node.name == pairs.of {
            found = Some((first, count));
        }
        first += count;
    }
    let Some((first, count)) = found else {
        let names: Vec<String> = scenario.node.iter().map(|node| node.name.clone()).collect();
        let expected = format!("the `name` of nodes: {}", super::abridged(&names));
        return Err(ScenarioError::invalid(format!("{key}.of"), quoted(&pairs.of), expected));
    };
    let all = count * count.saturating_sub(1);
    let wanted = copies(flow.count).len();
    if wanted > all {
        let expected = format!("nodes with at least {wanted} pairs; these {count} have {all}");
        return Err(ScenarioError::invalid(format!("{key}.of"), quoted(&pairs.of), expected));
    }
    let mut random = RandomStreams::new(pairs.seed, 0).stream(&flow.name, "pairs");
    let mut drawn: Vec<(usize, usize)> = Vec::with_capacity(wanted);
    while drawn.len() < wanted {
        let number = random.below(all as u64) as usize;
        let (from, other) = (number / (count - 1), number % (count - 1));
        let pair = (first + from, first + other + usize::from(other >= from));
        if !drawn.contains(&pair) {
            drawn.push(pair);
        }
    }
    Ok(drawn)
}
