//! The outer loop of link adaptation: acknowledgements correct what reports say.

use crate::level::Decibels;

/// A margin on reports that holds the share of first transmissions that fail at a target.
///
/// A failure lowers the margin by a step, a success raises it by the step times target / (1 - target), so
/// that it stays where failures have the target's share. A report that is older than a fade says nothing
/// about the fade, and only this loop knows how much that costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OuterLoop {
    target: f64,
    step: Decibels,
    limit: Decibels,
    margin: Decibels,
}

impl OuterLoop {
    /// A loop with this target from 0 to 1 and this step, whose margin stays within `limit` of the report.
    pub const fn new(target: f64, step: Decibels, limit: Decibels) -> Self {
        Self { target, step, limit, margin: Decibels::ZERO }
    }

    /// Correction of a reported ratio.
    pub const fn margin(&self) -> Decibels {
        self.margin
    }

    /// The first transmission of a block has arrived, or failed.
    pub fn handle_outcome(&mut self, is_received: bool) {
        let change = if is_received { self.step.0 * self.target / (1.0 - self.target) } else { -self.step.0 };
        self.margin = Decibels((self.margin.0 + change).clamp(-self.limit.0, self.limit.0));
    }
}

#[cfg(test)]
mod tests;
