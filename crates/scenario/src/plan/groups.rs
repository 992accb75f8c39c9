//! Flows that receive the broadcasts of another flow.

use super::flows::FlowPlan;
use super::{Names, copies, quoted};
use crate::error::ScenarioError;
use crate::transport::TransportPlan;
use crate::{Node, Scenario};

/// The node, or the copy of one, at a position.
fn node(scenario: &Scenario, position: usize) -> Option<&Node> {
    scenario.node.iter().flat_map(|node| copies(node.count).map(move |_| node)).nth(position)
}

/// Checks the flows that join another one.
pub(super) fn check<P: TransportPlan>(
    scenario: &Scenario,
    plans: &[FlowPlan<P>],
    nodes: &Names,
) -> Result<(), ScenarioError> {
    let entries = (0..).zip(&scenario.flow);
    let positions = entries.flat_map(|(position, flow)| copies(flow.count).map(move |_| position));
    for (number, (plan, position)) in (0..).zip(plans.iter().zip(positions)) {
        let Some(name) = plan.transport.joins() else { continue };
        let invalid = |key: &str, found: &str, expected: String| {
            let key = format!("flow[{position}].{key}");
            Err(ScenarioError::invalid(key, quoted(found), expected))
        };
        let before = &plans[..number];
        let Some(joined) = before.iter().find(|other| other.name == name && other.transport.is_broadcast())
        else {
            return invalid("joins", name, "the name of an earlier flow with `broadcast = true`".to_owned());
        };
        let [from, to] = [plan.from, plan.to].map(|node| nodes.list[node].as_str());
        if joined.from != plan.from {
            let expected = format!("{}, which sends `{name}`", quoted(&nodes.list[joined.from]));
            return invalid("from", from, expected);
        }
        let is_same = |other: &FlowPlan<P>| other.to == plan.to;
        let mut members = before.iter().filter(|other| other.transport.joins() == Some(name));
        if is_same(joined) || members.any(is_same) {
            return invalid("to", to, format!("a node that does not receive `{name}` already"));
        }
        let medium = |position| node(scenario, position).and_then(|node| node.wifi.as_deref());
        if medium(plan.from).is_none() || medium(plan.from) != medium(plan.to) {
            return invalid("to", to, format!("a station of the medium of {}", quoted(from)));
        }
        if node(scenario, plan.from).is_some_and(|node| node.client.is_some()) {
            let expected = "an access point, or a station without one: clients broadcast to none";
            return invalid("from", from, expected.to_owned());
        }
    }
    Ok(())
}
