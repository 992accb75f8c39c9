//! Scenarios whose flows have the laboratory's transports.
//!
//! The types come from [`whimbrel_scenario`].

pub use whimbrel_scenario::*;

use crate::transport::Configured;

/// The text of a scenario.
pub type Document = whimbrel_scenario::Document<crate::transport::Transports>;
/// A scenario made ready to run.
pub type Plan = whimbrel_scenario::Plan<Configured>;
/// A flow, made ready to run.
pub type FlowPlan = whimbrel_scenario::FlowPlan<Configured>;

/// The JSON schema of scenarios with the laboratory's transports.
pub fn schema() -> serde_json::Value {
    whimbrel_scenario::schema(&crate::transport::Transports::default())
}
