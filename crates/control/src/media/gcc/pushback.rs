//! Congestion window pushback: a lower rate for the encoder while more bytes are in flight than the path
//! should hold.

use alloc::collections::VecDeque;

use whimbrel_units::{ByteCount, DataRate, Duration};

use super::PushbackConfig;

/// Reports over which the minimum of the round-trip times is taken.
const REPORTS: usize = 32;
/// Least window.
const LEAST_WINDOW: ByteCount = ByteCount::new(2 * 1500);

/// The window and the share of the rate that is left.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Pushback {
    config: PushbackConfig,
    rtts: VecDeque<Duration>,
    window: Option<ByteCount>,
    in_flight: ByteCount,
    share: f64,
}

impl Pushback {
    pub(super) fn new(config: PushbackConfig) -> Self {
        let rtts = VecDeque::with_capacity(REPORTS);
        Self { config, rtts, window: None, in_flight: ByteCount::ZERO, share: 1.0 }
    }

    pub(super) fn on_sent(&mut self, size: ByteCount) {
        self.in_flight += size;
    }

    pub(super) const fn set_in_flight(&mut self, in_flight: ByteCount) {
        self.in_flight = in_flight;
    }

    /// Records the longest time from sending to report of the packets of a report.
    pub(super) fn record_rtt(&mut self, rtt: Duration) {
        if self.rtts.len() >= REPORTS {
            self.rtts.pop_front();
        }
        self.rtts.push_back(rtt);
    }

    /// Moves the window halfway to what `rate` sends in the round-trip time and the allowed queueing time.
    pub(super) fn update_window(&mut self, rate: DataRate) {
        let Some(rtt) = self.rtts.iter().min() else { return };
        let window = rate * (*rtt + self.config.queue);
        let window = match self.window {
            Some(before) => ByteCount::new((window + before).as_u64() / 2),
            None => window,
        };
        self.window = Some(window.max(LEAST_WINDOW));
    }

    /// The rate for the encoder.
    pub(super) fn apply(&mut self, rate: DataRate) -> DataRate {
        let Some(window) = self.window else { return rate };
        let filling = self.in_flight.as_f64() / window.as_f64();
        self.share = match filling {
            filling if filling > 1.5 => self.share * 0.9,
            filling if filling > 1.0 => self.share * 0.95,
            filling if filling < 0.1 => 1.0,
            _ => (self.share * 1.05).min(1.0),
        };
        // The least rate does not raise one that is lower.
        (rate * self.share).max(rate.min(self.config.least))
    }
}

#[cfg(test)]
mod tests;
