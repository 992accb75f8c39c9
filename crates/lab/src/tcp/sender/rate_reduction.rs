//! Proportional Rate Reduction: data sent during a recovery follow the data delivered (RFC 9937; RFC 6937).

/// The state of one recovery, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateReduction {
    /// `prr_delivered`: data delivered during the recovery.
    delivered: u64,
    /// `prr_out`: data sent during the recovery.
    out: u64,
    /// `RecoverFS`: data outstanding at its beginning that acknowledgements in it can deliver.
    flight: u64,
    /// `sndcnt`: data that may be sent before the next acknowledgement.
    allowance: u64,
    /// `cwnd` in segments after the recovery.
    pub(super) target: f64,
}

/// An acknowledgement during a recovery, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecoveryAck {
    /// `DeliveredData`: data newly acknowledged, cumulatively or selectively.
    pub(super) delivered: u64,
    /// Data in the network.
    pub(super) pipe: u64,
    /// The window to which the recovery leads.
    pub(super) ssthresh: u64,
    /// SMSS.
    pub(super) segment: u64,
    /// `SafeACK`: SND.UNA has advanced, and no further loss was found.
    pub(super) is_safe: bool,
}

impl RateReduction {
    /// A recovery that begins with `flight` bytes outstanding and leads to a window of `target` segments.
    pub(super) fn new(flight: u64, target: f64) -> Self {
        Self { delivered: 0, out: 0, flight: flight.max(1), allowance: 0, target }
    }

    /// Computes what may be sent after an acknowledgement.
    pub(super) fn on_ack(&mut self, ack: &RecoveryAck) {
        self.delivered += ack.delivered;
        let count = if ack.pipe > ack.ssthresh {
            let product = u128::from(self.delivered) * u128::from(ack.ssthresh);
            // Rounded up to whole segments, as in the RFC's figures.
            let segment = u128::from(ack.segment);
            let target = product.div_ceil(u128::from(self.flight) * segment) * segment;
            (target as u64).saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(ack.delivered);
            let bound = if ack.is_safe { bound + ack.segment } else { bound };
            bound.min(ack.ssthresh - ack.pipe)
        };
        // The fast retransmit itself.
        self.allowance = if self.out == 0 { count.max(ack.segment) } else { count };
    }

    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
        self.allowance = self.allowance.saturating_sub(bytes);
    }

    pub(super) fn allowance(&self) -> u64 {
        self.allowance
    }
}

#[cfg(test)]
mod tests;
