//! HyStart as Linux has it: an end of slow start at once, by the round-trip time or the length of a train of
//! acknowledgements.

use whimbrel_units::{Duration, Instant};

use super::super::Delivery;

/// HyStart (Ha and Rhee, "Hybrid Slow Start for High-Bandwidth and Long-Distance Networks", 2008) with the
/// rules and constants of Linux 6.1.
///
/// From a window of 16 segments on, a round ends when more than the data outstanding at its beginning have
/// been acknowledged. Slow start ends where the least round-trip time of a round, after eight samples,
/// exceeds the connection's by an eighth, but at least 4 ms and at most 16 ms; or where acknowledgements that
/// are at most 2 ms apart have lasted for half of the least round-trip time (and half a millisecond).
#[derive(Clone, PartialEq, Debug)]
pub struct LinuxHyStart {
    /// Data delivered so far, in segments.
    delivered: f64,
    round_end: Option<f64>,
    round_start: Instant,
    /// Last acknowledgement of the train.
    last_ack: Instant,
    /// Least round-trip time of the connection.
    least: Option<Duration>,
    /// Sample of the acknowledgement at hand.
    sample: Option<Duration>,
    /// Least round-trip time of the round, and the number of its samples.
    current: Option<Duration>,
    samples: u32,
    is_over: bool,
}

impl LinuxHyStart {
    const LOW_WINDOW: f64 = 16.0;
    const SAMPLES: u32 = 8;
    const MIN_THRESHOLD: Duration = Duration::from_millis(4);
    const MAX_THRESHOLD: Duration = Duration::from_millis(16);
    const ACK_SPACING: Duration = Duration::from_millis(2);
    const TRAIN_ALLOWANCE: Duration = Duration::from_millis(1);

    /// HyStart before the first acknowledgement.
    pub const fn new() -> Self {
        Self {
            delivered: 0.0,
            round_end: None,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            least: None,
            sample: None,
            current: None,
            samples: 0,
            is_over: false,
        }
    }

    /// Processes an acknowledgement of any kind.
    pub fn on_delivery(&mut self, delivery: &Delivery) {
        self.delivered += delivery.delivered;
        self.sample = delivery.rtt;
        if let Some(rtt) = delivery.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// Processes an acknowledgement of new data in slow start, before the window grows: `in_flight` segments
    /// are outstanding. Returns `true` if slow start ends now.
    pub fn on_ack(&mut self, now: Instant, cwnd: f64, in_flight: f64) -> bool {
        let (Some(least), Some(sample)) = (self.least, self.sample.take()) else { return false };
        if self.is_over || cwnd < Self::LOW_WINDOW {
            return false;
        }
        if self.round_end.is_none_or(|end| self.delivered > end) {
            self.round_end = Some(self.delivered + in_flight);
            (self.round_start, self.last_ack) = (now, now);
            (self.current, self.samples) = (None, 0);
        }
        if now.saturating_since(self.last_ack) <= Self::ACK_SPACING {
            self.last_ack = now;
            let train = now.saturating_since(self.round_start);
            self.is_over |= train > (least + Self::TRAIN_ALLOWANCE) / 2;
        }
        let current = self.current.map_or(sample, |current| current.min(sample));
        self.current = Some(current);
        if self.samples < Self::SAMPLES {
            self.samples += 1;
        } else {
            let threshold = (least / 8).clamp(Self::MIN_THRESHOLD, Self::MAX_THRESHOLD);
            self.is_over |= current > least + threshold;
        }
        self.is_over
    }

    /// Ends slow start for good, after a loss.
    pub fn end(&mut self) {
        self.is_over = true;
    }
}

impl Default for LinuxHyStart {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
