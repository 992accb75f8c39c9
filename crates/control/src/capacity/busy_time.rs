//! Busy time and total elapsed time.

use whimbrel_units::{Duration, Instant};

/// The share of time for which a medium is busy.
///
/// Without a period the total is taken since the start, as in paper `winf`; a long-lived station then hardly
/// notices a change. With a period, the share covers the running and the last period.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct BusyTime {
    period: Option<Duration>,
    /// Start and busy time of the last period.
    last: Option<(Instant, Duration)>,
    start: Instant,
    busy: Duration,
    /// End of the total elapsed time.
    until: Instant,
}

impl BusyTime {
    pub(super) fn new(start: Instant, period: Option<Duration>) -> Self {
        Self { period, last: None, start, busy: Duration::ZERO, until: start }
    }

    /// Adds busy time, and extends the total elapsed time to `until`.
    pub(super) fn add(&mut self, busy: Duration, until: Instant) {
        self.busy += busy;
        self.until = self.until.max(until);
        if self.period.is_some_and(|period| self.until - self.start >= period) {
            self.last = Some((self.start, self.busy));
            (self.start, self.busy) = (self.until, Duration::ZERO);
        }
    }

    /// Extends the total elapsed time to `now`, during which nothing was added.
    pub(super) fn extend(&mut self, now: Instant) {
        self.add(Duration::ZERO, now);
    }

    /// The share of time that is idle, in \[0, 1\]: 1 if no time has elapsed.
    pub(super) fn idle_share(&self) -> f64 {
        let (start, before) = self.last.unwrap_or((self.start, Duration::ZERO));
        let elapsed = self.until - start;
        if elapsed.is_zero() { 1.0 } else { (1.0 - (before + self.busy) / elapsed).max(0.0) }
    }
}
