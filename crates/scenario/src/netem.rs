//! Scenario keys of delay, jitter, reordering and duplication as in Linux's NetEm.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Probability, Time};

/// Each packet is delayed by a time of its own at the link's end, as by
/// `tc qdisc ... netem delay DELAY JITTER CORRELATION distribution ... reorder REORDER CORRELATION gap GAP
/// duplicate DUPLICATE CORRELATION limit LIMIT`.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Netem {
    /// The mean delay, besides the link's own; none by default.
    #[serde(default)]
    pub delay: Time,
    /// Spread of the delays: half the width of the uniform distribution, the standard deviation of the
    /// others.
    #[serde(default)]
    pub jitter: Time,
    /// Correlation of a delay with the one before.
    #[serde(default)]
    pub correlation: Probability,
    /// Distribution of the delays.
    #[serde(default)]
    pub distribution: JitterDistribution,
    /// The share of packets that are not delayed, and so overtake others.
    #[serde(default)]
    pub reorder: Probability,
    /// Correlation of that choice with the one before.
    #[serde(default)]
    pub reorder_correlation: Probability,
    /// One packet in this many is a candidate for it.
    #[serde(default = "one")]
    pub gap: u32,
    /// The share of packets that arrive twice. The copy has a delay of its own.
    #[serde(default)]
    pub duplicate: Probability,
    /// Correlation of that choice with the one before.
    #[serde(default)]
    pub duplicate_correlation: Probability,
    /// The most packets delayed at the same time; others are lost.
    #[serde(default = "thousand")]
    pub limit: u32,
}

fn one() -> u32 {
    1
}

fn thousand() -> u32 {
    1000
}

/// Distribution of the delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JitterDistribution {
    /// Uniform over delay ± jitter.
    #[default]
    Uniform,
    /// The normal distribution.
    Normal,
    /// Pareto's with exponent 3.
    Pareto,
    /// A quarter normal, three quarters Pareto.
    Paretonormal,
}
