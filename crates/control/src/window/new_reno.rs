//! The standard law: slow start, congestion avoidance, multiplicative decrease (RFC 5681, Section 3).

use super::{Acknowledgement, CongestionSignal, Window, WindowLaw};

/// Window growth per acknowledgement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Growth {
    /// An acknowledgement adds a segment in slow start and `1/cwnd` of one in congestion avoidance,
    /// regardless of the amount acknowledged (RFC 5681, Section 3.1, equation (3)). Delayed acknowledgements
    /// therefore halve the growth. An acknowledgement of less than a segment adds the amount acknowledged in
    /// slow start (equation (2)).
    PerAck,
    /// Growth by the amount acknowledged instead of the number of acknowledgements: in slow start the window
    /// grows by `share` of it, but by at most `limit` segments at once; in congestion avoidance by a segment
    /// for each window acknowledged.
    ///
    /// `share = 1, limit = 1` is recommended in RFC 5681, Section 3.1, `limit = 2` is RFC 3465, and `share =
    /// 1/2` with a limit of half the Ack Ratio is CCID 2 (RFC 4341, Section 5).
    Counted {
        /// Segments added in slow start for each segment acknowledged.
        share: f64,
        /// Maximum number of segments that one acknowledgement adds in slow start.
        limit: f64,
    },
}

/// Window reduction on a loss. "Half" is half of the [`in_flight`](CongestionSignal::in_flight) of the
/// signal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduction {
    /// `ssthresh = cwnd = max(half, 2)` (RFC 5681, Section 3.1, equation (4)).
    Rfc5681,
    /// `cwnd` is half, rounded down, but at least 1; `ssthresh` the same, but at least 2
    /// (RFC 4341, Section 5).
    Rfc4341,
    /// As in ns-2.35: `cwnd` is half, not rounded, but at least 1; `ssthresh` is half, rounded down, but at
    /// least 2.
    Ns2,
}

/// Slow start, congestion avoidance and multiplicative decrease: the window of Reno, NewReno and SACK alike,
/// which differ in their retransmissions.
#[derive(Clone, PartialEq, Debug)]
pub struct NewReno {
    growth: Growth,
    reduction: Reduction,
    /// Data acknowledged in congestion avoidance but not yet converted into window growth, in segments.
    credit: f64,
}

impl NewReno {
    /// A law with the given growth and reduction.
    pub const fn new(growth: Growth, reduction: Reduction) -> Self {
        Self { growth, reduction, credit: 0.0 }
    }

    /// RFC 5681 with equation (3), without byte counting.
    pub const fn rfc5681() -> Self {
        Self::new(Growth::PerAck, Reduction::Rfc5681)
    }

    /// The window of RFC 4341 for CCID 2 at the given Ack Ratio, in packets: a signal's `in_flight` is `cwnd`
    /// here.
    pub fn rfc4341(ack_ratio: u64) -> Self {
        let mut law = Self::new(Growth::Counted { share: 0.5, limit: 1.0 }, Reduction::Rfc4341);
        law.on_ack_ratio(ack_ratio as f64);
        law
    }

    /// `ssthresh` and `cwnd` after congestion.
    fn cut(&self, in_flight: f64) -> (f64, f64) {
        let half = in_flight / 2.0;
        match self.reduction {
            Reduction::Rfc5681 => (half.max(2.0), half.max(2.0)),
            Reduction::Rfc4341 => (libm::floor(half).max(2.0), libm::floor(half).max(1.0)),
            Reduction::Ns2 => (libm::floor(half).max(2.0), half.max(1.0)),
        }
    }
}

impl WindowLaw for NewReno {
    fn name(&self) -> &'static str {
        "NewReno"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Acknowledgement) {
        match self.growth {
            Growth::PerAck if window.in_slow_start() => window.cwnd += ack.acked.min(1.0),
            Growth::PerAck => window.cwnd += 1.0 / window.cwnd,
            Growth::Counted { share, limit } if window.in_slow_start() => {
                window.cwnd += (ack.acked * share).min(limit);
            }
            Growth::Counted { .. } => {
                self.credit += ack.acked;
                if self.credit >= window.cwnd {
                    self.credit -= window.cwnd;
                    window.cwnd += 1.0;
                }
            }
        }
    }

    fn on_congestion(&mut self, window: &mut Window, signal: &CongestionSignal) {
        (window.ssthresh, window.cwnd) = self.cut(signal.in_flight);
        self.credit = 0.0;
    }

    /// Changes the maximum added by one acknowledgement in slow start. Without effect on [`Growth::PerAck`].
    fn on_ack_ratio(&mut self, segments: f64) {
        if let Growth::Counted { share, limit } = &mut self.growth {
            *limit = segments * *share;
        }
    }

    fn on_timeout(&mut self, window: &mut Window, signal: &CongestionSignal, repeated: bool) {
        if !repeated {
            window.ssthresh = self.cut(signal.in_flight).0;
        }
        // The loss window (RFC 5681, Section 3.1).
        window.cwnd = 1.0;
        self.credit = 0.0;
    }
}

#[cfg(test)]
mod tests;
