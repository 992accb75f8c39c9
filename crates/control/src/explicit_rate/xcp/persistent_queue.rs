//! The persistent queue: the part of the queue that does not drain within a round-trip time.

use whimbrel_units::{Duration, Instant};

use super::{XcpConfig, XcpReading};

/// Minimum of the queue over the last period Tq, in bits.
///
/// Tq is shorter than the control interval: measured over the average RTT, which includes the queueing delay,
/// the queue would lengthen its own measurement (draft-falk-xcp-spec-03, Section 4.2.5).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct PersistentQueue {
    /// Minimum over the last period.
    pub(super) bits: f64,
    /// Minimum over this period so far.
    minimum: f64,
    /// End of this period.
    pub(super) deadline: Instant,
}

impl PersistentQueue {
    pub(super) fn new(deadline: Instant) -> Self {
        Self { bits: 0.0, minimum: 0.0, deadline }
    }

    /// Processes the queue at a time at which the reading samples it.
    pub(super) fn on_sample(&mut self, bits: f64) {
        self.minimum = self.minimum.min(bits);
    }

    /// Ends the period if its time has passed.
    pub(super) fn on_timeout(
        &mut self,
        now: Instant,
        bits: f64,
        average_rtt: f64,
        capacity: f64,
        config: &XcpConfig,
    ) {
        if now < self.deadline {
            return;
        }
        self.bits = self.minimum;
        self.minimum = bits;
        // Without capacity the queue never drains.
        let drain = if bits > 0.0 { bits / capacity } else { 0.0 };
        let propagation = (average_rtt - drain).max(0.0);
        let period = match config.reading {
            XcpReading::Draft | XcpReading::Ns2 => propagation / 2.0,
            XcpReading::Sigcomm => propagation,
        };
        self.deadline = now + Duration::from_secs_f64(period).max(config.allowed_queue);
    }
}
