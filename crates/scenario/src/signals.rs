//! Scenario keys of commands for the ends of flows: notifications of handovers.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::Time;

/// A command for an end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// The path will be interrupted.
    Freeze,
    /// The path is available again.
    Unfreeze,
    /// Packets take another path, whose capacity may be higher.
    Probe,
}

/// End of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowEnd {
    /// The one that sends the data.
    #[default]
    Sender,
    /// The one that receives them.
    Receiver,
}

/// The half-connections concerned, by the sender of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The data of that end.
    #[default]
    Local,
    /// The data of the other end, which is notified over the path.
    Remote,
    /// Both.
    Both,
}

/// The flows that a handover freezes, and the times.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoverFreeze {
    /// The flows.
    pub flows: Vec<String>,
    /// Time between the freeze and the link going down; the paper has a round-trip time.
    pub lead: Time,
    /// Time between the link coming back and the end of the freeze; the paper has 0.1 ms.
    #[serde(default)]
    pub lag: Time,
    /// The end that is notified.
    #[serde(default)]
    pub at: FlowEnd,
    /// The half-connections concerned, by the sender of the data.
    #[serde(default)]
    pub scope: Scope,
}
