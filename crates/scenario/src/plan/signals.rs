//! Commands for ends of flows, resolved, with their times.

use whimbrel_units::{Duration, Instant};

use super::flows::FlowPlan;
use super::handovers::Gap;
use super::quoted;
use crate::Scenario;
use crate::error::ScenarioError;
use crate::signals::{Command, FlowEnd, HandoverFreeze, Scope};
use crate::transport::{TransportPlan, Transports};

/// A command for an end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowEventPlan {
    /// Time of the command.
    pub at: Instant,
    /// The position of the flow.
    pub flow: usize,
    /// The end that receives it.
    pub end: FlowEnd,
    /// The command.
    pub command: Command,
    /// The half-connections concerned, by the sender of the data.
    pub scope: Scope,
}

/// The flows that a handover freezes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FreezePlan {
    /// The positions of the flows.
    pub flows: Vec<usize>,
    /// Time between the freeze and the link going down.
    pub lead: Duration,
    /// Time between the link coming back and the end of the freeze.
    pub lag: Duration,
    /// The end that is notified.
    pub end: FlowEnd,
    /// The half-connections concerned, by the sender of the data.
    pub scope: Scope,
}

impl FreezePlan {
    /// The commands for the flows when the link is down in this gap.
    pub fn events(&self, gap: &Gap) -> impl Iterator<Item = FlowEventPlan> + '_ {
        let commands =
            [(gap.down.saturating_sub(self.lead), Command::Freeze), (gap.up + self.lag, Command::Unfreeze)];
        let Self { end, scope, .. } = *self;
        commands.into_iter().flat_map(move |(at, command)| {
            self.flows.iter().map(move |&flow| FlowEventPlan { at, flow, end, command, scope })
        })
    }
}

/// Resolves a handover's `freeze`.
pub(super) fn plan<T: Transports>(
    transports: &T,
    key: &str,
    freeze: &HandoverFreeze,
    flows: &[FlowPlan<T::Plan>],
) -> Result<FreezePlan, ScenarioError> {
    let find =
        |(index, name): (usize, &String)| find(transports, &format!("{key}.flows[{index}]"), name, flows);
    Ok(FreezePlan {
        flows: freeze.flows.iter().enumerate().map(find).collect::<Result<_, _>>()?,
        lead: freeze.lead.0,
        lag: freeze.lag.0,
        end: freeze.at,
        scope: freeze.scope,
    })
}

/// The events of a scenario that concern flows, in the order of the document.
pub(super) fn plan_events<T: Transports>(
    transports: &T,
    scenario: &Scenario,
    flows: &[FlowPlan<T::Plan>],
) -> Result<Vec<FlowEventPlan>, ScenarioError> {
    let mut plans = Vec::new();
    for (position, event) in scenario.event.iter().enumerate() {
        let key = format!("event[{position}]");
        match (&event.flow, event.command) {
            (Some(name), Some(command)) => plans.push(FlowEventPlan {
                at: event.time.after_start(),
                flow: find(transports, &format!("{key}.flow"), name, flows)?,
                end: event.at,
                command,
                scope: event.scope,
            }),
            (Some(_), None) => {
                let expected = "\"freeze\", \"unfreeze\" or \"probe\": the command for the flow";
                return Err(ScenarioError::missing(format!("{key}.do"), expected));
            }
            (None, Some(_)) => {
                return Err(ScenarioError::missing(format!("{key}.flow"), "the name of a flow"));
            }
            (None, None) => {}
        }
    }
    Ok(plans)
}

/// The position of a flow whose ends take commands.
fn find<T: Transports>(
    transports: &T,
    key: &str,
    name: &str,
    flows: &[FlowPlan<T::Plan>],
) -> Result<usize, ScenarioError> {
    let is_open = |flow: &&FlowPlan<T::Plan>| flow.transport.takes_commands();
    let found = flows.iter().position(|flow| flow.name == name && is_open(&flow));
    found.ok_or_else(|| {
        let names: Vec<String> = flows.iter().filter(is_open).map(|flow| flow.name.clone()).collect();
        let kinds = transports.kinds();
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|kind| kind.takes_commands())
            .map(|kind| format!("\"{}\"", kind.name()))
            .collect();
        let expected = format!(
            "the name of a flow with transport = {}: {}",
            kinds.join(" or "),
            super::abridged(&names)
        );
        ScenarioError::invalid(key, quoted(name), expected)
    })
}
