//! Scenario keys of routes.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::Time;

/// The route of packets for a node from another one, instead of the shortest path: one link, or several among
/// which packets are spread (multipath, a bond).
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The node that the packets leave.
    pub at: String,
    /// Their destination node.
    pub to: String,
    /// The links that they take next; each has an end at `at`.
    pub via: Vec<String>,
    /// Relative shares of the packets for the links; equal by default.
    #[serde(default)]
    pub weights: Option<Vec<f64>>,
    /// Choice of a packet's link.
    #[serde(default)]
    pub by: SpreadBy,
    /// Start time.
    #[serde(default)]
    pub time: Time,
}

/// Choice of a packet's link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpreadBy {
    /// Round robin, as evenly as the weights allow.
    #[default]
    Turns,
    /// At random, independently for each packet.
    Chance,
    /// By the sender, if its transport has several paths (`mp-dccp`): path 0 takes the first link in `via`,
    /// path 1 the second.
    Sender,
}
