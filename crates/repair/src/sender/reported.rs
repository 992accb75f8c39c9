//! The other end's view of the path: its newest report, and the times that follow from the reports.

use whimbrel_units::{Duration, Instant};

use crate::wire::Report;

/// Share of the usual rate of arrival below which the path has become slower.
const SLOWER: f64 = 0.85;

/// The packet that a report echoes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echo {
    pub(super) captured: Instant,
    pub(super) sent: Instant,
    /// Octets that had been sent with it.
    pub(super) octets: u64,
}

/// The state of the reports.
#[derive(Debug, Default)]
pub(super) struct Reported {
    pub(super) newest: Option<Report>,
    /// Smoothed age up to which a packet could have been sent to arrive in time; `None` until a report.
    pub(super) budget: Option<Duration>,
    /// The same, or if the path has become slower, the budget of the next report.
    pub(super) prospect: Option<Duration>,
    /// The last packet and its budget.
    latest: Option<(Echo, Duration)>,
    /// Smoothed rate in octets per second at which packets arrived; `None` until two reports.
    rate: Option<f64>,
    /// Packets sent until then are known or lost, by the newest report.
    pub(super) horizon: Option<Instant>,
    /// The same of repeats, for which the receiver has a time.
    pub(super) repeat_horizon: Option<Instant>,
}

impl Reported {
    /// `wait` is the time for which the receiver awaits packets that others overtake.
    pub(super) fn on_echo(&mut self, report: &Report, echo: Echo, wait: Duration) {
        let waited = echo.sent.saturating_since(echo.captured).as_nanos() as i64;
        let budget = Duration::from_nanos(u64::try_from(waited.saturating_add(report.lead)).unwrap_or(0));
        let average = self.budget.map_or(budget, |before| (before * 3 + budget) / 4);
        self.budget = Some(average);
        self.prospect = Some(self.expect(echo, budget).unwrap_or(average));
        self.latest = Some((echo, budget));
        // The receiver of an overdue report has waited for what a queue of the path may spread, and for what
        // others overtake.
        let horizon =
            if report.is_overdue { echo.sent + report.hold } else { echo.sent.saturating_sub(wait) };
        self.horizon = self.horizon.max(Some(horizon));
        self.repeat_horizon = self.repeat_horizon.max(Some(echo.sent + report.hold));
    }

    /// The budget of the next report where packets arrive more slowly than usual while the queue grows: it
    /// grows on. The average knows of it three reports later, each of which takes longer than the last.
    ///
    /// Behind a large frame the queue grows too, but is emptied at the usual rate or above.
    fn expect(&mut self, echo: Echo, budget: Duration) -> Option<Duration> {
        let (latest, before) = self.latest?;
        let growth = before.saturating_sub(budget);
        let arrived_after =
            (echo.sent.saturating_since(latest.sent) + growth).saturating_sub(budget.saturating_sub(before));
        if arrived_after.is_zero() {
            return None;
        }
        let rate = echo.octets.saturating_sub(latest.octets) as f64 / arrived_after.as_secs_f64();
        let usual = self.rate.unwrap_or(rate);
        self.rate = Some((usual * 3.0 + rate) / 4.0);
        (rate < SLOWER * usual && !growth.is_zero()).then(|| budget.saturating_sub(growth))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::fecframe::Esi;

    /// Reports on packets every 40 ms: the octets sent since the last one, and the queue in milliseconds.
    /// Returns the average and the prospect after each, in milliseconds.
    fn after(steps: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let (mut reported, mut echo) =
            (Reported::default(), Echo { captured: Instant::ZERO, sent: Instant::ZERO, octets: 0 });
        let mut follow = |&(octets, queue): &(u64, u64)| {
            echo.sent += Duration::from_millis(40);
            (echo.captured, echo.octets) = (echo.sent, echo.octets + octets);
            let mut report = Report::new(1, Esi(0));
            report.lead = Duration::from_millis(150 - queue).as_nanos().cast_signed();
            reported.on_echo(&report, echo, Duration::ZERO);
            let millis = |time: Option<Duration>| time.map_or(0, |time| time.as_nanos() / 1_000_000);
            (millis(reported.budget), millis(reported.prospect))
        };
        steps.iter().map(&mut follow).collect()
    }

    #[test]
    fn the_queue_of_a_path_that_became_slower_is_expected_to_grow_on() {
        // 10,000 octets take 40 ms, then 80 ms.
        let steps = [(10_000, 0), (10_000, 0), (10_000, 40), (10_000, 80), (5_000, 80), (5_000, 40)];
        let expected = [(150, 150), (150, 150), (140, 70), (122, 30), (109, 109), (109, 109)];
        assert_eq!(after(&steps), expected);
    }

    #[test]
    fn a_large_frame_is_no_slower_path() {
        // A path of twice the rate of the packets: a frame of 40,000 octets takes 80 ms.
        let steps = [(10_000, 0), (10_000, 0), (40_000, 80), (10_000, 60), (10_000, 40), (10_000, 20)];
        let expected = [(150, 150), (150, 150), (130, 130), (120, 120), (117, 117), (120, 120)];
        assert_eq!(after(&steps), expected);
    }
}
