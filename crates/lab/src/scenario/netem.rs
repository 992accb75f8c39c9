//! What a scenario says about delay, jitter and reordering as Linux's NetEm has them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Probability, Time};

/// Each packet is delayed by a time of its own when it has come to the link's end, as by
/// `tc qdisc ... netem delay DELAY JITTER CORRELATION distribution ... reorder REORDER CORRELATION gap GAP limit LIMIT`.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Netem {
    /// The mean delay, besides the link's own.
    pub delay: Time,
    /// How far delays spread: half the width of the uniform distribution, the standard deviation that others are scaled by.
    #[serde(default)]
    pub jitter: Time,
    /// How much a delay depends on the one before.
    #[serde(default)]
    pub correlation: Probability,
    /// In which way delays spread.
    #[serde(default)]
    pub distribution: JitterDistribution,
    /// The share of packets that are not delayed, and so overtake others.
    #[serde(default)]
    pub reorder: Probability,
    /// How much that depends on the last time.
    #[serde(default)]
    pub reorder_correlation: Probability,
    /// Every how many packets there is a candidate for it.
    #[serde(default = "one")]
    pub gap: u32,
    /// Packets delayed at the same time at most; others are lost.
    #[serde(default = "thousand")]
    pub limit: u32,
}

fn one() -> u32 {
    1
}

fn thousand() -> u32 {
    1000
}

/// In which way delays spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JitterDistribution {
    /// Delay ± jitter, all alike.
    #[default]
    Uniform,
    /// The normal distribution.
    Normal,
    /// Pareto's with exponent 3.
    Pareto,
    /// A quarter normal, three quarters Pareto.
    Paretonormal,
}
