//! XCP without a capacity: the spare bandwidth is inferred from the growth of the queue.
//!
//! While a queue exists, its growth is the input rate less the capacity, dq/dt = y - C: XCP's alpha (C - y)
//! becomes -alpha dq/dt, and no estimate is needed. Two provisions keep the queue informative (Abrantes and
//! Ricardo, "XCP for shared-access multi-rate media", ACM SIGCOMM CCR 36(3), 2006, called XCP-b; its text is
//! not at hand, and this module is built from its published summary):
//!
//! - The queue is held at a target kappa above zero: F = -alpha dq/dt - beta (q - kappa) / d.
//! - An empty queue does not reveal the spare bandwidth. A fixed amount is then fed back, F = chi B / d with
//!   the buffer B: chi is at most 1/(5 - alpha - beta) so that the buffer does not overflow (the bound as
//!   quoted on ISI's XCP mailing list in July 2006). The reaction is late: the queue must have been empty for
//!   some control intervals.
//!
//! The spreading over packets is XCP's.

use whimbrel_units::ByteCount;

use super::{SpareBandwidth, XcpConfig};

/// Parameters of the blind efficiency controller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BlindConfig {
    /// kappa: the queue to be held.
    pub target: ByteCount,
    /// B: the buffer.
    pub buffer: ByteCount,
    /// chi: share of the buffer fed back when the queue is empty.
    pub ramp: f64,
    /// Control intervals with an empty queue that are not regarded as unused capacity.
    pub patience: u32,
}

impl BlindConfig {
    /// A controller for a buffer: a target of a tenth of it, the largest chi, and one interval of patience.
    /// The target and the patience are choices of this implementation.
    pub fn for_buffer(buffer: ByteCount) -> Self {
        let target = ByteCount::new(buffer.as_u64() / 10);
        Self { target, buffer, ramp: 1.0 / (5.0 - 0.4 - 0.226), patience: 1 }
    }

    /// An XCP router (the draft's) with this efficiency controller. The capacity is used for the period of
    /// the minimum queue only, where infinity is admissible.
    pub fn router(self) -> XcpConfig {
        XcpConfig { spare: SpareBandwidth::QueueGrowth(self), ..XcpConfig::draft() }
    }
}

/// State of the blind efficiency controller.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct BlindController {
    /// Queue at the end of the last control interval in bits.
    last: f64,
    /// Control intervals for which the queue has been empty.
    empty: u32,
}

impl BlindController {
    /// F in bit/s at the end of a control interval of `elapsed` seconds. `gains` are alpha and beta, `queues`
    /// the queue now and the persistent one in bits.
    pub(super) fn feedback(
        &mut self,
        config: &BlindConfig,
        (alpha, beta): (f64, f64),
        (queue, persistent): (f64, f64),
        elapsed: f64,
        average_rtt: f64,
    ) -> f64 {
        let growth = (queue - self.last) / elapsed;
        let was_empty = self.last == 0.0 && queue == 0.0 && persistent == 0.0;
        self.last = queue;
        self.empty = if was_empty { self.empty.saturating_add(1) } else { 0 };
        if self.empty > config.patience {
            return config.ramp * config.buffer.bits() as f64 / average_rtt;
        }
        let excess = persistent - config.target.bits() as f64;
        -alpha * growth - beta * excess / average_rtt
    }
}

#[cfg(test)]
mod tests;
