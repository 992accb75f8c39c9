//! The traffic of a slot.

use whimbrel_units::{Duration, Instant};

use super::RttAveraging;

/// Sums over the packets of a slot.
///
/// A packet takes size / C to arrive. Where this time extends beyond the end of the slot, the later part of
/// the packet belongs to the next slot (authors' code).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Slot {
    pub(super) since: Instant,
    pub(super) deadline: Instant,
    /// Bits in this slot.
    pub(super) input: f64,
    /// Bits that belong to the next slot.
    spilled: f64,
    rtt_sum: f64,
    rtt_weight: f64,
    /// Mean round-trip time of the last slot with packets, in seconds.
    mean_rtt: Option<f64>,
}

impl Slot {
    pub(super) fn new(since: Instant, length: Duration) -> Self {
        Self {
            since,
            deadline: since + length,
            input: 0.0,
            spilled: 0.0,
            rtt_sum: 0.0,
            rtt_weight: 0.0,
            mean_rtt: None,
        }
    }

    /// Processes the arrival of a packet at an egress of `capacity` bit/s.
    pub(super) fn on_arrival(&mut self, now: Instant, bits: f64, capacity: f64) {
        let airtime = bits / capacity;
        let remaining = self.deadline.saturating_since(now).as_secs_f64();
        // Without capacity the time is infinite and the packet counts at once.
        let within = if airtime.is_finite() && airtime > 0.0 { (remaining / airtime).min(1.0) } else { 1.0 };
        self.input += bits * within;
        self.spilled += bits * (1.0 - within);
    }

    /// Processes the round-trip time in a header.
    pub(super) fn on_rtt(&mut self, rtt: Duration, bits: f64, averaging: RttAveraging) {
        let weight = match averaging {
            RttAveraging::ByBytes => bits,
            RttAveraging::ByPackets => 1.0,
        };
        self.rtt_sum += rtt.as_secs_f64() * weight;
        self.rtt_weight += weight;
    }

    /// Mean round-trip time of this slot, or else of the last one with packets, as in the authors' code.
    pub(super) fn mean_rtt(&mut self) -> Option<f64> {
        if self.rtt_weight > 0.0 {
            self.mean_rtt = Some(self.rtt_sum / self.rtt_weight);
        }
        self.mean_rtt
    }

    /// Begins the next slot.
    pub(super) fn advance(&mut self, now: Instant, length: Duration) {
        *self = Self { input: self.spilled, mean_rtt: self.mean_rtt, ..Self::new(now, length) };
    }
}
