//! Scenario keys of bounded packet delay variation.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_units::Duration;

use super::quantity::Time;

/// Each packet is delayed by a time of its own at the link's end, in the order of its flow: from 0 to twice
/// `bound` times `deviation`, by a truncated normal distribution (RFC 8868, Sections 4.5.2 and 4.5.3).
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DelayVariation {
    /// Standard deviation before truncation.
    pub deviation: Time,
    /// Largest distance from the mean, in standard deviations.
    pub bound: f64,
}

impl Default for DelayVariation {
    /// The recommended values: 0 to 30 ms.
    fn default() -> Self {
        Self { deviation: Time(Duration::from_millis(5)), bound: 3.0 }
    }
}
