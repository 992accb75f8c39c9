//! Recordings of links: their rates, in the two formats in which people share them, and their losses.
//!
//! [`DeliveryTrace`] is mahimahi's packet-level format, [`LoadDependentTrace`] two recordings of a link that
//! grants capacity by demand, [`RateSteps`] a table of rates over time, [`LossTrace`] a table of the times at
//! which packets are lost, [`DelayTrace`] a table of delays over time. The caller reads the file; time 0 of a
//! trace is time 0 of the simulation.

mod delays;
mod deliveries;
mod load_dependent;
mod losses;
mod rate_steps;
mod rate_table;

pub use delays::DelayTrace;
pub(crate) use deliveries::DeliveryCursor;
pub use deliveries::DeliveryTrace;
pub(crate) use load_dependent::LoadDependentCursor;
pub use load_dependent::LoadDependentTrace;
pub(crate) use losses::LossCursor;
pub use losses::LossTrace;
pub(crate) use rate_steps::StepCursor;
pub use rate_steps::{AtEnd, RateSteps};

use thiserror::Error;

/// A text that is not a trace.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A line is not what the format wants there.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Line {
        /// Counting from 1.
        line: usize,
        /// The expected content.
        expected: &'static str,
        /// The content found.
        found: String,
    },
    /// The lines are well formed but make no trace.
    #[error("expected {expected}")]
    Whole {
        /// The expected property of the whole trace.
        expected: &'static str,
    },
}

impl TraceError {
    fn line(index: usize, expected: &'static str, found: &str) -> Self {
        Self::Line { line: index + 1, expected, found: beginning(found) }
    }
}

/// The beginning of a line, for a message.
fn beginning(line: &str) -> String {
    const SHOWN: usize = 80;
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
