//! HyStart++: an end of slow start before the first loss, by the round-trip time (RFC 9406).

use whimbrel_units::Duration;

use super::Delivery;

mod linux;

pub use linux::LinuxHyStart;

/// HyStart++ (RFC 9406) for a sender's first slow start.
///
/// A round ends when all data outstanding at its beginning have been delivered. If the least round-trip time
/// of a round exceeds the previous round's by an eighth, but at least 4 ms and at most 16 ms, the window
/// grows by a quarter of the usual amount (conservative slow start) for five rounds, and then slow start
/// ends; if the round-trip time falls below its value in the round in which this began, slow start resumes.
#[derive(Clone, PartialEq, Debug)]
pub struct HyStart {
    /// Data delivered so far, in segments.
    delivered: f64,
    /// Delivered data at which the round ends.
    round_end: f64,
    /// Least round-trip times of the last round and of this one, with the number of samples.
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    SlowStart,
    /// Conservative slow start.
    Conservative {
        /// Least round-trip time of the round in which it began.
        baseline: Duration,
        /// Rounds that have ended in it.
        rounds: u32,
    },
    Over,
}

impl HyStart {
    /// `L`: segments that one acknowledgement may add in slow start, without pacing.
    pub const LIMIT: f64 = 8.0;
    const MIN_THRESHOLD: Duration = Duration::from_millis(4);
    const MAX_THRESHOLD: Duration = Duration::from_millis(16);
    const DIVISOR: u64 = 8;
    const SAMPLES: u32 = 8;
    const GROWTH_DIVISOR: f64 = 4.0;
    const ROUNDS: u32 = 5;

    /// With the constants of RFC 9406, Section 4.3.
    pub const fn rfc9406() -> Self {
        Self {
            delivered: 0.0,
            round_end: 0.0,
            last: None,
            current: None,
            samples: 0,
            phase: Phase::SlowStart,
        }
    }

    /// Share of the usual growth per acknowledgement.
    pub fn share(&self) -> f64 {
        if matches!(self.phase, Phase::Conservative { .. }) { 1.0 / Self::GROWTH_DIVISOR } else { 1.0 }
    }

    /// Processes an acknowledgement of any kind.
    pub fn on_delivery(&mut self, delivery: &Delivery) {
        self.delivered += delivery.delivered;
        if let Some(rtt) = delivery.rtt {
            self.current = Some(self.current.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
    }

    /// Processes an acknowledgement of new data after which `in_flight` segments are in the network. Returns
    /// `true` if slow start ends now.
    pub fn on_ack(&mut self, in_flight: f64) -> bool {
        let is_sampled = self.samples >= Self::SAMPLES;
        match (self.phase, self.last, self.current) {
            (Phase::SlowStart, Some(last), Some(current)) if is_sampled => {
                let threshold = (last / Self::DIVISOR).clamp(Self::MIN_THRESHOLD, Self::MAX_THRESHOLD);
                if current >= last + threshold {
                    self.phase = Phase::Conservative { baseline: current, rounds: 0 };
                }
            }
            (Phase::Conservative { baseline, .. }, _, Some(current)) if is_sampled && current < baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
        if self.round_end == 0.0 {
            // The first round ends with the initial window.
            self.round_end = self.delivered + in_flight;
        } else if self.delivered >= self.round_end {
            self.end_round(in_flight);
        }
        self.phase == Phase::Over
    }

    /// Ends slow start for good, after a loss: HyStart++ is for the first one (Section 4.2).
    pub fn end(&mut self) {
        self.phase = Phase::Over;
    }

    /// `true` once slow start has ended.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn end_round(&mut self, in_flight: f64) {
        self.round_end = self.delivered + in_flight;
        self.last = self.current.take();
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds >= Self::ROUNDS {
                self.phase = Phase::Over;
            }
        }
    }
}

#[cfg(test)]
mod tests;
