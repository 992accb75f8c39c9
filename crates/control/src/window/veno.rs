//! Veno: random losses by the backlog of the flow (Fu and Liew, IEEE JSAC 21(2), 2003).

use whimbrel_units::Duration;

use super::{Acknowledgement, CongestionCause, CongestionSignal, Delivery, NewReno, Window, WindowLaw};

/// TCP Veno.
///
/// `N = cwnd (RTT - BaseRTT) / RTT` estimates the flow's own segments in queues, from the smoothed round-trip
/// time and the least one of the connection. While N is below [`BETA`](Self::BETA), the path has spare
/// capacity: a loss is taken for random and reduces the window by a fifth only. From there on the window
/// grows on every other acknowledgement, so that the flow stays near the capacity for longer. Slow start and
/// timeouts are NewReno's.
#[derive(Clone, PartialEq, Debug)]
pub struct Veno {
    reno: NewReno,
    least_rtt: Option<Duration>,
    /// Number of round-trip time samples.
    samples: u32,
    /// Segments of the flow in queues, at the last acknowledgement.
    backlog: f64,
    /// The last acknowledgement at which the backlog was large has not increased the window.
    skipped: bool,
}

impl Veno {
    /// beta: the backlog from which the path counts as congested, in segments.
    pub const BETA: f64 = 3.0;
    /// Share of the window that remains after a random loss.
    pub const RANDOM_LOSS: f64 = 0.8;
    /// As in Linux, Veno needs more samples than this.
    const SAMPLES: u32 = 2;

    /// Veno with slow start and the growth of RFC 5681.
    pub const fn new() -> Self {
        Self::over(NewReno::rfc5681())
    }

    /// Veno with the slow start, growth and reductions of `reno`.
    pub const fn over(reno: NewReno) -> Self {
        Self { reno, least_rtt: None, samples: 0, backlog: f64::INFINITY, skipped: false }
    }

    fn measure(&mut self, window: &Window, rtt: Option<Duration>) {
        self.backlog = match (self.least_rtt, rtt) {
            (Some(least), Some(rtt)) if self.samples > Self::SAMPLES && !rtt.is_zero() => {
                window.cwnd * (1.0 - least.as_secs_f64() / rtt.as_secs_f64()).max(0.0)
            }
            _ => f64::INFINITY,
        };
    }

    /// `true` if a backlog is known and small.
    fn has_capacity(&self) -> bool {
        self.backlog < Self::BETA
    }
}

impl Default for Veno {
    fn default() -> Self {
        Self::new()
    }
}

impl WindowLaw for Veno {
    fn name(&self) -> &'static str {
        "Veno"
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        if let Some(rtt) = delivery.rtt {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Acknowledgement) {
        self.measure(window, ack.smoothed_rtt);
        // Without an estimate, the growth is Reno's.
        let is_slow = !window.in_slow_start() && !self.has_capacity() && self.backlog.is_finite();
        self.skipped = is_slow && !self.skipped;
        if !self.skipped {
            self.reno.on_ack(window, ack);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, signal: &CongestionSignal) {
        if signal.cause == CongestionCause::Loss && self.has_capacity() {
            window.ssthresh = (signal.in_flight * Self::RANDOM_LOSS).max(2.0);
            window.cwnd = window.ssthresh;
        } else {
            self.reno.on_congestion(window, signal);
        }
        self.skipped = false;
    }

    fn on_timeout(&mut self, window: &mut Window, signal: &CongestionSignal, repeated: bool) {
        self.reno.on_timeout(window, signal, repeated);
        self.skipped = false;
    }

    fn on_ack_ratio(&mut self, segments: f64) {
        self.reno.on_ack_ratio(segments);
    }
}

#[cfg(test)]
mod tests;
