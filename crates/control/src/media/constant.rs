//! No congestion control: the baseline of comparisons.

use whimbrel_units::{DataRate, Instant};

use super::{Allowance, Feedback, MediaController, SentPacket};

/// Allows a constant rate, regardless of the path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Constant {
    rate: DataRate,
}

impl Constant {
    /// Allows `rate`.
    pub const fn new(rate: DataRate) -> Self {
        Self { rate }
    }
}

impl MediaController for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn on_sent(&mut self, _: &SentPacket) {}
    fn on_feedback(&mut self, _: &Feedback<'_>) {}
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    fn on_timer(&mut self, _: Instant) {}
    fn allowance(&self) -> Allowance {
        Allowance { target: self.rate, pacing: self.rate, window: None }
    }

    fn on_path_change(&mut self, _: Instant) {}
}
