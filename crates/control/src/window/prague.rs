//! A scalable window in the manner of Prague (draft-briscoe-iccrg-prague-congestion-control).

use whimbrel_units::{Duration, Instant};

use super::{Acknowledgement, CongestionCause, CongestionSignal, Delivery, Window, WindowLaw};

/// A Prague-like law, for L4S (RFC 9331): DCTCP's response to marks, made fit for the Internet.
///
/// `alpha` is a moving average of the share of marked data, updated once in a round-trip time with gain 1/16.
/// A mark reduces the window by `alpha / 2` of it, at most once in a round-trip time; the first one of a
/// connection by a half. In congestion avoidance the window grows by a segment for each window that is
/// acknowledged without marks, after a reduction as before it. A loss halves the window as in RFC 5681; a
/// reduction for marks in the same round-trip time counts towards that half.
///
/// If each packet is marked with probability `p`, the window is about `2 (1 - p) / p`: two marks in a
/// round-trip time. (Slightly more: a reduction waits for the first mark that follows the round-trip time of
/// the one before.)
///
/// With [RTT independence](Self::with_rtt_independence), a flow with a short round-trip time has the rate of
/// one with the reference time: averages, reductions and growth follow a virtual round-trip time.
#[derive(Clone, PartialEq, Debug)]
pub struct Prague {
    /// Least virtual round-trip time; zero for the real one.
    reference: Duration,
    alpha: f64,
    /// A mark has been reported; `alpha` is kept before.
    has_marks: bool,
    /// Smoothed round-trip time; `None` before the first sample.
    rtt: Option<Duration>,
    /// End of the round whose data is being counted.
    round_end: Option<Instant>,
    /// Data delivered in the round, and how many of them were marked, in segments.
    delivered: f64,
    marked: f64,
    reduction: Option<Reduced>,
}

/// The last reduction.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Reduced {
    /// No mark reduces the window before this.
    until: Instant,
    /// Share of the window that remained.
    factor: f64,
}

impl Prague {
    /// Gain of the moving average: 1/16, as in RFC 8257, Section 4.2.
    pub const GAIN: f64 = 1.0 / 16.0;
    /// Least window after a reduction, in segments.
    pub const MINIMUM: f64 = 2.0;
    /// Reference round-trip time of the draft's RTT independence.
    pub const REFERENCE: Duration = Duration::from_millis(25);
    /// Share of the window that remains after a loss.
    const LOSS: f64 = 0.5;

    /// The law without RTT independence.
    pub const fn new() -> Self {
        Self {
            reference: Duration::ZERO,
            alpha: 1.0,
            has_marks: false,
            rtt: None,
            round_end: None,
            delivered: 0.0,
            marked: 0.0,
            reduction: None,
        }
    }

    /// With RTT independence below that round-trip time, usually [`REFERENCE`](Self::REFERENCE).
    #[must_use]
    pub const fn with_rtt_independence(self, reference: Duration) -> Self {
        Self { reference, ..self }
    }

    /// The moving average of the share of marked data.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The virtual round-trip time; zero before the first sample.
    fn virtual_rtt(&self) -> Duration {
        self.rtt.map_or(Duration::ZERO, |rtt| rtt.max(self.reference))
    }

    /// Segments by which the window grows in a real round-trip time, so that the rate grows as with the
    /// virtual one.
    fn growth(&self) -> f64 {
        let Some(rtt) = self.rtt.filter(|rtt| *rtt < self.reference) else { return 1.0 };
        let share = rtt.as_secs_f64() / self.reference.as_secs_f64();
        share * share
    }

    fn end_round(&mut self, now: Instant) {
        if self.has_marks && self.delivered > 0.0 {
            let share = (self.marked / self.delivered).min(1.0);
            self.alpha += Self::GAIN * (share - self.alpha);
        }
        (self.delivered, self.marked) = (0.0, 0.0);
        self.round_end = Some(now + self.virtual_rtt());
    }

    /// The reduction that still holds at `now`.
    fn reduction_at(&self, now: Instant) -> Option<f64> {
        self.reduction.filter(|reduced| now < reduced.until).map(|reduced| reduced.factor)
    }

    fn reduce(&mut self, window: &mut Window, now: Instant, to: f64, factor: f64) {
        window.cwnd = to.max(Self::MINIMUM);
        window.ssthresh = window.cwnd;
        self.reduction = Some(Reduced { until: now + self.virtual_rtt(), factor });
    }
}

impl Default for Prague {
    fn default() -> Self {
        Self::new()
    }
}

impl WindowLaw for Prague {
    fn name(&self) -> &'static str {
        "Prague"
    }

    fn is_scalable(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        if let Some(rtt) = delivery.rtt {
            self.rtt = Some(self.rtt.map_or(rtt, |smoothed| (smoothed * 7 + rtt) / 8));
        }
        self.delivered += delivery.delivered;
        self.marked += delivery.marked;
        self.has_marks |= delivery.marked > 0.0;
        if self.round_end.is_none_or(|end| delivery.now >= end) {
            self.end_round(delivery.now);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Acknowledgement) {
        let mut acked = ack.acked;
        if window.in_slow_start() {
            // The acknowledgement that repairs a lost retransmission after a timeout covers all that arrived
            // meanwhile: it must not exceed the threshold.
            let growth = acked.min(window.ssthresh - window.cwnd);
            window.cwnd += growth;
            acked -= growth;
        }
        // At most a window of data at once, for the same reason.
        window.cwnd += self.growth() * (acked / window.cwnd).min(1.0);
    }

    fn on_congestion(&mut self, window: &mut Window, signal: &CongestionSignal) {
        let before = self.reduction_at(signal.now);
        match (signal.cause, before) {
            (CongestionCause::Mark, Some(_)) => {}
            (CongestionCause::Mark, None) => {
                let factor = 1.0 - self.alpha / 2.0;
                self.reduce(window, signal.now, window.cwnd * factor, factor);
            }
            (CongestionCause::Loss, before) => {
                let remaining = (Self::LOSS / before.unwrap_or(1.0)).min(1.0);
                let to = signal.in_flight.min(window.cwnd) * remaining;
                self.reduce(window, signal.now, to, Self::LOSS);
            }
        }
    }

    fn on_timeout(&mut self, window: &mut Window, signal: &CongestionSignal, repeated: bool) {
        if !repeated {
            window.ssthresh = (signal.in_flight * Self::LOSS).max(2.0);
        }
        window.cwnd = 1.0;
    }
}

#[cfg(test)]
mod tests;
