//! The other end's view of the path: its newest report, and the times that follow from the reports.

use whimbrel_units::{Duration, Instant};

use crate::wire::Report;

/// The state of the reports.
#[derive(Debug, Default)]
pub(super) struct Reported {
    pub(super) newest: Option<Report>,
    /// Smoothed age up to which a packet could have been sent to arrive in time; `None` until a report.
    pub(super) budget: Option<Duration>,
    /// Packets sent until then are known or lost, by the newest report.
    pub(super) horizon: Option<Instant>,
    /// The same of repeats, for which the receiver has a time.
    pub(super) repeat_horizon: Option<Instant>,
}

impl Reported {
    /// A report echoes a packet that was captured and sent at those times.
    /// `wait` is the time for which the receiver awaits packets that others overtake.
    pub(super) fn on_echo(&mut self, report: &Report, captured: Instant, sent: Instant, wait: Duration) {
        let waited = sent.saturating_since(captured).as_nanos() as i64;
        let budget = Duration::from_nanos(u64::try_from(waited.saturating_add(report.lead)).unwrap_or(0));
        self.budget = Some(self.budget.map_or(budget, |before| (before * 3 + budget) / 4));
        // The receiver of an overdue report has waited for what a queue of the path may spread, and for what
        // others overtake.
        let horizon = if report.is_overdue { sent + report.hold } else { sent.saturating_sub(wait) };
        self.horizon = self.horizon.max(Some(horizon));
        self.repeat_horizon = self.repeat_horizon.max(Some(sent + report.hold));
    }
}
