//! Detection that the serving cell is lost (TS 36.133, Section 7.6; TS 36.331, Section 5.3.11).

use whimbrel_units::{Duration, Instant};

use crate::level::Decibels;

/// Parameters of the detection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RadioLinkConfig {
    /// Below this ratio throughout [`out_window`](Self::out_window) the terminal is out of synchronisation,
    /// Qout.
    pub out: Decibels,
    /// Window of Qout.
    pub out_window: Duration,
    /// Above this ratio throughout [`in_window`](Self::in_window) it is in synchronisation again, Qin.
    pub back: Decibels,
    /// Window of Qin.
    pub in_window: Duration,
    /// Time between indications.
    pub period: Duration,
    /// N310: indications in a row that start the timer.
    pub indications: u32,
    /// T310: how long the terminal waits for the cell to come back.
    pub wait: Duration,
}

impl RadioLinkConfig {
    /// Usual values: detection takes 1.25 s.
    pub const DEFAULT: Self = Self {
        out: Decibels(-5.0),
        out_window: Duration::from_millis(200),
        back: Decibels(-3.9),
        in_window: Duration::from_millis(100),
        period: Duration::from_millis(10),
        indications: 6,
        wait: Duration::from_secs(1),
    };
}

/// The link of a terminal to its serving cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RadioLink {
    config: RadioLinkConfig,
    /// Since when the ratio is below Qout.
    below_since: Option<Instant>,
    /// Since when the ratio is above Qin.
    above_since: Option<Instant>,
    /// The end of T310.
    deadline: Option<Instant>,
}

impl RadioLink {
    /// A link that works.
    pub const fn new(config: RadioLinkConfig) -> Self {
        Self { config, below_since: None, above_since: None, deadline: None }
    }

    /// The ratio from now on. The driver tells it where it passes one of the limits, or at any finer times.
    pub fn handle_sinr(&mut self, now: Instant, sinr: Decibels) {
        // Earlier expiries are settled first.
        self.settle(now);
        self.below_since = (sinr < self.config.out).then(|| self.below_since.unwrap_or(now));
        self.above_since = (sinr > self.config.back).then(|| self.above_since.unwrap_or(now));
    }

    /// Starts and stops T310 by what has lasted until now.
    fn settle(&mut self, now: Instant) {
        if let Some(start) = self.starts_at().filter(|start| *start <= now) {
            self.deadline = Some(start + self.config.wait);
        }
        let is_back = self.above_since.is_some_and(|since| since + self.config.in_window <= now);
        if is_back && self.deadline.is_some_and(|deadline| deadline > now) {
            self.deadline = None;
        }
    }

    /// When T310 starts, unless the ratio changes.
    fn starts_at(&self) -> Option<Instant> {
        let more = u64::from(self.config.indications.saturating_sub(1));
        let start = self.below_since? + self.config.out_window + self.config.period * more;
        self.deadline.is_none().then_some(start)
    }

    /// When the link fails, unless the ratio changes.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let fails_at = self.deadline.or_else(|| self.starts_at().map(|start| start + self.config.wait))?;
        let is_back_before = self.above_since.is_some_and(|since| since + self.config.in_window < fails_at);
        (!is_back_before).then_some(fails_at)
    }

    /// `true` if the link has failed. The terminal then begins anew with another.
    pub fn has_failed(&mut self, now: Instant) -> bool {
        self.settle(now);
        self.poll_timeout().is_some_and(|deadline| deadline <= now)
    }
}

#[cfg(test)]
mod tests;
