//! Additive interference.

use smallvec::SmallVec;
use whimbrel_units::Instant;

use super::error_rate::log_success_per_bit;
use crate::phy::Rate;

/// The signals on the air at one receiver.
///
/// The total is summed anew from the present signals at every change: a running sum would keep the rounding error of a
/// strong signal as a phantom interferer after its end.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Interference {
    /// Identifier and power in watts, in the order of arrival.
    signals: SmallVec<[(u64, f64); 8]>,
}

impl Interference {
    /// No signals.
    pub fn new() -> Self {
        Self::default()
    }

    /// A signal of `power` watts begins.
    pub fn begin(&mut self, signal: u64, power: f64) {
        self.signals.push((signal, power));
    }

    /// A signal ends; its power, or `None` if it had not begun.
    pub fn end(&mut self, signal: u64) -> Option<f64> {
        let position = self.signals.iter().position(|&(other, _)| other == signal)?;
        Some(self.signals.remove(position).1)
    }

    /// Total power in watts.
    pub fn total(&self) -> f64 {
        self.signals.iter().map(|&(_, power)| power).sum()
    }

    /// Total power in watts of all signals but one.
    pub fn total_without(&self, signal: u64) -> f64 {
        self.signals.iter().filter(|&&(other, _)| other != signal).map(|&(_, power)| power).sum()
    }

    /// `true` if no signal is on the air.
    pub fn is_empty(&self) -> bool {
        self.signals.is_empty()
    }
}

/// The success probability of a frame that is being received while interference changes.
///
/// The frame is a sequence of parts (PLCP header, payload), each with a rate. Between two changes
/// of the interference the signal-to-interference-and-noise ratio is constant and errors are independent, so that the
/// probability is the product over the chunks.
#[derive(Clone, PartialEq, Debug)]
pub struct FrameReception {
    /// Signal power in watts.
    signal: f64,
    /// Noise power in watts.
    noise: f64,
    /// Interference power in watts since `since`.
    interference: f64,
    since: Instant,
    /// The parts that are not over yet: end and rate.
    parts: SmallVec<[(Instant, Rate); 2]>,
    log_success: f64,
}

impl FrameReception {
    /// A frame of `signal` watts over `noise` watts whose first bit arrives at `now`; `parts` are the end and the
    /// rate of each part, in order.
    pub fn new(now: Instant, signal: f64, noise: f64, interference: f64, parts: &[(Instant, Rate)]) -> Self {
        Self {
            signal,
            noise,
            interference,
            since: now,
            parts: parts.iter().copied().collect(),
            log_success: 0.0,
        }
    }

    /// The interference is `interference` watts from `now` on.
    pub fn handle_interference(&mut self, now: Instant, interference: f64) {
        self.account(now);
        self.interference = interference;
    }

    /// The probability that what has arrived until `now` is free of errors.
    pub fn success_probability(&mut self, now: Instant) -> f64 {
        self.account(now);
        libm::exp(self.log_success)
    }

    /// The present signal-to-interference-and-noise ratio.
    pub fn ratio(&self) -> f64 {
        self.signal / (self.noise + self.interference)
    }

    fn account(&mut self, now: Instant) {
        let ratio = self.ratio();
        while let Some(&(end, rate)) = self.parts.first()
            && self.since < now
        {
            let until = end.min(now);
            let bits = (until - self.since).as_secs_f64() * rate.bits_per_second() as f64;
            if bits > 0.0 {
                self.log_success += bits * log_success_per_bit(rate, ratio);
            }
            self.since = self.since.max(until);
            if end <= now {
                self.parts.remove(0);
            }
        }
        self.since = self.since.max(now);
    }
}

#[cfg(test)]
mod tests;
