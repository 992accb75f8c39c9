//! A rate that is set from outside: for laws that are tried in another program or language.

use alloc::vec::Vec;

use whimbrel_units::{DataRate, Duration, Instant};

use super::{Allowance, Feedback, MediaController, PacketReport, RateLimits, SentPacket};

/// Most reports that are kept until they are taken.
const KEPT: usize = 1 << 16;
/// Ratio of the pacer's rate to the encoder's: a frame leaves before the next one.
const PACING: f64 = 1.5;

/// Allows the rate that was set last, and keeps the reports for the program that sets it.
#[derive(Clone, PartialEq, Debug)]
pub struct External {
    limits: RateLimits,
    rate: DataRate,
    reports: Vec<PacketReport>,
    rtt: Option<Duration>,
}

impl External {
    /// Starts at the rate for the start.
    pub const fn new(limits: RateLimits) -> Self {
        Self { limits, rate: limits.start, reports: Vec::new(), rtt: None }
    }

    /// Sets the rate, within the limits. Not a number counts as the least rate.
    pub fn set_rate(&mut self, rate: DataRate) {
        self.rate = rate.max(self.limits.min).min(self.limits.max);
    }

    /// The rate that is allowed.
    pub const fn rate(&self) -> DataRate {
        self.rate
    }

    /// The round-trip time of the last report.
    pub const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// The packets reported since the last call, at most 65,536 of them: the first ones.
    pub fn take_reports(&mut self) -> impl Iterator<Item = PacketReport> {
        self.reports.drain(..)
    }
}

impl MediaController for External {
    fn name(&self) -> &'static str {
        "external"
    }

    fn on_sent(&mut self, _: &SentPacket) {}
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let room = KEPT - self.reports.len().min(KEPT);
        self.reports.extend(feedback.packets.iter().take(room));
        self.rtt = feedback.rtt.or(self.rtt);
    }

    fn next_timer(&self) -> Option<Instant> {
        None
    }

    fn on_timer(&mut self, _: Instant) {}
    fn allowance(&self) -> Allowance {
        let pacing = DataRate::from_bits_per_second(self.rate.as_bits_per_second() * PACING);
        Allowance { target: self.rate, pacing, window: None }
    }

    fn on_path_change(&mut self, _: Instant) {
        self.rtt = None;
    }
}
