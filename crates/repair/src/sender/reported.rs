//! The other end's view of the path: its newest report, and the times that follow from the reports.

use whimbrel_units::{Duration, Instant};

use super::path_rate::{PathRate, Window};
use crate::fecframe::Esi;
use crate::wire::Report;

/// The packet that a report echoes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echo {
    pub(super) esi: Esi,
    pub(super) captured: Instant,
    pub(super) sent: Instant,
}

/// The state of the reports.
#[derive(Debug, Default)]
pub(super) struct Reported {
    pub(super) newest: Option<Report>,
    /// Smoothed age up to which a packet could have been sent to arrive in time; `None` until a report.
    pub(super) budget: Option<Duration>,
    /// The same for the next report, if the queue grows as it did between the last two. Without the average,
    /// which knows of a queue three reports later: each takes longer than the last while the queue grows.
    pub(super) prospect: Option<Duration>,
    /// The budget by the newest report alone.
    latest: Option<Duration>,
    /// The rate of the path.
    pub(super) path_rate: PathRate,
    /// Packets sent until then are known or lost, by the newest report.
    pub(super) horizon: Option<Instant>,
    /// The same of repeats, for which the receiver has a time.
    pub(super) repeat_horizon: Option<Instant>,
}

impl Reported {
    /// `wait` is the time for which the receiver awaits packets that others overtake, and `packets` are those
    /// in flight.
    pub(super) fn on_echo(&mut self, report: &Report, echo: Echo, wait: Duration, packets: Window<'_>) {
        let waited = echo.sent.saturating_since(echo.captured).as_nanos() as i64;
        let budget = Duration::from_nanos(u64::try_from(waited.saturating_add(report.lead)).unwrap_or(0));
        let growth = self.latest.map_or(Duration::ZERO, |before| before.saturating_sub(budget));
        self.latest = Some(budget);
        self.prospect = Some(budget.saturating_sub(growth));
        self.budget = Some(self.budget.map_or(budget, |before| (before * 3 + budget) / 4));
        self.path_rate.on_echo(echo, budget, packets);
        // The receiver of an overdue report has waited for what a queue of the path may spread, and for what
        // others overtake.
        let horizon =
            if report.is_overdue { echo.sent + report.hold } else { echo.sent.saturating_sub(wait) };
        self.horizon = self.horizon.max(Some(horizon));
        self.repeat_horizon = self.repeat_horizon.max(Some(echo.sent + report.hold));
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;

    use super::*;

    #[test]
    fn a_queue_that_grows_is_expected_to_grow_on() {
        let mut reported = Reported::default();
        let mut after = |lead: u64| {
            let mut report = Report::new(1, Esi(0));
            report.lead = Duration::from_millis(lead).as_nanos().cast_signed();
            let echo = Echo { esi: Esi(0), captured: Instant::ZERO, sent: Instant::ZERO };
            let packets = Window { first: Esi(0), packets: &VecDeque::new() };
            reported.on_echo(&report, echo, Duration::ZERO, packets);
            (reported.budget, reported.prospect)
        };
        let millis =
            |average, prospect| (Some(Duration::from_micros(average)), Some(Duration::from_millis(prospect)));
        assert_eq!(after(150), millis(150_000, 150));
        assert_eq!(after(110), millis(140_000, 70));
        assert_eq!(after(110), millis(132_500, 110));
        assert_eq!(after(40), millis(109_375, 0));
        assert_eq!(after(150).1, Some(Duration::from_millis(150)));
    }
}
