//! Hosts with a limited processor, resolved.

use whimbrel_netsim::HostConfig;

use super::copies;
use super::links::queue_limit;
use crate::Scenario;
use crate::error::ScenarioError;

/// The limited processor of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostPlan {
    /// The position of the node.
    pub node: usize,
    /// Its costs and its send queue.
    pub config: HostConfig,
}

/// The nodes with a limited processor, in the order of the document.
pub(super) fn plan(scenario: &Scenario) -> Result<Vec<HostPlan>, ScenarioError> {
    let mut hosts = Vec::new();
    let mut first = 0;
    for (position, node) in scenario.node.iter().enumerate() {
        let count = copies(node.count).len();
        if let Some(host) = &node.host {
            let (send_cost, send_cost_per_byte) = (host.send_cost.0, host.send_cost_per_byte.0);
            if send_cost.is_zero() && send_cost_per_byte.is_zero() {
                let expected = "a time above zero, here or in `send_cost_per_byte`";
                return Err(ScenarioError::invalid(
                    format!("node[{position}].host.send_cost"),
                    send_cost,
                    expected,
                ));
            }
            let config = HostConfig { send_cost, send_cost_per_byte, queue: queue_limit(host.queue) };
            hosts.extend((first..first + count).map(|node| HostPlan { node, config }));
        }
        first += count;
    }
    Ok(hosts)
}
