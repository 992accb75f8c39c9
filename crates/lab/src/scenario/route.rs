//! What a scenario says about the ways of packets.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::Time;

/// The way that packets for a node take from another one, instead of the shortest: one link, or several among which
/// packets are spread (multipath, a bond).
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The node that the packets leave.
    pub at: String,
    /// The node that they are for.
    pub to: String,
    /// The links that they take next; each has an end at `at`.
    pub via: Vec<String>,
    /// How much of the packets each link gets, relative to the others; all alike by default.
    #[serde(default)]
    pub weights: Option<Vec<f64>>,
    /// How a packet's link is chosen.
    #[serde(default)]
    pub by: SpreadBy,
    /// From when on.
    #[serde(default)]
    pub time: Time,
}

/// How a packet's link is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpreadBy {
    /// In turns, as evenly as the weights allow.
    #[default]
    Turns,
    /// By chance, each packet by itself.
    Chance,
}
