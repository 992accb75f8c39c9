//! The station's knowledge of a channel: reports of the CQI, late and with errors.

use whimbrel_units::random::{Random, SplitMix64};
use whimbrel_units::{Duration, Instant};

use crate::amc::{Adaptation, Cqi};
use crate::level::Decibels;

/// The reports of one terminal, as a function of time: a report costs nothing until it is used.
#[derive(Clone, PartialEq, Debug)]
pub struct CqiReports {
    /// Time between measurements.
    pub period: Duration,
    /// Time from a measurement until the station can use it.
    pub delay: Duration,
    /// Standard deviation of the measurement.
    pub error: Decibels,
    streams: SplitMix64,
}

/// A measurement that a station can use.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Report {
    /// When the terminal measured.
    pub measured_at: Instant,
    /// Error of the measured ratio.
    pub error: Decibels,
}

impl CqiReports {
    /// The reports of the terminal with this seed.
    pub const fn new(period: Duration, delay: Duration, error: Decibels, seed: u64) -> Self {
        Self { period, delay, error, streams: SplitMix64::new(seed) }
    }

    /// The newest report that the station has at `now`; `None` before the first.
    pub fn newest(&self, now: Instant) -> Option<Report> {
        let age = now.as_nanos().checked_sub(self.delay.as_nanos())?;
        let period = self.period.as_nanos().max(1);
        let number = age / period;
        let error = Decibels(self.error.0 * normal(&mut self.streams.stream(number)));
        Some(Report { measured_at: Instant::from_nanos(number * period), error })
    }

    /// The CQI that the station has at `now`, of a channel given as a function of time.
    pub fn cqi(
        &self,
        now: Instant,
        adaptation: &Adaptation,
        channel: impl FnOnce(Instant) -> Decibels,
    ) -> Option<Cqi> {
        let report = self.newest(now)?;
        adaptation.cqi(channel(report.measured_at) + report.error)
    }
}

/// A standard normal value (Box and Muller's method).
fn normal(random: &mut SplitMix64) -> f64 {
    // 1 - u lies in (0, 1], so the logarithm is finite.
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.uniform()));
    radius * libm::cos(core::f64::consts::TAU * random.uniform())
}

#[cfg(test)]
mod tests;
